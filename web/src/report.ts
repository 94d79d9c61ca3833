// What the page reads from a report. Its types come from the tables of fields (report-types.ts).
// Absent data is absent: nothing here invents a zero.
import { chartsOf, type Chart } from './charts';

import type { Aggregate, Bench, Diff, FirstChart, Journal, Report, RunList, Series, Stage } from './report-types';

export type * from './report-types';

export type Fields = Record<string, unknown>;

export type Page = { live?: { report: string; timeline: string; events: string; runs: string } } & (
  | { kind: 'report'; report: Report }
  | { kind: 'diff'; diff: Diff }
  | { kind: 'aggregate'; aggregate: Aggregate }
  | { kind: 'bench'; bench: Bench }
  | { kind: 'journal'; journal: Journal }
  | { kind: 'runs'; runs: RunList }
);

export type ReportPage = Extract<Page, { kind: 'report' }>;

// The keys of T that hold a V. A key that no report has does not compile.
type Keys<T, V> = { [K in keyof T]-?: NonNullable<T[K]> extends V ? K : never }[keyof T] & string;

export function num<T extends object>(o: T | undefined, key: Keys<T, number>): number | undefined {
  const v: unknown = o?.[key];
  return typeof v === 'number' && Number.isFinite(v) ? v : undefined;
}

export function text<T extends object>(o: T | undefined, key: Keys<T, string>): string | undefined {
  const v: unknown = o?.[key];
  return typeof v === 'string' && v ? v : undefined;
}

export interface MemoryPeak {
  bytes: number;
  total?: number;
  reserved?: number;
  source?: string; // "allocated" (the allocator's word), "process" or "device" (sampled)
  device?: number;
  stage?: string;
  t_s?: number;
}

// The report's own figure; nothing is worked out here.
export function memoryPeak(r: Report): MemoryPeak | null {
  const bytes = num(r.summary, 'gpu_memory_peak_bytes');
  if (!bytes) return null;
  return {
    bytes,
    total: num(r.summary, 'gpu_memory_total_bytes'),
    reserved: num(r.summary, 'gpu_memory_reserved_peak_bytes'),
    source: text(r.memory, 'peak_source'),
    device: num(r.memory, 'peak_device_index'),
    stage: text(r.summary, 'gpu_memory_peak_stage'),
    t_s: num(r.memory, 'peak_t_s'),
  };
}

const WHOSE: Record<string, string> = { allocated: 'allocated', process: 'of this run', device: 'of the whole GPU' };

export function whoseMemory(p: MemoryPeak): string {
  return WHOSE[p.source ?? ''] ?? '';
}

export const stagesOf = (r: Report): Stage[] => r.stage_analysis?.stages ?? [];

// A stage and its place in the report: the report lists a parent before what is inside it.
// joined: stages that share a name, as one row; its index is then negative.
export type StageRow = Stage & { index: number; parental: boolean; joined?: number[] };

export function stageRows(stages: Stage[]): StageRow[] {
  return stages.map((s, index) => ({ ...s, index, parental: stages[index + 1]?.parent_index === index }));
}

// Rows that pass, below parents that pass and are not closed.
export function shownRows(rows: StageRow[], passes: (s: StageRow) => boolean, closed: Set<number>): StageRow[] {
  const shown = new Set<number>();
  return rows.filter((s) => {
    const inside = s.parent_index === undefined || (shown.has(s.parent_index) && !closed.has(s.parent_index));
    if (!inside || !passes(s)) return false;
    shown.add(s.index);
    return true;
  });
}

// The names from the outermost stage to this one: the same stage in another report.
export function stagePath(stages: Stage[], index: number): string {
  const { name, parent_index: parent } = stages[index];
  return parent === undefined ? name : `${stagePath(stages, parent)}\n${name}`;
}

// The report's word on how columns of a monitor are drawn.
const apart = (r: Report, source: string, device?: number) => r.chart_columns?.filter((c) => c.source === source && c.device_index === device);

const gpuOf = (r: Report, index?: number) => (r.gpu_metrics!.devices.length > 1 ? `GPU ${index}` : 'GPU');

// What of a GPU is looked for first, in the same colours wherever it is drawn.
const PARTS = ['sm', 'tensor', 'fp32', 'dram'].map((k) => `${k}_active_percent`);

export function timeCharts(r: Report): Chart[] {
  const out: Chart[] = [];
  const devices = r.gpu_metrics?.devices ?? [];
  for (const d of devices) {
    out.push(...chartsOf(gpuOf(r, d.index), d.series, apart(r, 'gpu', d.index)));
    for (const [words, series] of [['parts', d.counters], ['sampled', d.sampled]] as const) out.push(...chartsOf(`${gpuOf(r, d.index)} ${words}:`, series && { ...Object.fromEntries(PARTS.map((k) => [k, series[k]])), ...series }));
  }
  out.push(...chartsOf('CPU', r.cpu_metrics?.series, apart(r, 'cpu')));
  out.push(...chartsOf('Process', r.cpu_metrics?.process));
  out.push(...chartsOf('Disk', r.disk_metrics?.series));
  out.push(...chartsOf('Pressure', r.cpu_metrics?.pressure).map((c) => ({ ...c, title: 'Waiting for, % of the time' })));
  for (const s of r.other_metrics ?? []) out.push(...chartsOf(s.source, s.series, apart(r, s.source, s.device_index)));
  out.push(...chartsOf('CPU cores', r.cpu_metrics?.cores));
  return out;
}

const FIRST: Record<FirstChart['source'], [string, (r: Report, device?: number) => Series | undefined]> = {
  gpu: ['GPU', (r, device) => r.gpu_metrics?.devices.find((d) => d.index === device)?.series],
  cpu: ['CPU', (r) => r.cpu_metrics?.series],
  disk: ['Disk', (r) => r.disk_metrics?.series],
  process: ['Process', (r) => r.cpu_metrics?.process],
};

// What the report names as drawn first, in its order; after the first of them what that GPU's parts did, as fine as it is known.
export function firstCharts(r: Report, most: number): Chart[] {
  const named = (r.first_charts ?? []).flatMap((c) => {
    const [group, find] = FIRST[c.source];
    const series = find(r, c.device_index);
    const [chart] = chartsOf(group === 'GPU' && series ? gpuOf(r, c.device_index) : group, series && { t_s: series.t_s, ...Object.fromEntries(c.columns.map((k) => [k, series[k]])) });
    return chart ? [chart] : [];
  });
  // Of the GPU that is drawn first; its samples come after its readings, which stand in where there are none.
  const counters = timeCharts(r)
    .filter((c) => c.lines[0].key === PARTS[0] && c.group.startsWith(`${named[0]?.group} `))
    .map((c) => ({ ...c, lines: c.lines.slice(0, PARTS.length) }));
  const finest = counters.pop();
  return [...named.slice(0, 1), ...(finest ? [{ ...finest, elsewhere: counters[0] }] : []), ...named.slice(1)].slice(0, most);
}
