// What the numbers of a panel mean, a sentence each, beside these numbers.
import type { Report } from '../report';

export type Topic = 'memory' | 'stages' | 'layers' | 'metrics';

const TOPICS: Record<string, Topic> = {
  memory_peak: 'memory',
  offloading_works: 'memory',
  nothing_offloaded: 'memory',
  reserved_jump: 'memory',
  precision: 'layers',
  gpu_well_used: 'metrics',
};

// A reading that this page does not know yet is shown with the stages.
export function Readings({ report, topic }: { report: Report; topic: Topic }) {
  const all = (report.readings ?? []).filter((r) => (TOPICS[r.id] ?? 'stages') === topic);
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
