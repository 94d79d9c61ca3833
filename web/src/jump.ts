// From a row of a table, a finding or an extreme to its place in the timeline.
import { sameStage } from './format';
import { select, type Range } from './state';
import type { Stage } from './report';
import type { Timeline } from './timeline/data';
import { covering, nearest, pick, rangeOf, type Entry } from './timeline/entry';

let timeline: Timeline | null = null;

export function setTimeline(t: Timeline | null): void {
  timeline = t;
}

export const hasTimeline = (): boolean => timeline !== null;

const CLOSE = 0.02; // of its length: the report's seconds are rounded

// The entry on lanes of this kind that lies where the report says.
function entryNear(t: Timeline, kind: string, at: Range): Entry | null {
  for (let lane = 0; lane < t.lanes.length; lane++) {
    if (t.lanes[lane].kind !== kind) continue;
    for (let row = 0; row < t.lanes[lane].rows.length; row++) {
      const e = covering(t, lane, row, (at.from + at.to) / 2);
      if (e && Math.abs(rangeOf(t, e).from - at.from) <= Math.max(2000, CLOSE * (at.to - at.from))) return e;
    }
  }
  return null;
}

// A moment with a length: selecting it selects its range everywhere; kind: the lane where its zone is.
export function jumpTo(label: string, t: number | undefined, length: number | undefined, kind?: string): void {
  if (t === undefined) return;
  const at = { from: t * 1e9, to: (t + Math.max(length ?? 0, 1e-6)) * 1e9 };
  const e = timeline && kind && length ? entryNear(timeline, kind, at) : null;
  if (timeline && e) pick(timeline, e);
  else select({ ...at, label, moment: !length });
}

// The longest or shortest call of a stage.
export function jumpToCall(s: Stage, seconds: number | undefined): void {
  if (!timeline || seconds === undefined) return;
  const within = s.first_s !== undefined && s.end_s !== undefined ? { from: s.first_s * 1e9, to: s.end_s * 1e9 } : undefined;
  const e = nearest(timeline, (name) => sameStage(s.name, name), seconds, (l) => l.kind === 'thread' || l.kind === 'track', within);
  if (e) pick(timeline, e);
}

// The longest kernel, copy or wait of a name.
export function jumpToKernel(name: string | undefined, kind = 'stream'): void {
  if (!timeline || name === undefined) return;
  const e = nearest(timeline, (one) => one === name, Infinity, (l) => l.kind === kind);
  if (e) pick(timeline, e);
}
