// Metric charts on the run's time axis, and plain ones for steps and blocks.
import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import { savePng } from './export';
import { axisLabel, keyed, unitOf } from './format';
import { title } from './words';
import { cursor, dark, select, selection, useStore, view, whenSeen } from './state';
import { gutterOf, look } from './timeline/canvas';
import { ticks } from './timeline/draw';

export interface Line {
  key: string;
  label: string;
  values: (number | null)[];
}

export interface Chart {
  title: string;
  unit: string; // a key ending
  t: number[]; // seconds
  lines: Line[];
  group: string;
}

const STROKES = ['--c1', '--c2', '--c3', '--c4', '--c5', '--c6'];

function stroke(i: number): string {
  return getComputedStyle(document.documentElement).getPropertyValue(STROKES[i % STROKES.length]).trim();
}

function axisValues(unit: string) {
  return (_u: uPlot, splits: number[]) => {
    const labels = splits.map((v) => (v === null ? '' : axisLabel(unit, v)));
    return labels.map((text, i) => (labels.indexOf(text) < i ? '' : text)); // a unit without smaller parts says a value once
  };
}

function selectionBand(): uPlot.Plugin {
  return {
    hooks: {
      drawClear: (u: uPlot) => {
        const s = selection.get();
        if (!s) return;
        const l = look();
        const x0 = Math.max(u.valToPos(s.from / 1e9, 'x', true), u.bbox.left);
        const x1 = Math.min(u.valToPos(s.to / 1e9, 'x', true), u.bbox.left + u.bbox.width);
        if (x1 < u.bbox.left || x0 > u.bbox.left + u.bbox.width) return;
        u.ctx.fillStyle = l.band;
        u.ctx.fillRect(x0, u.bbox.top, Math.max(1, x1 - x0), u.bbox.height);
      },
    },
  };
}

interface TimeChartProps {
  chart: Chart;
  height: number;
  axis?: boolean;
}

// Time along the shared axis, and the values beside it.
function timeAxes(chart: Chart, e: HTMLElement, axis: boolean): uPlot.Axis[] {
  const l = look();
  return [
    {
      show: axis,
      size: 26,
      gap: 7,
      stroke: l.faint,
      font: l.font,
      grid: { stroke: l.line, width: 1 },
      ticks: { show: false },
      splits: (u) => ticks(view.get(), u.over.clientWidth).map((t) => t.at / 1e9),
      values: (u) => ticks(view.get(), u.over.clientWidth).map((t) => (u.valToPos(t.at / 1e9, 'x') > u.over.clientWidth - 20 ? '' : t.text)), // no half words at the edge
    },
    {
      size: () => gutterOf(e.clientWidth),
      stroke: l.faint,
      font: l.font,
      gap: 4,
      grid: { stroke: l.line, width: 1 },
      ticks: { show: false },
      values: axisValues(chart.unit),
      space: 24,
    },
  ];
}

function timeLines(chart: Chart): uPlot.Series[] {
  return chart.lines.map((one, i) => ({
    label: one.label,
    stroke: stroke(i),
    width: 1.25,
    fill: i === 0 && chart.lines.length === 1 ? stroke(0) + '22' : undefined,
    points: { show: true, size: 4, filter: () => alone(one.values) },
    spanGaps: false,
  }));
}

function selectDragged(u: uPlot): void {
  if (u.select.width < 3) return;
  select({ from: u.posToVal(u.select.left, 'x') * 1e9, to: u.posToVal(u.select.left + u.select.width, 'x') * 1e9, label: 'time range' });
  u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
}

function timePlot(chart: Chart, e: HTMLDivElement, height: number, axis: boolean): uPlot {
  const options: uPlot.Options = {
    width: Math.max(100, e.clientWidth),
    height,
    legend: { show: false },
    padding: [17, 0, axis ? 0 : 6, 0],
    cursor: { y: false, drag: { x: true, y: false, setScale: false, dist: 3 }, points: { size: 5 } },
    select: { show: true, left: 0, top: 0, width: 0, height: 0 },
    scales: { x: { time: false, auto: false, range: () => [view.get().from / 1e9, view.get().to / 1e9] }, y: { range: yRange(chart.unit) } },
    axes: timeAxes(chart, e, axis),
    series: [{}, ...timeLines(chart)],
    plugins: [selectionBand()],
    hooks: {
      setSelect: [selectDragged],
      setCursor: [(u) => readout(u, e, chart)],
      ready: [(u) => listen(u)],
    },
  };
  return new uPlot(options, [chart.t, ...chart.lines.map((one) => one.values)] as uPlot.AlignedData, e);
}

// Draws again when the view, the selection or the width change; returns how to stop.
function keepCurrent(plot: uPlot, e: HTMLDivElement, height: number): () => void {
  let frame = 0;
  let banded = selection.get();
  const again = () => {
    if (!frame)
      frame = requestAnimationFrame(() => {
        frame = 0;
        const v = view.get();
        plot.setScale('x', { min: v.from / 1e9, max: v.to / 1e9 });
        if (selection.get() !== banded) plot.redraw(false);
        banded = selection.get();
      });
  };
  const seen = whenSeen(e, again);
  const stops = [view.watch(seen.draw), selection.watch(seen.draw), seen.stop, cursor.watch((t) => follow(plot, t))];
  const watcher = new ResizeObserver(() => plot.setSize({ width: Math.max(100, e.clientWidth), height }));
  watcher.observe(e);
  return () => {
    stops.forEach((stop) => stop());
    cancelAnimationFrame(frame);
    watcher.disconnect();
    plot.destroy();
  };
}

// Shares the timeline's axis: its plot area begins where the lanes' does.
export function TimeChart({ chart, height, axis }: TimeChartProps) {
  const host = useRef<HTMLDivElement>(null);
  const isDark = useStore(dark);
  useEffect(() => keepCurrent(timePlot(chart, host.current!, height, axis ?? false), host.current!, height), [chart, height, isDark]);
  return (
    <figure class="chart" style={{ height: `${height}px` }} aria-label={`${chart.title} over time`}>
      <figcaption>
        <b>{chart.title}</b>
        {chart.lines.length > 1 &&
          chart.lines.map((one, i) => (
            <span class={`key k${(i % 6) + 1}`} key={one.key}>
              {one.label}
            </span>
          ))}
        <output />
        <SavePicture of={host} words={chart.title} />
      </figcaption>
      <div ref={host} />
    </figure>
  );
}

function SavePicture({ of, words }: { of: { current: HTMLDivElement | null }; words: string }) {
  return (
    <button type="button" class="link png" tabIndex={-1} aria-label={`save ${words} as PNG`} onClick={() => savePng(words, [...(of.current?.querySelectorAll('canvas') ?? [])])}>
      PNG
    </button>
  );
}

// The pointer over one chart is the same moment in every chart and lane; a click selects the sample there.
function listen(u: uPlot): void {
  let from = 0;
  u.over.addEventListener('mousemove', (ev) => cursor.set(u.posToVal(ev.offsetX, 'x') * 1e9));
  u.over.addEventListener('mouseleave', () => cursor.set(null));
  u.over.addEventListener('mousedown', (ev) => (from = ev.offsetX));
  u.over.addEventListener('click', (ev) => {
    if (Math.abs(ev.offsetX - from) > 3) return;
    const t = u.posToVal(ev.offsetX, 'x') * 1e9;
    select({ from: t, to: t, label: `samples at ${(t / 1e9).toFixed(2)} s`, moment: true });
  });
}

function follow(plot: uPlot, t: number | null): void {
  const left = t === null ? -10 : plot.valToPos(t / 1e9, 'x');
  if (Math.abs((plot.cursor.left ?? -10) - left) > 0.5) plot.setCursor({ left, top: t === null ? -10 : 1 });
}

// The last value at or before a moment, in words.
export function interpolated(chart: Chart, line: Line, t: number): string {
  const at = chart.t.findLastIndex((one) => one <= t);
  const v = at < 0 ? null : line.values[at];
  return v === null || v === undefined ? '' : keyed('x' + chart.unit, v);
}

// Values that no line reaches: their neighbours are missing.
export function alone(values: (number | null)[]): number[] {
  const there = (i: number) => values[i] !== null && values[i] !== undefined;
  return values.map((_, i) => i).filter((i) => there(i) && !there(i - 1) && !there(i + 1));
}

function readout(u: uPlot, e: HTMLElement | null, chart: Chart): void {
  const out = e?.parentElement?.querySelector('output');
  if (!out) return;
  const i = u.cursor.idx;
  if (i === null || i === undefined || (u.cursor.left ?? -1) < 0) {
    out.textContent = '';
    return;
  }
  const values = chart.lines.map((one) => {
    const v = one.values[i];
    return v === null || v === undefined ? 'n/a' : keyed('x' + chart.unit, v);
  });
  out.textContent = `${chart.t[i].toFixed(2)} s: ${values.join(', ')}`;
}

function yRange(unit: string): uPlot.Range.Function {
  return (_u, _min, max) => {
    if (unit === '_percent' && max <= 100) return [0, 100];
    if (unit === '_ratio' && max <= 1) return [0, 1];
    return [0, max > 0 ? max * 1.08 : 1];
  };
}

// Values in their order, for steps, blocks, iterations.
export function OrderChart({ values, unit, label, height, onPick }: { values: number[]; unit: string; label: string; height: number; onPick?: (i: number) => void }) {
  const host = useRef<HTMLDivElement>(null);
  const isDark = useStore(dark);
  useEffect(() => {
    const l = look();
    const e = host.current!;
    const plot = new uPlot(
      {
        width: Math.max(100, e.clientWidth),
        height,
        legend: { show: false },
        padding: [6, 8, 0, 0],
        cursor: { y: false, drag: { x: false, y: false }, points: { size: 6 } },
        scales: { x: { time: false, range: () => [-0.6, values.length - 0.4] }, y: { range: (_u, _a, max) => [0, max > 0 ? max * 1.08 : 1] } },
        axes: [
          { size: 22, gap: 2, incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4], stroke: l.faint, font: l.font, grid: { show: false }, ticks: { show: false } },
          { size: 62, gap: 4, stroke: l.faint, font: l.font, grid: { stroke: l.line, width: 1 }, ticks: { show: false }, values: axisValues(unit), space: 28 },
        ],
        series: [{}, { label, stroke: stroke(0), width: values.length > 400 ? 1 : 0, fill: stroke(0) + (values.length > 400 ? '22' : 'aa'), paths: values.length > 400 ? undefined : uPlot.paths.bars!({ size: [0.8, 40] }), points: { show: false } }],
        hooks: {
          setCursor: [
            (u) => {
              const out = e.parentElement?.querySelector('output');
              const i = u.cursor.idx;
              if (out) out.textContent = i === null || i === undefined || (u.cursor.left ?? -1) < 0 ? '' : `${i}: ${keyed('x' + unit, values[i])}`;
            },
          ],
          ready: [
            (u) => {
              u.over.addEventListener('click', () => {
                const i = u.cursor.idx;
                if (onPick && typeof i === 'number') onPick(i);
              });
            },
          ],
        },
      },
      [values.map((_, i) => i), values],
      e,
    );
    const watcher = new ResizeObserver(() => plot.setSize({ width: Math.max(100, e.clientWidth), height }));
    watcher.observe(e);
    return () => {
      watcher.disconnect();
      plot.destroy();
    };
  }, [values, height, isDark]);
  return (
    <figure class="chart" aria-label={label} style={{ height: `${height + 18}px` }}>
      <figcaption>
        <b>{label}</b>
        <output />
        <SavePicture of={host} words={label} />
      </figcaption>
      <div ref={host} />
    </figure>
  );
}

// How often which value came: 24 equal bins.
export function histogram(values: number[]): { from: number; width: number; counts: number[] } {
  const sorted = [...values].sort((a, b) => a - b);
  const from = sorted[0];
  const top = sorted[sorted.length - 1];
  const bins = 24;
  const width = (top - from) / bins || 1e-9;
  const counts = new Array<number>(bins).fill(0);
  for (const v of values) counts[Math.min(bins - 1, Math.floor((v - from) / width))]++;
  return { from, width, counts };
}

export function Distribution({ values, unit, label }: { values: number[]; unit: string; label: string }) {
  const h = histogram(values);
  const most = Math.max(...h.counts);
  return (
    <figure class="chart distribution" aria-label={label}>
      <figcaption>
        <b>{label}</b>
      </figcaption>
      <div class="bins">
        {h.counts.map((n, i) => (
          <i
            key={i}
            style={{ height: `${n ? Math.max(3, (n / most) * 100) : 0}%` }}
            title={`${n} between ${keyed('x' + unit, h.from + i * h.width)} and ${keyed('x' + unit, h.from + (i + 1) * h.width)}`}
          />
        ))}
      </div>
      <div class="ends">
        <span>{keyed('x' + unit, h.from)}</span>
        <span>{keyed('x' + unit, h.from + h.width * h.counts.length)}</span>
      </div>
    </figure>
  );
}

// Lines that another unit's neighbours would belittle, or that are no amounts.
const OWN_CHART: Record<string, string> = { process_percent: 'of this run, % of a core' };
const NO_CHART = /^throttle_bits_count$/;
const LABELS: Record<string, string> = { process_memory_mb: 'this run', load1_count: '1 min', load5_count: '5 min', load15_count: '15 min', io_percent: 'disk' };

const constant = (values: (number | null)[]) => values.every((v) => v === null || v === values.find((x) => x !== null));

// Splits a series object ({t_s, <metric>_<unit>: []}) into charts by unit.
export function chartsOf(group: string, series: Record<string, (number | null)[]> | undefined): Chart[] {
  if (!series?.t_s?.length) return [];
  const by = new Map<string, Line[]>();
  for (const [key, values] of Object.entries(series)) {
    if (key === 't_s' || NO_CHART.test(key) || !Array.isArray(values) || values.every((v) => v === null)) continue;
    if (key.includes('total') && constant(values)) continue; // the tables have it
    const family = unitOf(key) + (OWN_CHART[key] ? ` ${key}` : key.includes('total') ? ' total' : '');
    const list = by.get(family) ?? [];
    list.push({ key, label: OWN_CHART[key] ?? title(key), values });
    by.set(family, list);
  }
  const out: Chart[] = [];
  for (const [family, lines] of by) {
    const unit = family.split(' ')[0];
    for (let i = 0; i < lines.length; i += 6) {
      const part = lines.slice(i, i + 6);
      const name = part.length === 1 ? part[0].label : familyName(unit, part);
      out.push({ group, title: name.includes(group) ? name : `${group} ${name}`, unit, t: series.t_s as number[], lines: labelled(part) });
    }
  }
  return out;
}

// Beside each other, lines need other words than alone.
function labelled(lines: Line[]): Line[] {
  if (lines.length === 1) return lines;
  const whole = lines.some((one) => one.key === 'process_memory_mb');
  return lines.map((one) => ({ ...one, label: whole && one.key === 'memory_used_mb' ? 'whole GPU' : (LABELS[one.key] ?? one.label) }));
}

function familyName(unit: string, lines: Line[]): string {
  if (lines.every((one) => /^load\d+_count$/.test(one.key))) return 'load average';
  const names: Record<string, string> = {
    _percent: 'load', _ratio: 'share', _mb: 'memory', _gb: 'memory', _bytes: 'memory', _w: 'power', _c: 'temperature', _mhz: 'clocks',
    _hz: 'clocks', _gb_per_s: 'throughput', _mb_per_s: 'throughput', _bytes_per_s: 'throughput', _per_s: 'rates', _ms: 'times', _s: 'times', _count: 'counts',
  };
  return names[unit] ?? 'values';
}
