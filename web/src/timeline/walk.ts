// From entry to entry by the arrow keys: along a row, and from row to row.
import { arrangement, selection, view } from '../state';
import type { Timeline } from './data';
import { entryAt, rangeOf, rowOf, type Entry } from './entry';
import { toggleFold } from './lanes';
import type { Layout, Placed } from './layout';

const last = (list: Placed[]) => list[list.length - 1];

// The entry of a row that is nearest to a moment.
function near(p: Pick<Placed, 'row' | 'lane' | 'laneIndex' | 'rowIndex'>, t: number): Entry | null {
  const { row } = p;
  if (!row.size || p.lane.kind === 'busy') return null;
  let index = Math.min(row.size - 1, row.endingAfter(t));
  if (index > 0 && row.start[index] > t && t - row.end[index - 1] < row.start[index] - t) index--;
  return { lane: p.laneIndex, row: p.rowIndex, index };
}

function firstInView(layout: Layout): Entry | null {
  const v = view.get();
  for (const p of layout.rows) {
    const e = near(p, v.from);
    if (e && p.row.start[e.index] < v.to) return e;
  }
  return null;
}

export function arrowKey(t: Timeline, ev: KeyboardEvent, layout: Layout): Entry | null {
  if (!/^Arrow/.test(ev.key)) return null;
  const at = selection.get()?.entry;
  const e = at && entryAt(t, at);
  const here = e ? layout.rows.findLastIndex((p) => p.laneIndex === e.lane && p.rowIndex <= e.row) : -1;
  if (!e || here < 0) return firstInView(layout);
  if (ev.key === 'ArrowLeft') return { ...e, index: Math.max(0, e.index - 1) };
  if (ev.key === 'ArrowRight') return { ...e, index: Math.min(rowOf(t, e).size - 1, e.index + 1) };
  const { from, to } = rangeOf(t, e);
  const lane = t.lanes[e.lane];
  if (ev.key === 'ArrowDown' && e.row + 1 < lane.rows.length && layout.rows[here + 1]?.laneIndex !== e.lane && !arrangement.get().folded.includes(e.lane)) {
    toggleFold(e.lane, 1, lane.rows.length); // rows that there was no room for
    return near({ row: lane.rows[e.row + 1], lane, laneIndex: e.lane, rowIndex: e.row + 1 }, from);
  }
  const rest = ev.key === 'ArrowDown' ? layout.rows.slice(here + 1) : layout.rows.slice(0, here).reverse();
  const next = rest.find((p) => near(p, (from + to) / 2)) ?? last(rest);
  return (next && near(next, ev.key === 'ArrowDown' && next.laneIndex === e.lane ? from : (from + to) / 2)) ?? e;
}
