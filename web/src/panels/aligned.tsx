// Two runs on one axis, aligned by a video and a step of it; and the kernels of both.
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { read } from '../address';
import { useKeys } from '../keys';
import { clip, nanos, percent } from '../format';
import { select, show, useKept, whole, type Range } from '../state';
import { Table } from '../table';
import type { ComparedRun, Diff as DiffReport } from '../report';
import type { Timeline } from '../timeline/data';
import { momentsOf, pair } from '../timeline/pair';
import type { Pair } from '../timeline/figures';
import { compared, tracedShare } from '../timeline/statistics';
import { Detail } from './detail';
import { Lanes } from './explore';

const CHOICES = 200;

interface Side {
  words: string;
  data: Timeline;
  videos: Range[];
  median: number;
}

const CLOSE_NS = 2000; // the report's seconds are rounded

function sideOf(words: string, data: Timeline, run: ComparedRun | undefined): Side {
  const videos = momentsOf(data, 'generation');
  return { words, data, videos, median: videos.findIndex((v) => Math.abs(v.from - (run?.median_generation_start_s ?? 0) * 1e9) < CLOSE_NS) };
}

function Choice({ words, count: n, value, onChange }: { words: string; count: number; value: number; onChange: (v: number) => void }) {
  return (
    <label>
      {words}{' '}
      <select value={value} onChange={(e) => onChange(Number(e.currentTarget.value))} aria-label={`align at ${words}`}>
        <option value={-1}>{words === 'step' ? 'its beginning' : 'median of each'}</option>
        {Array.from({ length: Math.min(n, CHOICES) }, (_, i) => (
          <option key={i} value={i}>
            {i + 1}
          </option>
        ))}
      </select>
    </label>
  );
}

function Kernels({ rows, words, what = 'kernel or copy' }: { rows: Pair[]; words: string; what?: string }) {
  const most = Math.max(...rows.map((p) => Math.abs((p.now ?? 0) - (p.before ?? 0))), 1);
  const delta = (p: Pair) => (p.now ?? 0) - (p.before ?? 0);
  const bar = (p: Pair) => {
    const style = { width: `${(Math.abs(delta(p)) / most) * 50}%` };
    return (
      <span class="balance">
        <i class={delta(p) > 0 ? 'up' : 'down'} style={delta(p) > 0 ? { left: '50%', ...style } : { right: '50%', ...style }} />
      </span>
    );
  };
  return (
    <Table
      caption={`${what === 'family' ? 'Families of kernels' : 'Kernels and copies'} ${words}, the largest change first`}
      rows={rows}
      most={15}
      columns={[
        { key: 'name', head: what, cell: (p) => <span dir="auto" title={p.name}>{clip(p.name, 70)}</span> },
        { key: 'delta_ns', head: 'change', value: delta, cell: bar },
        { key: 'before_ns', value: (p) => p.before },
        { key: 'now_ns', value: (p) => p.now },
        { key: 'change_ns', head: 'Δ', value: delta, cell: (p, show) => (delta(p) > 0 ? '+' : '−') + show(Math.abs(delta(p))) },
        { key: 'before_count', head: 'count before', value: (p) => p.beforeCount ?? 0 },
        { key: 'now_count', head: 'count now', value: (p) => p.nowCount ?? 0 },
      ]}
    />
  );
}

export function Aligned({ d, base, now }: { d: DiffReport; base: Timeline; now: Timeline }) {
  const runOf = (side: string) => d.runs?.find((r) => r.side === side);
  const sides = useMemo(() => [sideOf('before:', base, runOf('base')), sideOf('now:', now, runOf('new'))], [base, now]);
  const [video_, setVideo] = useKept('video', '-1');
  const [step_, setStep] = useKept('step', '-1');
  const [video, step] = [Number(video_), Number(step_)];
  const chosen = useRef(true); // here, not by the address
  useKeys();
  const ranges = sides.map((s) => s.videos[video < 0 ? s.median : video] ?? { from: s.data.startNs, to: s.data.endNs });
  const steps = sides.map((s, i) => momentsOf(s.data, 'step', ranges[i]));
  const videos = Math.min(...sides.map((s) => s.videos.length));
  const common = Math.min(...steps.map((all) => all.length));
  const at = ranges.map((r, i) => (step >= 0 && step < common ? steps[i][step].from : r.from));
  const data = useMemo(() => pair(sides.map((s, i) => [s.words, s.data, at[i]])), [sides, ...at]);
  const rows = useMemo(() => compared([base, now], ranges, false), [base, now, video]);
  const families = useMemo(() => compared([base, now], ranges, true), [base, now, video]);
  const traced = sides.map((s, i) => tracedShare(s.data, ranges[i]));
  useEffect(() => {
    whole.set({ from: data.startNs, to: data.endNs });
    if (!chosen.current) return read();
    chosen.current = false;
    select(null);
    const shown = ranges.map((r, i) => (step >= 0 && step < common ? { from: 0, to: 4 * (steps[i][step].to - steps[i][step].from) } : { from: 0, to: r.to - at[i] }));
    const to = Math.max(...shown.map((r) => r.to));
    show({ from: -0.02 * to, to: 1.02 * to });
  }, [data]);
  const choose = (video: number, step: number) => {
    chosen.current = true;
    setVideo(String(video));
    setStep(String(step));
  };
  return (
    <>
      <section class="part" id="timeline">
        <h2>Both runs on one axis</h2>
        <div class="tools">
          {videos > 0 ? (
            <Choice words="video" count={videos} value={video} onChange={(v) => choose(v, -1)} />
          ) : (
            <span class="quiet">aligned at the start of the runs: one of them has no videos</span>
          )}
          {common > 0 && <Choice words="step" count={common} value={step} onChange={(v) => choose(video, v)} />}
          {videos > 0 && (
            <span class="quiet">
              0 is where it begins in both; it takes {nanos(ranges[0].to - ranges[0].from)} before, {nanos(ranges[1].to - ranges[1].from)} now
            </span>
          )}
        </div>
        <Lanes id="timeline-first" data={data} rowHeight={18} mostRows={8} maxHeight={Math.max(260, innerHeight * 0.6)} />
      </section>
      {rows.length > 0 && (
        <section class="part" id="kernels">
          <h2>GPU kernels</h2>
          {Math.min(...traced) < 0.9 ? (
            <p>
              Of {videos > 0 ? 'this video' : 'these runs'} kernels were traced for {percent(traced[0], 0)} of the time before and {percent(traced[1], 0)} now: they cannot be compared.
              {videos > 0 && ' Choose a video that was traced in both.'}
            </p>
          ) : (
            <>
              <Kernels rows={families} words={videos > 0 ? 'of these videos' : 'of the runs'} what="family" />
              <Kernels rows={rows} words={videos > 0 ? 'of these videos' : 'of the runs'} />
            </>
          )}
        </section>
      )}
      <Detail data={data} report={{} as never} charts={[]} />
    </>
  );
}
