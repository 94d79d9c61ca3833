// Which row lies where: pinned lanes on top, the others below them, folded ones with fewer rows.
import type { Arrangement } from '../state';
import type { Lane, Timeline } from './data';
import type { Row } from './row';

export interface Placed {
  lane: Lane;
  laneIndex: number;
  row: Row;
  rowIndex: number;
  y: number;
  height: number;
  pinned: boolean;
}

export interface Group {
  lane: Lane;
  laneIndex: number;
  y: number;
  height: number;
  hidden: number; // rows that are folded away
  pinned: boolean;
}

export interface Layout {
  rows: Placed[];
  groups: Group[];
  height: number;
  pinnedHeight: number; // stays in sight while the rest scrolls
}

export const LANE_GAP = 5;
const BUSY_LEAST = 24;

export function place(t: Timeline, rowHeight: number, mostRows: number, lanes: number[], a: Arrangement): Layout {
  const rows: Placed[] = [];
  const groups: Group[] = [];
  let y = 0;
  let pinnedHeight = 0;
  for (const laneIndex of lanes) {
    const lane = t.lanes[laneIndex];
    const pinned = a.pinned.includes(laneIndex);
    const most = a.open.includes(laneIndex) ? Infinity : a.folded.includes(laneIndex) ? 1 : mostRows;
    const shown = Math.min(lane.rows.length, most);
    const height = lane.kind === 'busy' ? Math.max(BUSY_LEAST, rowHeight) : rowHeight;
    const top = y;
    for (let r = 0; r < shown; r++) {
      rows.push({ lane, laneIndex, row: lane.rows[r], rowIndex: r, y, height, pinned });
      y += height;
    }
    y += LANE_GAP;
    if (pinned) pinnedHeight = y;
    groups.push({ lane, laneIndex, y: top, height: y - top, hidden: lane.rows.length - shown, pinned });
  }
  return { rows, groups, height: y, pinnedHeight };
}
