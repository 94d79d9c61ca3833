// What the numbers of a panel mean, a sentence each, beside these numbers.
import type { Reading, Report } from '../report';

export function Readings({ report, topic }: { report: Report; topic: Reading['panel'] }) {
  const all = (report.readings ?? []).filter((r) => r.panel === topic);
  if (!all.length) return null;
  return (
    <ul class="readings" aria-label="what these numbers mean">
      {all.map((r) => (
        <li key={r.id + r.text} class={r.good ? 'good' : ''} dir="auto">
          {r.text}
          {r.good && <span class="quiet"> (as it should be)</span>}
        </li>
      ))}
    </ul>
  );
}
