// Which lanes are shown and in which order: the usual one, and what the reader made of it.
import { arrangement, type Arrangement } from '../state';
import type { Lane, Timeline } from './data';
import { addFamilies } from './families';
import { videoRange } from '../video';

const KIND_ORDER = ['generation', 'block', 'step', 'iteration', 'rank', 'main', 'gpu', 'thread', 'track'];

function placeOf(l: Lane): string {
  if (l.kind === 'thread') return l.main ? 'main' : 'thread';
  return ['span', 'stream', 'busy', 'family', 'wait'].includes(l.kind) ? 'gpu' : l.kind;
}

// A thread that did nothing in the chosen video: of many processes each may have made one.
function isIdle(l: Lane): boolean {
  const r = videoRange();
  return r !== null && (l.kind === 'thread' || l.kind === 'track') && !l.rows.some((row) => row.start[row.endingAfter(r.from)] < r.to);
}

// What was made of the videos, the main threads, the GPUs, then every other thread, and those with nothing to show last.
function usualOrder(t: Timeline): number[] {
  const rank = (i: number) => {
    if (isIdle(t.lanes[i])) return KIND_ORDER.length + 1;
    const at = KIND_ORDER.indexOf(placeOf(t.lanes[i]));
    return at < 0 ? KIND_ORDER.length : at;
  };
  const within = (i: number) => (placeOf(t.lanes[i]) === 'gpu' ? (t.lanes[i].device ?? 0) * 3 + (t.lanes[i].kind === 'busy' || t.lanes[i].kind === 'wait' ? 0 : t.lanes[i].kind === 'family' ? 1 : 2) : 0);
  return t.lanes.map((_, i) => i).sort((a, b) => rank(a) - rank(b) || within(a) - within(b) || a - b);
}

const passes = (l: Lane, filter: string) => !filter.trim() || l.name.toLowerCase().includes(filter.trim().toLowerCase());

export function laneOrder(t: Timeline, a: Arrangement): number[] {
  if (a.families) addFamilies(t);
  const known = a.order.filter((i) => i < t.lanes.length);
  const all = known.length ? [...known, ...usualOrder(t).filter((i) => !known.includes(i))] : usualOrder(t);
  const shown = all.filter((i) => a.pinned.includes(i) || passes(t.lanes[i], a.filter)).filter((i) => a.families || t.lanes[i].kind !== 'family');
  return [...shown.filter((i) => a.pinned.includes(i)), ...shown.filter((i) => !a.pinned.includes(i))];
}

const without = (list: number[], lane: number) => list.filter((i) => i !== lane);

export function togglePin(lane: number): void {
  const a = arrangement.get();
  arrangement.set({ ...a, pinned: a.pinned.includes(lane) ? without(a.pinned, lane) : [...a.pinned, lane] });
}

// Rows that are left out come first; then one row; then as at the beginning.
export function toggleFold(lane: number, hidden: number, rows: number): void {
  const a = arrangement.get();
  const folded = without(a.folded, lane);
  const open = without(a.open, lane);
  if (a.folded.includes(lane)) arrangement.set({ ...a, folded, open });
  else if (hidden > 0) arrangement.set({ ...a, folded, open: [...open, lane] });
  else if (rows > 1) arrangement.set({ ...a, folded: [...folded, lane], open });
}

// The lane comes to stand where the other one is now.
export function moveLane(t: Timeline, lane: number, to: number): void {
  const a = arrangement.get();
  const order = laneOrder(t, { ...a, filter: '', pinned: [] });
  const target = order.indexOf(to);
  if (target < 0 || lane === to) return;
  const rest = without(order, lane);
  rest.splice(target, 0, lane);
  arrangement.set({ ...a, order: rest });
}
