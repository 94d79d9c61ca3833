// Two runs on one axis: their lanes below each other, and a moment of one laid on a moment of the other.
import type { Range } from '../state';
import type { Lane, Timeline } from './data';
import { Row } from './row';

// Entries of all lanes of a kind, in order of time.
export function momentsOf(t: Timeline, kind: string, within?: Range): Range[] {
  const all: Range[] = [];
  for (const l of t.lanes) if (l.kind === kind) for (const r of l.rows) for (let i = 0; i < r.size; i++) if (r.count[i] === 1 && (!within || (r.start[i] >= within.from && r.start[i] < within.to))) all.push({ from: r.start[i], to: r.end[i] });
  return all.sort((a, b) => a.from - b.from);
}

function moved(r: Row, by: number, names: number[], lanes: number, shapes: number): Row {
  const add = (v: Float64Array) => v.map((one) => one + by);
  const row = new Row(add(r.start), add(r.end), r.name.map((n) => names[n] ?? 0), r.count, r.busy, r.mixed, r.mergeNs);
  row.more = r.more && (shapes ? r.more.map((m) => (m ? m + shapes : 0)) : r.more);
  if (r.launches) row.launches = { lane: r.launches.lane.map((l) => (l < 0 ? l : l + lanes)), at: add(r.launches.at) };
  return row;
}

// Both with their moment at 0; the first run's lanes stand above the second's of the same kind.
export function pair(sides: [string, Timeline, number][]): Timeline {
  const names: string[] = [];
  const known = new Map<string, number>();
  const lanes: Lane[] = [];
  const details: Timeline['details'] = new Map();
  const kernels: Timeline['kernels'] = new Map();
  const shapes: number[][] = [];
  const nameOf = (n: string) => {
    if (!known.has(n)) known.set(n, names.push(n) - 1);
    return known.get(n)!;
  };
  for (const [side, t, at] of sides) {
    const own = t.names.map(nameOf);
    const first = lanes.length;
    lanes.push(...t.lanes.map((l) => ({ ...l, name: `${side} ${l.name}`, traced: l.traced && l.traced.map((w) => ({ from: w.from - at, to: w.to - at })), rows: l.rows.map((r, i) => moved(r, -at, own, first, l.kind === 'stream' && i === 0 ? shapes.length : 0)) })));
    shapes.push(...t.shapes);
    for (const [name, kernel] of t.kernels) kernels.set(own[name], kernel);
    for (const [key, attributes] of t.details) {
      const [lane, row, start] = key.split('.').map(Number);
      details.set(`${lane + first}.${row}.${start - at}`, attributes);
    }
  }
  const all = sides.map(([, t]) => t);
  const sum = (of: (t: Timeline) => number) => all.reduce((n, t) => n + of(t), 0);
  return {
    ...all[0],
    startNs: Math.min(...sides.map(([, t, at]) => t.startNs - at)),
    endNs: Math.max(...sides.map(([, t, at]) => t.endNs - at)),
    foldedNs: 0,
    names,
    lanes,
    samples: [],
    memory: [],
    kernels,
    shapes,
    marks: sides.flatMap(([, t, at]) => t.marks.map((m) => ({ ...m, at: m.at - at }))),
    profile: null,
    gpuProfile: null,
    details,
    zones: sum((t) => t.zones),
    merged: all.some((t) => t.merged),
    cutLanes: sum((t) => t.cutLanes),
    tooDeep: sum((t) => t.tooDeep),
  };
}
