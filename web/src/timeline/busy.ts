// When a GPU worked: the union of its streams' rows, each moment counted once.
import { Row } from './row';

interface Spans {
  start: number[];
  end: number[];
  busy: number[];
}

// Rows are in order of time already: each is laid into the union of those before it.
export function busyOf(rows: Row[]): Row {
  let all: Spans = { start: [], end: [], busy: [] };
  for (const row of rows) if (row.size) all = union(all, row);
  const n = all.start.length;
  return new Row(Float64Array.from(all.start), Float64Array.from(all.end), new Uint32Array(n), new Uint32Array(n).fill(1), Float64Array.from(all.busy), new Uint8Array(n), 0);
}

function union(a: Spans, b: Row): Spans {
  const out: Spans = { start: [], end: [], busy: [] };
  let i = 0;
  let j = 0;
  let last = -1;
  while (i < a.start.length || j < b.size) {
    const mine = j >= b.size || (i < a.start.length && a.start[i] <= b.start[j]);
    const start = mine ? a.start[i] : b.start[j];
    const end = mine ? a.end[i] : b.end[j];
    const busy = mine ? a.busy[i++] : b.busy[j++];
    if (last < 0 || start > out.end[last]) {
      last = out.start.push(start) - 1;
      out.end.push(end);
      out.busy.push(busy);
      continue;
    }
    const beyond = Math.max(0, end - out.end[last]);
    const part = end > start ? beyond / (end - start) : 0;
    out.end[last] += beyond;
    out.busy[last] = Math.min(out.end[last] - out.start[last], out.busy[last] + busy * part);
  }
  return out;
}
