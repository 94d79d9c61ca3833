// What a tree of calls is made of: zones of the same path are one node. By wall time, by CPU time, by the GPU time
// that they launched, by the memory that rose while they ran, or of the Python functions that were sampled.
// statistics.ts has the sums.
import type { Timeline } from './data';

export interface Node {
  name: string;
  total: number; // ns, or bytes of memory, inside the range
  self: number;
  count: number;
  first: number;
  below: Node[];
  parent: Node | null;
}

export type Measure = 'wall' | 'cpu' | 'gpu' | 'samples' | 'samples-cpu' | `memory${number}`;

export const OUTSIDE = 'no zone open';

export const fresh = (name: string, parent: Node | null): Node => ({ name, total: 0, self: 0, count: 0, first: Infinity, below: [], parent });

export function childOf(n: Node, name: string, index: Map<Node, Map<string, Node>>): Node {
  let names = index.get(n);
  if (!names) index.set(n, (names = new Map()));
  let c = names.get(name);
  if (!c) {
    names.set(name, (c = fresh(name, n)));
    n.below.push(c);
  }
  return c;
}

export interface Amount {
  from: number;
  to: number;
  lane: number; // < 0: a thread without zones
  amount: number;
  name?: string; // of such a thread
}

// CPU time since the thread was looked at before; memory that came between two readings.
export function amountsOf(t: Timeline, measure: Measure): Amount[] {
  if (measure === 'cpu') return t.samples.flatMap((s) => (s.cpuNs > 0 ? { from: s.at - (s.ns || s.cpuNs), to: s.at, lane: s.lane, amount: s.cpuNs, name: s.ns ? undefined : t.names[s.stack[0]] } : []));
  const device = Number(measure.slice(6));
  return t.memory.filter((m) => m.device === device).map((m) => ({ from: m.from, to: m.to, lane: m.lane, amount: m.bytes }));
}

export const hasLaunches = (t: Timeline): boolean => t.lanes.some((l) => l.kind === 'stream' && l.rows.some((r) => r.launches));

export const hasCpu = (t: Timeline): boolean => t.samples.some((s) => s.cpuNs > 0);
export const memorySources = (t: Timeline): number[] => [...new Set(t.memory.map((m) => m.device))].sort((a, b) => b - a);
