// Metric charts on the run's time axis, and plain ones for steps and blocks.
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { savePng } from './export';
import type { ChartColumn, Distribution } from './report-types';
import { axisLabel, axisUnit, keyed, seconds, unitOf } from './format';
import { title } from './words';
import { cursor, dark, select, selection, useSettled, useStore, view, type Range } from './state';
import { Picture } from './picture';
import { Plot } from './plot';
import { gutterOf } from './timeline/canvas';
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
  stacked?: boolean; // lines lie on each other
  elsewhere?: Chart; // the same, coarser, of times that this one does not have
}

// Draws again when the view, the selection or the width change; returns how to stop.
function timePlot(chart: Chart, e: HTMLDivElement, height: number, axis: boolean): () => void {
  const s = (ns: number) => ns / 1e9;
  const plot = new Plot(e, {
    x: chart.t,
    lines: chart.lines.map((one) => one.values),
    stacked: chart.stacked,
    height,
    top: 17,
    bottom: axis ? 26 : 6,
    left: gutterOf,
    range: () => [s(view.get().from), s(view.get().to)],
    highest: (most) => highest(chart.unit, most),
    label: (v, high) => axisLabel(chart.unit, v, high),
    unit: (high) => axisUnit(chart.unit, high),
    ticks: (width) => ticks(view.get(), width).map((t) => ({ ...t, at: s(t.at) })),
    band: () => selection.get() && [s(selection.get()!.from), s(selection.get()!.to)],
    moved: (t) => cursor.set(t === null ? null : t * 1e9),
    clicked: (t) => select({ from: t * 1e9, to: t * 1e9, label: `samples at ${t.toFixed(2)} s`, moment: true }),
    dragged: (from, to) => select({ from: from * 1e9, to: to * 1e9, label: 'time range' }),
  });
  const follow = (t: number | null) => {
    plot.point(t === null ? null : s(t));
    const [time, values] = t === null ? ['', []] : reading(chart, plot.nearest(s(t)));
    const keys = e.parentElement!.querySelectorAll('.key var'); // several lines: each value stands with its name
    keys.forEach((key, i) => (key.textContent = values[i] ? `${values[i]} ` : ''));
    readout(e, keys.length ? time : [time, ...values].join(' '));
  };
  const stops = [view.watch(plot.soon), selection.watch(plot.soon), cursor.watch(follow), plot.stop];
  return () => stops.forEach((stop) => stop());
}

interface TimeChartProps {
  chart: Chart;
  height: number;
  axis?: boolean;
}

// Shares the timeline's axis: its plot area begins where the lanes' does.
export function TimeChart({ chart, height, axis }: TimeChartProps) {
  const host = useRef<HTMLDivElement>(null);
  const isDark = useStore(dark);
  useEffect(() => timePlot(chart, host.current!, height, axis ?? false), [chart, height, isDark]);
  return (
    <figure class="chart" style={{ height: `${height}px` }} aria-label={`${chart.title} over time`}>
      <figcaption>
        <b>{chart.title}</b>
        {chart.lines.length > 1 &&
          chart.lines.map((one, i) => (
            <span class={`key k${(i % 6) + 1}`} key={one.key} title={one.label}>
              <var />
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

const SEEN_LEAST = 0.1; // of the shown time: less is a stroke between gaps

// How much of the shown time has values; each is of the time since the row before.
function known(chart: Chart, range: Range): number {
  const [from, to] = [range.from / 1e9, range.to / 1e9];
  let sum = 0;
  for (let i = 1; i < chart.t.length; i++) if (chart.lines.some((one) => (one.values[i] ?? null) !== null)) sum += Math.max(0, Math.min(to, chart.t[i]) - Math.max(from, chart.t[i - 1]));
  return sum / Math.max(1e-9, to - from);
}

// Where next to nothing of the shown time was sampled that fine, what was read of it.
export function FinestChart(props: TimeChartProps) {
  const shown = useSettled(view, 150);
  const { elsewhere } = props.chart;
  const coarse = useMemo(() => elsewhere && known(props.chart, shown) < SEEN_LEAST && known(elsewhere, shown) > 0, [props.chart, shown]);
  return <TimeChart {...props} chart={coarse ? elsewhere! : props.chart} />;
}

function SavePicture({ of, words }: { of: { current: HTMLDivElement | null }; words: string }) {
  return (
    <button class="link png" aria-label={`save ${words} as PNG`} onClick={() => savePng(words, [...(of.current?.querySelectorAll('canvas') ?? [])])}>
      PNG
    </button>
  );
}

// The last value at or before a sample, in words; of what is sampled less often than its neighbours, how old it is.
function lastAt(chart: Chart, line: Line, i: number): string {
  let at = i;
  while (at >= 0 && (line.values[at] ?? null) === null) at--;
  if (at < 0) return '';
  return keyed('x' + chart.unit, line.values[at]) + (at < i ? `, ${seconds(chart.t[i] - chart.t[at])} ago` : '');
}

export const lastBefore = (chart: Chart, line: Line, t: number): string => lastAt(chart, line, chart.t.findLastIndex((one) => one <= t));

function readout(e: HTMLElement, words: string): void {
  const out = e.parentElement?.querySelector('output');
  if (out) out.textContent = words;
}

function reading(chart: Chart, i: number): [string, string[]] {
  const values = chart.lines.map((one) => lastAt(chart, one, i) || 'none yet');
  return [`at ${chart.t[i].toFixed(2)} s${values.length > 1 ? '' : ':'}`, values];
}

function highest(unit: string, most: number): number {
  if (unit === '_percent' && most <= 100) return 100;
  if (unit === '_ratio' && most <= 1) return 1;
  return most * 1.08;
}

// Round numbers from 0 up.
function counts(n: number, width: number): { at: number; text: string }[] {
  const step = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4].find((one) => (one / n) * width >= 50) ?? n;
  return Array.from({ length: Math.ceil(n / step) }, (_, i) => ({ at: i * step, text: String(i * step) }));
}

// Values in their order, for steps, blocks, iterations.
export function OrderChart({ values, unit, label, height, onPick }: { values: number[]; unit: string; label: string; height: number; onPick?: (i: number) => void }) {
  const host = useRef<HTMLDivElement>(null);
  const isDark = useStore(dark);
  useEffect(() => {
    const e = host.current!;
    const range: [number, number] = [-0.6, values.length - 0.4];
    const plot = new Plot(e, {
      x: values.map((_, i) => i),
      lines: [values],
      bars: values.length <= 400,
      height,
      top: 6,
      bottom: 22,
      left: () => 62,
      range: () => range,
      highest: (most) => highest(unit, most),
      label: (v, high) => axisLabel(unit, v, high),
      unit: (high) => axisUnit(unit, high),
      ticks: (width) => counts(values.length, width),
      moved: (x) => {
        const i = x === null ? -1 : plot.nearest(x);
        plot.point(i < 0 ? null : i);
        readout(e, i < 0 ? '' : `${i}: ${keyed('x' + unit, values[i])}`);
      },
      clicked: (x) => onPick?.(plot.nearest(x)),
    });
    return plot.stop;
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

// How often which duration came.
export function Bins({ of, label }: { of: Distribution; label: string }) {
  const counts = of.value_count;
  const most = Math.max(...counts);
  const edge = (i: number) => seconds(of.from_s + i * of.bin_s);
  return (
    <Picture words={label}>
    <figure class="chart distribution" aria-label={label}>
      <figcaption>
        <b>{label}</b>
      </figcaption>
      <div class="bins">
        {counts.map((n, i) => (
          <i key={i} style={{ height: `${n ? Math.max(3, (n / most) * 100) : 0}%` }} title={`${n} between ${edge(i)} and ${edge(i + 1)}`} />
        ))}
      </div>
      <div class="ends">
        <span>{edge(0)}</span>
        <span>{edge(counts.length)}</span>
      </div>
    </figure>
    </Picture>
  );
}

const LABELS: Record<string, string> = { process_memory_mb: 'this run', load1_count: '1 min', load5_count: '5 min', load15_count: '15 min', io_percent: 'disk', rss_mb: 'in RAM (RSS)', pss_mb: 'its share of it (PSS)', anon_mb: 'not of files (anon)' };

// Splits a series object ({t_s, <metric>_<unit>: []}) into charts by unit; apart: columns the report treats otherwise.
export function chartsOf(group: string, series: Record<string, (number | null)[]> | undefined, apart: ChartColumn[] = []): Chart[] {
  if (!series?.t_s?.length) return [];
  const by = new Map<string, Line[]>();
  for (const [key, values] of Object.entries(series)) {
    const rule = apart.find((c) => c.column === key);
    if (key === 't_s' || rule?.chart === 'none' || !Array.isArray(values) || values.every((v) => v === null)) continue;
    const family = unitOf(key) + (rule ? ` ${key}` : '');
    const list = by.get(family) ?? [];
    list.push({ key, label: rule?.label ?? title(key), values });
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
  if (whole) lines.sort((a) => (a.key === 'process_memory_mb' ? -1 : 1)); // the colours of the first screen
  return lines.map((one) => ({ ...one, label: whole && one.key === 'memory_used_mb' ? 'whole GPU' : (LABELS[one.key] ?? (lines.length > 4 ? one.label.replace(/ active$/, '') : one.label)) }));
}

function familyName(unit: string, lines: Line[]): string {
  if (lines.every((one) => /^load\d+_count$/.test(one.key))) return 'load average';
  const names: Record<string, string> = {
    _percent: 'load', _ratio: 'share', _mb: 'memory', _gb: 'memory', _bytes: 'memory', _w: 'power', _c: 'temperature', _mhz: 'clocks',
    _hz: 'clocks', _gb_per_s: 'throughput', _mb_per_s: 'throughput', _bytes_per_s: 'throughput', _per_s: 'rates', _ms: 'times', _s: 'times', _count: 'counts',
  };
  return names[unit] ?? 'values';
}
