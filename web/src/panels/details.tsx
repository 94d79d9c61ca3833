// Everything below the first screen. A panel without data returns null and
// does not appear, neither here nor in the navigation.
import type { ComponentChildren } from 'preact';
import { Bins, OrderChart, TimeChart, type Chart } from '../charts';
import { clip, count, memory, percent, seconds } from '../format';
import { memoryPeak, num, text, whoseMemory, type Distribution, type Fields, type GpuRow, type GpuTrace, type MemorySnapshot, type Report, type Series } from '../report';
import { jumpTo, jumpToKernel } from '../jump';
import { FieldList, FieldTable, Table } from '../table';
import { boundBy, caption, title } from '../words';
import { Growth } from './growth';
import { Readings } from './readings';
import { Name } from './shell';
import { GPU_IDLE, IdleFunctionTable } from './unattributed';

export interface Panel {
  id: string;
  title: string;
  body: ComponentChildren;
}

const numbers = (v: unknown): number[] => (Array.isArray(v) ? v.filter((x): x is number => typeof x === 'number') : []);

function OverTime({ what, series, bins, times }: { what: string; series: number[]; bins?: Distribution; times?: number[] }) {
  if (series.length < 2) return null;
  return (
    <div class="pair">
      <OrderChart values={series} unit="_s" label={`${what}, in order`} height={150} onPick={times && ((i) => jumpTo(`${what} ${i}`, times[i], series[i], what))} />
      {bins && <Bins of={bins} label={`${what}, distribution`} />}
    </div>
  );
}

// How long steps took and when, of those whose time is known.
function durations(series: Series | undefined): { values: number[]; times: number[] } {
  const rows = (series?.duration_s ?? []).flatMap((v, i) => (typeof v === 'number' ? [{ v, t: series!.t_s[i] as number }] : []));
  return { values: rows.map((r) => r.v), times: rows.map((r) => r.t) };
}

export function iterationsBody(r: Report): ComponentChildren {
  const all = r.iterations ?? [];
  if (!all.length) return null;
  const steps = r.diffusion_analysis?.series?.t_s?.length; // drawn among the steps already
  const blocks = r.block_analysis?.items?.length; // and these
  const drawn = all.filter((it) => !(it.role === 'step' || it.role === 'block') || numbers(it.series_s).length !== (it.role === 'step' ? steps : blocks));
  return (
    <>
      <FieldTable rows={all} caption="Iterations" skip={['series_s', 'outliers', 'distribution']} />
      {drawn.slice(0, 4).map((it) => (
        <OverTime key={it.name} what={it.name} series={numbers(it.series_s)} bins={it.distribution} />
      ))}
    </>
  );
}

export function stepsBody(r: Report): ComponentChildren {
  const d = r.diffusion_analysis;
  const b = r.block_analysis;
  if (!d && !b) return null;
  const steps = durations(d?.series);
  const items = b?.items ?? [];
  return (
    <>
      {d && <FieldList fields={d} />}
      <FieldTable rows={d?.rates} caption="Throughput: what is counted, over which time" />
      <FieldTable rows={d?.split} caption="Where the time of generations goes" />
      <OverTime what="step" series={steps.values} bins={d?.distribution} times={steps.times} />
      <SubTables of={d} skip={['rates', 'split', 'slow_steps']} />
      <FieldTable rows={d?.slow_steps} caption="Steps slower than their peers" onPick={(row) => jumpTo(`slow step ${num(row, 'step_index') ?? ''}`, num(row, 't_s'), num(row, 'duration_s'), 'step')} />
      {b && (
        <>
          <h3>Blocks</h3>
          <FieldList fields={b} />
          <OverTime what="block" bins={b.distribution} series={items.map((x) => x.duration_s)} times={items.map((x) => x.t_s)} />
          <SubTables of={b} />
        </>
      )}
    </>
  );
}

const seconds_ = (v: unknown) => (typeof v === 'number' ? v : undefined);
const timed = (rows: Fields[]) => rows.some((r) => typeof r.t_s === 'number');

// Whatever else a panel brings: lists as tables, objects as fields; rows with a time lead there.
export function SubTables({ of, skip = [] }: { of: Fields | undefined; skip?: string[] }) {
  const parts: ComponentChildren[] = [];
  for (const [key, v] of Object.entries(of ?? {})) {
    if (skip.includes(key) || key === 'series' || key === 'distribution') continue; // drawn
    if (Array.isArray(v) && v.length && typeof v[0] === 'object' && v[0] !== null) parts.push(<FieldTable key={key} rows={v as Fields[]} caption={caption(key)} onPick={timed(v as Fields[]) ? (row) => jumpTo(caption(key), seconds_(row.t_s), seconds_(row.duration_s), key === 'items' ? 'block' : undefined) : undefined} />);
    else if (v && typeof v === 'object' && !Array.isArray(v) && !('t_s' in v)) parts.push(<FieldList key={key} head={caption(key)} fields={v as Fields} />);
  }
  return <>{parts}</>;
}

// As the text report says it.
function PeakLine({ report }: { report: Report }) {
  const p = memoryPeak(report);
  if (!p) return null;
  const sampled = p.source === 'allocated' || !p.source ? '' : ', sampled';
  const whose = whoseMemory(p) && ` (${whoseMemory(p)}${sampled}${p.reserved ? `; reserved ${memory(p.reserved)}` : ''})`;
  return (
    <p>
      VRAM peak <b>{memory(p.bytes)}</b>
      {p.total && ` of ${memory(p.total)}`}
      {p.device !== undefined && ` on GPU ${p.device}`}
      {whose}
      {p.t_s !== undefined && `, in ${p.stage ?? 'no stage'}, seen at ${p.t_s.toFixed(2)}\u00a0s`}
    </p>
  );
}

export function memoryBody(r: Report): ComponentChildren {
  const m = r.memory;
  if (!m) return null;
  const shots = m.snapshots ?? [];
  if (!shots.length && !Object.keys(m).length) return null;
  return (
    <>
      <PeakLine report={r} />
      <Readings report={r} topic="memory" />
      <FieldList fields={m} skip={['peak_mb', 'peak_t_s', 'peak_source', 'peak_stage', 'peak_device_index', 'device_total_mb', 'reserved_peak_mb']} />
      {shots.length > 0 && (
        <Table
          caption="Snapshots"
          rows={shots}
          most={40}
          onPick={(s) => jumpTo(`snapshot ${text(s, 'label') ?? ''}`, num(s, 't_s'), 0)}
          columns={[
            { key: 'label' },
            { key: 'device' },
            { key: 't_s' },
            ...(['allocated_mb', 'reserved_mb', 'peak_mb'] as const).map((key) => ({
              key,
              head: title(key),
              value: (s: MemorySnapshot) => num(s, key),
              cell: (s: MemorySnapshot) => (num(s, key) === undefined ? '' : `${num(s, key)!.toFixed(1)}\u00a0MB`),
            })),
          ]}
        />
      )}
      {(m.growth ?? []).length > 0 && <Growth rows={m.growth!} />}
      <SubTables of={m} skip={['snapshots', 'timeline', 'growth', 'residents']} />
    </>
  );
}

function Charts({ of }: { of: Chart[] }) {
  return (
    <div class="stack">
      {of.slice(0, 40).map((c, i, all) => (
        <TimeChart key={c.title + i} chart={c} height={i === all.length - 1 ? 100 : 84} axis={i === all.length - 1} />
      ))}
    </div>
  );
}

// Of many GPUs each folds its charts; the first is open.
export function metricsBody(r: Report, charts: Chart[]): ComponentChildren {
  if (!charts.length && !r.gpu_metrics && !r.cpu_metrics && !r.disk_metrics) return null;
  const devices = r.gpu_metrics?.devices ?? [];
  const own = devices.map((d) => (devices.length > 2 ? charts.filter((c) => `${c.group} `.startsWith(`GPU ${d.index} `)) : []));
  return (
    <>
      <Readings report={r} topic="metrics" />
      {own.map((of, i) => of.length > 0 && (
        <details key={i} open={!i}>
          <summary>GPU {devices[i].index}</summary>
          <Charts of={of} />
        </details>
      ))}
      <Charts of={charts.filter((c) => !own.flat().includes(c))} />
      {devices.map((d) => (
        <FieldList key={d.index} head={`GPU ${d.index}`} fields={d} skip={['index', 'series']} />
      ))}
      <FieldList head="CPU" fields={r.cpu_metrics} />
      <FieldList head="Disk" fields={r.disk_metrics} />
    </>
  );
}

export function cacheBody(r: Report): ComponentChildren {
  const caches = r.cache_analysis?.caches ?? [];
  if (!caches.length) return null;
  return (
    <>
      <FieldTable rows={caches} caption="Caches: hit rate = hits / (hits + misses)" skip={['timeline']} />
      {caches.map((c) => (
        <FieldTable key={c.name} rows={c.timeline} most={12} caption={`${c.name}: by chunk and frame`} onPick={(row) => jumpTo(c.name, num(row, 't_s'), 0)} />
      ))}
    </>
  );
}

export function streamingBody(r: Report, charts: Chart[]): ComponentChildren {
  const s = r.streaming_analysis;
  if (!s) return null;
  return (
    <>
      <FieldList fields={s} />
      <SubTables of={s} />
      <Charts of={charts} />
    </>
  );
}

export function layersBody(r: Report): ComponentChildren {
  const m = r.model_analysis;
  if (!m) return null;
  return (
    <>
      <Readings report={r} topic="layers" />
      <FieldList fields={m} />
      <FieldTable rows={m.models} caption="Models" skip={['parameters']} />
      {m.layers && (
        <>
          <FieldList fields={m.layers} />
          <FieldTable rows={m.layers.components} caption="Components" />
          <FieldTable rows={m.layers.slowest} caption="Slowest layers" />
        </>
      )}
      <FieldTable rows={m.variants} caption="Variants" />
      <SubTables of={m} skip={['models', 'layers', 'variants']} />
    </>
  );
}

// What is between two traces of a process is not known: it is neither busy nor idle.
function addedUp(g: GpuTrace): string {
  const all = (g.traces ?? []).filter((t) => t.duration_s > 0);
  return all.length > new Set(all.map((t) => t.pid)).size ? `, ${all.length} traces added up` : '';
}

export function kernelsBody(r: Report): ComponentChildren {
  const g = r.gpu_trace;
  if (!g) return null;
  return (
    <>
      {g.busy_ratio !== undefined && (
        <p>
          The GPU was busy {seconds(g.busy_s)} and idle {seconds(g.idle_s)}: {percent(g.busy_ratio)} busy {g.slow_moments_only ? 'around slow moments, kept alone' : 'while traced'}{addedUp(g)}.
        </p>
      )}
      <FieldList fields={g} skip={g.busy_ratio === undefined ? [] : ['busy_s', 'idle_s', 'busy_ratio']} />
      {(g.top_kernels ?? []).length > 0 && (
        <Table
          caption="Kernels by GPU time"
          rows={g.top_kernels!}
          sort="total_s"
          most={20}
          onPick={(k) => jumpToKernel(text(k, 'name'))}
          columns={[
            { key: 'name', head: 'kernel', cell: (k) => <span dir="auto" title={text(k, 'name')}>{clip(text(k, 'short_name') ?? text(k, 'name') ?? '', 84)}</span> },
            ...(g.top_kernels!.some((k) => k.family) ? [{ key: 'family', value: (k: GpuRow) => [k.family ?? 'not recognised', k.kind, k.precision].filter(Boolean).join(', ') }] : []),
            { key: 'count' },
            { key: 'total_s' },
            { key: 'mean_s' },
            { key: 'share_ratio', help: 'of all kernel time' },
          ]}
        />
      )}
      <FieldTable rows={g.copies} caption="Copies" />
      <FieldTable rows={g.waits} caption="Waits of the program for the GPU" onPick={(w) => jumpToKernel(text(w, 'name'), 'wait')} />
      <FieldTable rows={g.gaps} caption="Idle gaps, and what the CPU did meanwhile" onPick={(row) => jumpTo(GPU_IDLE, num(row, 't_s'), num(row, 'duration_s'))} />
      <IdleFunctionTable report={r} />
      <SubTables of={{ ...g, traces: g.traces?.filter((t) => t.duration_s > 0) }} skip={['top_kernels', 'copies', 'waits', 'gaps', 'idle_functions']} />
    </>
  );
}

// Functions with @profile, line by line.
export function linesBody(r: Report): ComponentChildren {
  return (r.line_profile ?? []).map((f, i) => (
    <Table
      key={i}
      caption={`${f.function}, ${seconds(f.total_s)}, ${f.file ?? ''}:${f.line}${f.timed_call_count < f.call_count ? `: ${f.timed_call_count} of ${f.call_count} calls` : ''}`}
      rows={f.lines}
      most={60}
      columns={[
        { key: 'line' },
        { key: 'hit_count', head: 'ran', help: 'how often' },
        { key: 'total_s', head: 'time', help: 'in it and in what it calls' },
        { key: 'share_ratio', help: 'of the function' },
        { key: 'text', head: 'source', cell: (l) => <code class="source">{l.text}</code> },
      ]}
    />
  ));
}

// Shares of samples, never times: what the interpreter was seen in.
export function functionsBody(r: Report): ComponentChildren {
  const f = r.function_samples;
  if (!f) return null;
  return (
    <>
      <p class="quiet">
        Shares of the time of {count(f.sample_count - (f.waiting_count ?? 0))} sampled stacks, not measured times.
        {!!f.waiting_count && ` ${count(f.waiting_count)} more only waited: ${(f.waiting ?? []).slice(0, 3).map((w) => clip(w.name, 40)).join(', ')}.`}
      </p>
      <Table
        caption="Functions by their own share"
        rows={f.functions}
        sort="self_ratio"
        most={20}
        columns={[
          { key: 'name', head: 'function', cell: (x) => <span dir="auto" title={x.file}>{clip(x.name, 60)}</span> },
          { key: 'self_ratio', help: 'in the function itself' },
          { key: 'total_ratio', head: 'with callees', help: 'in it and in what it calls' },
          { key: 'self_count', head: 'samples', help: 'in the function itself; each stands for the time since the one before' },
          { key: 'line', head: 'hottest line', cell: (x) => String(x.line) },
          { key: 'file', cell: (x) => <span class="quiet" dir="auto" title={x.file}>{clip(x.file?.split('/').slice(-2).join('/') ?? '', 48)}</span> },
          { key: 'stage' },
        ]}
      />
    </>
  );
}

export function chatBody(r: Report): ComponentChildren {
  return r.chat?.length ? <FieldTable rows={r.chat} caption="Models that write tokens" /> : null;
}

export function paddingBody(r: Report): ComponentChildren {
  const rows = r.padding ?? [];
  if (!rows.length) return null;
  return (
    <Table
      caption="What is computed and never seen, the largest first"
      rows={rows}
      columns={[
        { key: 'stage', cell: (p) => <Name name={p.stage} code={p.code} /> },
        { key: 'kind' },
        { key: 'unseen_ratio', head: 'never seen' },
        { key: 'unseen_s', head: 'that share of the time' },
        { key: 'total_s', head: 'of' },
        { key: 'words', head: '' },
      ]}
    />
  );
}

export function outputsBody(r: Report): ComponentChildren {
  return r.outputs?.length ? <FieldTable rows={r.outputs} caption="What the program wrote as its result" /> : null;
}

export function strategiesBody(r: Report): ComponentChildren {
  const all = r.strategies ?? [];
  return all.length ? (
    <>
      <FieldTable rows={all} caption="What could be turned: the least effort first, then the largest gain" skip={['stage_index', 'knob', 'now_value', 'proposed_value', 'unit']} />
      <p class="quiet">
        “estimated”: in proportion to the value; “bounded”: it cannot be more. <code>strobe whatif</code> predicts the total for what its column says.
      </p>
    </>
  ) : null;
}

export function adviceTail(r: Report): ComponentChildren {
  const v = r.verdict;
  if (!v) return null;
  const leave = v.leave_alone ?? [];
  return (
    <div class="verdict">
      {v.why && (
        <p>
          <b>{v.bound_by === 'unknown' ? 'What bounds the run is not known:' : `Bound by ${boundBy(v.bound_by)}:`}</b> {v.why}
        </p>
      )}
      {leave.length > 0 && <p class="quiet">Not worth tuning: {leave.map((l) => l.name).join(', ')}.</p>}
    </div>
  );
}
