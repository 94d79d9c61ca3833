// The zones that touch a range, and which of a lane's are inside one of their own name.
import type { Range } from '../state';
import type { Lane, Timeline } from './data';

export interface Zone {
  name: number;
  depth: number;
  start: number;
  end: number;
}

// A lane's zones that touch the range, outer ones before what they hold; null: too many, or merged.
export function inRange(lane: Lane, range: Range, most: number): Zone[] | null {
  const out: Zone[] = [];
  for (const [depth, row] of lane.rows.entries()) {
    for (let i = row.endingAfter(range.from); i < row.size && row.start[i] < range.to; i++) {
      if (row.count[i] > 1 || out.length >= most) return null;
      out.push({ name: row.name[i], depth, start: row.start[i], end: row.end[i] });
    }
  }
  return lane.rows.length > 1 ? out.sort((a, b) => a.start - b.start || a.depth - b.depth) : out;
}

// Is a zone inside one of its own name? Depths tell of threads and tasks. Streams are timed to a few µs: a span
// that reaches a little beyond the one around it is still inside it.
export function nesting(lane: Lane): (e: Zone, until: number) => boolean {
  const open: Zone[] = []; // by depth
  if (lane.overlap) return () => false;
  if (lane.kind === 'span' || lane.kind === 'stream') return (e, until) => Math.min(e.end, until) - e.start > (e.end - e.start) / 2;
  return (e) => {
    open.length = Math.min(open.length, e.depth);
    const again = open.some((o) => o?.name === e.name && o.end >= e.end);
    open[e.depth] = e;
    return again;
  };
}

// From the first zone of a name to the last, inside a range.
export function extent(t: Timeline, named: (name: string) => boolean, range: Range): Range | null {
  const wanted = new Set(t.names.flatMap((n, i) => (named(n) ? [i] : [])));
  const found = { from: Infinity, to: -Infinity };
  for (const lane of t.lanes) {
    if (lane.kind !== 'thread' && lane.kind !== 'track') continue;
    for (const row of lane.rows) {
      for (let i = row.endingAfter(range.from); i < row.size && row.start[i] < range.to; i++) {
        if (!wanted.has(row.name[i])) continue;
        found.from = Math.min(found.from, row.start[i]);
        found.to = Math.max(found.to, row.end[i]);
      }
    }
  }
  return found.to > found.from ? { from: Math.max(found.from, range.from), to: Math.min(found.to, range.to) } : null;
}
