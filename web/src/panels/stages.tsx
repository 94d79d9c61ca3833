// Stages: the short table of the first screen and the full tree below.
import { useMemo } from 'preact/hooks';
import { solid } from '../colour';
import { clip, count, nanos, sameStage, printed, seconds } from '../format';
import { num, shownRows, stageRows, stagesOf, type Report, type SameName, type Stage, type StageRow } from '../report';
import { dark, generation, select, selection, useKept, useStore, useSwitch, type Range, type Selection } from '../state';
import { chosenVideo, unitName, videoRange } from '../video';
import { hasTimeline, jumpToCall } from '../jump';
import { Table, type Column } from '../table';
import type { Timeline } from '../timeline/data';
import { rowTime, stageTimes, videoTimes } from '../timeline/statistics';
import { extent } from '../timeline/zones';

// From a stage's first zone to its last, as the report has it.
export function selectStage(s: StageRow | undefined, t: Timeline | null): void {
  if (!s) return;
  if (isPicked(selection.get(), s)) {
    select(null);
    return;
  }
  if (!t || s.first_s === undefined || s.end_s === undefined || s.end_s <= s.first_s) return;
  const whole = { from: s.first_s * 1e9, to: s.end_s * 1e9 };
  if (s.index === STARTUP) {
    select({ ...whole, label: 'until the pipeline began', name: s.name, stage: STARTUP });
    return;
  }
  const video = videoRange();
  const at = video ? extent(t, (name) => sameStage(s.name, name), { from: Math.max(whole.from, video.from), to: Math.min(whole.to, video.to) }) : whole;
  if (at) select({ ...at, label: s.name, name: s.name, stage: s.index });
}

// Imports, loading, compiling: what ended before the pipeline began is one row, that opens. Its time is the bar's: what lies
// in a stage that goes on when the pipeline begins is in that stage's row.
export const STARTUP = -2;

function withStartup(rows: StageRow[], r: Report, open: boolean): StageRow[] {
  const end = num(r.summary, 'startup_end_s');
  const group = rows.filter((s) => s.startup).map((s) => ({ ...s, depth: s.depth + 1 }));
  const rest = rows.filter((s) => !s.startup);
  if (end === undefined || !group.length) return rows;
  const part = r.stage_analysis?.parts?.find((p) => p.kind === 'startup');
  const head = { index: STARTUP, name: 'start-up', depth: 0, parental: true, first_s: 0, end_s: end, total_s: part?.part_s ?? 0, wall_ratio: part?.wall_ratio ?? 0 } as StageRow;
  return [head, ...(open ? group : []), ...rest];
}

const isPicked = (chosen: Selection | null, s: StageRow) => chosen?.stage === s.index && chosen.name === s.name;

// The words of the text report.
const MARKS: Record<string, [string, string] | undefined> = {
  major: ['bottleneck', 'the stage with the most time of its own'],
  other: ['bottleneck', 'another stage with at least a fifth of the time after the start-up of its own'],
  model: ['main model', 'the model around the largest bottleneck'],
  part: ['main part', 'the part with the most time of its own'],
  largest: ['largest stage', 'the stage with the most time of its own'],
};

function Name({ s, closed, toggle, most }: { s: StageRow; closed?: Set<number>; toggle?: (s: StageRow) => void; most: number }) {
  useStore(dark);
  const mark = MARKS[s.bottleneck_level ?? (s.bottleneck ? 'major' : '')];
  return (
    <span class="stage" style={{ paddingLeft: `${s.depth * 14}px` }}>
      {toggle &&
        (s.parental ? (
          <button
           
            class="fold"
            aria-expanded={!closed?.has(s.index)}
            aria-label={s.index === STARTUP ? 'stages of the start-up' : `children of ${s.name}`}
            onClick={(e) => {
              e.stopPropagation();
              toggle(s);
            }}
          >
            {closed?.has(s.index) ? '▸' : '▾'}
          </button>
        ) : (
          <span class="fold" />
        ))}
      <i style={{ background: solid(s.name) }} />
      {s.code && <code>{s.code}</code>}
      <span dir="auto" title={s.name}>
        {clip(s.name, most)}
      </span>
      {mark && <em title={mark[1]}>{mark[0]}</em>}
      {stateOf(s) && <em class="state" title={stateHelp(s)}>{stateOf(s)}</em>}
    </span>
  );
}

// Calls that the number of calls leaves out, and why.
type Apart = 'open_count' | 'cut_count' | 'recursive_count';
const apart: [Apart, string, string][] = [
  ['open_count', 'open', 'not ended when the recording did'],
  ['cut_count', 'cut', 'cut at the ends of the chosen range'],
  ['recursive_count', 'recursive', 'inside a call of the same stage'],
];

const apartOf = (s: Stage) => apart.filter(([k]) => s[k] ?? 0);

function stateOf(s: Stage): string {
  const calls = apartOf(s).map(([k, word]) => `${count(s[k])} ${word}`);
  if (!s.state || (s.state === 'open' && s.open_count)) return calls.join(', ');
  return [s.state + (s.reason ? ` (${clip(s.reason, 40)})` : ''), ...calls].join(', ');
}

// Where none has ended the mark beside the name counts them.
const callsOf = (s: Stage) => (s.count || !apartOf(s).length ? s.count === undefined ? '' : count(s.count) : '–');

const stateHelp = (s: Stage) =>
  apartOf(s)
    .map(([k, , help]) => `${count(s[k])} ${s[k] === 1 ? 'call' : 'calls'} ${help}`)
    .join('; ') || stateOf(s);

export interface Base {
  label: string;
  find: (row: StageRow) => Stage | null | undefined; // the same stage there
}

function baseColumns(base: Base | null, total: (s: Stage) => number | undefined): Column<StageRow>[] {
  if (!base) return [];
  const was = (s: StageRow) => { const b = base.find(s); return b ? total(b) : undefined; };
  const by = (s: StageRow) => { const [w, now] = [was(s), total(s)]; return w === undefined || now === undefined ? undefined : now - w; };
  return [
    { key: 'was_s', head: 'before', help: base.label, value: was, cell: (s, show) => (was(s) === undefined ? 'new' : show(was(s))) },
    {
      key: 'change_s',
      head: 'Δ',
      value: by,
      cell: (s, show) => {
        const d = by(s);
        if (d === undefined) return '';
        const grave = Math.abs(d) > 0.05 * was(s)! && Math.abs(d) > 1e-3;
        return <span class={grave ? (d > 0 ? 'worse' : 'better') : 'quiet'}>{d > 0 ? '+' : '−'}{show(Math.abs(d))}</span>;
      },
    },
  ];
}

// Time as the first screen has it.
const REAL = 'every moment is that of the stage the GPU is at, where the CPU runs ahead';
const realOf = (s: Stage) => s.real_s ?? s.total_s;

// Time inside each stage: of what is selected, else of the video that the page is about.
function rangeColumn(stages: Stage[], t: Timeline | null, chosen: Range | null): Column<StageRow>[] {
  const video = chosenVideo();
  if (!t || !(chosen ?? video)) return [];
  const s = chosen ? stageTimes(t, stages, chosen) : videoTimes(t, stages, video!);
  const inside = (row: StageRow) => rowTime(s, stages, row);
  const words = chosen ? 'in selection' : `in this ${unitName()}`;
  const head = s.exact ? words : `≈ ${words}`;
  const help = s.exact ? (chosen ? 'time of this stage inside the selected range, all threads' : REAL) : `from bins of ${nanos(s.resolutionNs)}, because single zones were merged; left out where stages share a name`;
  const column = { key: 'in_s', head, help, value: inside };
  if (chosen || !video) return [column];
  const share = (row: StageRow) => (inside(row) === undefined ? undefined : inside(row)! / video.wall_s);
  return [column, { key: 'in_ratio', head: 'of it', help: `of the wall time of this ${unitName()}`, value: share }];
}

// Of calls that were too frequent, captured or without a context, the GPU time is not known.
const gpuSpan: Column<StageRow> = {
  key: 'gpu_span_s',
  head: 'GPU span',
  help: 'from event to event on the stream; may hold idle time; >: of some calls only',
  value: (s) => s.gpu_span_s,
  cell: (s, show) => (s.gpu_span_s === undefined ? '' : ((s.gpu_span_count ?? s.count ?? 0) < (s.count ?? 0) ? '>' : '') + show(s.gpu_span_s)),
};

const FOLDED = new Set([STARTUP]);
const MARKED = 0.2; // of a video: what is a bottleneck of the whole run may be none of this one

export function StageTable({ report, timeline, base }: { report: Report; timeline: Timeline | null; base: Base | null }) {
  const chosen = useStore(selection);
  useStore(generation);
  const [open, setOpen] = useSwitch('startup');
  const video = chosenVideo();
  const stages = stagesOf(report);
  // The short table leaves out what is below half a percent.
  const least = (report.stage_analysis?.wall_s ?? 0) * 0.005;
  const rows = useMemo(() => {
    const inside = video && timeline ? videoTimes(timeline, stages, video).seconds : null;
    const some = (s: StageRow) => (inside && !s.startup ? (inside[s.index] ?? 0) >= video!.wall_s * 0.005 : s.state !== undefined || (realOf(s) ?? 0) >= least);
    const large = (s: StageRow) => !inside || (inside[s.index] ?? 0) >= video!.wall_s * MARKED;
    const shown = shownRows(stageRows(stages), some, new Set()).map((s) => (large(s) ? s : { ...s, bottleneck: undefined, bottleneck_level: undefined }));
    return withStartup(shown.length ? shown : stageRows(stages), report, open);
  }, [report, timeline, video, open]);
  const gpu = stages.some((s) => s.gpu_span_s !== undefined);
  const columns: Column<StageRow>[] = [
    { key: 'name', head: 'stage', cell: (s) => <Name s={s} most={200} closed={open ? undefined : FOLDED} toggle={s.index === STARTUP ? () => setOpen(!open) : undefined} /> },
    ...(video && timeline && !chosen ? rangeColumn(stages, timeline, null) : []),
    { key: 'total_s', head: video ? 'whole run' : 'total', help: REAL, value: realOf, cell: (s, show) => (s.total_s === undefined ? '' : show(realOf(s)!, s.time_digit_s)) },
    ...(video ? [] : [{ key: 'wall_ratio' as const, head: 'share', help: 'of the wall time', value: (s: StageRow) => s.real_ratio ?? s.wall_ratio }]),
    ...(gpu && !base && !chosen && !video ? [gpuSpan] : []),
    ...(base || chosen || video ? [] : [{ key: 'count' as const, head: 'calls', cell: callsOf }]),
    ...baseColumns(base, realOf),
    ...(chosen ? rangeColumn(stages, timeline, chosen) : []),
  ];
  return <Table rows={rows} columns={columns} caption="Stages" most={60} depth={(s) => s.depth} onPick={(s) => selectStage(s, timeline)} picked={(s) => isPicked(chosen, s)} />;
}

export function NoStages({ report }: { report: Report }) {
  const how = report.not_recorded?.find((n) => n.what === 'stages')?.how;
  return <p class="quiet">No stage was recorded{how ? `: ${how}` : ''}.</p>;
}

export function StageTree({ report, timeline, base }: { report: Report; timeline: Timeline | null; base: Base | null }) {
  const [folded, setFolded] = useKept('closed');
  const closed = new Set(folded ? folded.split('.').map(Number) : []);
  const [combine, setFlat] = useSwitch('combine');
  const chosen = useStore(selection);
  useStore(generation);
  const stages = stagesOf(report);
  const tree = useMemo(() => stageRows(stages), [report]);
  const shared = report.stage_analysis?.same_name ?? [];
  const flat = combine && shared.length > 0;
  const combined = useMemo(() => oneRowPerName(tree, shared, report.stage_analysis?.by_name_index ?? []), [report]);
  const [open, setOpen] = useSwitch('startup');
  const rows = flat ? combined : withStartup(shownRows(tree, () => true, closed), report, open);
  const has = (k: keyof Stage) => stages.some((s) => s[k] !== undefined);
  const toggle = (s: StageRow) => {
    if (s.index === STARTUP) return setOpen(!open);
    const next = new Set(closed);
    if (!next.delete(s.index)) next.add(s.index);
    setFolded([...next].join('.'));
  };
  const time = (k: keyof Stage & string, head: string, help?: string): Column<StageRow> => ({
    key: k,
    head,
    help,
    value: (s) => s[k] as number | undefined,
    cell: (s, show) => (s[k] === undefined ? '' : show(s[k] as number, s.time_digit_s)),
  });
  const extreme = (k: 'min_s' | 'max_s', head: string): Column<StageRow> => ({ ...time(k, head, 'leads to the call'), cell: (s, show) => <Extreme s={s} seconds_={s[k]} words={show(s[k])} /> });
  const columns: Column<StageRow>[] = [
    { key: 'name', head: 'stage', cell: (s) => <Name s={s} closed={open ? closed : new Set([...closed, STARTUP])} toggle={flat ? undefined : toggle} most={56} /> },
    { key: 'count', head: 'calls', cell: callsOf },
    time('total_s', 'inclusive', 'with its children'),
    time('self_s', 'self', 'without its children'),
    { key: 'wall_ratio', head: 'share', help: 'inclusive, of the wall time' },
    ...(has('gpu_span_s') ? [gpuSpan] : []),
    ...(has('gpu_busy_s') ? [time('gpu_busy_s', 'GPU busy', 'union of the kernels this stage launched')] : []),
    time('mean_s', 'mean'),
    extreme('min_s', 'min'),
    time('p50_s', 'p50'),
    time('p95_s', 'p95'),
    time('p99_s', 'p99'),
    extreme('max_s', 'max'),
    ...baseColumns(base, (s) => s.total_s),
    ...rangeColumn(stages, timeline, chosen).slice(0, 1), // its share stands in the short table
  ];
  return (
    <>
      <div class="tools">
        {shared.length > 0 && (
          <label>
            <input type="checkbox" checked={flat} onChange={(e) => setFlat(e.currentTarget.checked)} /> combine stages that share a name
          </label>
        )}
        <span class="quiet">
          unattributed {printed(report.stage_analysis?.unattributed_s, report.session_info?.time_digit_s)} of {printed(report.stage_analysis?.wall_s, report.session_info?.time_digit_s)}
          {ofStartup(report)}
          {has('gpu_busy_s') && tracedPart(report)}
          {has('real_s') && '; times of the CPU, on the first screen of the GPU'}
        </span>
      </div>
      <Table rows={rows} columns={columns} caption="Stage tree" most={120} depth={flat ? undefined : (s) => s.depth} onPick={(s) => selectStage(s, timeline)} picked={(s) => isPicked(chosen, s)} />
    </>
  );
}

// The bar on the first screen counts it to the start-up.
function ofStartup(report: Report): string {
  const { parts = [], unattributed_s = 0 } = report.stage_analysis ?? {};
  const before = unattributed_s - (parts.find((p) => p.kind === 'unattributed')?.part_s ?? 0);
  return before > unattributed_s / 100 && parts.some((p) => p.kind === 'startup') ? `, ${seconds(before)} of it in the start-up` : '';
}

function Extreme({ s, seconds_, words }: { s: StageRow; seconds_: number | undefined; words: string }) {
  if (seconds_ === undefined) return null;
  if (!hasTimeline()) return <>{words}</>;
  const go = (e: Event) => {
    e.stopPropagation();
    jumpToCall(s, seconds_);
  };
  return (
    <button class="link plain" tabIndex={-1} onClick={go}>
      {words}
    </button>
  );
}

// A trace of a few steps says little about a stage's whole time.
function tracedPart(r: Report): string {
  const traced = num(r.gpu_trace, 'window_s');
  return traced !== undefined && traced < 0.9 * (r.stage_analysis?.wall_s ?? 0) ? `; GPU busy: of the ${seconds(traced)} that were traced` : '';
}

// The report's own rows for stages that share a name, and every other stage, in the report's order.
function oneRowPerName(rows: StageRow[], shared: SameName[], order: number[]): StageRow[] {
  const joined = new Map(shared.map((n): [number, StageRow] => [n.stage_index[0], { ...n.stage, index: -1 - n.stage_index[0], parental: false, joined: n.stage_index }]));
  return order.map((i) => joined.get(i) ?? { ...rows[i], depth: 0, parental: false });
}
