// What the numbers of a panel mean, a sentence each, beside these numbers.
import type { Reading, Report } from '../report';

const GOOD_MOST = 3; // more of what needs no change are folded

export function Readings({ report, topic }: { report: Report; topic: Reading['panel'] }) {
  const all = (report.readings ?? []).filter((r) => r.panel === topic);
  if (!all.length) return null;
  const good = all.filter((r) => r.good);
  const list = (some: Reading[]) => (
    <ul class="readings" aria-label="what these numbers mean">
      {some.map((r) => (
        <li key={r.id + r.text} class={r.good ? 'good' : ''} dir="auto">
          {r.text}
          {r.good && <span class="quiet"> (as it should be)</span>}
        </li>
      ))}
    </ul>
  );
  if (good.length <= GOOD_MOST) return list(all);
  return (
    <>
      {list(all.filter((r) => !r.good))}
      <details>
        <summary class="quiet">{good.length} sentences about what is as it should be</summary>
        {list(good)}
      </details>
    </>
  );
}
