// A chart on a canvas: lines or bars, two axes, a band for what is selected, a line under the pointer.
import { whenSeen, type Seen } from './state';
import { look } from './timeline/canvas';

export interface PlotOptions {
  x: number[]; // ascending
  lines: (number | null)[][];
  bars?: boolean;
  stacked?: boolean; // each line lies on those before it
  height: number;
  top: number; // px above the plot
  bottom: number; // px below it: for the labels of x
  left: (width: number) => number; // px beside it: for the labels of y
  range: () => [number, number]; // of x, what is visible
  highest: (most: number) => number; // of y; the lowest is 0, and the only one where nothing is above it
  label: (y: number, high: number) => string; // all in the unit of the highest
  unit?: (high: number) => number; // what steps are round in
  ticks: (width: number) => { at: number; text: string }[];
  band?: () => [number, number] | null;
  moved?: (x: number | null) => void; // the pointer
  clicked?: (x: number) => void;
  dragged?: (from: number, to: number) => void;
}

const STROKES = ['--c1', '--c2', '--c3', '--c4', '--c5', '--c6'];
const Y_SPACE = 24; // px between labels
const FAINT = '22'; // alpha
const FULL = '';
const REACH = '44'; // alpha of what lies between the lowest and the highest
const DRAG = 3; // px: less is a click
const COLUMN = 2; // px: values in it are drawn as one
const PIECE = 32; // points drawn in one stroke: the time for one grows with their square

const stroke = (i: number) => getComputedStyle(document.documentElement).getPropertyValue(STROKES[i % STROKES.length]).trim();

// The first index whose x is not below v.
function indexOf(x: number[], v: number): number {
  let low = 0;
  let high = x.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (x[middle] < v) low = middle + 1;
    else high = middle;
  }
  return low;
}

const there = (v: number | null | undefined): v is number => v !== null && v !== undefined;

// Each line on the sum of those before it.
function stack(lines: (number | null)[][]): number[][] {
  const sum = (lines[0] ?? []).map(() => 0);
  return lines.map((line) => line.map((v, i) => (sum[i] += v ?? 0)));
}

export class Plot {
  private canvas = document.createElement('canvas');
  private cross = document.createElement('div');
  private width = 0;
  private seen: Seen;
  private watcher = new ResizeObserver(([e]) => this.resize(e.contentRect.width)); // reading clientWidth would lay out the page once per chart
  private frame = 0;
  private from: number | null = null; // px where a drag began
  private left = 0;
  private first = 0;
  private scale = 0; // px of one x

  constructor(
    private host: HTMLElement,
    private o: PlotOptions,
  ) {
    this.cross.className = 'cross';
    this.cross.hidden = true;
    host.append(this.canvas, this.cross);
    host.onpointermove = (e) => this.move(this.xOf(e));
    host.onpointerleave = () => this.o.moved?.(null);
    host.onpointerdown = (e) => {
      this.from = this.xOf(e);
      if (this.o.dragged && e.pointerType === 'mouse') host.setPointerCapture(e.pointerId);
    };
    host.onpointerup = (e) => this.up(this.xOf(e));
    host.onpointercancel = () => (this.from = null);
    this.seen = whenSeen(host, () => this.draw());
    this.watcher.observe(host); // which says the first size, too
  }

  stop = (): void => {
    this.seen.stop();
    this.watcher.disconnect();
    cancelAnimationFrame(this.frame);
    this.host.replaceChildren();
  };

  // With the next frame, however often it is asked.
  soon = (): void => {
    this.frame ||= requestAnimationFrame(() => {
      this.frame = 0;
      this.seen.draw();
    });
  };

  private resize(width: number): void {
    const ratio = devicePixelRatio || 1;
    this.width = Math.max(100, Math.round(width));
    this.canvas.width = Math.round(this.width * ratio);
    this.canvas.height = Math.round(this.o.height * ratio);
    this.canvas.style.width = `${this.width}px`;
    this.canvas.style.height = `${this.o.height}px`;
    this.seen.draw();
  }

  // The line under the pointer, wherever the pointer is.
  point(x: number | null): void {
    this.place();
    const px = x === null ? -1 : this.pxOf(x);
    this.cross.hidden = px < this.left || px > this.width;
    this.cross.style.transform = `translateX(${px}px)`;
  }

  nearest(x: number): number {
    const i = indexOf(this.o.x, x);
    return i > 0 && (i === this.o.x.length || x - this.o.x[i - 1] < this.o.x[i] - x) ? i - 1 : i;
  }

  draw(dragTo?: number): void {
    const { o } = this;
    this.place();
    const pen = this.canvas.getContext('2d')!;
    const ratio = devicePixelRatio || 1;
    const l = look();
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, this.width, o.height);
    pen.font = l.font;
    pen.fillStyle = l.band;
    const band = o.band?.();
    const { left } = this;
    const foot = o.height - o.bottom;
    const fill = (a: number, b: number) => {
      const from = Math.max(a, left);
      const to = Math.min(b, this.width);
      if (to >= left && from <= this.width) pen.fillRect(from, o.top, Math.max(1, to - from), foot - o.top);
    };
    if (band) fill(this.pxOf(band[0]), this.pxOf(band[1]));
    if (dragTo !== undefined && this.from !== null) fill(Math.min(this.from, dragTo), Math.max(this.from, dragTo));
    const [first, last] = o.range();
    const begin = Math.max(0, indexOf(o.x, first) - 1);
    const end = Math.min(o.x.length, indexOf(o.x, last) + 1);
    let most = 0;
    const lines = o.stacked ? stack(o.lines) : o.lines;
    for (const line of lines) for (let i = begin; i < end; i++) most = Math.max(most, line[i] ?? 0);
    const top = o.highest(most);
    const high = top || 1;
    const seen = (line: (number | null)[]) => line.slice(begin, end).some((v, i) => there(v) && ((o.x[begin + i] >= first && o.x[begin + i] <= last) || (begin + i + 1 < end && there(line[begin + i + 1]))));
    if (!lines.some(seen)) {
      pen.fillStyle = l.faint;
      pen.textAlign = 'left';
      pen.fillText('not sampled here', left + 8, (o.top + foot) / 2);
    }
    this.axes(pen, top, l.faint, l.line);
    pen.save();
    pen.beginPath();
    pen.rect(left, 0, this.width - left, foot + 1);
    pen.clip();
    const yOf = (v: number) => foot - (v / high) * (foot - o.top);
    for (const [i, line] of o.stacked ? [...lines.entries()].reverse() : lines.entries()) if (o.bars) this.bars(pen, line, begin, end, yOf, foot);
      else this.line(pen, line, begin, end, yOf, stroke(i), o.stacked || lines.length === 1 ? foot : null, o.stacked ? FULL : FAINT);
    pen.restore();
  }

  private axes(pen: CanvasRenderingContext2D, top: number, faint: string, grid: string): void {
    const { o, left } = this;
    const high = top || 1;
    const foot = o.height - o.bottom;
    const rough = (high * Y_SPACE) / Math.max(Y_SPACE, foot - o.top);
    const unit = o.unit?.(top) ?? 1;
    const power = unit * 10 ** Math.floor(Math.log10(rough / unit));
    const fits = [1, 2, 2.5, 5, 10].filter((m) => m * power <= high); // one label above 0, at the least
    const step = power * (fits.find((m) => m * power >= rough * 0.999) ?? fits.at(-1) ?? 1);
    pen.strokeStyle = grid;
    pen.fillStyle = faint;
    const rule = (x0: number, y0: number, x1: number, y1: number) => {
      pen.beginPath();
      pen.moveTo(x0, y0);
      pen.lineTo(x1, y1);
      pen.stroke();
    };
    pen.textAlign = 'right';
    pen.textBaseline = 'middle';
    let said = '';
    for (let v = 0; v <= top * 1.0001; v += step) {
      const y = Math.round(foot - (v / high) * (foot - o.top)) + 0.5;
      rule(left, y, this.width, y);
      const text = o.label(v, top);
      if (text !== said) pen.fillText(text, left - 5, y); // a unit without smaller parts says a value once
      said = text;
    }
    pen.textAlign = 'center';
    pen.textBaseline = 'top';
    for (const t of o.ticks(this.width - left)) {
      const x = Math.round(this.pxOf(t.at)) + 0.5;
      if (!o.bars) rule(x, o.top, x, foot);
      if (o.bottom > 10 && x < this.width - 20) pen.fillText(t.text, x, foot + 7); // no half words at the edge
    }
  }

  private bars(pen: CanvasRenderingContext2D, line: (number | null)[], begin: number, end: number, yOf: (v: number) => number, foot: number): void {
    const wide = Math.max(1, Math.min(40, (this.pxOf(1) - this.pxOf(0)) * 0.8));
    pen.fillStyle = stroke(0) + 'aa';
    for (let i = begin; i < end; i++) {
      const v = line[i];
      if (there(v)) pen.fillRect(this.pxOf(this.o.x[i]) - wide / 2, yOf(v), wide, foot - yOf(v));
    }
  }

  // Of many values in one pixel the mean is drawn, and paler how far they reach; a value without neighbours is a dot.
  private line(pen: CanvasRenderingContext2D, line: (number | null)[], begin: number, end: number, yOf: (v: number) => number, colour: string, ground: number | null, alpha: string): void {
    const { x } = this.o;
    const area = new Path2D();
    pen.strokeStyle = colour;
    pen.lineWidth = 1.25;
    let i = begin;
    while (i < end) {
      if (!there(line[i])) {
        i++;
        continue;
      }
      const start = i;
      let points = 0;
      pen.beginPath();
      area.moveTo(this.pxOf(x[i]), ground ?? 0);
      for (; i < end && there(line[i]); i++) {
        const px = this.pxOf(x[i]);
        let low = line[i]!;
        let high = low;
        let sum = low;
        const first = i;
        while (i + 1 < end && there(line[i + 1]) && this.pxOf(x[i + 1]) < px + COLUMN) {
          low = Math.min(low, line[++i]!);
          high = Math.max(high, line[i]!);
          sum += line[i]!;
        }
        const y = yOf(sum / (i + 1 - first));
        if (ground !== null) area.lineTo(px, y);
        pen.lineTo(px, y);
        if (++points % PIECE === 0) {
          pen.stroke();
          pen.beginPath();
          pen.moveTo(px, y);
        }
        pen.fillStyle = colour + REACH;
        const top = Math.round(yOf(high)); // whole pixels: edges between them would take most of the time
        if (high > low) pen.fillRect(Math.round(px), top, COLUMN, Math.round(yOf(low)) - top);
      }
      pen.stroke();
      area.lineTo(this.pxOf(x[i - 1]), ground ?? 0);
      if (i === start + 1 && !there(line[start - 1]) && !there(line[i])) {
        pen.fillStyle = colour;
        pen.beginPath();
        pen.arc(this.pxOf(x[start]), yOf(line[start]!), 2, 0, 7);
        pen.fill();
      }
    }
    if (ground === null) return;
    pen.fillStyle = colour + alpha;
    pen.fill(area);
  }

  private xOf = (e: PointerEvent): number => e.clientX - this.canvas.getBoundingClientRect().left;

  // Where x lies: asked once for a drawing, not for each of its points.
  private place(): void {
    const [first, last] = this.o.range();
    this.left = this.o.left(this.width);
    this.first = first;
    this.scale = (this.width - this.left) / (last - first);
  }

  private pxOf = (x: number): number => this.left + (x - this.first) * this.scale;

  private valueAt = (px: number): number => this.first + (Math.max(this.left, px) - this.left) / this.scale;

  private move(px: number): void {
    this.place();
    this.o.moved?.(px < this.left ? null : this.valueAt(px));
    if (this.from !== null && this.o.dragged && Math.abs(px - this.from) > DRAG) this.draw(px);
  }

  private up(px: number): void {
    const { from } = this;
    this.from = null;
    if (from === null) return;
    if (Math.abs(px - from) <= DRAG) {
      if (px >= this.left) this.o.clicked?.(this.valueAt(px));
    } else this.o.dragged?.(this.valueAt(Math.min(px, from)), this.valueAt(Math.max(px, from)));
  }
}
