// What the GPU's parts did during one kernel: the samples inside it, and the mean of its family.
import { keyed, nanos, percent } from '../format';
import type { Report } from '../report';
import type { Range } from '../state';
import type { Timeline } from '../timeline/data';
import { rowOf, type Entry } from '../timeline/entry';
import { title } from '../words';

type Rows = [string, string][];

interface Sampled {
  count: number;
  ns: number; // that the samples span
  inside: boolean; // false: the kernel is shorter than a sample, this is the one around its middle
  means: [string, number][];
}

// Each row holds since the one before it; a row without values ends a gap.
function sampledIn(report: Report, device: number, r: Range): Sampled | null {
  const have = (report.gpu_metrics?.devices ?? []).filter((d) => d.sampled);
  const series = (have.find((d) => d.index === device) ?? (have.length === 1 ? have[0] : undefined))?.sampled; // the driver may number another way
  const t = series?.t_s;
  if (!series || !t) return null;
  const keys = Object.keys(series).filter((k) => k !== 't_s');
  const known = (i: number) => i > 0 && keys.some((k) => series[k][i] !== null && series[k][i] !== undefined);
  const from = (i: number) => (t[i - 1] ?? 0) * 1e9;
  const to = (i: number) => (t[i] ?? 0) * 1e9;
  const first = t.findIndex((v) => (v ?? 0) * 1e9 > r.from);
  if (first < 0) return null;
  const within: number[] = [];
  for (let i = first; i < t.length && from(i) < r.to; i++) if (known(i) && from(i) >= r.from && to(i) <= r.to) within.push(i);
  const middle = t.findIndex((v) => (v ?? 0) * 1e9 >= (r.from + r.to) / 2);
  const used = within.length ? within : middle > 0 && known(middle) ? [middle] : [];
  if (!used.length) return null;
  const mean = (k: string): number | null => {
    const have = used.filter((i) => typeof series[k][i] === 'number');
    return have.length ? have.reduce((sum, i) => sum + series[k][i]!, 0) / have.length : null;
  };
  const means = keys.flatMap((k): [string, number][] => (mean(k) === null ? [] : [[k, mean(k)!]]));
  return { count: used.length, ns: to(used[used.length - 1]) - from(used[0]), inside: within.length > 0, means };
}

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
