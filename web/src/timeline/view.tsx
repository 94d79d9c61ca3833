// The timeline on the page: canvas, pointer, wheel, keys.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { clip, count, keyed, nanos, sameStage } from '../format';
import { dark, focusSelection, pan, search, select, selection, show, useStore, view, whenSeen, whole, zoom, type Range } from '../state';
import { derived, entriesOf, type Lane, type Timeline } from './data';
import { drawBand, drawRow, drawTicks, type Brush, type Look } from './draw';
import { title } from '../words';
import { place, type Group, type Layout, type Placed } from './layout';

const RULER = 20;
export const GUTTER = 132;

interface Props {
  data: Timeline;
  lanes: number[];
  rowHeight: number;
  mostRows: number;
  maxHeight: number;
  fixedHeight?: number;
  id: string;
}

export function look(): Look {
  const s = getComputedStyle(document.documentElement);
  const v = (name: string) => s.getPropertyValue(name).trim();
  return {
    text: v('--text'),
    faint: v('--faint'),
    line: v('--grid'),
    back: v('--card'),
    band: v('--band'),
    accent: v('--accent'),
    font: `11px ${v('--font')}`,
  };
}

interface Hit {
  placed: Placed;
  entry: number;
}

class Canvas {
  private frame = 0;
  private width = 0;
  private styles: Look = look();
  scroll = 0;
  layout: Layout = { rows: [], groups: [], height: 0 };
  drag: { x: number; y: number; from: Range; scroll: number; range: boolean; moved: boolean } | null = null;
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
    this.draw();
  }

  get plot(): number {
    return Math.max(50, this.width - GUTTER);
  }

  timeAt(x: number): number {
    const v = view.get();
    return v.from + ((x - GUTTER) / this.plot) * (v.to - v.from);
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
    const brush: Brush = {
      context: c,
      names: this.data.names,
      view: view.get(),
      left: GUTTER,
      width: this.plot,
      look: this.styles,
      wanted: wantedNames(this.data),
    };
    drawTicks(brush, 0, this.height, true);
    c.save();
    c.beginPath();
    c.rect(0, RULER, this.width, this.height - RULER);
    c.clip();
    for (const p of this.layout.rows) {
      const y = RULER + p.y - this.scroll;
      if (y + p.height > RULER && y < this.height) drawRow(brush, p.row, y, p.height);
    }
    this.paintLanes(c);
    this.paintMarks(brush);
    c.restore();
    const s = selection.get();
    if (s) drawBand(brush, s, 0, this.height);
    if (this.pending) drawBand(brush, this.pending, 0, this.height);
    this.paintOverview(brush);
    this.element.dataset.from = String(Math.round(brush.view.from));
    this.element.dataset.to = String(Math.round(brush.view.to));
    this.element.dataset.frames = String(this.frames);
  }

  private paintLanes(c: CanvasRenderingContext2D): void {
    for (const g of this.layout.groups) {
      const y = RULER + g.y - this.scroll;
      if (y + g.height < RULER || y > this.height) continue;
      c.fillStyle = this.styles.back;
      c.fillRect(0, y, GUTTER - 1, g.height);
      c.fillStyle = this.styles.text;
      c.fillText(clip(g.lane.name, 20), 2, y + 8, GUTTER - 8);
      const rows = g.lane.rows.length;
      const room = g.height > 26;
      const notes = [];
      if (g.hidden) notes.push(`+${g.hidden} rows`);
      else if (room && rows > 1) notes.push(`${count(g.lane.zones)} ${entriesOf(g.lane)}`);
      if (g.lane.mergeNs && room) notes.push(`< ${nanos(g.lane.mergeNs)} merged`);
      c.fillStyle = this.styles.faint;
      if (room && notes.length) c.fillText(notes[notes.length - 1], 2, y + 21, GUTTER - 8);
      if (room && notes.length > 1 && g.height > 40) c.fillText(notes[0], 2, y + 34, GUTTER - 8);
      c.fillStyle = this.styles.line;
      c.fillRect(0, y + g.height - 3, this.width, 1);
    }
  }

  private paintMarks(b: Brush): void {
    const c = b.context;
    c.fillStyle = this.styles.accent;
    for (const m of this.data.marks) {
      if (m.at < b.view.from || m.at > b.view.to) continue;
      const x = GUTTER + ((m.at - b.view.from) / (b.view.to - b.view.from)) * this.plot;
      c.beginPath();
      c.moveTo(x - 3, RULER);
      c.lineTo(x + 3, RULER);
      c.lineTo(x, RULER + 5);
      c.fill();
    }
  }

  // A thin strip on top: where in the run the picture is.
  private paintOverview(b: Brush): void {
    const all = whole.get();
    const span = all.to - all.from;
    if (b.view.to - b.view.from > span * 0.999) return;
    const c = b.context;
    c.fillStyle = this.styles.line;
    c.fillRect(GUTTER, 0, this.plot, 3);
    c.fillStyle = this.styles.accent;
    const x = GUTTER + ((b.view.from - all.from) / span) * this.plot;
    c.fillRect(x, 0, Math.max(3, ((b.view.to - b.view.from) / span) * this.plot), 3);
  }

  laneAt(y: number): Group | undefined {
    const at = y - RULER + this.scroll;
    return y < RULER ? undefined : this.layout.groups.find((g) => at >= g.y && at < g.y + g.height);
  }

  hit(x: number, y: number): Hit | null {
    if (x < GUTTER || y < RULER) return null;
    const at = y - RULER + this.scroll;
    const placed = this.layout.rows.find((p) => at >= p.y && at < p.y + p.height);
    if (!placed) return null;
    const v = view.get();
    const near = ((v.to - v.from) / this.plot) * 1.5;
    const t = this.timeAt(x);
    const entry = placed.row.firstEndingAfter(t - near);
    if (entry >= placed.row.size || placed.row.start[entry] > t + near) return null;
    const next = placed.row.firstStartingAt(t + near, entry);
    return { placed, entry: next > entry + 1 ? placed.row.longestIn(entry, next) : entry };
  }
}

function namesWith(data: Timeline, text: string): Set<number> {
  const lower = text.trim().toLowerCase();
  return new Set(data.names.flatMap((n, i) => (n.toLowerCase().includes(lower) ? [i] : [])));
}

function wantedNames(data: Timeline): Set<number> | null {
  const text = search.get().trim();
  const name = selection.get()?.name;
  if (text) return namesWith(data, text);
  if (name === undefined) return null;
  const out = new Set(data.names.flatMap((n, i) => (sameStage(name, n) ? [i] : [])));
  return out.size ? out : null;
}

export function describe(data: Timeline, p: Placed, entry: number): [string, string][] {
  const { row } = p;
  const out: [string, string][] = [];
  const name = data.names[row.name[entry]];
  const start = row.start[entry];
  const n = row.count[entry];
  if (n > 1) {
    out.push(['merged', `${count(n)} zones, each shorter than ${nanos(row.mergeNs)}`]);
    out.push([row.mixed[entry] ? 'longest of them' : 'all of them', name]);
    out.push(['busy', `${nanos(row.busy[entry])} of ${nanos(row.end[entry] - start)}`]);
    out.push(['mean', nanos(row.busy[entry] / n)]);
  } else {
    out.push(['duration', nanos(row.end[entry] - start)]);
  }
  out.push(['start', `${(start / 1e9).toFixed(6)}\u00a0s`]);
  out.push(['lane', p.lane.name + (p.lane.rows.length > 1 ? `, depth ${p.rowIndex}` : '')]);
  const more = data.details.get(`${p.laneIndex}.${p.rowIndex}.${start}`);
  if (more) for (const [k, v] of Object.entries(more)) out.push([title(k), keyed(k, v)]);
  return out;
}

// What a lane's name stands for: shown where the pointer rests on it.
export function describeLane(lane: Lane, hidden: number): [string, string][] {
  const what: Record<string, string> = {
    thread: 'zones of this thread, outermost on top',
    track: 'spans and tasks, outermost on top',
    span: 'sections from event to event on this stream, outermost on top; may hold idle time',
    stream: lane.rows.length > 1 ? 'kernels above, copies and fills below' : 'kernels',
  };
  const out: [string, string][] = [['holds', `${count(lane.zones)} ${entriesOf(lane)}`]];
  if (what[lane.kind]) out.push(['shows', what[lane.kind]]);
  else if (derived(lane.kind)) out.push(['shows', 'zones of the threads below once more']);
  if (lane.note) out.push(['note', lane.note]);
  if (hidden) out.push(['click', `shows ${hidden} more ${hidden === 1 ? 'row' : 'rows'}`]);
  return out;
}

function pick(data: Timeline, h: Hit): void {
  const { row } = h.placed;
  const name = data.names[row.name[h.entry]];
  const n = row.count[h.entry];
  select({
    from: row.start[h.entry],
    to: row.end[h.entry],
    label: n > 1 ? `${count(n)} merged zones` : name,
    name: derived(h.placed.lane.kind) || n > 1 ? undefined : name,
    lane: h.placed.lane.name,
    detail: describe(data, h.placed, h.entry),
  });
}

// Zones whose name holds the text; merged ones are counted by the name of the longest of them.
export function countFound(data: Timeline, text: string): { names: number; zones: number; merged: boolean } {
  const wanted = namesWith(data, text);
  const found = { names: 0, zones: 0, merged: false };
  const seen = new Set<number>();
  for (const lane of data.lanes) {
    if (derived(lane.kind)) continue;
    for (const row of lane.rows) {
      for (let i = 0; i < row.size; i++) {
        if (!wanted.has(row.name[i])) continue;
        seen.add(row.name[i]);
        found.zones += row.count[i];
        if (row.mixed[i]) found.merged = true;
      }
    }
  }
  found.names = seen.size;
  return found;
}

// The next zone that the search finds, from the middle of the picture on.
export function findNext(data: Timeline, forward: boolean): boolean {
  const wanted = wantedNames(data);
  if (!wanted) return false;
  const v = view.get();
  const s = selection.get();
  const from = s && s.to > v.from && s.from < v.to ? s.from : forward ? v.from : v.to;
  let best: { lane: number; row: number; i: number; start: number } | null = null;
  data.lanes.forEach((lane, l) => {
    if (derived(lane.kind)) return;
    lane.rows.forEach((row, r) => {
      let i = row.firstStartingAt(forward ? from + 1 : from);
      if (!forward) i--;
      const worse = () => best !== null && (forward ? row.start[i] >= best.start : row.start[i] <= best.start);
      for (; i >= 0 && i < row.size && !worse(); i += forward ? 1 : -1) {
        if (!wanted.has(row.name[i])) continue;
        best = { lane: l, row: r, i, start: row.start[i] };
        break;
      }
    });
  });
  if (!best) return false;
  const b = best as { lane: number; row: number; i: number };
  const lane = data.lanes[b.lane];
  pick(data, { placed: { lane, laneIndex: b.lane, row: lane.rows[b.row], rowIndex: b.row, y: 0, height: 0 }, entry: b.i });
  return true;
}

interface Tip {
  x: number;
  y: number;
  name: string;
  lines: [string, string][];
}

export function TimelineView(props: Props) {
  const { data } = props;
  const element = useRef<HTMLCanvasElement>(null);
  const canvas = useRef<Canvas | null>(null);
  const [tip, setTip] = useState<Tip | null>(null);
  const [open, setOpen] = useState<Set<number>>(new Set());
  const isDark = useStore(dark);
  const layout = useMemo(
    () => place(data, props.rowHeight, props.mostRows, props.lanes, open),
    [data, props.rowHeight, props.mostRows, props.lanes, open],
  );
  const height = props.fixedHeight ?? Math.min(props.maxHeight, layout.height + RULER + 4);

  useEffect(() => {
    const e = element.current!;
    const made = new Canvas(e, data, height);
    made.layout = layout;
    canvas.current = made;
    const seen = whenSeen(e, () => made.draw());
    const stops = [view.watch(seen.draw), selection.watch(seen.draw), search.watch(seen.draw), seen.stop];
    const watcher = new ResizeObserver(() => made.resize());
    watcher.observe(e);
    made.resize();
    const wheel = (ev: WheelEvent) => onWheel(ev, made);
    e.addEventListener('wheel', wheel, { passive: false });
    return () => {
      stops.forEach((stop) => stop());
      watcher.disconnect();
      e.removeEventListener('wheel', wheel);
      made.stop();
    };
  }, [data, layout, height]);

  useEffect(() => {
    canvas.current?.restyle();
  }, [isDark]);

  const place_ = (ev: MouseEvent) => {
    const box = element.current!.getBoundingClientRect();
    return { x: ev.clientX - box.left, y: ev.clientY - box.top };
  };

  const down = (ev: PointerEvent) => {
    if (ev.button) return;
    const at = place_(ev);
    const c = canvas.current!;
    if (at.x < GUTTER) {
      toggleLane(c, at.y, open, setOpen);
      return;
    }
    c.drag = { ...at, from: view.get(), scroll: c.scroll, range: ev.shiftKey || at.y < RULER, moved: false };
    element.current!.setPointerCapture(ev.pointerId);
    setTip(null);
  };

  const move = (ev: PointerEvent) => {
    const c = canvas.current!;
    const at = place_(ev);
    if (!c.drag) {
      const g = at.x < GUTTER ? c.laneAt(at.y) : undefined;
      if (g) {
        setTip({ ...at, name: g.lane.name, lines: describeLane(g.lane, g.hidden) });
        return;
      }
      const h = c.hit(at.x, at.y);
      setTip(h ? { ...at, name: data.names[h.placed.row.name[h.entry]], lines: describe(data, h.placed, h.entry) } : null);
      return;
    }
    const dx = at.x - c.drag.x;
    if (Math.abs(dx) + Math.abs(at.y - c.drag.y) > 3) c.drag.moved = true;
    if (!c.drag.moved) return;
    if (c.drag.range) {
      const a = c.timeAt(Math.max(GUTTER, c.drag.x));
      const b = c.timeAt(Math.max(GUTTER, at.x));
      c.pending = { from: Math.min(a, b), to: Math.max(a, b) };
      c.draw();
      return;
    }
    const by = (-dx / c.plot) * (c.drag.from.to - c.drag.from.from);
    c.scroll = Math.max(0, Math.min(c.layout.height + RULER - c.height, c.drag.scroll + c.drag.y - at.y));
    show({ from: c.drag.from.from + by, to: c.drag.from.to + by });
    c.draw();
  };

  const up = (ev: PointerEvent) => {
    const c = canvas.current!;
    const drag = c.drag;
    c.drag = null;
    if (!drag) return;
    if (c.pending) {
      const range = c.pending;
      c.pending = null;
      select({ ...range, label: 'time range' });
      return;
    }
    if (drag.moved) return;
    const at = place_(ev);
    const h = c.hit(at.x, at.y);
    if (h) pick(data, h);
    else select(null);
  };

  return (
    <div class="timeline" id={props.id}>
      <canvas
        ref={element}
        tabIndex={0}
        style={{ height: `${height}px` }}
        role="img"
        aria-label={`Timeline of ${count(data.zones)} zones in ${data.lanes.length} lanes. Arrow keys move, plus and minus zoom, Home shows everything.`}
        onPointerDown={down}
        onPointerMove={move}
        onPointerUp={up}
        onPointerLeave={() => setTip(null)}
        onDblClick={() => focusSelection()}
        onKeyDown={(ev) => onKey(ev, canvas.current!, data)}
      />
      {tip && <TipBox tip={tip} width={element.current?.clientWidth ?? 0} />}
    </div>
  );
}

function TipBox({ tip, width }: { tip: Tip; width: number }) {
  const right = tip.x > width / 2;
  const style = right
    ? { right: `${width - tip.x + 12}px`, top: `${tip.y + 14}px` }
    : { left: `${tip.x + 12}px`, top: `${tip.y + 14}px` };
  return (
    <div class="tip" style={style} role="tooltip">
      <b dir="auto">{clip(tip.name, 80)}</b>
      <dl>
        {tip.lines.map(([k, v]) => (
          <>
            <dt>{k}</dt>
            <dd dir="auto">{clip(v, 90)}</dd>
          </>
        ))}
      </dl>
    </div>
  );
}

function toggleLane(c: Canvas, y: number, open: Set<number>, setOpen: (s: Set<number>) => void): void {
  const g = c.laneAt(y);
  if (!g) return;
  const next = new Set(open);
  if (!next.delete(g.laneIndex)) next.add(g.laneIndex);
  setOpen(next);
}

function onWheel(ev: WheelEvent, c: Canvas): void {
  const box = c.element.getBoundingClientRect();
  const x = ev.clientX - box.left;
  if (x < GUTTER && !ev.ctrlKey) return;
  ev.preventDefault();
  const unit = ev.deltaMode === 1 ? 16 : 1;
  if (ev.shiftKey || Math.abs(ev.deltaX) > Math.abs(ev.deltaY)) {
    pan((((ev.deltaX || ev.deltaY) * unit) / c.plot) * 1);
    return;
  }
  zoom(Math.exp(Math.max(-60, Math.min(60, ev.deltaY * unit)) * 0.004), c.timeAt(x));
}

function onKey(ev: KeyboardEvent, c: Canvas, data: Timeline): void {
  const v = view.get();
  const step = ev.shiftKey ? 0.5 : 0.1;
  const keys: Record<string, () => void> = {
    ArrowLeft: () => pan(-step),
    ArrowRight: () => pan(step),
    a: () => pan(-step),
    d: () => pan(step),
    '+': () => zoom(0.7),
    '=': () => zoom(0.7),
    w: () => zoom(0.7),
    '-': () => zoom(1 / 0.7),
    s: () => zoom(1 / 0.7),
    Home: () => show(whole.get()),
    f: () => focusSelection(),
    n: () => void findNext(data, true),
    p: () => void findNext(data, false),
    Escape: () => select(null),
    Enter: () => select({ ...v, label: 'visible range' }),
    ArrowDown: () => scrollBy(c, 40),
    ArrowUp: () => scrollBy(c, -40),
  };
  if (ev.ctrlKey || ev.metaKey || ev.altKey) return;
  const act = keys[ev.key];
  if (!act) return;
  ev.preventDefault();
  act();
}

function scrollBy(c: Canvas, by: number): void {
  c.scroll = Math.max(0, Math.min(c.layout.height + RULER - c.height, c.scroll + by));
  c.draw();
}
