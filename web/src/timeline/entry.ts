// One entry of the timeline and what it has to do with: what is around and inside it,
// others of its name, who launched it, what it launched.
import { marksAt } from './marked';
import { bytes, count, keyed, memory, nanos } from '../format';
import { select, type EntryPlace, type Range, type Selection } from '../state';
import { title } from '../words';
import { derived, entriesOf, type Lane, type Timeline } from './data';
import type { Row } from './row';

export interface Entry {
  lane: number;
  row: number;
  index: number;
}

export const rowOf = (t: Timeline, e: Entry): Row => t.lanes[e.lane].rows[e.row];
export const nameOf = (t: Timeline, e: Entry): string => t.names[rowOf(t, e).name[e.index]];
export const rangeOf = (t: Timeline, e: Entry): Range => ({ from: rowOf(t, e).start[e.index], to: rowOf(t, e).end[e.index] });
export const lengthOf = (t: Timeline, e: Entry) => rangeOf(t, e).to - rangeOf(t, e).from;

export function entryAt(t: Timeline, p: EntryPlace): Entry | null {
  const row = t.lanes[p.lane]?.rows[p.row];
  if (!row) return null;
  const index = row.startingAt(p.start);
  return index < row.size && row.start[index] === p.start ? { lane: p.lane, row: p.row, index } : null;
}

export function selectionOf(t: Timeline, e: Entry): Selection {
  const row = rowOf(t, e);
  const name = nameOf(t, e);
  const n = row.count[e.index];
  const again = derived(t.lanes[e.lane].kind);
  return {
    ...rangeOf(t, e),
    label: n > 1 ? `${count(n)} merged zones` : name,
    name: again || n > 1 ? undefined : name,
    entry: { lane: e.lane, row: e.row, start: row.start[e.index] },
  };
}

export const pick = (t: Timeline, e: Entry): void => select(selectionOf(t, e));

export function describe(t: Timeline, e: Entry): [string, string][] {
  const row = rowOf(t, e);
  const lane = t.lanes[e.lane];
  const out: [string, string][] = [];
  const start = row.start[e.index];
  const n = row.count[e.index];
  if (n > 1) {
    out.push(['merged', `${count(n)} zones, each shorter than ${nanos(row.mergeNs)}`]);
    out.push([row.mixed[e.index] ? 'longest of them' : 'all of them', nameOf(t, e)]);
    out.push(['busy', `${nanos(row.busy[e.index])} of ${nanos(row.end[e.index] - start)}`]);
    out.push(['mean', nanos(row.busy[e.index] / n)]);
  } else {
    out.push(['duration', nanos(row.end[e.index] - start)]);
  }
  out.push(['start', `${(start / 1e9).toFixed(6)}\u00a0s`]);
  out.push(['lane', lane.name + (lane.rows.length > 1 && !['stream', 'family', 'wait', 'rank'].includes(lane.kind) ? `, depth ${e.row}` : '')]);
  if (lane.kind === 'step') for (const m of marksAt(start)) out.push([m.kind, m.words]);
  out.push(...workFacts(t, e));
  for (const [k, v] of Object.entries(attributesOf(t, e))) if (k !== 'flops_shape') out.push([title(k), keyed(k, v)]); // strobe's own
  return out;
}

const times = (v: number[]) => v.map((n) => count(n)).join(' × ');

// How a kernel was launched and what it does; what a copy moved, and how fast.
export function workFacts(t: Timeline, e: Entry): [string, string][] {
  const row = rowOf(t, e);
  const { kind } = t.lanes[e.lane];
  if ((kind !== 'stream' && kind !== 'family') || row.count[e.index] > 1) return [];
  const more = row.more?.[e.index] ?? 0;
  const ns = row.end[e.index] - row.start[e.index];
  if (e.row > 0 && kind === 'stream') return more > 0 ? [['moved', bytes(more - 1)], ...(ns > 0 ? [['rate', keyed('_bytes_per_s', ((more - 1) * 1e9) / ns)] as [string, string]] : [])] : [];
  const k = t.kernels.get(row.name[e.index]);
  const s = more > 0 ? t.shapes[more - 1] : undefined;
  const out: [string, string][] = k ? [['family', [k.family, k.kind, k.precision].filter(Boolean).join(', ')]] : [];
  if (s) out.push(['grid', `${times(s.slice(0, 3))} blocks`], ['block', `${times(s.slice(3, 6))} threads`], ['registers', `${s[6]} of a thread`], ['shared memory', s[7] ? `${memory(s[7])} of a block` : 'none']);
  return out;
}

export function attributesOf(t: Timeline, e: Entry): Record<string, unknown> {
  return t.details.get(`${e.lane}.${e.row}.${rowOf(t, e).start[e.index]}`) ?? {};
}

// What a lane's name stands for: shown where the pointer rests on it.
export function describeLane(lane: Lane, hidden: number): [string, string][] {
  const what: Record<string, string> = {
    thread: 'zones of this thread, outermost on top',
    track: 'spans and tasks, outermost on top',
    span: 'sections from event to event on this stream, outermost on top; may hold idle time',
    stream: lane.rows.length > 1 ? 'kernels above, copies and fills below' : 'kernels',
    step: 'steps of the threads below; ▲ slower than its peers, ○ served by a cache, ‖ guided',
    family: 'kernels of this family, of all streams of the GPU',
    wait: 'calls of any thread that wait for the GPU; a selected one has an arrow from its thread',
    busy: "how much of each pixel's time any stream of this GPU worked",
  };
  const out: [string, string][] = lane.kind === 'busy' ? [] : [['holds', `${count(lane.zones)} ${entriesOf(lane)}`]];
  if (what[lane.kind]) out.push(['shows', what[lane.kind]]);
  else if (derived(lane.kind)) out.push(['shows', 'zones of the threads below once more']);
  if (lane.traced) out.push(['hatched', 'kernels were not traced then']);
  if (lane.note) out.push(['note', lane.note]);
  out.push(['click', hidden ? `shows ${hidden} more ${hidden === 1 ? 'row' : 'rows'}` : lane.rows.length > 1 ? 'shows one row of it only' : '']);
  out.push(['drag, ⌖', 'moves it; keeps it on top']);
  return out.filter(([, v]) => v);
}

// The entry of a row that holds the moment.
export function covering(t: Timeline, lane: number, row: number, moment: number): Entry | null {
  const r = t.lanes[lane].rows[row];
  const index = r.endingAfter(moment);
  return index < r.size && r.start[index] <= moment ? { lane, row, index } : null;
}

export const nests = (t: Timeline, lane: number) => ['thread', 'track', 'span'].includes(t.lanes[lane].kind);

// The zones around it, the outermost first.
export function parents(t: Timeline, e: Entry): Entry[] {
  if (!nests(t, e.lane)) return [];
  const { from, to } = rangeOf(t, e);
  const out: Entry[] = [];
  for (let row = 0; row < e.row; row++) {
    const p = covering(t, e.lane, row, from);
    if (p && rangeOf(t, p).to >= to) out.push(p);
  }
  return out;
}

export function launchedEntries(t: Timeline, e: Entry): Entry[] {
  const found: Entry[] = [];
  if (t.lanes[e.lane].kind !== 'thread') return found;
  const { from, to } = rangeOf(t, e);
  t.lanes.forEach((lane, l) => {
    if (lane.kind !== 'stream') return;
    lane.rows.forEach((row, r) => {
      if (!row.launches) return;
      // Work on a stream is launched in order: it begins at its launch or later.
      for (let index = row.endingAfter(from); index < row.size; index++) {
        if (row.launches.lane[index] !== e.lane) continue;
        if (row.launches.at[index] >= to) break;
        if (row.launches.at[index] >= from) found.push({ lane: l, row: r, index });
      }
    });
  });
  return found;
}

export interface Launch {
  at: number;
  delay: number; // until it began on the GPU
  lane: number; // -1: of a thread that has none
  zones: Entry[]; // that were open, the outermost first
}

export function launchOf(t: Timeline, e: Entry): Launch | null {
  const row = rowOf(t, e);
  if (!row.launches || row.launches.lane[e.index] === -2) return null;
  const at = row.launches.at[e.index];
  const lane = row.launches.lane[e.index];
  const zones = lane < 0 ? [] : t.lanes[lane].rows.flatMap((_, r) => covering(t, lane, r, at) ?? []);
  return { at, delay: row.start[e.index] - at, lane, zones };
}

export interface Arrow {
  lane: number; // of the thread that launched
  row: number;
  at: number;
  start: number; // of what was launched
  to: Entry;
}

const ARROWS_MOST = 100_000;
let lastArrows: { t: Timeline; key: string; found: Arrow[] } | null = null; // every frame asks

// A kernel's launch, or the launches of a zone.
export function launchArrows(t: Timeline, e: Entry): Arrow[] {
  const key = `${e.lane}.${e.row}.${e.index}`;
  if (lastArrows?.t !== t || lastArrows.key !== key) lastArrows = { t, key, found: findArrows(t, e) };
  return lastArrows.found;
}

function findArrows(t: Timeline, e: Entry): Arrow[] {
  if (['stream', 'family', 'wait'].includes(t.lanes[e.lane].kind)) {
    const launch = launchOf(t, e);
    return launch && launch.lane >= 0 ? [{ lane: launch.lane, row: Math.max(0, launch.zones.length - 1), at: launch.at, start: rangeOf(t, e).from, to: e }] : [];
  }
  return launchedEntries(t, e)
    .slice(0, ARROWS_MOST)
    .map((to) => ({ lane: e.lane, row: e.row, at: rowOf(t, to).launches!.at[to.index], start: rangeOf(t, to).from, to }));
}

// The entry of a name, in lanes that pass, whose length comes nearest (Infinity: the longest); null: none of them is single.
export function nearest(t: Timeline, named: (name: string) => boolean, seconds: number, passes: (l: Lane) => boolean, within?: Range): Entry | null {
  const wanted = new Set(t.names.flatMap((n, i) => (named(n) ? [i] : [])));
  let best: Entry | null = null;
  let off = Infinity;
  t.lanes.forEach((lane, l) => {
    if (!passes(lane)) return;
    lane.rows.forEach((row, r) => {
      for (let index = within ? row.endingAfter(within.from - 1) : 0; index < row.size && (!within || row.start[index] <= within.to); index++) {
        if (!wanted.has(row.name[index]) || row.count[index] > 1) continue;
        const length = row.end[index] - row.start[index];
        const away = seconds === Infinity ? -length : Math.abs(length - seconds * 1e9);
        if (away < off) {
          off = away;
          best = { lane: l, row: r, index };
        }
      }
    });
  });
  return best;
}

