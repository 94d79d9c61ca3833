// One lane per family of kernels and GPU, made when the reader asks for them: what each stream did, sorted by what it is.
import type { Lane, Timeline } from './data';
import { Row } from './row';

const ROWS_MOST = 8; // of kernels that run at one time

interface Work {
  row: Row;
  index: number;
}

const familyOf = (t: Timeline, w: Work) => t.kernels.get(w.row.name[w.index])?.family ?? '';

function sorted(t: Timeline, device: number): Map<string, Work[]> {
  const found = new Map<string, Work[]>();
  for (const lane of t.lanes) {
    const row = lane.rows[0];
    if (lane.kind !== 'stream' || (lane.device ?? 0) !== device || !row) continue;
    for (let index = 0; index < row.size; index++) {
      const family = familyOf(t, { row, index });
      const all = found.get(family);
      if (all) all.push({ row, index });
      else found.set(family, [{ row, index }]);
    }
  }
  return found;
}

// The first row that is free again takes the next kernel.
function packed(work: Work[]): Row[] {
  const rows: Work[][] = [];
  const ends: number[] = [];
  work.sort((a, b) => a.row.start[a.index] - b.row.start[b.index]);
  for (const w of work) {
    let at = ends.findIndex((end) => end <= w.row.start[w.index]);
    if (at < 0 && rows.length === ROWS_MOST) continue;
    if (at < 0) at = rows.push([]) - 1;
    rows[at].push(w);
    ends[at] = w.row.end[w.index];
  }
  return rows.map(rowOf);
}

function rowOf(work: Work[]): Row {
  const of = (pick: (r: Row) => ArrayLike<number>) => work.map((w) => pick(w.row)[w.index]);
  const row = new Row(Float64Array.from(of((r) => r.start)), Float64Array.from(of((r) => r.end)), Uint32Array.from(of((r) => r.name)), Uint32Array.from(of((r) => r.count)), Float64Array.from(of((r) => r.busy)), Uint8Array.from(of((r) => r.mixed)), Math.max(...work.slice(0, 1).map((w) => w.row.mergeNs)));
  row.more = Float64Array.from(work, (w) => w.row.more?.[w.index] ?? 0);
  row.launches = { lane: Int32Array.from(work, (w) => w.row.launches?.lane[w.index] ?? -2), at: Float64Array.from(work, (w) => w.row.launches?.at[w.index] ?? 0) };
  return row;
}

export const hasFamilies = (t: Timeline): boolean => t.kernels.size > 0;

// Once; the busiest family first.
export function addFamilies(t: Timeline): void {
  if (t.lanes.some((l) => l.kind === 'family')) return;
  const streams = t.lanes.filter((l) => l.kind === 'stream');
  const made: Lane[] = [...new Set(streams.map((l) => l.device ?? 0))].flatMap((device) =>
    [...sorted(t, device)].map(([family, work]) => {
      const rows = packed(work);
      return { ...streams[0], kind: 'family', name: `GPU ${device} ${family}`, device, rows, zones: rows.reduce((n, r) => n + r.zones, 0), mergeNs: 0 };
    }),
  );
  const busy = (l: Lane) => l.rows.reduce((n, r) => n + r.busyIn(0, r.size), 0);
  t.lanes.push(...made.sort((a, b) => busy(b) - busy(a)));
}
