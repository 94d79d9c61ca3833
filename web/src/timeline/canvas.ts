// The picture of the lanes: what is drawn where, and which entry lies under a point.
import { stepMarks } from './marked';
import { clip, count, nanos, percent } from '../format';
import { selection, view, whole, type Range } from '../state';
import { entriesOf, type Lane, type Timeline } from './data';
import { drawBand, drawBusy, drawRow, drawTicks, drawUnknown, Inks, ticks, xOf, type Brush, type Look } from './draw';
import { entryAt, launchArrows, type Entry } from './entry';
import type { Group, Layout, Placed } from './layout';
import { wantedNames } from './search';
import type { Pixels } from './pixels';
import { busyShare } from './statistics';
import { LITTLE, tracedTime, untracedIn } from './traced';

export const RULER = 20;
const ARROW_APART = 6; // px between arrows to one row
const MARKS = 20; // px: room for the marks of a step before its name
export const PIN = 15; // px: where a lane's pin is

// Names need room; on a phone the time needs it more.
export const gutterOf = (width: number): number => (width < 560 ? 84 : 132);

export function look(): Look {
  const s = getComputedStyle(document.documentElement);
  const v = (name: string) => s.getPropertyValue(name).trim();
  return { text: v('--text'), faint: v('--faint'), line: v('--grid'), back: v('--card'), band: v('--band'), accent: v('--accent'), busy: v('--c3'), font: `11px ${v('--font')}` };
}

export class Canvas {
  private frame = 0;
  private width = 0;
  private styles: Look = look();
  private drawing: { inks: Inks; pixels: Pixels } | null = null; // of this look and size
  scroll = 0;
  hovered = -1; // the lane whose name is under the pointer
  moving: { lane: number; to: number } | null = null;
  layout: Layout = { rows: [], groups: [], height: 0, pinnedHeight: 0 };
  pending: Range | null = null; // a range that is being drawn
  frames = 0;

  constructor(
    readonly element: HTMLCanvasElement,
    readonly data: Timeline,
    readonly height: number,
  ) {}

  resize(): void {
    const width = this.element.clientWidth;
    const ratio = devicePixelRatio || 1;
    this.width = width;
    this.element.width = Math.max(1, Math.round(width * ratio));
    this.element.height = Math.round(this.height * ratio);
    this.restyle();
  }

  restyle(): void {
    this.styles = look();
    this.drawing = null;
    this.draw();
  }

  get gutter(): number {
    return gutterOf(this.width);
  }

  get plot(): number {
    return Math.max(50, this.width - this.gutter);
  }

  timeAt(x: number): number {
    const v = view.get();
    return v.from + ((x - this.gutter) / this.plot) * (v.to - v.from);
  }

  xAt(t: number): number {
    const v = view.get();
    return this.gutter + ((t - v.from) / (v.to - v.from)) * this.plot;
  }

  // Where something of the layout is on the canvas; what is pinned does not scroll.
  yOf(p: { y: number; pinned: boolean }): number {
    return RULER + p.y - (p.pinned ? 0 : this.scroll);
  }

  draw(): void {
    if (!this.frame) this.frame = requestAnimationFrame(() => this.paint());
  }

  stop(): void {
    cancelAnimationFrame(this.frame);
  }

  private paint(): void {
    this.frame = 0;
    this.frames++;
    const c = this.element.getContext('2d', { alpha: false });
    if (!c) return;
    const ratio = devicePixelRatio || 1;
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    c.fillStyle = this.styles.back;
    c.fillRect(0, 0, this.width, this.height);
    c.font = this.styles.font;
    c.textBaseline = 'middle';
    const brush = this.brush(c, ratio);
    drawTicks(brush, 0, this.height, true);
    this.paintPart(brush, false, RULER + this.layout.pinnedHeight);
    if (this.layout.pinnedHeight) this.paintPart(brush, true, RULER);
    const s = selection.get();
    if (s) drawBand(brush, s, 0, this.height);
    if (this.pending) drawBand(brush, this.pending, 0, this.height);
    this.paintArrows(c);
    this.paintSelected(c);
    this.paintMarks(brush);
    this.paintSteps(c);
    this.paintOverview(brush);
    this.element.dataset.from = String(Math.round(brush.view.from));
    this.element.dataset.to = String(Math.round(brush.view.to));
    this.element.dataset.frames = String(this.frames);
    this.element.dataset.scroll = String(Math.round(this.scroll));
  }

  private brush(c: CanvasRenderingContext2D, ratio: number): Brush {
    if (!this.drawing) {
      const inks = new Inks(c, this.data.names, this.styles);
      this.drawing = { inks, pixels: inks.pixels(ratio) };
    }
    const brush = { context: c, ...this.drawing, names: this.data.names, view: view.get(), left: this.gutter, width: this.plot, top: RULER, bottom: this.height, look: this.styles, wanted: wantedNames(this.data) };
    brush.pixels.frame(brush.left, brush.width, ticks(brush.view, brush.width).map((t) => Math.round(xOf(brush, t.at))), brush.inks.line);
    return brush;
  }

  private paintPart(brush: Brush, pinned: boolean, top: number): void {
    const c = brush.context;
    const bottom = pinned ? RULER + this.layout.pinnedHeight : this.height;
    c.save();
    c.beginPath();
    c.rect(0, top, this.width, bottom - top);
    c.clip();
    if (pinned) {
      c.fillStyle = this.styles.back;
      c.fillRect(0, top, this.width, bottom - top);
    }
    const within = { ...brush, top, bottom };
    const marked = stepMarks().length > 0;
    for (const p of this.layout.rows) {
      const y = this.yOf(p);
      if (p.pinned !== pinned || y + p.height <= top || y >= bottom) continue;
      if (p.lane.kind === 'busy') drawBusy(within, p.row, y, p.height);
      else drawRow(p.lane.kind === 'step' && marked ? { ...within, indent: MARKS } : within, p.row, y, p.height);
      for (const r of untracedIn(p.lane, brush.view)) drawUnknown(brush, r, y, p.height);
    }
    for (const g of this.layout.groups) {
      const y = this.yOf(g);
      if (g.pinned === pinned && y + g.height >= top && y <= bottom) this.paintLane(c, g, y);
    }
    if (pinned) {
      c.fillStyle = this.styles.faint;
      c.fillRect(0, bottom - 1, this.width, 1);
    }
    c.restore();
  }

  private paintLane(c: CanvasRenderingContext2D, g: Group, y: number): void {
    const width = this.gutter;
    const hovered = this.hovered === g.laneIndex;
    const target = this.moving?.to === g.laneIndex && this.moving.lane !== g.laneIndex;
    c.fillStyle = this.styles.back;
    c.fillRect(0, y, width - 1, g.height);
    const left = hovered || g.pinned ? PIN : 2;
    c.fillStyle = g.pinned ? this.styles.accent : this.styles.faint;
    if (hovered || g.pinned) c.fillText(g.pinned ? '◉' : '⌖', 2, y + 8);
    c.fillStyle = this.styles.text;
    c.fillText(clip(g.lane.name, width < 100 ? 14 : 20), left, y + 8, width - left - 6);
    const notes = this.notesOf(g);
    c.fillStyle = this.styles.faint;
    if (g.height > 26 && notes.length) c.fillText(notes[notes.length - 1], 2, y + 21, width - 8);
    if (notes.length > 1 && g.height > 40) c.fillText(notes[0], 2, y + 34, width - 8);
    c.fillStyle = target ? this.styles.accent : this.styles.line;
    c.fillRect(0, target ? y : y + g.height - 3, this.width, target ? 2 : 1);
  }

  private notesOf(g: Group): string[] {
    const notes = [];
    if (g.lane.kind === 'busy') return [busyWords(g.lane, view.get(), ' in view')];
    if (g.hidden) notes.push(`+${g.hidden} ${g.hidden === 1 ? 'row' : 'rows'}`);
    else if (g.lane.rows.length > 1) notes.push(`${count(g.lane.zones)} ${entriesOf(g.lane)}`);
    if (g.lane.mergeNs) notes.push(`< ${nanos(g.lane.mergeNs)} merged`);
    return notes;
  }

  // An outline around the entry that is selected.
  private paintSelected(c: CanvasRenderingContext2D): void {
    const at = selection.get()?.entry;
    const e = at && entryAt(this.data, at);
    const p = e && this.layout.rows.find((one) => one.laneIndex === e.lane && one.rowIndex === e.row);
    if (!e || !p) return;
    const y = this.yOf(p);
    if (y < RULER + (p.pinned ? 0 : this.layout.pinnedHeight) - p.height || y > this.height) return;
    const x0 = Math.max(this.gutter, this.xAt(p.row.start[e.index]));
    const x1 = Math.min(this.width, Math.max(this.xAt(p.row.end[e.index]), x0 + 3));
    if (x1 < this.gutter || x0 > this.width) return;
    c.strokeStyle = this.styles.text;
    c.lineWidth = 2;
    c.strokeRect(x0, y, x1 - x0, p.height - 1);
    c.lineWidth = 1;
  }

  // From each launch to what it started, for the selected zone or kernel.
  private paintArrows(c: CanvasRenderingContext2D): void {
    const at = selection.get()?.entry;
    const e = at && entryAt(this.data, at);
    const arrows = e ? launchArrows(this.data, e) : [];
    const edge = RULER + this.layout.pinnedHeight;
    const lines = new Map<number, Placed | undefined>(); // few, and every arrow asks
    const line = (lane: number, row: number) => {
      const key = lane * 1e4 + row;
      if (!lines.has(key)) lines.set(key, this.layout.rows.findLast((p) => p.laneIndex === lane && p.rowIndex <= row));
      return lines.get(key);
    };
    const v = view.get();
    let drawn = 0;
    const last = new Map<unknown, [number, number]>(); // per row of what was launched
    c.strokeStyle = c.fillStyle = this.styles.accent;
    for (const a of arrows) {
      if (Math.max(a.at, a.start) < v.from || Math.min(a.at, a.start) > v.to) continue;
      const from = line(a.lane, a.row);
      const to = line(a.to.lane, a.to.row);
      if (!from || !to) continue;
      const x0 = this.xAt(a.at);
      const x1 = this.xAt(a.start);
      const y0 = Math.max(edge, this.yOf(from) + from.height - 2);
      const y1 = Math.max(edge, this.yOf(to));
      if (Math.min(y0, y1) > this.height) continue;
      const near = last.get(to);
      if (near && Math.abs(x0 - near[0]) < ARROW_APART && Math.abs(x1 - near[1]) < ARROW_APART) continue; // or they hide the lanes that they cross
      last.set(to, [x0, x1]);
      drawn++;
      c.beginPath();
      c.moveTo(Math.max(this.gutter, x0), y0);
      c.lineTo(Math.max(this.gutter, x1), y1);
      c.stroke();
      c.beginPath();
      c.moveTo(x1, y1 + 1);
      c.lineTo(x1 - 3, y1 - 5);
      c.lineTo(x1 + 3, y1 - 5);
      if (x1 > this.gutter) c.fill();
    }
    this.element.dataset.arrows = String(drawn);
  }

  private paintMarks(b: Brush): void {
    const c = b.context;
    c.fillStyle = this.styles.accent;
    for (const m of this.data.marks) {
      if (m.at < b.view.from || m.at > b.view.to) continue;
      const x = this.xAt(m.at);
      c.beginPath();
      c.moveTo(x - 3, RULER);
      c.lineTo(x + 3, RULER);
      c.lineTo(x, RULER + 5);
      c.fill();
    }
  }

  // On the lane of steps: a triangle for a slow one, a ring for one that a cache served, two strokes for a guided one.
  private paintSteps(c: CanvasRenderingContext2D): void {
    const [row] = this.layout.rows.filter((p) => p.lane.kind === 'step');
    const y = row ? this.yOf(row) + row.height - 6 : -1;
    const shown = stepMarks().filter((m) => this.xAt(m.at) >= this.gutter && this.xAt(m.at) < this.width - 4 && (m.to === undefined || this.xAt(m.to) - this.xAt(m.at) > 20));
    this.element.dataset.steps = String(y > RULER ? shown.length : 0);
    if (y <= RULER) return;
    c.strokeStyle = c.fillStyle = this.styles.text;
    for (const m of shown) {
      const x = this.xAt(m.at) + (m.kind === 'guided' ? 13 : 5);
      c.beginPath();
      if (m.kind === 'cached') c.arc(x, y, 3, 0, 7);
      else if (m.kind === 'guided') {
        c.fillRect(x - 2, y - 4, 1, 7);
        c.fillRect(x + 1, y - 4, 1, 7);
      } else {
        c.moveTo(x, y - 4);
        c.lineTo(x + 4, y + 3);
        c.lineTo(x - 4, y + 3);
        c.fill();
      }
      if (m.kind === 'cached') c.stroke();
    }
  }

  // A thin strip on top: where in the run the picture is.
  private paintOverview(b: Brush): void {
    const all = whole.get();
    const span = all.to - all.from;
    if (b.view.to - b.view.from > span * 0.999) return;
    const c = b.context;
    c.fillStyle = this.styles.line;
    c.fillRect(this.gutter, 0, this.plot, 3);
    c.fillStyle = this.styles.accent;
    const x = this.gutter + ((b.view.from - all.from) / span) * this.plot;
    c.fillRect(x, 0, Math.max(3, ((b.view.to - b.view.from) / span) * this.plot), 3);
  }

  private under<T extends { y: number; height: number; pinned: boolean }>(all: T[], y: number): T | undefined {
    const inPinned = y < RULER + this.layout.pinnedHeight;
    return y < RULER ? undefined : all.find((p) => p.pinned === inPinned && y >= this.yOf(p) && y < this.yOf(p) + p.height);
  }

  laneAt(y: number): Group | undefined {
    return this.under(this.layout.groups, y);
  }

  hit(x: number, y: number): Entry | null {
    if (x < this.gutter) return null;
    const placed = this.under(this.layout.rows, y);
    if (!placed || placed.lane.kind === 'busy') return null;
    const v = view.get();
    const near = ((v.to - v.from) / this.plot) * 1.5;
    const t = this.timeAt(x);
    const { row } = placed;
    const first = row.endingAfter(t - near);
    if (first >= row.size || row.start[first] > t + near) return null;
    const exact = row.endingAfter(t, first);
    const over = exact < row.size && row.start[exact] <= t;
    const next = row.startingAt(t + near, first);
    return entryOf(placed, over ? exact : next > first + 1 ? row.longestIn(first, next) : first);
  }

  // How far to scroll so that the row can be seen; where it is now, if it can.
  scrollTo(lane: number, row: number): number {
    const p = this.layout.rows.find((one) => one.laneIndex === lane && one.rowIndex === row) ?? this.layout.rows.find((one) => one.laneIndex === lane);
    if (!p || p.pinned) return this.scroll;
    const top = p.y - this.layout.pinnedHeight;
    const bottom = p.y + p.height - (this.height - RULER);
    return top < this.scroll ? top : bottom > this.scroll ? bottom : this.scroll;
  }
}

// "4.7 % in view"; where kernels were not traced nothing is known.
export function busyWords(lane: Lane, range: Range, where = ''): string {
  const share = busyShare(lane, range);
  return share === null || tracedTime(lane, range) < LITTLE * (range.to - range.from) ? 'not traced here' : percent(share) + (untracedIn(lane, range).length ? ' where traced' : where);
}

const entryOf = (p: Placed, index: number): Entry => ({ lane: p.laneIndex, row: p.rowIndex, index });
