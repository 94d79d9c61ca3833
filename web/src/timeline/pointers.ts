// Mouse, fingers and wheel on the canvas: a drag selects time, Shift and drag moves, two
// fingers zoom; on a lane's name a click folds, a drag moves the lane, the pin keeps it on top.
import { cursor, focusSelection, pan, select, selection, show, view, whole, zoom, type Range } from '../state';
import { PIN, type Canvas } from './canvas';
import { pick } from './entry';
import { moveLane, toggleFold, togglePin } from './lanes';
import { tipAt, type Tip } from './view';

interface Point {
  x: number;
  y: number;
}

interface Drag extends Point {
  kind: 'range' | 'pan' | 'lane';
  from: Range;
  scroll: number;
  moved: boolean;
  lane: number;
}

const STILL = 4; // px: less is a click

export class Pointers {
  private drag: Drag | null = null;
  private fingers = new Map<number, Point>();
  private stops: (() => void)[] = [];

  constructor(
    private c: Canvas,
    private scroller: HTMLElement,
    private tip: (t: Tip | null) => void,
  ) {
    const e = c.element;
    const on = <K extends keyof HTMLElementEventMap>(of: HTMLElement, type: K, act: (ev: HTMLElementEventMap[K]) => void, options?: AddEventListenerOptions) => {
      of.addEventListener(type, act, options);
      this.stops.push(() => of.removeEventListener(type, act));
    };
    on(e, 'wheel', (ev) => this.wheel(ev), { passive: false });
    on(e, 'pointerdown', (ev) => this.down(ev));
    on(e, 'pointermove', (ev) => this.move(ev));
    on(e, 'pointerup', (ev) => this.up(ev));
    on(e, 'pointercancel', (ev) => this.cancel(ev));
    on(e, 'pointerleave', () => this.leave());
    on(e, 'dblclick', (ev) => this.fit(ev));
    on(scroller, 'scroll', () => {
      this.tip(null);
      c.scroll = scroller.scrollTop;
      c.draw();
    });
  }

  stop = (): void => this.stops.forEach((off) => off());

  private at(ev: MouseEvent): Point {
    const box = this.c.element.getBoundingClientRect();
    return { x: ev.clientX - box.left, y: ev.clientY - box.top };
  }

  // The plain wheel is the window's and then the page's own.
  private wheel(ev: WheelEvent): void {
    const unit = ev.deltaMode === 1 ? 16 : 1;
    const { x } = this.at(ev);
    if (ev.ctrlKey || ev.metaKey) {
      ev.preventDefault();
      zoom(Math.exp(Math.max(-60, Math.min(60, ev.deltaY * unit)) * 0.006), this.c.timeAt(Math.max(this.c.gutter, x)));
    } else if (ev.shiftKey || Math.abs(ev.deltaX) > Math.abs(ev.deltaY)) {
      ev.preventDefault();
      pan(((ev.deltaX || ev.deltaY) * unit) / this.c.plot);
    }
  }

  private down(ev: PointerEvent): void {
    if (ev.button > 1) return;
    const at = this.at(ev);
    this.fingers.set(ev.pointerId, at);
    const onName = at.x < this.c.gutter;
    const moves = ev.shiftKey || ev.button === 1 || ev.pointerType === 'touch';
    this.drag = { ...at, kind: onName ? 'lane' : moves ? 'pan' : 'range', from: view.get(), scroll: this.c.scroll, moved: false, lane: this.c.laneAt(at.y)?.laneIndex ?? -1 };
    try {
      this.c.element.setPointerCapture(ev.pointerId);
    } catch {
      // the pointer is gone already
    }
    this.tip(null);
  }

  private move(ev: PointerEvent): void {
    const at = this.at(ev);
    const { c } = this;
    if (this.fingers.size === 2 && this.fingers.has(ev.pointerId)) {
      this.pinch(ev.pointerId, at);
      return;
    }
    if (this.fingers.has(ev.pointerId)) this.fingers.set(ev.pointerId, at);
    cursor.set(at.x >= c.gutter ? c.timeAt(at.x) : null);
    if (this.drag) {
      this.dragTo(at);
      return;
    }
    const lane = at.x < c.gutter ? (c.laneAt(at.y)?.laneIndex ?? -1) : -1;
    if (lane !== c.hovered) {
      c.hovered = lane;
      c.draw();
    }
    if (ev.pointerType !== 'touch') this.tip(tipAt(c, at));
  }

  private dragTo(at: Point): void {
    const { c } = this;
    const d = this.drag!;
    if (Math.abs(at.x - d.x) + Math.abs(at.y - d.y) > STILL) d.moved = true;
    if (!d.moved) return;
    if (d.kind === 'range') {
      const ends = [c.timeAt(Math.max(c.gutter, d.x)), c.timeAt(Math.min(c.gutter + c.plot, Math.max(c.gutter, at.x)))];
      c.pending = { from: Math.min(...ends), to: Math.max(...ends) };
    } else if (d.kind === 'pan') {
      const by = ((d.x - at.x) / c.plot) * (d.from.to - d.from.from);
      show({ from: d.from.from + by, to: d.from.to + by });
      this.scroller.scrollTop = d.scroll + d.y - at.y;
    } else {
      c.moving = { lane: d.lane, to: c.laneAt(at.y)?.laneIndex ?? d.lane };
    }
    c.draw();
  }

  private pinch(id: number, at: Point): void {
    const [[other, there]] = [...this.fingers].filter(([one]) => one !== id);
    const before = this.fingers.get(id)!;
    const apart = (a: Point) => Math.max(20, Math.hypot(a.x - there.x, a.y - there.y));
    const middle = this.c.timeAt((before.x + there.x) / 2);
    zoom(apart(before) / apart(at), middle);
    pan((before.x - at.x) / 2 / this.c.plot);
    this.fingers.set(id, at);
    this.fingers.set(other, there);
    this.drag = null;
  }

  private up(ev: PointerEvent): void {
    const { c } = this;
    const d = this.drag;
    const range = c.pending;
    this.cancel(ev);
    if (!d) return;
    if (d.kind === 'lane') this.lane(d, this.at(ev));
    else if (range) select({ ...range, label: 'time range' });
    else if (!d.moved) {
      const h = c.hit(d.x, d.y);
      if (h) pick(c.data, h);
      else select(null);
    }
  }

  private lane(d: Drag, at: Point): void {
    const { c } = this;
    const to = c.laneAt(at.y);
    const g = c.layout.groups.find((one) => one.laneIndex === d.lane);
    if (!g) return;
    if (d.moved) {
      if (to) moveLane(c.data, d.lane, to.laneIndex);
    } else if (d.x < PIN) togglePin(d.lane);
    else toggleFold(d.lane, g.hidden, g.lane.rows.length);
  }

  private cancel(ev: PointerEvent): void {
    this.fingers.delete(ev.pointerId);
    this.drag = null;
    this.c.pending = null;
    this.c.moving = null;
    this.c.draw();
  }

  private leave(): void {
    this.tip(null);
    cursor.set(null);
    if (this.c.hovered >= 0) {
      this.c.hovered = -1;
      this.c.draw();
    }
  }

  private fit(ev: MouseEvent): void {
    const at = this.at(ev);
    if (at.x < this.c.gutter) return;
    const h = this.c.hit(at.x, at.y);
    if (h) {
      pick(this.c.data, h);
      focusSelection();
    } else if (selection.get()) focusSelection();
    else show(whole.get());
  }
}
