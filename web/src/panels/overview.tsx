// The first screen: who ran, six figures, where the time goes, what to do.
import { Picture } from '../picture';
import { fillOf, rankNames, UNATTRIBUTED } from '../colour';
import { clip, energy, grouped, memory, percent, plain, seconds } from '../format';
import { memoryPeak, num, stageRows, stagesOf, text, whoseMemory, type Generation, type Recommendation, type Report, type ReportPage, type TimePart, type UnattributedGap } from '../report';
import { dark, focusSelection, generation, select, selection, show, toggleTheme, useSettled, useStore, view, whole, type Range } from '../state';
import { partsOf } from '../timeline/statistics';
import { chosenVideo, rangeOfVideo, unitName, videosOf } from '../video';
import { jumpTo, jumpToKernel } from '../jump';
import { goTo } from '../place';
import { KeyFigures, type Figure } from './figures';
import { Mark } from './shell';
import { selectStage } from './stages';
import type { Timeline } from '../timeline/data';
import { boundBy } from '../words';
import type { ComponentChildren } from 'preact';

interface HeaderProps {
  page: ReportPage;
  liveState: string;
  comparison: { label: string } | null;
  onCompare: () => void;
  runs: { id: string; name: string }[];
  onRun: (id: string) => void;
}

const wasKilled = (r: Report): boolean => r.recording?.complete === false && r.recording?.live !== true;

// A run that did not end as it should says so beside its name, whatever the figures are about.
function Ended({ r, orderly }: { r: Report; orderly: string }) {
  const { outcome, exit_code_value: code } = r.session_info;
  const words = wasKilled(r) ? (outcome ?? 'no orderly end') : code ? (outcome ?? `exit ${code}`) : '';
  return words ? <span class="run-state killed" title="how the program ended">{clip(words, 40)}</span> : orderly ? <span class={`run-state ${orderly}`}>{orderly}</span> : null;
}

// "rank 2 of 8 on node-3, job train-7, attempt 2"
const rankWords = ({ rank, world_size_count: size, host, job, attempt_index: attempt }: Report['session_info']) => rank !== undefined && `rank ${rank}${size ? ` of ${size}` : ''}${host ? ` on ${clip(host, 24)}` : ''}${job ? `, job ${clip(job, 32)}` : ''}${attempt ? `, attempt ${attempt}` : ''}`;

export function Header({ page, liveState, comparison, onCompare, runs, onRun }: HeaderProps) {
  const r = page.report;
  const isDark = useStore(dark);
  const info = r.session_info;
  const tags = Object.entries(info.tags ?? {});
  const generations = videosOf(r);
  const chosen = useStore(generation);
  const shown = useSettled(view, 150);
  const all = whole.get();
  const one = generations.length === 1 && (shown.from > all.from || shown.to < all.to); // of a single video the selector says what is seen
  const seen = one ? (isVideo(generations[0], shown) ? 0 : PART) : (chosen ?? -1);
  return (
    <header class="top">
      <Mark />
      <h1 dir="auto" title={info.command}>
        {clip(info.name || info.id, 48)}
      </h1>
      <span class="when">{[rankWords(info), (info.file_date ? 'imported, its file of ' : '') + (text(info, info.file_date ? 'end_time' : 'start_time') ?? '').replace('T', ' ').replace(/(\.\d+)?([+-]\d\d:\d\d|Z)$/, ''), text(r.summary, 'gpu_name')].filter(Boolean).join(' · ')}</span>
      <ul class="tags" aria-label="tags">
        {tags.slice(0, 5).map(([k, v]) => (
          <li key={k} dir="auto" title={`${k}: ${String(v)}`}>
            <span>{clip(k, 24)}</span> {clip(String(v), 28)}
          </li>
        ))}
        {tags.length > 5 && <li title={tags.slice(5).map(([k, v]) => `${k}: ${String(v)}`).join('\n')}>+{tags.length - 5}</li>}
      </ul>
      <span class="spring" />
      {liveState && liveState !== 'ended' ? <span class={`run-state ${liveState}`}>{liveState === 'lost' ? 'server lost' : liveState}</span> : <Ended r={r} orderly={liveState} />}
      {r.summary?.failure && <span class="run-state killed" dir="auto" title={r.summary.failure}>{r.summary.failed_generation_count} failed: {clip(r.summary.failure, 60)}</span>}
      {generations.length > 0 && (
        <label>
          <span class="quiet">Generation</span>
          <select value={String(seen)} onChange={(e) => pickGeneration(r, Number(e.currentTarget.value))}>
            <option value="-1">whole run</option>
            {seen === PART && <option value={PART}>part of the run</option>}
            {generations.slice(0, 500).map((g, i) => (
              <option key={i} value={i}>
                {i + 1}: {clip(g.name, 30)}, {seconds(g.wall_s)}
              </option>
            ))}
          </select>
        </label>
      )}
      {runs.length > 1 ? (
        <label>
          <span class="quiet">Compare with</span>
          <select onChange={(e) => onRun(e.currentTarget.value)}>
            <option value="">compare with…</option>
            {runs.map((run) => (
              <option key={run.id} value={run.id}>
                {clip(run.name, 40)}
              </option>
            ))}
          </select>
        </label>
      ) : (
        <button onClick={onCompare} title="Another profiling_report.json or .html; it stays here">
          {comparison ? `vs ${clip(comparison.label, 24)} ×` : 'Compare…'}
        </button>
      )}
      <button class="theme" onClick={toggleTheme} aria-label={isDark ? 'Light theme' : 'Dark theme'} title={isDark ? 'Light theme' : 'Dark theme'}>
        {isDark ? '☀' : '☾'}
      </button>
    </header>
  );
}

const PART = -2;
const isVideo = (g: Generation, r: Range) => Math.abs(rangeOfVideo(g).from - r.from) + Math.abs(rangeOfVideo(g).to - r.to) < 4e3; // ns: the report's seconds are rounded

// Of a single video only the time is shown: the report is about it as it is.
function pickGeneration(r: Report, i: number): void {
  const g = videosOf(r)[i];
  if (videosOf(r).length > 1) {
    select(null);
    generation.set(g ? i : null);
    return;
  }
  select(g ? { ...rangeOfVideo(g), label: `generation ${i + 1}: ${g.name}` } : null);
  show(g ? rangeOfVideo(g) : whole.get());
}

const ofRun = (f: Figure | null): Figure | null => f && { ...f, label: f.label.endsWith('of this run') ? f.label : `${f.label}, whole run` };

// What one video has of its own; the rest is of the run, and says so.
function videoFigures(r: Report, g: Generation): (Figure | null)[] {
  return [
    { label: `time of this ${unitName()}`, value: seconds(g.wall_s), note: g.state ? (g.state === 'open' ? 'not ended' : g.state) : g.faster_count === undefined ? undefined : `${g.faster_count} of ${r.generations?.wall?.count} were faster` },
    g.fps === undefined ? null : { label: 'frames per second', value: plain(g.fps), note: `${g.frames === undefined ? '' : `${grouped(g.frames)} frames `}of this ${unitName()}` },
    g.step_median_s === undefined ? ofRun(stepFigure(r)) : { label: 'time per step', value: seconds(g.step_median_s), note: `median of ${g.steps}; longest ${seconds(g.step_max_s)}` },
    ofRun(memoryFigure(r)),
    ofRun(boundFigure(r)),
    g.energy_wh === undefined ? ofRun(costFigure(r)) : { label: `GPU energy of this ${unitName()}`, ...energyFigure(g.energy_wh) },
  ];
}

function figures(r: Report): Figure[] {
  const video = chosenVideo();
  const first = video ? videoFigures(r, video) : [timeFigure(r), rateFigure(r), stepFigure(r), memoryFigure(r), boundFigure(r), costFigure(r)];
  return [...first, busyFigure(r), recordingFigure(r)].filter((f): f is Figure => f !== null).slice(0, 6);
}

function busyFigure(r: Report): Figure | null {
  const g = r.gpu_trace;
  if (g?.busy_ratio === undefined) return null;
  const gpus = g.devices?.length || 1; // their times are added up
  return { label: 'GPU busy while traced', value: percent(g.busy_ratio), note: `${grouped(g.kernel_count)} kernels, idle ${seconds(g.idle_s / gpus)}${gpus > 1 ? ' per GPU' : ''}` };
}

function timeFigure(r: Report): Figure | null {
  if (r.session_info?.no_times) return null;
  const time = r.generations?.whole_run ? undefined : r.generations?.wall; // of the finished ones
  const wall = num(r.summary, 'wall_s') ?? r.stage_analysis?.wall_s;
  const nothing = r.stage_analysis?.parts?.find((p) => p.kind === 'unattributed')?.wall_ratio ?? r.stage_analysis?.unattributed_ratio; // as the bar has it
  if (!time?.count) return { label: 'wall time', value: seconds(wall), note: nothing === undefined ? undefined : `${percent(nothing)} unattributed` };
  return {
    label: `time per ${unitName()}${time.count > 1 ? ', median' : ''}`,
    value: seconds(time.p50_s),
    note: time.count > 1 ? `p95 ${seconds(time.p95_s)} of ${time.count}; run ${seconds(wall)}` : `of ${seconds(wall)} run`,
  };
}

function rateFigure(r: Report): Figure | null {
  const fps = num(r.summary, 'fps') ?? num(r.diffusion_analysis, 'fps') ?? num(r.streaming_analysis, 'fps');
  const target = num(r.summary, 'target_fps');
  const frames = num(r.summary, 'frames');
  if (fps !== undefined) {
    const note = target !== undefined ? `target ${plain(target)} ${r.summary?.target_reached ? 'reached' : 'missed'}` : frames !== undefined ? `${grouped(frames)} frames end to end` : 'end to end';
    return { label: 'frames per second', value: plain(fps), note, bad: target !== undefined && r.summary?.target_reached === false };
  }
  const it = r.iterations?.[0];
  const rate = num(it, 'per_second');
  if (it && rate !== undefined) return { label: 'iterations per second', value: plain(rate), note: it.name };
  const zones = num(r.recording, 'zones');
  return zones === undefined ? null : { label: 'zones recorded', value: grouped(zones), note: `of ${grouped(r.stage_analysis?.stages?.length ?? 0)} stages` };
}

function stepFigure(r: Report): Figure | null {
  const d = r.diffusion_analysis;
  const steps = num(d, 'steps') ?? num(r.summary, 'steps');
  const step = d?.warm_step ?? d?.step;
  const time = num(step, 'p50_s') ?? num(step, 'mean_s');
  const first = num(d, 'first_step_s');
  if (time !== undefined) {
    const p95 = num(step, 'p95_s');
    const notes = [steps !== undefined ? `${grouped(steps)} steps` : '', first !== undefined && first > time * 1.2 ? `first ${seconds(first)}` : p95 !== undefined ? `p95 ${seconds(p95)}` : ''];
    return { label: d?.warm_step ? 'time per warm step' : 'time per step', value: seconds(time), note: notes.filter(Boolean).join(', ') };
  }
  const block = r.block_analysis?.block;
  const blockTime = num(block, 'p50_s') ?? num(block, 'mean_s');
  if (blockTime !== undefined) return { label: 'time per block', value: seconds(blockTime), note: `${grouped(num(r.block_analysis, 'blocks') ?? 0)} blocks` };
  const it = r.iterations?.[0];
  const mean = num(it, 'median_s');
  if (it && mean !== undefined) return { label: `time per ${clip(it.name, 18)}`, value: seconds(mean), note: `${grouped(it.count)} iterations, median` };
  const top = r.stage_analysis?.bottlenecks?.[0];
  const stage = r.stage_analysis?.stages.find((s) => s.bottleneck) ?? r.stage_analysis?.stages.find((s) => s.name === top);
  return stage?.total_s === undefined ? null : { label: 'largest stage', value: seconds(stage.total_s), note: clip(stage.name, 30) };
}

function memoryFigure(r: Report): Figure | null {
  const peak = memoryPeak(r);
  if (peak) {
    const full = peak.total ? peak.bytes / peak.total : 0;
    const where = [
      peak.total && `${percent(full, 0)} of ${memory(peak.total)}`,
      peak.device !== undefined && (r.gpu_metrics?.devices?.length ?? 0) > 1 && `GPU ${peak.device}`,
      peak.reserved && `reserved ${memory(peak.reserved)}`,
      peak.stage && `in ${clip(peak.stage, 20)}`,
    ];
    return { label: `VRAM peak ${whoseMemory(peak)}`.trim(), value: memory(peak.bytes), note: where.filter(Boolean).join(', '), bad: full > 0.9 };
  }
  const ram = num(r.summary, 'ram_peak_bytes');
  const all = num(r.summary, 'ram_total_bytes');
  return ram === undefined ? null : { label: 'RAM peak, machine', value: memory(ram), note: all ? `${percent(ram / all, 0)} of ${memory(all)}` : undefined };
}

function boundFigure(r: Report): Figure | null {
  const v = r.verdict;
  if (!v) return null;
  const device = r.gpu_metrics?.devices?.[0];
  const util = num(device, 'utilization_mean_percent');
  const cpu = num(r.cpu_metrics, 'usage_mean_percent');
  if (v.bound_by === 'unknown' && v.why) return { label: 'bound by', value: 'not known', note: v.why };
  if (v.bound_by === 'unknown' && util === undefined) return { label: 'bound by', value: 'not known', note: cpu !== undefined ? `no GPU seen; CPU ${cpu.toFixed(0)} % used` : 'no GPU seen' };
  return { label: 'bound by', value: boundBy(v.bound_by), note: v.why ?? (util !== undefined ? `GPU utilisation ${util.toFixed(0)} % on average` : undefined) };
}

// The note has the unit that the value does not have.
const energyFigure = (wh: number) => ({ value: energy(wh), note: wh < 0.0995 ? `${Number(wh.toPrecision(2))} Wh` : `${plain(wh * 3.6)} kJ` });

function costFigure(r: Report): Figure | null {
  const s = r.summary;
  const each = num(s, 'video_energy_wh') ?? num(s, 'video_gpu_cost'); // of a video that was finished, else of the run
  const per = each === undefined ? '' : ` per ${unitName()}`;
  const wh = num(s, each === undefined ? 'run_energy_wh' : 'video_energy_wh');
  const cost = num(s, each === undefined ? 'run_gpu_cost' : 'video_gpu_cost');
  const hour = r.system?.settings?.gpu_cost_per_hour;
  if (cost !== undefined) return { label: `GPU cost${per}`, value: plain(cost), note: [hour === undefined ? "in gpu_cost_per_hour's currency" : `at ${String(hour)} an hour`, wh !== undefined && energy(wh)].filter(Boolean).join('; ') };
  return wh === undefined ? null : { label: `GPU energy${per}`, ...energyFigure(wh) };
}

function recordingFigure(r: Report): Figure | null {
  const dropped = num(r.recording, 'dropped_count');
  const zones = num(r.recording, 'zones');
  if (zones === undefined) return null;
  const killed = wasKilled(r);
  const value = dropped ? `${grouped(dropped)} dropped` : killed ? 'no orderly end' : r.recording?.live === true ? 'live' : 'complete';
  return { label: 'recording', value, note: (killed && r.session_info.outcome) || `${grouped(zones)} zones`, bad: Boolean(dropped) || killed };
}

export function Figures({ report }: { report: Report }) {
  useStore(generation);
  return <KeyFigures all={figures(report)} />;
}

const GROUPS = ['start-up', 'smaller stages'];

export const rankStages = (r: Report): void => rankNames([...GROUPS, ...(r.stage_analysis?.largest ?? [])]);

const LABELS: Record<TimePart['kind'], (p: TimePart) => string> = {
  stage: (p) => p.name ?? '',
  startup: () => 'start-up',
  itself: (p) => `${p.name} itself`,
  smaller: (p) => `${p.stage_count} smaller stages`,
  elsewhere: () => 'stages of other threads',
  unattributed: () => 'unattributed',
};
export const labelOf = (p: TimePart) => LABELS[p.kind](p);
export const lookOf = (p: TimePart) => fillOf(p.kind === 'unattributed' ? UNATTRIBUTED : (p.name ?? labelOf(p)));

// Each click selects the next gap.
function selectGap(gaps: UnattributedGap[]): void {
  const at = (selection.get()?.unattributed ?? -1) + 1;
  const gap = gaps[at];
  if (!gap) {
    select(null);
    return;
  }
  select({ from: gap.t_s * 1e9, to: (gap.t_s + gap.duration_s) * 1e9, label: `unattributed, gap ${at + 1} of ${gaps.length}`, unattributed: at });
  focusSelection();
}

function BarPart({ part, report, timeline }: { part: TimePart; report: Report; timeline: Timeline | null }) {
  useStore(dark);
  const chosen = useStore(selection);
  const nothing = part.kind === 'unattributed';
  const stages = stagesOf(report);
  const gaps = report.stage_analysis?.gaps ?? [];
  const pick = part.stage_index !== undefined ? () => selectStage(stageRows(stages)[part.stage_index!], timeline) : nothing && timeline && gaps.length ? () => selectGap(gaps) : undefined;
  const picked = nothing ? chosen?.unattributed !== undefined : part.stage_index !== undefined && chosen?.stage === part.stage_index;
  const label = `${labelOf(part)}: ${seconds(part.part_s)}, ${percent(part.wall_ratio)}`;
  const look = { class: (picked ? 'picked' : '') + (nothing ? ' nothing' : ''), style: { flexGrow: part.wall_ratio * 1000, ...lookOf(part) }, title: label, 'aria-label': label };
  const share = part.wall_ratio > 0.07 ? percent(part.wall_ratio, 0) : '';
  return pick ? (
    <button {...look} onClick={pick}>
      {share}
    </button>
  ) : (
    <span role="img" {...look}>
      {share}
    </span>
  );
}

export function TimeBar({ report, timeline }: { report: Report; timeline: Timeline | null }) {
  useStore(dark);
  useStore(generation);
  const video = chosenVideo();
  const all = video && timeline ? partsOf(report, timeline, video) : (report.stage_analysis?.parts ?? []);
  if (!all.length) return null;
  return (
    <section class="timebar" aria-label="where the time goes">
      <Picture words="where the time goes">
      <div class="bar">
        {all.map((p) => (
          <BarPart key={`${p.kind} ${p.stage_index}`} part={p} report={report} timeline={timeline} />
        ))}
      </div>
      <ul class="legend">
        {all.map((p) => (
          <li key={`${p.kind} ${p.stage_index}`}>
            <i style={lookOf(p)} />
            <span dir="auto">{clip(labelOf(p), 22)}</span> <b>{seconds(p.part_s)}</b>
          </li>
        ))}
        {!video && !!report.stage_analysis?.parts_overlap_s && <li class="quiet">at the same time −{seconds(report.stage_analysis.parts_overlap_s)}</li>}
      </ul>
      </Picture>
    </section>
  );
}

function Place({ finding, report, timeline }: { finding: Recommendation; report: Report; timeline: Timeline | null }): ComponentChildren {
  const at = finding.where;
  if (timeline && at?.from_s !== undefined && at.to_s !== undefined && at.to_s > at.from_s) {
    const range = { from: at.from_s * 1e9, to: at.to_s * 1e9 };
    return (
      <button class="link" onClick={() => { select({ ...range, label: finding.subject ?? finding.id }); focusSelection(); }}>
        show {clip(at.stage ?? finding.subject ?? 'its time', 26)}
      </button>
    );
  }
  if (timeline && at?.kernel && timeline.names.includes(at.kernel)) {
    return (
      <button class="link" onClick={() => jumpToKernel(at.kernel)}>
        show the kernel
      </button>
    );
  }
  const stage = at?.stage_index === undefined ? undefined : stageRows(stagesOf(report))[at.stage_index];
  if (stage) {
    return (
      <button class="link" onClick={() => selectStage(stage, timeline)}>
        show {clip(stage.name, 26)}
      </button>
    );
  }
  const id = at?.panel;
  const slow = id === 'steps' ? report.diffusion_analysis?.slow_steps?.[0] : undefined;
  if (slow) {
    return (
      <button class="link" onClick={() => jumpTo('slow step', slow.t_s, slow.duration_s, 'step')}>
        show the slowest step
      </button>
    );
  }
  return id ? (
    <a class="link" href={`#${id}`} onClick={goTo}>
      show {id}
    </a>
  ) : null;
}

// An upper bound says so, and so does an estimate.
const BASES: Record<string, [string, string]> = { measured: ['', 'taken from this run'], bounded: ['up to ', 'at most, if nothing else takes its place'], estimated: ['about ', 'by a factor, or from a sample'] };

function Gain({ f }: { f: Recommendation }) {
  const [word, help] = BASES[f.gain_basis ?? 'bounded'] ?? BASES.bounded;
  return (
    <span class="gain" title={help}>
      {word}
      {seconds(f.gain_s)}
    </span>
  );
}

export function Findings({ report, timeline, most }: { report: Report; timeline: Timeline | null; most: number }) {
  const all = report.recommendations ?? [];
  const shown = all.slice(0, most); // the report has them in order
  if (!all.length) return <p class="quiet">{report.stage_analysis?.stages?.length ? 'No finding: no rule saw anything worth changing.' : 'No finding: without stages there is little to judge.'}</p>;
  return (
    <ol class="findings">
      {shown.map((f) => (
        <li key={f.id} class={f.priority}>
          <div class="what">
            <span class="priority">{f.priority}</span>
            <b dir="auto">{f.issue}</b>
            {f.gain_s !== undefined && <Gain f={f} />}
          </div>
          {f.cause && !/^not (found|looked for):/.test(f.cause) && (
            <p dir="auto" class="cause">
              {f.cause}
              {f.confidence && f.confidence !== 'certain' && !/^cause not found/.test(f.cause) ? ` (${f.confidence})` : ''}
            </p>
          )}
          <p dir="auto" title={most > 3 ? undefined : f.suggestion}>{f.suggestion}</p>
          {most > 3 && <p dir="auto">Seen: {f.evidence}</p>}
          <div class="where">
            <Place finding={f} report={report} timeline={timeline} />
            {f.where?.file && (
              <code dir="auto" title={f.where.file}>
                {f.where.file.split('/').slice(-2).join('/')}
                {f.where.line === undefined ? '' : `:${f.where.line}`}
              </code>
            )}
            {f.effort && <span class="quiet">effort {f.effort}</span>}
            {most > 3 && <span class="quiet">{f.id}</span>}
          </div>
        </li>
      ))}
      {all.length > shown.length && (
        <li class="rest">
          <a class="link" href="#advice" onClick={goTo}>
            all {all.length} findings
          </a>
        </li>
      )}
    </ol>
  );
}
