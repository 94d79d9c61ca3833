// What happened between two moments: from the zones themselves where all of
// them are there, else from the profile's bins, and then it says so. Zones of
// the CPU, spans of a stream and work on the GPU are three things: never one sum.
import { sameStage } from '../format';
import type { Generation, Report, Stage, StageRow } from '../report';
import type { Range } from '../state';
import { busyOf } from './busy';
import { derived, type Lane, type Profile, type Timeline } from './data';

export interface NameTime {
  name: string;
  total: number; // ns inside the range with at least one call open, per thread; threads add up
  count: number; // calls that touch the range
  nested: number; // calls inside one of the same name: not in count, their time not again in total
  length: number; // of the counted calls, inside the range
  span?: number; // ns from event to event on the GPU's streams
}

export interface RangeStatistics {
  names: NameTime[]; // zones of the CPU
  gpu: NameTime[]; // kernels and copies
  exact: boolean;
  resolutionNs: number;
}

const WALK_MOST = 200_000;

const KEPT = 4; // several tables ask for the same ranges
let kept: { t: Timeline; range: Range; found: RangeStatistics }[] = [];

export function statistics(t: Timeline, range: Range): RangeStatistics {
  let one = kept.find((k) => k.t === t && k.range.from === range.from && k.range.to === range.to);
  if (!one) kept = [(one = { t, range, found: fromZones(t, range) ?? fromProfile(t, range) }), ...kept].slice(0, KEPT);
  return one.found;
}

interface Entry {
  name: number;
  depth: number;
  start: number;
  end: number;
}

// A lane's zones that touch the range, outer ones before what they hold; null: too many, or merged.
function inRange(lane: Lane, range: Range, most: number): Entry[] | null {
  const out: Entry[] = [];
  for (const [depth, row] of lane.rows.entries()) {
    for (let i = row.firstEndingAfter(range.from); i < row.size && row.start[i] < range.to; i++) {
      if (row.count[i] > 1 || out.length >= most) return null;
      out.push({ name: row.name[i], depth, start: row.start[i], end: row.end[i] });
    }
  }
  return lane.rows.length > 1 ? out.sort((a, b) => a.start - b.start || a.depth - b.depth) : out;
}

type Sums = Map<number, NameTime>;

function sumOf(sums: Sums, t: Timeline, name: number): NameTime {
  let s = sums.get(name);
  if (!s) sums.set(name, (s = { name: t.names[name], total: 0, count: 0, nested: 0, length: 0 }));
  return s;
}

// Is a zone inside one of its own name? Depths tell of threads and tasks. Streams are timed to a few µs: a span
// that reaches a little beyond the one around it is still inside it.
function nesting(lane: Lane): (e: Entry, until: number) => boolean {
  const open: Entry[] = []; // by depth
  if (lane.overlap) return () => false;
  if (lane.kind === 'span' || lane.kind === 'stream') return (e, until) => Math.min(e.end, until) - e.start > (e.end - e.start) / 2;
  return (e) => {
    open.length = Math.min(open.length, e.depth);
    const again = open.some((o) => o?.name === e.name && o.end >= e.end);
    open[e.depth] = e;
    return again;
  };
}

function addLane(sums: Sums, t: Timeline, lane: Lane, entries: Entry[], range: Range): void {
  const until = new Map<number, number>(); // per name, the end of what was seen
  const isNested = nesting(lane);
  for (const e of entries) {
    const s = sumOf(sums, t, e.name);
    const last = until.get(e.name) ?? -Infinity;
    const from = Math.max(e.start, range.from);
    const to = Math.min(e.end, range.to);
    s.total += Math.max(0, to - Math.max(from, last));
    if (isNested(e, last)) s.nested++;
    else {
      s.count++;
      s.length += to - from;
    }
    until.set(e.name, Math.max(last, e.end));
  }
}

function fromZones(t: Timeline, range: Range): RangeStatistics | null {
  const zones: Sums = new Map();
  const spans: Sums = new Map();
  const gpu: Sums = new Map();
  let left = WALK_MOST;
  for (const lane of t.lanes) {
    if (derived(lane.kind)) continue;
    const entries = inRange(lane, range, left);
    if (!entries) return null;
    left -= entries.length;
    addLane(lane.kind === 'span' ? spans : lane.kind === 'stream' ? gpu : zones, t, lane, entries, range);
  }
  for (const [name, s] of spans) sumOf(zones, t, name).span = s.total;
  return { names: sorted(zones.values()), gpu: sorted(gpu.values()), exact: true, resolutionNs: 0 };
}

function fromProfile(t: Timeline, range: Range): RangeStatistics {
  return { names: profiled(t, t.profile, range), gpu: profiled(t, t.gpuProfile, range), exact: false, resolutionNs: t.profile?.binNs ?? 0 };
}

function profiled(t: Timeline, p: Profile | null, range: Range): NameTime[] {
  if (!p) return [];
  const from = range.from - p.startNs;
  const names = p.names.map((name, i): NameTime => {
    const bins = p.total[i];
    const to = range.to >= t.endNs ? bins.length * p.binNs : range.to - p.startNs; // the last bin reaches beyond the run
    let total = 0;
    let count = 0;
    const last = Math.min(bins.length - 1, Math.floor(to / p.binNs));
    for (let b = Math.max(0, Math.floor(from / p.binNs)); b <= last; b++) {
      const share = (Math.min(to, (b + 1) * p.binNs) - Math.max(from, b * p.binNs)) / p.binNs;
      total += bins[b] * share;
      count += p.count[i][b] * share;
    }
    return { name: t.names[name], total, count: Math.round(count), nested: 0, length: total };
  });
  return sorted(names.filter((n) => n.total > 0));
}

function sorted(names: Iterable<NameTime>): NameTime[] {
  return [...names].sort((a, b) => b.total - a.total || (b.span ?? 0) - (a.span ?? 0));
}

export interface StageTimes {
  seconds: (number | undefined)[]; // by the stage's index; undefined: none of it is in the range, or not known
  exact: boolean;
  resolutionNs: number;
}

let lastStages: { stages: Stage[]; of: RangeStatistics; found: StageTimes } | null = null;

// Time of each stage inside the range: a zone belongs to the stage on the same path, as in src/run/paths.c.
export function stageTimes(t: Timeline, stages: Stage[], range: Range): StageTimes {
  const of = statistics(t, range);
  if (lastStages?.stages !== stages || lastStages.of !== of) lastStages = { stages, of, found: of.exact ? stagesFromZones(t, stages, range) : stagesFromNames(of, stages) };
  return lastStages.found;
}

// The same of a row of the table: of stages that share a name the sum, without those inside another of them.
export function rowTime(times: StageTimes, stages: Stage[], row: StageRow): number | undefined {
  if (!row.joined) return times.seconds[row.index];
  const isInside = (i: number): boolean => {
    const up = stages[i].parent_index;
    return up !== undefined && (stages[up].name === row.name || isInside(up));
  };
  const known = row.joined.filter((i) => !isInside(i)).flatMap((i) => times.seconds[i] ?? []);
  return known.length ? known.reduce((sum, s) => sum + s, 0) : undefined;
}

interface Frame {
  name: string;
  stage: number; // -1: none in the report
  end: number;
}

// Which stage a zone is, from the zones around it.
class Paths {
  private children = new Map<string, number>(); // parent and name
  private groups = new Map<number, number[]>(); // by parent: names that stand for several
  private once = new Map<string, number>(); // names of one stage only

  constructor(private stages: Stage[]) {
    stages.forEach((s, i) => {
      const parent = s.parent_index ?? -1;
      this.children.set(`${parent} ${s.name}`, i);
      if (s.name.includes('*')) this.groups.set(parent, [...(this.groups.get(parent) ?? []), i]);
      this.once.set(s.name, this.once.has(s.name) ? -1 : i);
    });
  }

  // Inside a zone of its name: steps are a stage of their own there, a section that calls itself is that again.
  own(t: Timeline, around: Frame[], name: string, start: number): number | undefined {
    const stage = this.children.get(`${around[around.length - 1].stage} ${name}`);
    if (stage === undefined || around.some((f) => f.stage === stage)) return undefined;
    const lanes = t.lanes.filter((l) => derived(l.kind) && l.kind === this.stages[stage].role);
    return !lanes.length || lanes.some((l) => l.rows.some((r) => r.start[r.firstStartingAt(start)] === start)) ? stage : undefined;
  }

  below(parent: number, name: string): number {
    return this.children.get(`${parent} ${name}`) ?? this.groups.get(parent)?.find((i) => sameStage(this.stages[i].name, name)) ?? this.once.get(name) ?? -1;
  }
}

// Sums per stage of one lane's zones. A name inside itself is the outer call again, not one more; of a lane of
// spans every one counts.
function addStages(sums: (number | undefined)[], t: Timeline, paths: Paths, lane: Lane, entries: Entry[], range: Range): void {
  const open: Frame[] = [];
  for (const e of entries) {
    open.length = lane.overlap ? 0 : Math.min(open.length, e.depth);
    while (open.length && open[open.length - 1].end < e.end) open.pop();
    const name = t.names[e.name];
    let again = open.findLast((f) => f.name === name);
    const own = again && paths.own(t, open, name, e.start);
    if (own !== undefined) again = undefined;
    const stage = own ?? again?.stage ?? paths.below(open.length ? open[open.length - 1].stage : -1, name);
    if (!again && stage >= 0) sums[stage] = (sums[stage] ?? 0) + Math.min(e.end, range.to) - Math.max(e.start, range.from);
    open.push({ name, stage, end: e.end });
  }
}

function stagesFromZones(t: Timeline, stages: Stage[], range: Range): StageTimes {
  const paths = new Paths(stages);
  const sums: (number | undefined)[] = stages.map(() => undefined);
  for (const lane of t.lanes) {
    if (!derived(lane.kind) && lane.kind !== 'span' && lane.kind !== 'stream') addStages(sums, t, paths, lane, inRange(lane, range, WALK_MOST) ?? [], range);
  }
  return { seconds: sums.map((ns) => (ns === undefined ? undefined : ns / 1e9)), exact: true, resolutionNs: 0 };
}

// Bins know names only: stages that share one are left out.
function stagesFromNames(of: RangeStatistics, stages: Stage[]): StageTimes {
  const seconds = stages.map((s) => {
    if (stages.filter((o) => o.name === s.name).length > 1) return undefined;
    const members = of.names.filter((n) => n.count && sameStage(s.name, n.name));
    return members.length ? members.reduce((sum, n) => sum + n.total / 1e9, 0) : undefined;
  });
  return { seconds, exact: false, resolutionNs: of.resolutionNs };
}

// The stages of a part of a run whose zones were merged: each has of its time and calls what its name has, by the bins.
export function stagesOfPart(t: Timeline, stages: Stage[], range: Range): Stage[] {
  const here = profiled(t, t.profile, range);
  const all = profiled(t, t.profile, { from: t.startNs, to: t.endNs });
  const share = (s: Stage, of: (n: NameTime) => number): number => {
    const sum = (names: NameTime[]) => names.reduce((total, n) => (sameStage(s.name, n.name) ? total + of(n) : total), 0);
    return sum(here) / (sum(all) || 1);
  };
  return stages.map((s) => ({ ...s, total_s: (s.total_s ?? 0) * share(s, (n) => n.total), count: Math.round(s.count * share(s, (n) => n.count)) }));
}

// From the first zone of a name to the last, inside a range.
export function extent(t: Timeline, named: (name: string) => boolean, range: Range): Range | null {
  const wanted = new Set(t.names.flatMap((n, i) => (named(n) ? [i] : [])));
  let from = Infinity;
  let to = -Infinity;
  for (const lane of t.lanes) {
    if (lane.kind !== 'thread' && lane.kind !== 'track') continue;
    for (const row of lane.rows) {
      for (let i = row.firstEndingAfter(range.from); i < row.size && row.start[i] < range.to; i++) {
        if (!wanted.has(row.name[i])) continue;
        from = Math.min(from, row.start[i]);
        to = Math.max(to, row.end[i]);
      }
    }
  }
  return to > from ? { from: Math.max(from, range.from), to: Math.min(to, range.to) } : null;
}

const GAPS_MOST = 20;
const gapsOf = new WeakMap<Timeline, Range[]>();

// Where the main thread is in no zone, the longest first. The first lane of a thread is the main one's.
export function gaps(t: Timeline): Range[] {
  let found = gapsOf.get(t);
  if (!found) gapsOf.set(t, (found = findGaps(t)));
  return found;
}

function findGaps(t: Timeline): Range[] {
  const main = t.lanes.find((l) => l.kind === 'thread');
  const covering = t.lanes.filter((l) => l === main || l.kind === 'track').flatMap((l) => l.rows.slice(0, 1));
  const row = covering.length === 1 ? covering[0] : busyOf(covering);
  const out: Range[] = []; // the longest first; ten million zones leave as many gaps, and twenty are kept
  const keep = (from: number, to: number) => {
    const least = out[GAPS_MOST - 1];
    if (least && to - from <= least.to - least.from) return;
    const shorter = out.findIndex((g) => g.to - g.from < to - from);
    out.splice(shorter < 0 ? out.length : shorter, 0, { from, to });
    out.length = Math.min(out.length, GAPS_MOST);
  };
  let at = Math.max(t.startNs, t.foldedNs);
  for (let i = 0; i <= row.size; i++) {
    const from = i < row.size ? row.start[i] : t.endNs;
    if (from > at) keep(at, from);
    if (i < row.size) at = Math.max(at, row.end[i]);
  }
  return out;
}

export interface Part {
  name: string;
  stage?: number; // its index in the report
  seconds: number;
}

const PARTS_MOST = 8;

// Where a video's time went: the stages directly inside it, then what no stage has.
export function partsOf(r: Report, t: Timeline, g: Generation): Part[] {
  const stages = r.stage_analysis?.stages ?? [];
  const { seconds } = stageTimes(t, stages, { from: g.start_s * 1e9, to: (g.start_s + g.wall_s) * 1e9 });
  const time = (i: number) => seconds[i] ?? 0;
  // Where the videos are zones, what other threads did meanwhile is no part of them.
  const marked = stages.some((s, i) => s.role === 'generation' && time(i) > 0);
  const outer = (s: Stage) => (marked ? s.parent_index !== undefined && stages[s.parent_index].role === 'generation' : s.parent_index === undefined);
  const inside = stages.flatMap((s, i) => (s.role !== 'generation' && outer(s) && time(i) > 0 ? [{ name: s.name, stage: i, seconds: time(i) }] : []));
  inside.sort((a, b) => b.seconds - a.seconds);
  const parts: Part[] = inside.slice(0, PARTS_MOST);
  const small = inside.slice(PARTS_MOST).reduce((sum, p) => sum + p.seconds, 0);
  if (small > 0) parts.push({ name: `${inside.length - PARTS_MOST} smaller stages`, seconds: small });
  const rest = g.wall_s - parts.reduce((sum, p) => sum + p.seconds, 0);
  if (rest > 0) parts.push({ name: '(unattributed)', seconds: rest });
  return parts;
}

export interface Sampled {
  count: number;
  ns: number; // that the samples span
  inside: boolean; // false: the kernel is shorter than a sample, this is the one around its middle
  means: [string, number][];
}

// What was sampled of a GPU inside a range. Each row holds since the one before it; a row without values ends a gap.
export function sampledIn(report: Report, device: number, r: Range): Sampled | null {
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
