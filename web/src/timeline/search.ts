// Names that the search or the selection speaks of, and the zones that have them.
import { sameStage, shortName } from '../format';
import { search, selection, view } from '../state';
import { derived, type Timeline } from './data';
import { pick, type Entry } from './entry';

function namesWith(data: Timeline, text: string): Set<number> {
  const lower = text.trim().toLowerCase();
  return new Set(data.names.flatMap((n, i) => (`${n}\n${shortName(n)}`.toLowerCase().includes(lower) ? [i] : [])));
}

let last: { data: Timeline; text: string; name: string | undefined; found: Set<number> | null } | null = null; // every frame asks

export function wantedNames(data: Timeline): Set<number> | null {
  const text = search.get().trim();
  const s = selection.get();
  const name = s?.entry ? undefined : s?.name; // a single zone is outlined; the others stay as they are
  if (last?.data !== data || last.text !== text || last.name !== name) last = { data, text, name, found: findNames(data, text, name) };
  return last.found;
}

function findNames(data: Timeline, text: string, name: string | undefined): Set<number> | null {
  if (text) return namesWith(data, text);
  if (name === undefined) return null;
  const out = new Set(data.names.flatMap((n, i) => (sameStage(name, n) ? [i] : [])));
  return out.size ? out : null;
}

export interface Found {
  names: number;
  zones: number;
  ns: number; // inside them, added up
  merged: boolean;
}

// Zones whose name holds the text; merged ones are counted by the name of the longest of them.
export function countFound(data: Timeline, text: string): Found {
  const wanted = namesWith(data, text);
  const found = { names: 0, zones: 0, ns: 0, merged: false };
  const seen = new Set<number>();
  for (const lane of data.lanes) {
    if (derived(lane.kind)) continue;
    for (const row of lane.rows) {
      for (let i = 0; i < row.size; i++) {
        if (!wanted.has(row.name[i])) continue;
        seen.add(row.name[i]);
        found.zones += row.count[i];
        found.ns += row.busy[i];
        if (row.mixed[i]) found.merged = true;
      }
    }
  }
  found.names = seen.size;
  return found;
}

// The next zone that the search finds, from the middle of the picture on.
export function findNext(data: Timeline, forward: boolean): boolean {
  const wanted = wantedNames(data);
  if (!wanted) return false;
  const v = view.get();
  const s = selection.get();
  const from = s && s.to > v.from && s.from < v.to ? s.from : forward ? v.from : v.to;
  let best: Entry | null = null;
  let at = 0;
  data.lanes.forEach((lane, l) => {
    if (derived(lane.kind)) return;
    lane.rows.forEach((row, r) => {
      let i = row.startingAt(forward ? from + 1 : from);
      if (!forward) i--;
      const worse = () => best !== null && (forward ? row.start[i] >= at : row.start[i] <= at);
      for (; i >= 0 && i < row.size && !worse(); i += forward ? 1 : -1) {
        if (!wanted.has(row.name[i])) continue;
        best = { lane: l, row: r, index: i };
        at = row.start[i];
        break;
      }
    });
  });
  if (best) pick(data, best);
  return best !== null;
}
