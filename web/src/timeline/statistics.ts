// What happened between two moments: from the zones themselves where all of
// them are there, else from the profile's bins, and then it says so. Zones of
// the CPU, spans of a stream and work on the GPU are three things: never one sum.
import type { Range } from '../state';
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

let last: { t: Timeline; range: Range; found: RangeStatistics } | null = null; // several tables ask for the same

export function statistics(t: Timeline, range: Range): RangeStatistics {
  if (last?.t !== t || last.range.from !== range.from || last.range.to !== range.to) last = { t, range, found: fromZones(t, range) ?? fromProfile(t, range) };
  return last.found;
}

interface Entry {
  name: number;
  start: number;
  end: number;
}

// A lane's zones that touch the range, outer ones before what they hold; null: too many, or merged.
function inRange(lane: Lane, range: Range, most: number): Entry[] | null {
  const out: Entry[] = [];
  for (const row of lane.rows) {
    for (let i = row.firstEndingAfter(range.from); i < row.size && row.start[i] < range.to; i++) {
      if (row.count[i] > 1 || out.length >= most) return null;
      out.push({ name: row.name[i], start: row.start[i], end: row.end[i] });
    }
  }
  return lane.rows.length > 1 ? out.sort((a, b) => a.start - b.start || b.end - a.end) : out;
}

type Sums = Map<number, NameTime>;

function sumOf(sums: Sums, t: Timeline, name: number): NameTime {
  let s = sums.get(name);
  if (!s) sums.set(name, (s = { name: t.names[name], total: 0, count: 0, nested: 0, length: 0 }));
  return s;
}

// Streams are timed to a few µs: a span that reaches a little beyond the one around it is still inside it.
function addLane(sums: Sums, t: Timeline, lane: Lane, entries: Entry[], range: Range): void {
  const until = new Map<number, number>(); // per name, the end of what was seen
  for (const e of entries) {
    const s = sumOf(sums, t, e.name);
    const last = until.get(e.name) ?? -Infinity;
    const from = Math.max(e.start, range.from);
    const to = Math.min(e.end, range.to);
    s.total += Math.max(0, to - Math.max(from, last));
    if (lane.kind !== 'track' && Math.min(e.end, last) - e.start > (e.end - e.start) / 2) s.nested++;
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
  const to = range.to - p.startNs;
  const names = p.names.map((name, i): NameTime => {
    const bins = p.total[i];
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
