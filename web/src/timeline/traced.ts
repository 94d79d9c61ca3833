// When kernels were traced: what a GPU's lanes do not show outside of it is not known, not idle.
import type { Range } from '../state';

export interface Traced {
  traced: Range[] | null; // in order; null: always
}

// The parts of the range that were traced, in order; of an import all of it.
export function tracedIn(t: Traced, range: Range): Range[] {
  if (!t.traced) return [range];
  return t.traced.filter((w) => w.to > range.from && w.from < range.to).map((w) => ({ from: Math.max(w.from, range.from), to: Math.min(w.to, range.to) }));
}

export function untracedIn(t: Traced, range: Range): Range[] {
  const out: Range[] = [];
  let at = range.from;
  for (const w of [...tracedIn(t, range), { from: range.to, to: range.to }]) {
    if (w.from > at) out.push({ from: at, to: w.from });
    at = w.to;
  }
  return out;
}

// Windows that meet or overlap are one.
export function joined(all: [number, number][]): Range[] {
  const out: Range[] = [];
  for (const [from, to] of [...all].sort((a, b) => a[0] - b[0])) {
    const last = out[out.length - 1];
    if (last && from <= last.to) last.to = Math.max(last.to, to);
    else if (to > from) out.push({ from, to });
  }
  return out;
}

const lengthOf = (all: Range[]) => all.reduce((sum, w) => sum + w.to - w.from, 0);

// The share of the traced part that was busy; null: nothing of the range was traced.
export function busyShare(t: Traced, range: Range, busyBetween: (r: Range) => number): number | null {
  const parts = tracedIn(t, range);
  const length = lengthOf(parts);
  return length > 0 ? parts.reduce((sum, w) => sum + busyBetween(w), 0) / length : null;
}
