// When kernels were traced: what a GPU's lanes do not show outside of it is not known, not idle.
import type { Range } from '../state';
import type { Row } from './row';

export interface Traced {
  traced: Range[] | null; // in order; null: always
}

// The parts of the range that were traced, in order; of an import all of it.
export function tracedIn(t: Traced, range: Range): Range[] {
  if (!t.traced) return [range];
  return t.traced.filter((w) => w.to > range.from && w.from < range.to).map((w) => ({ from: Math.max(w.from, range.from), to: Math.min(w.to, range.to) }));
}

export const LITTLE = 0.01; // of a range: as good as not traced
export const tracedTime = (t: Traced, range: Range): number => tracedIn(t, range).reduce((sum, w) => sum + w.to - w.from, 0);

export function untracedIn(t: Traced, range: Range): Range[] {
  const out: Range[] = [];
  let at = range.from;
  for (const w of [...tracedIn(t, range), { from: range.to, to: range.to }]) {
    if (w.from > at) out.push({ from: at, to: w.from });
    at = w.to;
  }
  return out;
}

// When kernels were traced: what was launched at the end of a trace still ran after it. Windows that meet or overlap are one.
export function windowsOf(all: [number, number][], streams: Row[]): Range[] {
  const sorted = all.map(([from, to]) => ({ from, to })).sort((a, b) => a.from - b.from);
  const out: Range[] = [];
  sorted.forEach((w, i) => {
    for (const row of streams) {
      const last = row.startingAt(sorted[i + 1]?.from ?? Infinity) - 1;
      if (last >= 0 && row.start[last] >= w.from) w.to = Math.max(w.to, row.end[last]);
    }
    const before = out[out.length - 1];
    if (before && w.from <= before.to) before.to = Math.max(before.to, w.to);
    else if (w.to > w.from) out.push(w);
  });
  return out;
}
