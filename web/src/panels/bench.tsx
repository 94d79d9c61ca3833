// Repetitions and variants: strobe bench --format html. Every measurement as a dot, a sweep as lines, a ladder as rungs.
import { useEffect, useRef } from 'preact/hooks';
import { axisLabel, clip, count, keyed, plain, seconds } from '../format';
import { Picture } from '../picture';
import { Plot } from '../plot';
import type { Bench as BenchReport, BenchRow } from '../report';
import { dark, useStore } from '../state';
import { FieldTable } from '../table';
import { ticks } from '../timeline/draw';
import { KeyFigures, type Maybe } from './figures';
import { Shell } from './shell';

const ratio = (v: number | undefined) => (v === undefined ? '' : `${v.toFixed(2)}×`);
const times = (r: BenchRow) => r.seconds_s.filter((v): v is number => v !== null);
const measured = (d: BenchReport) => d.rows.filter((r) => r.median_s !== undefined);

function Figures({ d }: { d: BenchReport }) {
  const rows = measured(d);
  const best = rows.reduce<BenchRow | undefined>((b, r) => (!b || r.median_s! < b.median_s! ? r : b), undefined);
  const bad = d.rows.filter((r) => r.state !== 'ok');
  const all: Maybe[] = [
    { label: rows.length > 1 ? 'fastest, median' : 'median', value: seconds(best?.median_s), note: rows.length > 1 ? clip(best?.name ?? '', 40) : best?.median_low_s !== undefined ? `95 %: ${seconds(best.median_low_s)} to ${seconds(best.median_high_s)}` : '' },
    best?.frames_fps !== undefined && { label: 'frames per second', value: plain(best.frames_fps), note: d.target_fps === undefined ? '' : `target ${plain(d.target_fps)} ${best.target_met ? 'reached' : 'missed'}`, bad: best.target_met === false },
    best !== rows[0] && best?.total_speedup_ratio !== undefined && { label: 'speed-up', value: ratio(best.total_speedup_ratio), note: `against ${clip(rows[0].name, 34)}` },
    { label: 'repetitions', value: count(d.iterations_count), note: `after ${count(d.warmup_count)} to warm up${d.interrupted ? '; interrupted' : ''}`, bad: d.interrupted },
    bad.length > 0 && { label: 'did not run', value: count(bad.length), note: clip(bad[0].reason ?? bad[0].name, 40), bad: true },
  ];
  return <KeyFigures all={all} />;
}

// One line per row: its measurements as dots, its median as a stroke, the interval of the median behind it.
function Dots({ r, most }: { r: BenchRow; most: number }) {
  const at = (v: number) => `${(v / most) * 100}%`;
  const low = r.median_low_s;
  const words = `${r.name}: median ${seconds(r.median_s)}${low === undefined ? '' : `, 95 % interval ${seconds(low)} to ${seconds(r.median_high_s)}`}`;
  return (
    <b class="dots" title={words}>
      {low !== undefined && <u style={{ left: at(low), width: at((r.median_high_s ?? low) - low) }} />}
      {times(r).map((v, i) => (
        <i key={i} style={{ left: at(v) }} title={seconds(v)} />
      ))}
      <em style={{ left: at(r.median_s!) }} />
    </b>
  );
}

function Distributions({ d }: { d: BenchReport }) {
  const rows = measured(d);
  const most = Math.max(...rows.flatMap((r) => [r.max_s ?? 0, r.median_s!, ...times(r)])) * 1.03;
  return (
    <div class="ranks" role="img" aria-label="every measurement of every row">
      {rows.map((r) => (
        <div class="rank" key={r.name}>
          <span dir="auto" title={r.name}>{clip(r.name, 24)}</span>
          <Dots r={r} most={most} />
          <span class="quiet">{[seconds(r.median_s), ratio(r.step_speedup_ratio) && `${ratio(r.step_speedup_ratio)} as fast as the one before`, r !== rows[0] && ratio(r.total_speedup_ratio) && `${ratio(r.total_speedup_ratio)} as fast as the first`].filter(Boolean).join(', ')}</span>
        </div>
      ))}
      <div class="rank axis">
        <span />
        <div class="ticks">
          {ticks({ from: 0, to: most * 1e9 }, 500).map((t) => (
            <span key={t.at} style={{ left: `${t.at / most / 1e7}%` }}>{t.text}</span>
          ))}
        </div>
        <span />
      </div>
      <p class="quiet">A dot is a measurement, the stroke the median, the box its 95 % interval.</p>
    </div>
  );
}

interface Sweep {
  key: string;
  x: number[];
  lines: { name: string; values: (number | null)[] }[];
}

// The key with the most different numbers goes along the axis; each combination of the others is a line.
function sweepOf(rows: BenchRow[], of: (r: BenchRow) => number | undefined): Sweep | null {
  const valuesOf = (r: BenchRow) => (r.values ?? {}) as Record<string, string>;
  const keys = Object.keys(rows[0] ? valuesOf(rows[0]) : {});
  const numbers = (k: string) => [...new Set(rows.map((r) => Number(valuesOf(r)[k])))].sort((a, b) => a - b);
  const [key] = keys.filter((k) => numbers(k).every(Number.isFinite) && numbers(k).length > 1).sort((a, b) => numbers(b).length - numbers(a).length);
  if (!key) return null;
  const x = numbers(key);
  const others = (r: BenchRow) => keys.filter((k) => k !== key).map((k) => `${k}=${valuesOf(r)[k]}`).join(' ');
  const lines = [...new Set(rows.map(others))].map((name) => ({ name, values: x.map((v) => of(rows.find((r) => others(r) === name && Number(valuesOf(r)[key]) === v) ?? ({} as BenchRow)) ?? null) }));
  return { key, x, lines };
}

function SweepChart({ sweep, unit, words }: { sweep: Sweep; unit: string; words: string }) {
  const host = useRef<HTMLDivElement>(null);
  const out = useRef<HTMLOutputElement>(null);
  const isDark = useStore(dark);
  useEffect(() => {
    const { x, lines } = sweep;
    const margin = (x[x.length - 1] - x[0]) * 0.04;
    const plot = new Plot(host.current!, {
      x, lines: lines.map((l) => l.values), height: 240, top: 20, bottom: 24, left: () => 80,
      range: () => [x[0] - margin, x[x.length - 1] + margin],
      highest: (most) => most * 1.08 || 1,
      label: (v) => axisLabel(unit, v),
      ticks: () => x.map((at) => ({ at, text: String(at) })),
      moved: (at) => {
        const i = at === null ? -1 : plot.nearest(at);
        plot.point(i < 0 ? null : x[i]);
        out.current!.textContent = i < 0 ? '' : `${sweep.key}=${x[i]}: ${lines.map((l) => (l.values[i] === null ? 'n/a' : keyed('x' + unit, l.values[i]!))).join(', ')}`;
      },
    });
    return plot.stop;
  }, [sweep, isDark]);
  return (
    <figure class="chart" aria-label={`${words} by ${sweep.key}`}>
      <figcaption>
        <b>{words} by {sweep.key}</b>
        {sweep.lines.length > 1 && sweep.lines.map((l, i) => <span class={`key k${(i % 6) + 1}`} key={l.name}>{l.name}</span>)}
        <output ref={out} />
      </figcaption>
      <div ref={host} />
    </figure>
  );
}

export function Bench({ d }: { d: BenchReport }) {
  useStore(dark);
  const rows = measured(d);
  const time = sweepOf(rows, (r) => r.median_s);
  const rate = rows.some((r) => r.frames_fps !== undefined) ? sweepOf(rows, (r) => r.frames_fps) : null;
  const ladder = rows.some((r) => r.step_speedup_ratio !== undefined);
  return (
    <Shell title={clip(d.command, 80) || 'bench'} kind="bench">
      <Figures d={d} />
      {time && (
        <section class="part" id="sweep">
          <h2>Sweep</h2>
          <Picture words="sweep">
            <SweepChart sweep={time} unit="_s" words="median time" />
            {rate && <SweepChart sweep={rate} unit="_fps" words="frames per second" />}
          </Picture>
        </section>
      )}
      {rows.length > 0 && (
        <section class="part" id="measurements">
          <h2>{ladder ? 'Ladder' : 'Measurements'}</h2>
          <Picture words="measurements">
            <Distributions d={d} />
          </Picture>
        </section>
      )}
      <section class="part" id="rows">
        <h2>Numbers</h2>
        <FieldTable rows={d.rows} caption="Every row" skip={['seconds_s']} most={200} />
      </section>
    </Shell>
  );
}
