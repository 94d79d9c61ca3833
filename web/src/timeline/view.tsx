// The timeline on the page: a window on the lanes that scrolls, the pointer, the wheel, the keys.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { clip, count, nanos } from '../format';
import { arrangement, cursor, dark, focusSelection, generation, pan, search, select, selection, show, useStore, view, whenSeen, whole, zoom, type Selection } from '../state';
import { busyWords, Canvas, RULER } from './canvas';
import { describe, describeLane, nameOf, pick } from './entry';
import { arrowKey } from './walk';
import { laneOrder } from './lanes';
import { place } from './layout';
import { Pointers } from './pointers';
import { findNext } from './search';
import type { Timeline } from './data';

interface Props {
  data: Timeline;
  rowHeight: number;
  mostRows: number;
  maxHeight: number;
  id: string;
}

export interface Tip {
  x: number;
  y: number;
  name: string;
  lines: [string, string][];
}

export function TimelineView(props: Props) {
  const { data } = props;
  const element = useRef<HTMLCanvasElement>(null);
  const window_ = useRef<HTMLDivElement>(null);
  const canvas = useRef<Canvas | null>(null);
  const cross = useRef<HTMLDivElement>(null);
  const [tip, setTip] = useState<Tip | null>(null);
  const arranged = useStore(arrangement);
  const isDark = useStore(dark);
  const chosen = useStore(generation); // orders the lanes
  const layout = useMemo(() => place(data, props.rowHeight, props.mostRows, laneOrder(data, arranged), arranged), [data, props.rowHeight, props.mostRows, arranged, chosen]);
  const height = Math.min(props.maxHeight, layout.height + RULER + 4);

  useEffect(() => {
    canvas.current = new Canvas(element.current!, data, height);
    return run(canvas.current, window_.current!, layout, cross.current, setTip);
  }, [data, layout, height]);

  useEffect(() => {
    canvas.current?.restyle();
  }, [isDark]);

  return (
    <div class="timeline" id={props.id}>
      <div class="window" ref={window_} style={{ height: `${height}px` }} tabIndex={-1}>
        <div style={{ height: `${layout.height + RULER}px` }}>
          <canvas
            ref={element}
            tabIndex={0}
            style={{ height: `${height}px` }}
            role="application"
            aria-roledescription="timeline"
            aria-label={`Timeline of ${count(data.zones)} zones in ${data.lanes.length} lanes. Arrow keys walk from zone to zone, w and s zoom, a and d move, Home shows everything.`}
            onKeyDown={(ev) => onKey(ev, data, canvas.current!)}
          />
        </div>
      </div>
      <div class="cross" ref={cross} hidden />
      {tip && <TipBox tip={tip} width={element.current?.clientWidth ?? 0} />}
    </div>
  );
}

const followed = new WeakMap<Element, Selection>(); // by scrolling there

// The canvas follows the view, the selection, the search and the pointer; returns how to stop.
function run(made: Canvas, scroller: HTMLDivElement, layout: Canvas['layout'], cross: HTMLDivElement | null, setTip: (tip: Tip | null) => void): () => void {
  made.layout = layout;
  made.scroll = scroller.scrollTop;
  const pointers = new Pointers(made, scroller, setTip);
  const seen = whenSeen(made.element, () => made.draw());
  const follow = () => {
    const s = selection.get();
    if (!s?.entry || followed.get(scroller) === s) return;
    scroller.scrollTop = made.scrollTo(s.entry.lane, s.entry.row);
    if (layout.rows.some((p) => p.laneIndex === s.entry!.lane && p.rowIndex === s.entry!.row)) followed.set(scroller, s);
  };
  const stops = [
    view.watch(() => {
      setTip(null);
      seen.draw();
    }),
    selection.watch(() => {
      follow();
      seen.draw();
    }),
    search.watch(seen.draw),
    cursor.watch((t) => moveCross(cross, made, t)),
    seen.stop,
    pointers.stop,
  ];
  const watcher = new ResizeObserver(() => {
    made.resize();
    document.documentElement.style.setProperty('--bar', `${scroller.offsetWidth - scroller.clientWidth}px`);
  });
  watcher.observe(made.element);
  made.resize();
  follow();
  return () => {
    stops.forEach((stop) => stop());
    watcher.disconnect();
    made.stop();
  };
}

function moveCross(e: HTMLDivElement | null, c: Canvas, t: number | null): void {
  if (!e) return;
  const x = t === null ? -1 : c.xAt(t);
  e.hidden = x < c.gutter || x > c.gutter + c.plot;
  if (e.hidden) return;
  e.style.transform = `translateX(${x}px)`;
  e.dataset.at = `${((t ?? 0) / 1e9).toFixed(6)} s`;
  e.classList.toggle('left', x > c.gutter + c.plot - 90);
}

// What the pointer is on.
export function tipAt(c: Canvas, at: { x: number; y: number }): Tip | null {
  const { data } = c;
  const g = c.laneAt(at.y);
  if (g && at.x < c.gutter) return { ...at, name: g.lane.name, lines: describeLane(g.lane, g.hidden) };
  if (g?.lane.kind === 'busy') {
    const t = c.timeAt(at.x);
    const px = c.timeAt(at.x + 1) - t;
    return { ...at, name: g.lane.name, lines: [[`in ${nanos(px)}`, busyWords(g.lane, { from: t, to: t + px })]] };
  }
  const h = c.hit(at.x, at.y);
  return h && { ...at, name: nameOf(data, h), lines: describe(data, h) };
}

function TipBox({ tip, width }: { tip: Tip; width: number }) {
  const right = tip.x > width / 2;
  const style = right ? { right: `${width - tip.x + 12}px`, top: `${tip.y + 14}px` } : { left: `${tip.x + 12}px`, top: `${tip.y + 14}px` };
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

// Keys that mean the same wherever the focus is; null: not one of them.
export function timeKey(ev: KeyboardEvent): (() => void) | null {
  const step = ev.shiftKey ? 0.5 : 0.1;
  const keys: Record<string, () => void> = {
    a: () => pan(-step),
    d: () => pan(step),
    w: () => zoom(0.7, cursor.get() ?? undefined),
    s: () => zoom(1 / 0.7, cursor.get() ?? undefined),
    f: () => focusSelection(),
  };
  return keys[ev.key.toLowerCase()] ?? null;
}

function onKey(ev: KeyboardEvent, data: Timeline, c: Canvas): void {
  if (ev.ctrlKey || ev.metaKey || ev.altKey) return;
  const keys: Record<string, () => void> = {
    '+': () => zoom(0.7),
    '=': () => zoom(0.7),
    '-': () => zoom(1 / 0.7),
    Home: () => show(whole.get()),
    n: () => void findNext(data, true),
    p: () => void findNext(data, false),
    Enter: () => (selection.get() ? focusSelection() : select({ ...view.get(), label: 'visible range' })),
  };
  const to = arrowKey(data, ev, c.layout);
  const act = to ? () => pick(data, to) : keys[ev.key];
  if (!act) return;
  ev.preventDefault();
  ev.stopPropagation();
  act();
}
