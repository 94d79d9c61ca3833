// Many ranks: strobe aggregate --format html. Lanes of ranks, and a heat map of
// stage by rank that shows who is slow where.
import { useEffect, useRef, useState } from 'preact/hooks';
import { dark, useStore, useWider } from '../state';
import { clip, columnShow, count, keyed, percent, seconds } from '../format';
import { title } from '../words';
import { num, type Aggregate as AggregateReport, type AggregateRank, type AggregateStage, type Extent } from '../report';
import { goTo } from '../place';
import { Picture } from '../picture';
import { FieldTable, Table } from '../table';
import { KeyFigures, type Maybe } from './figures';
import { JobTimeline } from './job_timeline';
import { jobHref } from './ranks';
import { Name, Shell } from './shell';

const metricsOf = (d: AggregateReport) => Object.entries(d.metrics).map(([key, e]) => ({ key, ...e }));

// The first three by name.
const few = (names: string[]): string => (names.length > 4 ? `${names.slice(0, 3).join(', ')} and ${names.length - 3} more` : names.join(', '));

function Figures({ d }: { d: AggregateReport }) {
  const wall = d.metrics.wall_s;
  const memory = metricsOf(d).find((m) => m.key === d.memory_metric);
  const missing = d.missing_ranks;
  const all: Maybe[] = [
    { label: 'ranks', value: count(num(d, 'rank_count')), note: missing.length ? `missing: ${clip(missing.join(', '), 40)}` : `on ${count(num(d, 'host_count'))} ${num(d, 'host_count') === 1 ? 'host' : 'hosts'}`, bad: missing.length > 0 },
    wall && { label: 'slowest rank', value: seconds(num(wall, 'max_value')), note: `rank ${num(wall, 'max_rank')}; fastest ${seconds(num(wall, 'min_value'))}` },
    { label: 'stragglers', value: count(num(d, 'straggler_count')), note: few(stragglersOf(d).map(rankName)), bad: d.straggler_count > 0 },
    d.collective_count > 0 && num(d, 'wait_s') !== undefined && { label: 'waiting at collectives', value: seconds(num(d, 'wait_s')), note: num(d, 'wait_ratio') !== undefined ? percent(num(d, 'wait_ratio')) : '' },
    ...(d.made ?? []).map((m) => ({ label: m.what, value: count(m.count ?? m.rank_max_count), note: m.count ? 'all ranks' : 'a rank at most; ranks may share a video' })),
    memory && { label: title(memory.key), value: keyed(memory.key, memory.max_value), note: `rank ${memory.max_rank}` },
  ];
  return <KeyFigures all={all} />;
}

const stragglersOf = (d: AggregateReport) => (d.straggler_indexes ?? []).map((i) => d.reports_summary[i]);
const rankName = (r: AggregateRank) => (r.rank >= 0 ? `rank ${r.rank}` : clip(r.run, 24));

// Who holds the others up, and why: the first thing that a job's reader wants to know.
function Stragglers({ d }: { d: AggregateReport }) {
  const slow = stragglersOf(d);
  if (!slow.length) return <p class="lead">{d.straggler_rule?.startsWith('not judged') ? 'Which ranks hold the others up cannot be told from here' : 'No rank holds the others up'}{d.straggler_rule ? ` (${d.straggler_rule.replace(/^none: |^not judged: /, '')})` : ''}.</p>;
  return (
    <ul class="sentences" aria-label="stragglers">
      {slow.slice(0, 5).map((r) => (
        <li class="lead" key={r.report_index}>
          <b class="bad">
            <a href={`#rank-${r.report_index}`} onClick={goTo}>
              {rankName(r)}
            </a>
          </b>
          {r.host ? ` on ${r.host}` : ''} holds the others up
          {num(r, 'behind_s') !== undefined && `: ${seconds(num(r, 'behind_s'))} more work than the ${d.rank_count === 2 ? 'other' : 'median'} rank`}
          {r.slow_stage && `, most of it in ${clip(r.slow_stage, 60)}`}
          {num(r, 'slow_stage_s') !== undefined && num(r, 'slow_stage_median_s') !== undefined && ` (${seconds(num(r, 'slow_stage_s'))} against ${seconds(num(r, 'slow_stage_median_s'))})`}
          {num(r, 'caused_wait_s') !== undefined && `. The others waited ${seconds(num(r, 'caused_wait_s'))} for it in ${count(r.last_count)} collectives`}.
        </li>
      ))}
      {slow.length > 5 && <li class="quiet">and {slow.length - 5} more, marked below</li>}
    </ul>
  );
}

// How long each rank took, and how much of it was work; when it waited is in the timeline.
function RankBar({ r, most }: { r: AggregateRank; most: number }) {
  return (
    <b title={`${seconds(num(r, 'duration_s'))}, work ${seconds(num(r, 'work_s'))}`}>
      <i class={r.straggler ? 'late' : ''} style={{ width: `${((num(r, 'duration_s') ?? 0) / most) * 100}%` }}>
        <u style={{ width: `${Math.min(100, ((num(r, 'work_s') ?? 0) / (num(r, 'duration_s') || 1)) * 100)}%` }} />
      </i>
    </b>
  );
}

const LANES_MOST = 1024;

function RankName({ r }: { r: AggregateRank }) {
  const href = r.rank >= 0 ? jobHref(r, r.rank) : undefined;
  const name = rankName(r);
  return <span>{href ? <a class="link plain" href={href} title="its own page">{name}</a> : name}</span>;
}

// Each attempt leads to its page.
function Attempts({ d }: { d: AggregateReport }) {
  return (
    <Table
      caption="Attempts: the last complete one counts"
      rows={d.attempts!}
      columns={[
        { key: 'attempt_index', head: 'attempt' },
        { key: 'run', cell: (a) => (!a.taken && jobHref(a) ? <a class="link" href={jobHref(a)}>{a.run}</a> : a.run) },
        { key: 'state' },
        { key: 'taken', head: 'this page', value: (a) => (a.taken ? 'yes' : '') },
      ]}
    />
  );
}

function RankLanes({ d }: { d: AggregateReport }) {
  const ranks = d.reports_summary;
  const most = ranks.reduce((top, r) => Math.max(top, num(r, 'duration_s') ?? 0), 1e-9);
  const hosts = new Set(ranks.map((r) => r.host)).size;
  const byHost = [...ranks];
  if (hosts > 1) byHost.sort((a, b) => a.host.localeCompare(b.host, undefined, { numeric: true }));
  const show = columnShow('duration_s', ranks.map((r) => num(r, 'duration_s')));
  return (
    <div class={`ranks ${ranks.length > 64 ? 'many' : ''} ${ranks.every((r) => r.complete && !r.straggler && !r.failure) ? 'bare' : ''}`} role="img" aria-label="time of each rank">
      {byHost.slice(0, LANES_MOST).map((r, at) => (
        <>
        {hosts > 1 && r.host !== byHost[at - 1]?.host && <h4 key={`h${at}`} dir="auto">{r.host || 'host not known'}</h4>}
        <div class="rank" key={r.report_index} id={`rank-${r.report_index}`}>
          <RankName r={r} />
          <RankBar r={r} most={most} />
          <span class="quiet">{[show(num(r, 'duration_s')), r.straggler && `straggler${r.slow_stage ? ` in ${clip(r.slow_stage, 24)}` : ''}`, r.failure ? `failed: ${clip(r.failure, 40)}` : !r.complete && 'incomplete'].filter(Boolean).join(', ')}</span>
        </div>
        </>
      ))}
      {ranks.length > LANES_MOST && <p class="quiet">{count(ranks.length - LANES_MOST)} more ranks are in the tables.</p>}
      <p class="quiet">Filled: working; outlined: the rest of its time. {d.rank_lanes ? 'When each waited for the others stands below, on one clock.' : 'The inputs do not say when they ran: all begin at the left.'} Red and marked: a straggler, which the others wait for.</p>
    </div>
  );
}

// Of many ranks a row is one picture: thousands of elements would make the page slow.
// A bar for each rank, up where it is slower than the stage's median rank, down where it is faster. Ranks that share a pixel: the longest bars are seen.
function HeatCells({ values, middle, isDark }: { values: (number | null)[]; middle: number; isDark: boolean }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  useEffect(() => {
    const e = canvas.current!;
    const watcher = new ResizeObserver(() => {
      const pen = e.getContext('2d')!;
      const [width, height] = [(e.width = Math.round(e.clientWidth * devicePixelRatio)), (e.height = Math.round(e.clientHeight * devicePixelRatio))];
      const zero = height >> 1;
      const style = getComputedStyle(e);
      const left = (i: number) => Math.floor((i * width) / values.length);
      values.forEach((v, i) => {
        if (v === null) return;
        const far = v / middle - 1;
        const high = Math.round(Math.min(1, Math.abs(far) / FULL) * (zero - 1));
        const wide = Math.max(1, left(i + 1) - left(i));
        pen.fillStyle = style.getPropertyValue('--faint');
        pen.fillRect(left(i), zero, wide, 1);
        pen.fillStyle = style.getPropertyValue(far > 0 ? '--c4' : '--c1');
        pen.fillRect(left(i), far > 0 ? zero - high : zero + 1, wide, high);
      });
    });
    watcher.observe(e);
    return () => watcher.disconnect();
  }, [values, isDark]);
  return <canvas ref={canvas} />;
}

const FULL = 0.25; // from here on a bar is as long, a colour as full as it gets

// How far each rank is from the median of its stage. One stop of the Tab key; arrows walk the cells.
function HeatMap({ d }: { d: AggregateReport }) {
  const heat = d.heat_map;
  const isDark = useStore(dark);
  const [at, setAt] = useState({ row: 0, rank: -1 });
  const wide = useWider(700);
  if (!heat.stages.length) return null;
  const columns = heat.ranks.length;
  const many = columns > (wide ? 16 : 7); // for numbers in the cells
  const stages = heat.stages.slice(0, 40);
  const every = Math.ceil(columns / 32); // ranks of which one has its number above
  const grid = { gridTemplateColumns: `repeat(${columns}, minmax(0, 1fr))`, gap: many ? '0' : undefined };
  const within = (v: number, most: number) => Math.max(0, Math.min(most - 1, v));
  const point = (row: number, rank: number) => setAt({ row: within(row, stages.length), rank: within(rank, columns) });
  const walk = (e: KeyboardEvent) => {
    const [down, right] = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[e.key] ?? [];
    if (down === undefined) return;
    e.preventDefault();
    point(at.row + down, at.rank + right!);
  };
  return (
    <div class="heat" role="group" tabIndex={0} aria-label="time of each stage on each rank: arrows walk it" onKeyDown={walk}>
      <div class="row head">
        <span />
        <div class={columns > 8 ? 'cells many' : 'cells'} style={grid}>
          {heat.ranks.map((r, i) => i % every === 0 && <i key={i} style={{ gridColumn: `${i + 1} / span ${Math.min(every, columns - i)}`, textAlign: every > 1 ? 'left' : undefined }}>{r}</i>)}
        </div>
      </div>
      {stages.map((s, row) => {
        const middle = s.median_s || 1e-12;
        return (
          <div class="row" key={s.name}>
            <Name name={s.name} />
            <div class="cells" style={grid} onPointerMove={(e) => point(row, Math.floor(((e.clientX - e.currentTarget.getBoundingClientRect().left) / e.currentTarget.clientWidth) * columns))}>
              {many ? (
                <HeatCells values={s.total_s} middle={middle} isDark={isDark} />
              ) : (
                s.total_s.map((v, i) => (
                  <i key={i} class={v === null ? 'none' : ''} style={v === null ? undefined : shade(v / middle)}>
                    {v !== null && deviation(v / middle)}
                  </i>
                ))
              )}
              {at.row === row && at.rank >= 0 && <u style={{ left: `${(at.rank / columns) * 100}%`, width: `${100 / columns}%` }} />}
            </div>
          </div>
        );
      })}
      <output class="words">{at.rank >= 0 && cellWords(stages[at.row], heat.ranks[at.rank], at.rank)}</output>
      <p class="quiet">Red, above: slower than the stage's median rank; blue, below: faster; {many ? 'the longer the further, up to' : 'full colour from'} 25 %{many ? '. No line: the stage was not there' : ' on; hatched: not there'}.</p>
    </div>
  );
}

function cellWords({ name, total_s, median_s }: AggregateReport['heat_map']['stages'][number], rank: number, i: number): string {
  const v = total_s[i];
  return `${name}, rank ${rank}: ${v === null ? 'not there' : `${seconds(v)}, ${percent(v / (median_s || 1e-12) - 1)} from the median`}`;
}

function deviation(ratio: number): string {
  const shown = Math.round((ratio - 1) * 100);
  return shown ? `${shown > 0 ? '+' : '−'}${Math.abs(shown)}\u00a0%` : '';
}

function shade(ratio: number) {
  const strength = Math.min(1, Math.abs(ratio - 1) / FULL);
  const [colour, edge] = ratio > 1 ? ['var(--c4)', 3] : ['var(--c1)', -3];
  return { background: `color-mix(in srgb, ${colour} ${Math.round(strength * 35)}%, var(--grid))`, boxShadow: `inset 0 ${edge * strength}px ${colour}` };
}

function Stages({ d }: { d: AggregateReport }) {
  return (
    <Table
      caption="Over all ranks, with the rank of each extreme"
      rows={d.stages}
      most={60}
      columns={[
        { key: 'name', head: 'stage', cell: (s) => <Name name={s.name} code={s.code} /> },
        { key: 'count', head: 'calls', cell: (s) => count(num(s, 'count')) },
        ...(['min', 'avg', 'max'] as const).map((part) => ({
          key: `${part}_s`,
          head: part,
          value: (s: AggregateStage) => num(s.total_s, `${part}_value`),
        })),
        { key: 'max_rank', head: 'max on rank', value: (s) => num(s.total_s, 'max_rank') },
        { key: 'imbalance_ratio', help: 'how far the slowest rank is above the average' },
        { key: 'imbalance_s', head: 'costs' },
        { key: 'call_p50_s', head: 'p50' },
        { key: 'call_p95_s', head: 'p95' },
      ]}
    />
  );
}

function Metrics({ d }: { d: AggregateReport }) {
  const metrics = metricsOf(d);
  type Row = (typeof metrics)[number];
  const value = (m: Row, part: keyof Extent & `${string}_value`) => (num(m, part) === undefined ? '' : keyed(m.key, num(m, part)));
  return (
    <Table
      caption="Over all ranks"
      rows={metrics}
      most={60}
      columns={[
        { key: 'key', head: 'metric', cell: (m) => title(m.key) },
        ...(['min', 'avg', 'median', 'max', 'sum'] as const).map((part) => ({
          key: part,
          head: part,
          value: (m: Row) => num(m, `${part}_value`),
          cell: (m: Row) => value(m, `${part}_value`),
        })),
        { key: 'min_rank', head: 'min on rank' },
        { key: 'max_rank', head: 'max on rank' },
      ]}
    />
  );
}

// Starts of the job, groups that are late as a whole, and how well the clocks agree.
function jobBody(d: AggregateReport) {
  const apart = (r: AggregateRank) => num(r.clock, 'offset_s') || num(r.clock, 'uncertainty_s'); // on one host all have one clock
  const clocks = d.reports_summary.some(apart) ? d.reports_summary.filter((r) => num(r.clock, 'offset_s') !== undefined) : [];
  const waits = [num(d, 'late_wait_s') !== undefined && `${seconds(num(d, 'late_wait_s'))} waiting for the last rank`, num(d, 'transfer_s') !== undefined && `${seconds(num(d, 'transfer_s'))} transferring`, num(d, 'hidden_s') !== undefined && `${seconds(num(d, 'hidden_s'))} hidden behind other work`].filter(Boolean);
  const uncertain = num(d, 'clock_uncertainty_s');
  const most = d.reports_summary.reduce((top, r) => Math.max(top, num(r, 'collective_total_count') ?? 0), 0);
  if (!waits.length && !d.communication && !d.attempts && !d.late_groups && uncertain === undefined && !clocks.length) return null;
  return (
    <>
      {waits.length > 0 && (
        <p>
          {count(num(d, 'collective_count'))} collectives{most > 0 && ` looked at, of up to ${count(most)} of a rank`}, all ranks: {waits.join(', ')}.
          {num(d, 'unclear_collective_count') ? ` At ${count(num(d, 'unclear_collective_count'))} of them the clocks cannot tell who came last.` : ''}
        </p>
      )}
      <FieldTable rows={d.communication} caption="Communication by group and operation, the most time first" />
      {d.attempts && <Attempts d={d} />}
      <FieldTable rows={d.late_groups} caption="Groups that come late as a whole" />
      {!!uncertain && <p>The clocks of the ranks may be {seconds(uncertain)} apart; what differs by less is not judged.</p>}
      <FieldTable rows={clocks.map((r) => ({ rank: r.rank, host: r.host, ...r.clock }))} caption="Each rank's clock, compared with the first rank's" most={16} />
    </>
  );
}

export function Aggregate({ d }: { d: AggregateReport }) {
  useStore(dark);
  const left = d.left_out;
  const job = jobBody(d);
  return (
    <Shell title={d.job || `${count(num(d, 'rank_count'))} ranks`} kind="aggregate">
      <Stragglers d={d} />
      <Figures d={d} />
      {left.length > 0 && (
        <section class="part">
          <h2 class="bad">Left out</h2>
          <FieldTable rows={left} caption="What could not be read" />
        </section>
      )}
      <section class="part" id="ranks">
        <h2>Ranks</h2>
        <Picture words="ranks"><RankLanes d={d} /></Picture>
      </section>
      {d.rank_lanes && <JobTimeline d={d} />}
      {job && (
        <section class="part" id="job">
          <h2>Collectives, attempts, clocks</h2>
          {job}
        </section>
      )}
      <section class="part" id="heat">
        <h2>Stage by rank</h2>
        <Picture words="stage by rank"><HeatMap d={d} /></Picture>
      </section>
      <section class="part" id="stages">
        <h2>Stages</h2>
        <Stages d={d} />
      </section>
      <section class="part" id="metrics">
        <h2>Metrics</h2>
        <Metrics d={d} />
      </section>
      {d.scaling && (
        <section class="part" id="scaling">
          <h2>Scaling</h2>
          <FieldTable rows={d.scaling} caption="Across world sizes" />
        </section>
      )}
    </Shell>
  );
}
