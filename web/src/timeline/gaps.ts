// Places to go to: where the main thread is in no zone, and where a name's calls lie.
import type { Range } from '../state';
import { busyOf } from './busy';
import type { Timeline } from './data';

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
