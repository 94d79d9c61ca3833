// Two runs side by side: strobe diff --format html, and /diff of the server.
import { useMemo } from 'preact/hooks';
import { rankNames } from '../colour';
import { clip, columnShow, keyed, percent, plain, seconds } from '../format';
import { num, text, type Diff as DiffReport, type MetricChange, type OutputChange, type SettingChange, type StageChange } from '../report';
import { Table, type Column } from '../table';
import { dark, useStore } from '../state';
import type { Timeline } from '../timeline/data';
import { Aligned } from './aligned';
import { KeyFigures } from './figures';
import { Name, Shell } from './shell';

// Runs by the last part of their path; the figures below name them whole.
// A run by its name and its begin, whatever was typed for it; one without a name as it was typed.
function namesOf(d: DiffReport, side: 'base' | 'new'): string[] {
  const known = (d.runs ?? []).filter((r) => r.side === side);
  return d[side].map((typed, i) => {
    const r = known[i];
    return (r?.name ? [r.name, r.start_time && keyed('start_time', r.start_time)].filter(Boolean).join(', ') : '') || typed.replace(/\/+$/, '').split('/').pop() || typed;
  });
}

// A run may be compared with itself.
function headingOf(d: DiffReport): string {
  const [before, now] = (['base', 'new'] as const).map((side) => clip(namesOf(d, side).join('; '), 60));
  return before === now ? `${before}, with itself` : `${before} → ${now}`;
}

function signed(v: number, show: (x: number) => string): string {
  const text = show(Math.abs(v));
  return text.startsWith('<') ? text : (v > 0 ? '+' : v < 0 ? '−' : '±') + text; // too small for a sign
}

const tone = (change: MetricChange | StageChange): string => (change.tone === 'none' ? 'quiet' : change.tone);

function valueOf(m: MetricChange, key: 'base_value' | 'new_value'): string {
  return columnShow(m.metric, [num(m, 'base_value'), num(m, 'new_value')])(num(m, key)); // both in one unit
}

function Total({ d }: { d: DiffReport }) {
  const t = d.total;
  const ratio = num(t, 'change_ratio');
  const delta = num(t, 'delta_value');
  const metric = t.metric;
  const per = d.per_generation ? ', per video' : '';
  const side = (label: string, key: 'base_value' | 'new_value', of: string[]) => ({ label: label + per, value: valueOf(t, key), note: clip(of.join('; '), 60).replaceAll('\u00a0', ' '), help: of.join('\n') });
  const basis = text(t, 'basis');
  const p = num(t, 'p_ratio');
  return (
    <KeyFigures
      words="the whole"
      all={[
        side('before', 'base_value', namesOf(d, 'base')),
        side('now', 'new_value', namesOf(d, 'new')),
        { label: 'change', value: delta === undefined ? 'n/a' : signed(delta, (v) => keyed(metric, v)), note: ratio === undefined ? '' : signed(ratio, (v) => percent(v)), bad: t.tone === 'worse' },
        { label: 'verdict', value: text(t, 'words') ?? 'n/a', warning: d.output_verdict, note: (basis && basis !== 'too_few' ? `judged by ${basis.replaceAll('_', ' ')}` : '') + (p === undefined ? '' : `, p = ${plain(p)}`) },
      ]}
    />
  );
}

// Who the runs are, so that they can be found again. Of many on one side the first is named.
function Sides({ d }: { d: DiffReport }) {
  const side = (which: 'base' | 'new', head: string) => {
    const all = (d.runs ?? []).filter((r) => r.side === which);
    const [r] = all;
    if (!r) return null;
    const rows = [['name', r.name], ['started', r.start_time && keyed('start_time', r.start_time)], ['host', r.host], ['command', r.command], ['commit', r.commit], ['tags', r.tags], ['id', r.id], ['typed as', r.label]].filter((row): row is [string, string] => Boolean(row[1]));
    return (
      <dl key={which} aria-label={head}>
        <dt>{head}</dt>
        <dd>{all.length > 1 ? `${all.length} runs; the first:` : ''}</dd>
        {rows.map(([k, v]) => (
          <>
            <dt>{k}</dt>
            <dd dir="auto">{k === 'command' ? <code>{v}</code> : v}</dd>
          </>
        ))}
      </dl>
    );
  };
  if (!d.runs?.length) return null;
  return (
    <section class="part" id="runs">
      <h2>The runs</h2>
      <div class="sides">
        {side('base', 'Before')}
        {side('new', 'Now')}
      </div>
    </section>
  );
}

// Each stage's share in the change, as a bar from the middle.
function Contribution({ s, most }: { s: StageChange; most: number }) {
  const c = num(s, 'contribution_s') ?? 0;
  const width = most ? (Math.abs(c) / most) * 50 : 0;
  return (
    <span class="balance" title={`${signed(c, seconds)} of the change`}>
      <i class={c > 0 ? 'up' : 'down'} style={c > 0 ? { left: '50%', width: `${width}%` } : { right: '50%', width: `${width}%` }} />
    </span>
  );
}

function Stages({ d }: { d: DiffReport }) {
  const stages = d.stages;
  if (!stages.length) return null;
  const most = Math.max(...stages.map((s) => Math.abs(num(s, 'contribution_s') ?? 0)));
  const columns: Column<StageChange>[] = [
    { key: 'name', head: 'stage', cell: (s) => <Name name={text(s, 'name') ?? ''} code={text(s, 'code')} /> },
    { key: 'contribution_s', head: 'share in the change', cell: (s) => <Contribution s={s} most={most} /> },
    { key: 'base_s', head: 'before' },
    { key: 'new_s', head: 'now' },
    { key: 'delta_s', head: 'Δ', cell: (s, show) => (num(s, 'delta_s') === undefined ? '' : signed(num(s, 'delta_s')!, show)) },
    { key: 'change_ratio', head: 'Δ %', cell: (s) => (num(s, 'change_ratio') === undefined ? '' : signed(num(s, 'change_ratio')!, (v) => percent(v))) },
    { key: 'base_count', head: 'calls before' },
    { key: 'new_count', head: 'calls now' },
    { key: 'words', head: 'verdict', cell: (s) => <span class={tone(s)}>{s.words}</span> },
    { key: 'basis', head: 'judged by', cell: (s) => <span class="quiet">{(text(s, 'basis') ?? '').replace('too_few', '').replaceAll('_', ' ')}{num(s, 'p_ratio') !== undefined ? `, p = ${plain(num(s, 'p_ratio')!)}` : ''}</span> },
  ];
  const [before, now] = [d.base_overlap_s, d.new_overlap_s];
  const overlaps = before !== undefined && now !== undefined && Math.max(Math.abs(before), Math.abs(now)) > 0.005 * (num(d.total, 'new_value') ?? 0);
  return (
    <>
      <Table rows={stages} columns={columns} caption="Stages, the largest share in the change first" most={20} />
      {overlaps && <p class="quiet">Shares in the change and unattributed time less the overlap are the whole change. Overlap: {seconds(before).replace('-', '−')} before, {seconds(now).replace('-', '−')} now.</p>}
    </>
  );
}

function Metrics({ d }: { d: DiffReport }) {
  const rows = d.metrics;
  if (!rows.length) return null;
  return (
    <Table
      caption="Memory, throughput, energy"
      rows={rows}
      most={60}
      columns={[
        { key: 'label', head: 'metric' },
        { key: 'base_value', head: 'before', cell: (m) => valueOf(m, 'base_value') },
        { key: 'new_value', head: 'now', cell: (m) => valueOf(m, 'new_value') },
        { key: 'change_ratio', head: 'Δ %', cell: (m) => (num(m, 'change_ratio') === undefined ? '' : signed(num(m, 'change_ratio')!, (v) => percent(v))) },
        { key: 'words', head: 'verdict', cell: (m) => <span class={tone(m)}>{m.words}</span> },
      ]}
    />
  );
}

// What both runs made, and the frames in which it differs most.
function Output({ o }: { o: OutputChange }) {
  return (
    <div class="output">
      <p>
        <code dir="auto">{o.name}</code> <span class={o.verdict === 'changed' ? 'worse' : 'quiet'}>{o.words}</span>
      </p>
      {(o.worst_frames ?? [])
        .filter((f) => f.base_picture)
        .map((f) => (
          <figure key={f.frame_index}>
            <div class="pictures">
              <img src={f.base_picture} alt={`frame ${f.frame_index}, before`} />
              <img src={f.new_picture} alt={`frame ${f.frame_index}, now`} />
              <img src={f.difference_picture} alt={`frame ${f.frame_index}, where it differs`} />
            </div>
            <figcaption>
              frame {f.frame_index}: before, now, and where they differ (4 times as strong)
              {f.psnr_db !== undefined && `; PSNR ${f.psnr_db.toFixed(1)} dB`}
              {f.ssim_ratio !== undefined && `, SSIM ${f.ssim_ratio.toFixed(4)}`}
            </figcaption>
          </figure>
        ))}
    </div>
  );
}

function Sentences({ title, all, bad }: { title: string; all: string[]; bad?: boolean }) {
  if (!all.length) return null;
  return (
    <section class="part">
      <h2 class={bad ? 'bad' : undefined}>{title}</h2>
      <ul class="sentences">
        {all.map((one) => (
          <li key={one} dir="auto">
            {one}
          </li>
        ))}
      </ul>
    </section>
  );
}

// Colours as on a run's own page: the stages that take most time are far apart.
function rankStages(d: DiffReport): void {
  const most = (s: StageChange) => Math.max(num(s, 'base_s') ?? 0, num(s, 'new_s') ?? 0);
  rankNames([...d.stages].sort((a, b) => most(b) - most(a)).map((s) => s.name));
}

export function Diff({ d, base, now }: { d: DiffReport; base: Timeline | null; now: Timeline | null }) {
  useStore(dark);
  const configuration = d.configuration;
  useMemo(() => rankStages(d), [d]);
  return (
    <Shell title={headingOf(d)} kind="diff">
      <Total d={d} />
      <Sides d={d} />
      <Sentences title="The gate fails" all={d.failures ?? []} bad />
      <Sentences title="Likely explanation" all={d.explanations} />
      <Sentences title="Findings" all={(d.findings ?? []).filter((f) => f.change !== 'stays' || f.priority !== 'low').map((f) => `${f.change}: ${f.priority.toUpperCase()} ${f.place ? f.place + ': ' : ''}${f.issue}`)} />
      {d.outputs && d.outputs.length > 0 && (
        <section class="part" id="outputs">
          <h2>What they made</h2>
          {d.outputs.map((o) => (
            <Output key={o.name} o={o} />
          ))}
        </section>
      )}
      {base?.lanes.length && now?.lanes.length ? <Aligned d={d} base={base} now={now} /> : null}
      {d.stages.length > 0 && (
        <section class="part" id="stages">
          <h2>Stages by change</h2>
          <Stages d={d} />
        </section>
      )}
      {d.metrics.length > 0 && (
        <section class="part" id="metrics">
          <h2>Metrics</h2>
          <Metrics d={d} />
        </section>
      )}
      {configuration.length > 0 && (
        <section class="part" id="configuration">
          <h2>Configuration</h2>
          <Table
            caption="What was set differently"
            rows={configuration}
            most={60}
            columns={(['scope', 'stage', 'key', 'base', 'new'] as const).map((key) => ({ key, head: key === 'base' ? 'before' : key === 'new' ? 'now' : key, value: (c: SettingChange) => text(c, key) }))}
          />
        </section>
      )}
    </Shell>
  );
}
