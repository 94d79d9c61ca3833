// Draws rows of zones on a canvas: whole zones where they are wide enough,
// else one cell per pixel, whose height is how much of that pixel's time was busy.
import { tint } from '../colour';
import { count, nanos, shortName } from '../format';
import type { Range } from '../state';
import { inkOf, mix, Pixels, type Ink } from './pixels';
import type { Row } from './row';

export interface Look {
  text: string;
  faint: string;
  line: string;
  back: string;
  band: string;
  accent: string;
  busy: string;
  font: string;
}

export interface Brush {
  context: CanvasRenderingContext2D;
  pixels: Pixels;
  inks: Inks;
  names: string[];
  view: Range;
  left: number; // plot area in CSS pixels
  width: number;
  top: number; // rows are drawn between these two heights
  bottom: number;
  look: Look;
  wanted: Set<number> | null; // names that match the search or selection
  indent?: number; // px before a label, for marks
}

export const NARROW = 2; // px: zones narrower than this become cells
const LABELLED = 26; // px
const FADED = 0.25; // what is not looked for
const MERGED = 0.35;

export const xOf = (b: Pick<Brush, 'left' | 'width' | 'view'>, t: number) => b.left + ((t - b.view.from) / (b.view.to - b.view.from)) * b.width;

// The colours of a name, and of the same faded.
interface Shades {
  fill: Ink;
  edge: Ink;
  merged: Ink;
}

// Names as colours of the image, each found once; a new look needs new ones.
export class Inks {
  private known: (Shades | undefined)[] = [];
  private ground: Ink;
  readonly busy: Ink;
  readonly line: Ink;

  constructor(
    private context: CanvasRenderingContext2D,
    private names: string[],
    look: Look,
  ) {
    this.ground = inkOf(context, look.back);
    this.busy = inkOf(context, look.busy);
    this.line = inkOf(context, look.line);
  }

  pixels(ratio: number): Pixels {
    return new Pixels(this.context, ratio, this.ground);
  }

  of(name: number, faded: boolean): Shades {
    const at = 2 * name + (faded ? 1 : 0);
    return (this.known[at] ??= this.make(name, faded ? FADED : 1));
  }

  private make(name: number, share: number): Shades {
    const t = tint(this.names[name]);
    const fill = inkOf(this.context, t.fill);
    return { fill: mix(fill, this.ground, share), edge: mix(inkOf(this.context, t.edge), this.ground, share), merged: mix(fill, this.ground, share * MERGED) };
  }
}

export function drawRow(b: Brush, row: Row, y: number, height: number): void {
  const { view, inks } = b;
  const perPx = (view.to - view.from) / b.width;
  const right = b.left + b.width;
  const base = y + height - 1;
  const labelled: [i: number, x0: number, x1: number][] = [];
  let carry = 0; // busy time of the last cell's zones that reaches into the next
  let carryPx = -1;
  let i = row.endingAfter(view.from);
  if (i >= row.size || row.start[i] >= view.to) return;
  b.pixels.begin(y, height);
  while (i < row.size && row.start[i] < view.to) {
    const x0 = Math.max(xOf(b, row.start[i]), b.left);
    const x1 = Math.min(xOf(b, row.end[i]), right);
    if (x1 - x0 >= NARROW) {
      drawZone(b, row, i, x0, x1, y, height);
      if (x1 - x0 > LABELLED) labelled.push([i, x0, x1]);
      i++;
      continue;
    }
    const px = Math.floor(x0);
    const until = view.from + (px + 1 - b.left) * perPx;
    const j = Math.max(i + 1, row.startingAt(until, i + 1));
    // The last zone of the cell may be a wide one that only begins here.
    const last = j - 1 > i && xOf(b, row.end[j - 1]) - px >= 1 + NARROW ? j - 1 : j;
    const end = last - 1;
    const over = Math.max(0, row.end[end] - until);
    const beyond = over * (row.busy[end] / Math.max(1, row.end[end] - row.start[end]));
    const busy = Math.min(1, Math.max(0, row.busyIn(i, last) - beyond + (carryPx === px ? carry : 0)) / perPx);
    carry = beyond;
    carryPx = px + 1;
    const faded = b.wanted !== null && !hasWanted(b, row, i, last);
    const name = row.name[last - i === 1 ? i : row.longestIn(i, last)];
    b.pixels.box(px, px + 1, base - partOf(busy, height - 1), inks.of(name, faded).edge);
    i = last;
  }
  b.pixels.put(base, b.top, b.bottom);
  for (const [at, x0, x1] of labelled) labelZone(b, row, at, x0, x1, y + height / 2 - 0.5);
}

// As high as the share of time that was busy; never so low that it cannot be seen.
const partOf = (busy: number, height: number) => Math.min(height, Math.max(2, busy * height));

// How much of each pixel's time was busy, as a sky line: true at every zoom.
export function drawBusy(b: Brush, row: Row, y: number, height: number): void {
  const { view } = b;
  const perPx = (view.to - view.from) / b.width;
  const base = y + height - 1;
  let i = row.endingAfter(view.from);
  b.pixels.begin(y, height);
  for (let px = 0; px < b.width && i < row.size; px++) {
    const from = view.from + px * perPx;
    i = row.endingAfter(from, i);
    const busy = Math.min(1, row.busyBetween(from, from + perPx, i) / perPx);
    if (busy > 0) b.pixels.box(b.left + px, b.left + px + 1, base - Math.max(1, busy * (height - 1)), b.inks.busy);
  }
  b.pixels.put(base, b.top, b.bottom);
}

// Time of which nothing is known: hatched, so that it is not taken for idle.
export function drawUnknown(b: Brush, range: Range, y: number, height: number): void {
  const x0 = Math.max(b.left, xOf(b, range.from));
  const x1 = Math.min(b.left + b.width, xOf(b, range.to));
  if (x1 - x0 < NARROW) return;
  b.context.globalAlpha = 0.4;
  hatch(b.context, b.look.faint, x0, x1, y, height - 1);
  b.context.globalAlpha = 1;
}

const LOOK_MOST = 64;

function hasWanted(b: Brush, row: Row, i: number, j: number): boolean {
  const stop = Math.min(j, i + LOOK_MOST);
  for (let k = i; k < stop; k++) if (b.wanted!.has(row.name[k])) return true;
  return false;
}

function drawZone(b: Brush, row: Row, i: number, x0: number, x1: number, y: number, height: number): void {
  const shades = b.inks.of(row.name[i], fades(b, row, i));
  const end = x1 - (x1 - x0 > 4 ? 1 : 0);
  const base = y + height - 1;
  if (row.count[i] > 1) {
    b.pixels.box(x0, end, y, shades.merged);
    b.pixels.box(x0, end, base - 3, shades.edge);
    if (x1 - x0 > 6) b.pixels.hatch(x0, end, shades.edge);
    return;
  }
  b.pixels.box(x0, end, y, shades.fill);
  b.pixels.box(x0, x0 + 1, y, shades.edge);
  b.pixels.box(x0, end, base - 1, shades.edge);
}

const fades = (b: Brush, row: Row, i: number) => b.wanted !== null && !b.wanted.has(row.name[i]);

function labelZone(b: Brush, row: Row, i: number, x0: number, x1: number, middle: number): void {
  const c = b.context;
  const name = b.names[row.name[i]];
  const words = shortName(name);
  const merged = row.count[i] > 1;
  const indent = b.indent ?? 4;
  c.globalAlpha = fades(b, row, i) ? 0.4 : 1;
  c.fillStyle = merged ? b.look.text : tint(name).text;
  label(c, merged ? `${count(row.count[i])} merged${row.mixed[i] ? ', longest' : ':'} ${words}` : words, row.end[i] - row.start[i], x0 + indent, x1 - x0 - indent - 4, middle);
  c.globalAlpha = 1;
}

function hatch(c: CanvasRenderingContext2D, colour: string, x0: number, x1: number, y: number, height: number): void {
  const apart = 9;
  c.save();
  c.beginPath();
  c.rect(x0, y, x1 - x0, height);
  c.clip();
  c.strokeStyle = colour;
  c.lineWidth = 1;
  c.beginPath();
  for (let x = Math.floor((x0 - height) / apart) * apart; x < x1; x += apart) {
    c.moveTo(x, y + height);
    c.lineTo(x + height, y);
  }
  c.stroke();
  c.restore();
}

const widths = new Map<string, number>();

function widthOf(c: CanvasRenderingContext2D, text: string): number {
  let w = widths.get(text);
  if (w === undefined) {
    if (widths.size > 20_000) widths.clear();
    widths.set(text, (w = c.measureText(text).width));
  }
  return w;
}

function label(c: CanvasRenderingContext2D, name: string, ns: number, x: number, room: number, middle: number): void {
  const text = name.length > 200 ? name.slice(0, 200) : name;
  const w = widthOf(c, text);
  if (w <= room) {
    c.fillText(text, x, middle);
    const time = nanos(ns);
    if (room - w > 14 + widthOf(c, time)) {
      const alpha = c.globalAlpha;
      c.globalAlpha = alpha * 0.85;
      c.fillText(time, x + w + 8, middle);
      c.globalAlpha = alpha;
    }
    return;
  }
  const fits = Math.floor((room / w) * text.length) - 1;
  if (fits >= 2) c.fillText(text.slice(0, fits) + '…', x, middle);
}

// The unit that the largest time of an axis is said in, and its nanoseconds.
const AXIS_UNITS: [string, number][] = [['s', 1e9], ['ms', 1e6], ['µs', 1e3], ['ns', 1]];

// Times along the axis: steps of 1, 2 or 5, all in one unit.
export function ticks(v: Range, width: number): { at: number; text: string }[] {
  const span = v.to - v.from;
  const rough = span / Math.max(2, width / 110);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 5, 10].find((m) => m * power >= rough) ?? 10);
  const out = [];
  const [unit, scale] = AXIS_UNITS.find(([, ns]) => v.to >= ns) ?? ['ns', 1];
  const digits = Math.max(0, Math.ceil(-Math.log10(step / scale) - 1e-9));
  for (let at = Math.ceil(v.from / step) * step; at <= v.to; at += step)
    out.push({ at, text: `${at ? (at / scale).toFixed(digits) : 0}\u00a0${unit}` });
  return out;
}

export function drawTicks(b: Brush, top: number, bottom: number, labelled: boolean): void {
  const c = b.context;
  for (const t of ticks(b.view, b.width)) {
    const x = Math.round(xOf(b, t.at)) + 0.5;
    c.strokeStyle = b.look.line;
    c.beginPath();
    c.moveTo(x, top);
    c.lineTo(x, bottom);
    c.stroke();
    if (labelled && x + 4 + c.measureText(t.text).width < b.left + b.width) {
      c.fillStyle = b.look.faint;
      c.fillText(t.text, x + 4, top + 8);
    }
  }
}

export function drawBand(b: Brush, range: Range, top: number, bottom: number): void {
  const x0 = Math.max(xOf(b, range.from), b.left);
  const x1 = Math.min(Math.max(xOf(b, range.to), x0 + 1), b.left + b.width);
  if (x1 <= b.left || x0 >= b.left + b.width) return;
  const c = b.context;
  c.fillStyle = b.look.band;
  c.fillRect(x0, top, x1 - x0, bottom - top);
  c.fillStyle = b.look.accent;
  c.fillRect(x0, top, 1, bottom - top);
  c.fillRect(x1 - 1, top, 1, bottom - top);
}
