// What happened between two moments: from the zones themselves where all of
// them are there, else from the profile's bins, and then it says so.
import type { Range } from '../state';
import { derived, type Timeline } from './data';

export interface NameTime {
  name: string;
  total: number; // ns inside the range
  count: number; // zones that touch the range
}

export interface RangeStatistics {
  names: NameTime[];
  exact: boolean;
  resolutionNs: number;
}

const WALK_MOST = 200_000;

export function statistics(t: Timeline, range: Range): RangeStatistics {
  const exact = fromZones(t, range);
  if (exact) return exact;
  return fromProfile(t, range);
}

function fromZones(t: Timeline, range: Range): RangeStatistics | null {
  const sums = new Map<number, NameTime>();
  let walked = 0;
  for (const lane of t.lanes) {
    if (derived(lane.kind)) continue;
    for (const row of lane.rows) {
      for (let i = row.firstEndingAfter(range.from); i < row.size && row.start[i] < range.to; i++) {
        if (row.count[i] > 1 || ++walked > WALK_MOST) return null;
        const inside = Math.min(row.end[i], range.to) - Math.max(row.start[i], range.from);
        let s = sums.get(row.name[i]);
        if (!s) sums.set(row.name[i], (s = { name: t.names[row.name[i]], total: 0, count: 0 }));
        s.total += inside;
        s.count++;
      }
    }
  }
  return { names: sorted([...sums.values()]), exact: true, resolutionNs: 0 };
}

function fromProfile(t: Timeline, range: Range): RangeStatistics {
  const p = t.profile;
  if (!p) return { names: [], exact: false, resolutionNs: 0 };
  const names = p.names.map((name, i) => {
    const bins = p.total[i];
    let total = 0;
    let count = 0;
    const from = range.from - p.startNs;
    const to = range.to - p.startNs;
    const last = Math.min(bins.length - 1, Math.floor(to / p.binNs));
    for (let b = Math.max(0, Math.floor(from / p.binNs)); b <= last; b++) {
      const inside = Math.min(to, (b + 1) * p.binNs) - Math.max(from, b * p.binNs);
      const share = inside / p.binNs;
      total += bins[b] * share;
      count += p.count[i][b] * share;
    }
    return { name: t.names[name], total, count: Math.round(count) };
  });
  return { names: sorted(names.filter((n) => n.total > 0)), exact: false, resolutionNs: p.binNs };
}

function sorted(names: NameTime[]): NameTime[] {
  return names.sort((a, b) => b.total - a.total);
}
