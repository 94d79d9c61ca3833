// Every sum that depends on what the reader selects: a range, a video, a zone. From the zones themselves where all
// of them are there, else from the profile's bins, and then it says so. Zones of the CPU, spans of a stream and
// work on the GPU are three things: never one sum. page/statistics compares all of it with what the tool says.
import { sameStage } from '../format';
import { stagesOf, type Generation, type Report, type Stage, type StageRow, type TimePart } from '../report';
import type { Range } from '../state';
import { rangeOfVideo } from '../video';
import { derived, type Lane, type Profile, type Timeline } from './data';
import { launchedEntries, lengthOf, nameOf, nests, rangeOf, rowOf, type Entry } from './entry';
import type { NameTime, Pair, Peers, RangeStatistics, Relative, Sampled, StageTimes, Sum } from './figures';
import { Paths, type Frame } from './paths';
import type { Row } from './row';
import { tracedIn } from './traced';
import { amountsOf, childOf, fresh, OUTSIDE, type Amount, type Measure, type Node } from './tree';
import { inRange, nesting, type Zone } from './zones';

const WALK_MOST = 200_000;

const KEPT = 4; // several tables ask for the same ranges
let kept: { t: Timeline; range: Range; found: RangeStatistics }[] = [];

export function statistics(t: Timeline, range: Range): RangeStatistics {
  let one = kept.find((k) => k.t === t && k.range.from === range.from && k.range.to === range.to);
  if (!one) kept = [(one = { t, range, found: fromZones(t, range) ?? fromProfile(t, range) }), ...kept].slice(0, KEPT);
  return one.found;
}

type Sums = Map<number, NameTime>;

function sumOf(sums: Sums, t: Timeline, name: number): NameTime {
  let s = sums.get(name);
  if (!s) sums.set(name, (s = { name: t.names[name], total: 0, count: 0, nested: 0, length: 0 }));
  return s;
}

function addLane(sums: Sums, t: Timeline, lane: Lane, entries: Zone[], range: Range): void {
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

let lastStages: { stages: Stage[]; of: RangeStatistics; found: StageTimes } | null = null;

// Time of each stage inside the range: a zone belongs to the stage on the same path, as in src/run/paths.c.
export function stageTimes(t: Timeline, stages: Stage[], range: Range): StageTimes {
  const of = statistics(t, range);
  if (lastStages?.stages !== stages || lastStages.of !== of) lastStages = { stages, of, found: of.exact ? stagesFromZones(t, stages, range) : stagesFromNames(of, stages) };
  return lastStages.found;
}

// The same of a video: where the CPU ran ahead of the GPU the report has it, every moment with the stage the GPU is at.
export function videoTimes(t: Timeline, stages: Stage[], g: Generation): StageTimes {
  const times = stageTimes(t, stages, rangeOfVideo(g));
  return { ...times, seconds: times.seconds.map((s, i) => g.stage_real_s?.[g.stage_index!.indexOf(i)] ?? s) };
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

// Sums per stage of one lane's zones. A name inside itself is the outer call again, not one more; of a lane of
// spans every one counts.
function addStages(sums: (number | undefined)[], t: Timeline, paths: Paths, lane: Lane, entries: Zone[], range: Range): void {
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

const PARTS_MOST = 8;

// Where a video's time went: the stages directly inside it, then what no stage has.
export function partsOf(r: Report, t: Timeline, g: Generation): TimePart[] {
  const stages = stagesOf(r);
  const { seconds } = videoTimes(t, stages, g);
  const time = (i: number) => seconds[i] ?? 0;
  // Where the videos are zones, what other threads did meanwhile is no part of them.
  const marked = stages.some((s, i) => s.role === 'generation' && time(i) > 0);
  const outer = (s: Stage) => (marked ? s.parent_index !== undefined && stages[s.parent_index].role === 'generation' : s.parent_index === undefined);
  const part = (kind: TimePart['kind'], part_s: number): TimePart => ({ kind, part_s, wall_ratio: part_s / g.wall_s });
  const all = stages.flatMap((s, i) => (s.role !== 'generation' && outer(s) && time(i) > 0 ? [{ ...part('stage', time(i)), name: s.name, stage_index: i }] : []));
  all.sort((a, b) => b.part_s - a.part_s);
  const parts: TimePart[] = all.slice(0, PARTS_MOST);
  const sum = (of: TimePart[]) => of.reduce((total, p) => total + p.part_s, 0);
  if (all.length > PARTS_MOST) parts.push({ ...part('smaller', sum(all.slice(PARTS_MOST))), stage_count: all.length - PARTS_MOST });
  const rest = g.wall_s - sum(all);
  if (rest > 1e-9) parts.push(part('unattributed', rest)); // less is rounding
  return parts;
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

const TREE_MOST = 300_000; // zones of a call tree

// The calls of a range as one tree. null: too many zones in it, or merged ones, of which only names and sums are known.
export function callTree(t: Timeline, range: Range, measure: Measure): Node | null {
  const root = fresh('all threads', null);
  const index = new Map<Node, Map<string, Node>>();
  if (measure === 'samples' || measure === 'samples-cpu') return sampledTree(t, range, root, index, measure === 'samples-cpu');
  if (measure !== 'wall' && measure !== 'gpu') return sharedTree(t, range, root, index, measure);
  let left = TREE_MOST;
  for (const lane of t.lanes) {
    if (lane.kind !== 'thread' && lane.kind !== 'track') continue;
    const zones = inRange(lane, range, left);
    if (!zones) return null;
    left -= zones.length;
    const open: { end: number; depth: number; node: Node }[] = [];
    for (const z of zones) {
      while (open.length && (lane.overlap || open[open.length - 1].depth >= z.depth || open[open.length - 1].end < z.end)) open.pop();
      const node = childOf(open.length ? open[open.length - 1].node : root, t.names[z.name], index);
      node.count++;
      node.first = Math.min(node.first, z.start);
      if (measure === 'wall') node.total += Math.min(z.end, range.to) - Math.max(z.start, range.from);
      open.push({ end: z.end, depth: z.depth, node });
    }
  }
  if (measure === 'gpu') addLaunched(t, range, root, index);
  finish(root, measure);
  return root.total > 0 ? root : null;
}

// The tree where zones were merged: the stages have their sums.
export function stageTree(stages: Stage[]): Node | null {
  const root = fresh('all threads', null);
  const nodes = stages.map((s) => ({ ...fresh(s.name, root), total: (s.total_s ?? 0) * 1e9, count: s.count, first: s.first_s ?? Infinity }));
  stages.forEach((s, i) => {
    nodes[i].parent = s.parent_index === undefined ? root : nodes[s.parent_index];
    nodes[i].parent!.below.push(nodes[i]);
  });
  finish(root, 'wall');
  return root.total > 0 ? root : null;
}

// Each sample stands for the time until the next one.
function sampledTree(t: Timeline, range: Range, root: Node, index: Map<Node, Map<string, Node>>, cpu: boolean): Node | null {
  for (const s of t.samples) {
    const ns = cpu ? s.cpuNs : s.ns;
    if (s.at < range.from || s.at >= range.to || ns <= 0) continue;
    let node = root;
    for (const name of s.stack) {
      node = childOf(node, t.names[name], index);
      node.total += ns;
      node.count++;
      node.first = Math.min(node.first, s.at);
    }
  }
  finish(root, 'samples');
  return root.total > 0 ? root : null;
}

// Each amount is shared by the innermost zones of its thread, by how long each ran meanwhile.
function sharedTree(t: Timeline, range: Range, root: Node, index: Map<Node, Map<string, Node>>, measure: Measure): Node | null {
  let left = TREE_MOST;
  const share = (rows: Row[], depth: number, node: Node, a: Amount, from: number, to: number): void => {
    const row = rows[depth];
    let used = 0;
    for (let i = row ? row.endingAfter(from) : 0; row && i < row.size && (row.start[i] < to || (from === to && row.start[i] <= to)); i++) {
      const [f, e] = [Math.max(from, row.start[i]), Math.min(to, row.end[i])];
      if (left-- <= 0 || (e <= f && from < to)) continue;
      const below = childOf(node, t.names[row.name[i]], index);
      below.first = Math.min(below.first, f);
      share(rows, depth + 1, below, a, f, e);
      used += e - f;
      if (from === to) return;
    }
    const own = from === to ? a.amount : (a.amount * (to - from - used)) / (a.to - a.from);
    if (own <= 0) return;
    const at = node === root ? childOf(root, a.name ?? OUTSIDE, index) : node;
    at.total += own;
    at.count++;
    at.first = Math.min(at.first, from);
  };
  for (const a of amountsOf(t, measure)) {
    const [from, to] = [Math.max(a.from, range.from), Math.min(a.to, range.to)];
    if (from > to || (from === to && a.from < a.to)) continue;
    share(a.lane < 0 ? [] : t.lanes[a.lane].rows, 0, root, a, from, to);
  }
  finish(root, measure);
  return root.total > 0 && left > 0 ? root : null;
}

// Each kernel's time belongs to the innermost zone that launched it.
function addLaunched(t: Timeline, range: Range, root: Node, index: Map<Node, Map<string, Node>>): void {
  for (const lane of t.lanes) {
    if (lane.kind !== 'stream') continue;
    for (const row of lane.rows) {
      for (let i = row.endingAfter(range.from); row.launches && i < row.size && row.start[i] < range.to; i++) {
        const by = row.launches.lane[i];
        if (by < 0) continue;
        let node = root;
        for (const at of t.lanes[by].rows) {
          const k = at.endingAfter(row.launches.at[i]);
          if (k < at.size && at.start[k] <= row.launches.at[i]) node = childOf(node, t.names[at.name[k]], index);
        }
        const leaf = childOf(node, t.names[row.name[i]], index);
        leaf.count++;
        leaf.total += Math.min(row.end[i], range.to) - Math.max(row.start[i], range.from);
        leaf.first = Math.min(leaf.first, row.start[i]);
      }
    }
  }
}

function finish(n: Node, measure: Measure): void {
  for (const c of n.below) finish(c, measure);
  const inside = n.below.reduce((sum, c) => sum + c.total, 0);
  // A node of these has its own amount so far; of the others the whole.
  if (n.parent === null || measure === 'gpu' || measure === 'cpu' || measure.startsWith('memory')) n.total += inside;
  n.self = Math.max(0, n.total - inside);
}

// Who calls a name and what it calls, over the whole tree; a name inside itself counts once.
export function butterfly(root: Node, name: string): { total: number; self: number; count: number; callers: Relative[]; callees: Relative[] } {
  const callers = new Map<string, Relative>();
  const callees = new Map<string, Relative>();
  const sum = { total: 0, self: 0, count: 0 };
  const add = (to: Map<string, Relative>, key: string, total: number, count: number) => {
    const one = to.get(key) ?? { name: key, total: 0, count: 0 };
    one.total += total;
    one.count += count;
    to.set(key, one);
  };
  const walk = (n: Node, inside: boolean) => {
    const own = n.name === name && n.parent !== null;
    if (own) {
      sum.self += n.self;
      for (const c of n.below) if (c.name !== name) add(callees, c.name, c.total, c.count);
    }
    if (own && !inside) {
      sum.total += n.total;
      sum.count += n.count;
      add(callers, n.parent!.name, n.total, n.count);
    }
    n.below.forEach((c) => walk(c, inside || own));
  };
  walk(root, false);
  const list = (m: Map<string, Relative>) => [...m.values()].sort((a, b) => b.total - a.total);
  return { ...sum, callers: list(callers), callees: list(callees) };
}

const SUMS_MOST = 8;

function summed(t: Timeline, entries: Iterable<Entry>, by = nameOf): Sum[] {
  const sums = new Map<string, Sum>();
  for (const e of entries) {
    const row = rowOf(t, e);
    const name = by(t, e);
    const s = sums.get(name);
    if (!s) {
      sums.set(name, { name, count: row.count[e.index], total: row.busy[e.index], longest: e });
      continue;
    }
    s.count += row.count[e.index];
    s.total += row.busy[e.index];
    if (lengthOf(t, e) > lengthOf(t, s.longest)) s.longest = e;
  }
  return [...sums.values()].sort((a, b) => b.total - a.total);
}

const shortened = (sums: Sum[]) => ({ sums: sums.slice(0, SUMS_MOST), more: Math.max(0, sums.length - SUMS_MOST), total: sums.reduce((n, s) => n + s.total, 0), count: sums.reduce((n, s) => n + s.count, 0) });
export type Shortened = ReturnType<typeof shortened>;

// What lies directly inside it, by name.
export function children(t: Timeline, e: Entry): Shortened {
  const below = t.lanes[e.lane].rows[e.row + 1];
  const found: Entry[] = [];
  if (below && nests(t, e.lane)) {
    const { from, to } = rangeOf(t, e);
    for (let index = below.startingAt(from); index < below.size && below.start[index] < to; index++) found.push({ lane: e.lane, row: e.row + 1, index });
  }
  return shortened(summed(t, found));
}

// Kernels and copies whose launch lies inside it.
export function launched(t: Timeline, e: Entry): Shortened {
  return shortened(summed(t, launchedEntries(t, e)));
}

export function launchedFamilies(t: Timeline, e: Entry): Shortened {
  return shortened(summed(t, launchedEntries(t, e).filter((k) => t.kernels.has(rowOf(t, k).name[k.index])), (_, k) => t.kernels.get(rowOf(t, k).name[k.index])!.family));
}

// Every zone of the same name on lanes of the same kind.
export function peers(t: Timeline, e: Entry): Peers {
  const name = rowOf(t, e).name[e.index];
  const { kind } = t.lanes[e.lane];
  const own = rangeOf(t, e);
  const length = own.to - own.from;
  const lengths: number[] = [];
  const p: Peers = { count: 0, shorter: 0, median: 0, longest: e, shortest: e, merged: 0, previous: null, next: null };
  t.lanes.forEach((lane, l) => {
    if (lane.kind !== kind) return;
    lane.rows.forEach((row, r) => {
      for (let index = 0; index < row.size; index++) {
        if (row.name[index] !== name) continue;
        if (row.count[index] > 1) {
          p.merged += row.count[index];
          continue;
        }
        const one = { lane: l, row: r, index };
        const its = row.end[index] - row.start[index];
        lengths.push(its);
        if (its < length) p.shorter++;
        if (its > lengthOf(t, p.longest)) p.longest = one;
        if (its < lengthOf(t, p.shortest)) p.shortest = one;
        if (row.start[index] < own.from && (!p.previous || row.start[index] > rangeOf(t, p.previous).from)) p.previous = one;
        if (row.start[index] > own.from && (!p.next || row.start[index] < rangeOf(t, p.next).from)) p.next = one;
      }
    });
  });
  lengths.sort((a, b) => a - b);
  p.count = lengths.length;
  const half = (lengths.length - 1) / 2; // of an even count the middle of both
  p.median = ((lengths[Math.floor(half)] ?? 0) + (lengths[Math.ceil(half)] ?? 0)) / 2;
  return p;
}

const lengthIn = (lane: Lane, range: Range): number => tracedIn(lane, range).reduce((sum, w) => sum + w.to - w.from, 0);

// How much of the range was traced on the GPU: what was not traced did not vanish.
export function tracedShare(t: Timeline, range: Range): number {
  const gpu = t.lanes.find((l) => l.kind === 'stream');
  return gpu ? lengthIn(gpu, range) / Math.max(1, range.to - range.from) : 0;
}

// The share of the traced part in which the GPU worked; null: nothing of the range was traced.
export function busyShare(lane: Lane, range: Range): number | null {
  const [row] = lane.rows;
  const length = lengthIn(lane, range);
  return length > 0 ? tracedIn(lane, range).reduce((sum, w) => sum + row.busyBetween(w.from, w.to, row.endingAfter(w.from)), 0) / length : null;
}

// What the GPU did in a range of two runs, by name or by family, the largest change first.
export function compared(sides: Timeline[], ranges: Range[], byFamily: boolean): Pair[] {
  const rows = new Map<string, Pair>();
  sides.forEach((t, side) => {
    const family = new Map([...t.kernels].map(([name, k]) => [t.names[name], k.family]));
    for (const k of statistics(t, ranges[side]).gpu) {
      const name = byFamily ? (family.get(k.name) ?? '') : k.name;
      const p = rows.get(name) ?? rows.set(name, { name }).get(name)!;
      if (side) Object.assign(p, { now: (p.now ?? 0) + k.total, nowCount: (p.nowCount ?? 0) + k.count });
      else Object.assign(p, { before: (p.before ?? 0) + k.total, beforeCount: (p.beforeCount ?? 0) + k.count });
    }
  });
  const change = (p: Pair) => Math.abs((p.now ?? 0) - (p.before ?? 0));
  return [...rows.values()].sort((x, y) => change(y) - change(x));
}

// The sum of some nodes of a tree: one inside another is part of its time.
export function topmost(nodes: Node[]): number {
  const all = new Set(nodes);
  const inside = (n: Node | null): boolean => n !== null && (all.has(n) || inside(n.parent));
  return nodes.reduce((sum, n) => (inside(n.parent) ? sum : sum + n.total), 0);
}

// How often the program's threads waited for each GPU in a range, and how long.
export function waitsIn(t: Timeline, range: Range): Relative[] {
  return t.lanes.flatMap((lane) => {
    const one = { name: lane.name, count: 0, total: 0 };
    for (const row of lane.kind === 'wait' ? lane.rows : []) {
      for (let i = row.endingAfter(range.from); i < row.size && row.start[i] < range.to; i++) one.count += row.count[i];
      one.total += row.busyBetween(range.from, range.to, row.endingAfter(range.from));
    }
    return one.count ? [one] : [];
  });
}
