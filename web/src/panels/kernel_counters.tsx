// What the GPU's parts did during one kernel: the samples inside it, and the mean of its family.
import { keyed, nanos, percent } from '../format';
import type { Report } from '../report';
import type { Range } from '../state';
import type { Timeline } from '../timeline/data';
import { rowOf, type Entry } from '../timeline/entry';
import { sampledIn } from '../timeline/statistics';
import { title } from '../words';

type Rows = [string, string][];

function familyRows(report: Report, t: Timeline, e: Entry): Rows {
  const k = t.kernels.get(rowOf(t, e).name[e.index]);
  const found = report.sampled_counters?.families?.find((f) => k && f.family === k.family && (f.kind ?? '') === (k.kind ?? '') && (f.precision ?? '') === (k.precision ?? ''))?.gpu_counters;
  return found ? Object.entries(found).flatMap(([key, v]): Rows => (typeof v === 'number' ? [[title(key), key === 'covered_ratio' ? percent(v) : keyed(key, v)]] : [])) : [];
}

export function kernelCounters(report: Report, t: Timeline, e: Entry, range: Range): { head: string; rows: Rows }[] {
  const lane = t.lanes[e.lane];
  if ((lane.kind !== 'stream' || e.row > 0) && lane.kind !== 'family') return [];
  const s = sampledIn(report, lane.device ?? 0, range);
  const family = familyRows(report, t, e);
  const head = !s ? '' : s.inside ? `Counters in it: ${s.count} sample${s.count > 1 ? 's' : ''}` : `Counters of the ${nanos(s.ns)} around it`;
  return [
    ...(s ? [{ head, rows: s.means.map(([k, v]): [string, string] => [title(k), keyed(k, v)]) }] : []),
    ...(family.length ? [{ head: 'Counters of its family', rows: family }] : []),
  ];
}
