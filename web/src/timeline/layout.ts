// Which row lies where: lanes from top to bottom, folded ones show fewer rows.
import type { Lane, Timeline } from './data';
import type { Row } from './row';

export interface Placed {
  lane: Lane;
  laneIndex: number;
  row: Row;
  rowIndex: number;
  y: number;
  height: number;
}

export interface Group {
  lane: Lane;
  laneIndex: number;
  y: number;
  height: number;
  hidden: number; // rows that are folded away
}

export interface Layout {
  rows: Placed[];
  groups: Group[];
  height: number;
}

export function place(t: Timeline, rowHeight: number, mostRows: number, lanes: number[], open: Set<number>): Layout {
  const rows: Placed[] = [];
  const groups: Group[] = [];
  let y = 0;
  for (const laneIndex of lanes) {
    const lane = t.lanes[laneIndex];
    const shown = open.has(laneIndex) ? lane.rows.length : Math.min(lane.rows.length, mostRows);
    const top = y;
    for (let r = 0; r < shown; r++) {
      rows.push({ lane, laneIndex, row: lane.rows[r], rowIndex: r, y, height: rowHeight });
      y += rowHeight;
    }
    y += 5;
    groups.push({ lane, laneIndex, y: top, height: y - top, hidden: lane.rows.length - shown });
  }
  return { rows, groups, height: y };
}
