// The calls of a range as one tree: zones of the same path are one node. By wall time, by CPU time, by the
// GPU time that they launched, by the memory that rose while they ran, or of the Python functions that were sampled.
// In order of size, or of when they first began.
import type { Stage } from '../report';
import type { Range } from '../state';
import type { Timeline } from './data';
import { rowOf, type Entry } from './entry';
import type { Row } from './row';

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

const OUTSIDE = 'no zone open';

const WALK_MOST = 300_000;

const fresh = (name: string, parent: Node | null): Node => ({ name, total: 0, self: 0, count: 0, first: Infinity, below: [], parent });

function childOf(n: Node, name: string, index: Map<Node, Map<string, Node>>): Node {
  let names = index.get(n);
  if (!names) index.set(n, (names = new Map()));
  let c = names.get(name);
  if (!c) {
    names.set(name, (c = fresh(name, n)));
    n.below.push(c);
  }
  return c;
}

// null: too many zones in the range, or merged ones, of which only names and sums are known.
export function callTree(t: Timeline, range: Range, measure: Measure): Node | null {
  const root = fresh('all threads', null);
  const index = new Map<Node, Map<string, Node>>();
  if (measure === 'samples' || measure === 'samples-cpu') return sampledTree(t, range, root, index, measure === 'samples-cpu');
  if (measure !== 'wall' && measure !== 'gpu') return sharedTree(t, range, root, index, measure);
  let left = WALK_MOST;
  for (const [l, lane] of t.lanes.entries()) {
    if (lane.kind !== 'thread' && lane.kind !== 'track') continue;
    const entries: { e: Entry; start: number; end: number }[] = [];
    for (const [r, row] of lane.rows.entries()) {
      for (let i = row.firstEndingAfter(range.from); i < row.size && row.start[i] < range.to; i++) {
        if (row.count[i] > 1 || left-- <= 0) return null;
        entries.push({ e: { lane: l, row: r, index: i }, start: row.start[i], end: row.end[i] });
      }
    }
    entries.sort((a, b) => a.start - b.start || a.e.row - b.e.row);
    const open: { end: number; row: number; node: Node }[] = [];
    for (const { e, start, end } of entries) {
      while (open.length && (open[open.length - 1].row >= e.row || open[open.length - 1].end < end)) open.pop();
      const node = childOf(open.length ? open[open.length - 1].node : root, t.names[rowOf(t, e).name[e.index]], index);
      node.count++;
      node.first = Math.min(node.first, start);
      if (measure === 'wall') node.total += Math.min(end, range.to) - Math.max(start, range.from);
      open.push({ end, row: e.row, node });
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

interface Amount {
  from: number;
  to: number;
  lane: number; // < 0: a thread without zones
  amount: number;
  name?: string; // of such a thread
}

// CPU time since the thread was looked at before; memory that came between two readings.
function amountsOf(t: Timeline, measure: Measure): Amount[] {
  if (measure === 'cpu') return t.samples.flatMap((s) => (s.cpuNs > 0 ? { from: s.at - (s.ns || s.cpuNs), to: s.at, lane: s.lane, amount: s.cpuNs, name: s.ns ? undefined : t.names[s.stack[0]] } : []));
  const device = Number(measure.slice(6));
  return t.memory.filter((m) => m.device === device).map((m) => ({ from: m.from, to: m.to, lane: m.lane, amount: m.bytes }));
}

// Each amount is shared by the innermost zones of its thread, by how long each ran meanwhile.
function sharedTree(t: Timeline, range: Range, root: Node, index: Map<Node, Map<string, Node>>, measure: Measure): Node | null {
  let left = WALK_MOST;
  const share = (rows: Row[], depth: number, node: Node, a: Amount, from: number, to: number): void => {
    const row = rows[depth];
    let used = 0;
    for (let i = row ? row.firstEndingAfter(from) : 0; row && i < row.size && (row.start[i] < to || (from === to && row.start[i] <= to)); i++) {
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
      for (let i = row.firstEndingAfter(range.from); row.launches && i < row.size && row.start[i] < range.to; i++) {
        const by = row.launches.lane[i];
        if (by < 0) continue;
        let node = root;
        for (const at of t.lanes[by].rows) {
          const k = at.firstEndingAfter(row.launches.at[i]);
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

export interface Relative {
  name: string;
  total: number;
  count: number;
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

export const hasLaunches = (t: Timeline): boolean => t.lanes.some((l) => l.kind === 'stream' && l.rows.some((r) => r.launches));

export const hasCpu = (t: Timeline): boolean => t.samples.some((s) => s.cpuNs > 0);
export const memorySources = (t: Timeline): number[] => [...new Set(t.memory.map((m) => m.device))].sort((a, b) => b - a);
