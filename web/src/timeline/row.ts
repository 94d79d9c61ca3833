// One line of zones at one depth: entries in order of time. An entry is one
// zone, or several that were merged (count > 1). Every question the drawing
// asks is answered without walking all entries.

const FAN = 16;

// Who launched the work of a stream's row.
export interface Launches {
  lane: Int32Array; // -2: not known, -1: a thread without a lane
  at: Float64Array; // when
}

export class Row {
  readonly size: number;
  readonly zones: number;
  launches: Launches | null = null;
  more: Float64Array | null = null; // of a kernel its shape's number + 1, of a copy its bytes + 1; 0: not known
  private busySum: Float64Array; // busy time before entry i
  private countSum: Float64Array;
  private longest: Uint32Array[] = []; // per level, the longest entry of FAN below

  constructor(
    readonly start: Float64Array,
    readonly end: Float64Array,
    readonly name: Uint32Array,
    readonly count: Uint32Array,
    readonly busy: Float64Array,
    readonly mixed: Uint8Array,
    readonly mergeNs: number, // zones shorter than this may have been merged; 0: all exact
  ) {
    const n = (this.size = start.length);
    this.busySum = new Float64Array(n + 1);
    this.countSum = new Float64Array(n + 1);
    for (let i = 0; i < n; i++) {
      this.busySum[i + 1] = this.busySum[i] + busy[i];
      this.countSum[i + 1] = this.countSum[i] + count[i];
    }
    this.zones = this.countSum[n];
    this.buildLongest();
  }

  private buildLongest(): void {
    const { busy } = this;
    let below: Uint32Array | null = null;
    let size = this.size;
    while (size > FAN) {
      const up = Math.ceil(size / FAN);
      const level = new Uint32Array(up);
      for (let g = 0; g < up; g++) {
        const last = Math.min((g + 1) * FAN, size);
        let best = below ? below[g * FAN] : g * FAN;
        for (let i = g * FAN + 1; i < last; i++) {
          const e: number = below ? below[i] : i;
          if (busy[e] > busy[best]) best = e;
        }
        level[g] = best;
      }
      this.longest.push(level);
      below = level;
      size = up;
    }
  }

  // First entry at or after `from` whose end is later than t.
  endingAfter(t: number, from = 0): number {
    return search(this.end, t, from, true);
  }

  // First entry at or after `from` that starts at t or later; near answers are found fast.
  startingAt(t: number, from = 0): number {
    return search(this.start, t, from, false);
  }

  busyIn(i: number, j: number): number {
    return this.busySum[j] - this.busySum[i];
  }

  zonesIn(i: number, j: number): number {
    return this.countSum[j] - this.countSum[i];
  }

  // Busy time between two moments; i: the first entry that ends after `from`. What is busy inside an entry is spread over it.
  busyBetween(from: number, to: number, i: number): number {
    const j = this.startingAt(to, i);
    if (j <= i) return 0;
    const cut = (e: number) => (this.busy[e] * (Math.min(this.end[e], to) - Math.max(this.start[e], from))) / Math.max(1, this.end[e] - this.start[e]);
    return j - i === 1 ? cut(i) : cut(i) + cut(j - 1) + this.busyIn(i + 1, j - 1);
  }

  // The longest entry of [i, j), j > i.
  longestIn(i: number, j: number): number {
    let best = i;
    const take = (e: number) => {
      if (this.busy[e] > this.busy[best]) best = e;
    };
    let level = -1;
    let lo = i;
    let hi = j;
    for (;;) {
      const items = level < 0 ? null : this.longest[level];
      const up = this.longest[level + 1];
      if (!up || hi - lo <= 2 * FAN) {
        for (let k = lo; k < hi; k++) take(items ? items[k] : k);
        return best;
      }
      while (lo % FAN) take(items ? items[lo++] : lo++);
      while (hi % FAN) take(items ? items[--hi] : --hi);
      lo /= FAN;
      hi /= FAN;
      level++;
    }
  }
}

// First index at or after `from` whose value is t or more, or past t: near answers are found fast.
function search(a: Float64Array, t: number, from: number, past: boolean): number {
  const n = a.length;
  let step = 1;
  let lo = from;
  let hi = from;
  while (hi < n && (a[hi] < t || (past && a[hi] === t))) {
    lo = hi + 1;
    hi += step;
    step *= 2;
  }
  if (hi > n) hi = n;
  while (lo < hi) {
    const mid = (lo + hi) >> 1;
    if (a[mid] < t || (past && a[mid] === t)) lo = mid + 1;
    else hi = mid;
  }
  return lo;
}
