// How well the GPU is used: what its kernels do per stage, how near stages come to its ceilings.
import { Picture } from '../picture';
import type { ComponentChildren } from 'preact';
import { fillOf, nth, solid, UNATTRIBUTED } from '../colour';
import { clip, count, keyed, percent, seconds } from '../format';
import { stagesOf, type Ceiling, type GpuCounters, type GpuWork, type Report, type SampledCounters, type SampledFamily, type Stage } from '../report';
import { dark, useStore, useWider } from '../state';
import { Table, type Column } from '../table';
import { unitName, videosOf } from '../video';

const STAGES_MOST = 12;
const PHONE = 620; // px
const SHARE_LEAST = 0.02; // of the kernels' time, to be worth a bar

// Colours far apart, in the order in which the families take time; those not recognised are grey.
const colours = (names: string[]) => (name: string) => (name === 'not recognised' ? fillOf(UNATTRIBUTED) : nth(names.indexOf(name)));

interface FamilyShare {
  family: string;
  at: number;
  ratio: number;
  words: string; // "GEMM 71.0 %: linear bf16 60.0 %, linear fp32 11.0 %"
}

function familiesOf(stage: Stage): FamilyShare[] {
  const all = stage.kernel_families ?? [];
  return [...new Set(all.map((k) => k.family))].map((family) => {
    const kinds = all.filter((k) => k.family === family);
    const ratio = kinds.reduce((sum, k) => sum + (k.share_ratio ?? 0), 0);
    const named = kinds.map((k) => `${[k.kind, k.precision].filter(Boolean).join(' ') || 'others'} ${percent(k.share_ratio ?? 0)}`);
    return { family, at: kinds[0].family_index, ratio, words: `${family} ${percent(ratio)}${kinds.length > 1 || kinds[0].kind || kinds[0].precision ? `: ${named.join(', ')}` : ''}` };
  });
}

// A part for each family, as long as all of its kinds and precisions, which the pointer tells.
function FamilyBar({ stage, colour }: { stage: Stage; colour: ReturnType<typeof colours> }) {
  const all = familiesOf(stage);
  const least = useWider(PHONE) ? 0.12 : 0.28; // what has room for its number
  return (
    <div class="families" role="img" aria-label={`${stage.name}: ${all.map((p) => p.words).join('; ')}`}>
      {all.map((p) => (
        <span key={p.family} title={p.words} style={{ order: p.at, flexGrow: p.ratio * 1000, ...colour(p.family) }}>
          {p.ratio > least ? percent(p.ratio, 0) : ''}
        </span>
      ))}
    </div>
  );
}

function Families({ report }: { report: Report }) {
  useStore(dark);
  const whole = report.gpu_trace?.kernel_total_s ?? 0;
  const stages = stagesOf(report).filter((s) => s.kernel_families?.length && (s.kernel_s ?? 0) >= SHARE_LEAST * whole).slice(0, STAGES_MOST);
  if (!stages.length) return null;
  const names = [...new Set([...(report.gpu_trace?.families ?? []), ...stages.flatMap((s) => s.kernel_families ?? [])].map((k) => k.family))];
  const colour = colours(names);
  return (
    <div class="sub">
      <h4>What the kernels of a stage do</h4>
      <ul class="legend open">
        {names.map((name) => (
          <li key={name}>
            <i style={colour(name)} />
            {name}
          </li>
        ))}
      </ul>
      <Table
        caption={`Kernel families by stage${report.gpu_trace?.slow_moments_only ? ', around slow moments only' : ''}`}
        rows={stages}
        columns={[
          named('stage'),
          { key: 'kernel_s', head: 'kernels', help: 'time of its kernels while traced', value: (s: Stage) => s.kernel_s ?? 0 },
          { key: 'families', help: 'shares of that time', value: (s: Stage) => familiesOf(s).map((p) => p.words).join('; '), cell: (s: Stage) => <FamilyBar stage={s} colour={colour} /> },
        ]}
      />
    </div>
  );
}

const named = <T extends { name: string }>(head: string): Column<T> => ({
  key: 'name',
  head,
  value: (s) => s.name,
  cell: (s) => (
    <span class="one-line" dir="auto" title={s.name}>
      {clip(s.name, 36)}
    </span>
  ),
});

// ---- the roofline, log-log ----

const HEIGHT = 320, LEFT = 56, BOTTOM = 36, TOP = 12, RIGHT = 16;
const LETTER = 6.4; // px

// Precisions of one rate share a ceiling: "bf16, fp16".
function shared(all: Ceiling[]): Ceiling[] {
  const out: Ceiling[] = [];
  for (const c of all) {
    const same = out.find((o) => o.peak_tflop_per_s === c.peak_tflop_per_s);
    if (same) same.precision += `, ${c.precision}`;
    else out.push({ ...c });
  }
  return out;
}

interface Named {
  x: number;
  y: number;
  name: string;
}

// What lies at one place has one name.
function joined(all: Named[], near: number): Named[] {
  const out: Named[] = [];
  for (const p of all) {
    const same = out.find((o) => Math.hypot(o.x - p.x, o.y - p.y) < near);
    if (same) same.name += `, ${p.name}`;
    else out.push({ ...p });
  }
  return out;
}

// Beside, above or below its point, where nothing else lies: a name that finds no room is left to the pointer.
function placed(points: Named[], width: number): (Named & { side: number })[] {
  const taken = points.map((p) => ({ from: p.x - 6, to: p.x + 6, y: p.y + 4 }));
  const out: (Named & { side: number })[] = [];
  for (const p of points) {
    const name = clip(p.name, 44);
    const long = name.length * LETTER;
    const spots = [1, -1].flatMap((side) => [4, -9, 17].map((dy) => ({ side, from: side > 0 ? p.x + 8 : p.x - 8 - long, y: p.y + dy })));
    const free = spots.find((s) => s.from > LEFT && s.from + long < width && !taken.some((t) => Math.abs(t.y - s.y) < 11 && t.from < s.from + long && t.to > s.from));
    if (!free) continue;
    taken.push({ from: free.from, to: free.from + long, y: free.y });
    out.push({ ...free, x: p.x + 8 * free.side, name });
  }
  return out;
}

type Scale = (v: number) => number;

function decades(from: number, to: number): number[] {
  return Array.from({ length: Math.floor(Math.log10(to)) - Math.ceil(Math.log10(from)) + 1 }, (_, i) => 10 ** (Math.ceil(Math.log10(from)) + i));
}

function Grid({ across, up, x, y, to }: { across: number[]; up: number[]; x: Scale; y: Scale; to: number }) {
  return (
    <>
      {across.map((v) => (
        <g key={`x${v}`}>
          <line x1={x(v)} x2={x(v)} y1={TOP} y2={HEIGHT - BOTTOM} opacity="0.15" stroke="currentColor" />
          <text x={x(v)} y={HEIGHT - BOTTOM + 14} text-anchor="middle">{v}</text>
        </g>
      ))}
      {up.map((v) => (
        <g key={`y${v}`}>
          <line x1={LEFT} x2={to} y1={y(v)} y2={y(v)} opacity="0.15" stroke="currentColor" />
          <text x={LEFT - 4} y={y(v) + 4} text-anchor="end">{v}</text>
        </g>
      ))}
    </>
  );
}

function Roofline({ report }: { report: Report }) {
  useStore(dark);
  const width = useWider(PHONE) ? 640 : 350; // letters are as large on a phone
  const r = report.roofline;
  const points = stagesOf(report).filter((s) => s.gpu_work?.achieved_tflop_per_s && s.gpu_work.flop_per_byte_ratio).slice(0, STAGES_MOST);
  const ceilings = shared(r?.ceilings ?? []);
  if (!r?.dram_peak_gb_per_s || !ceilings.length || !points.length) return null;
  const bandwidth = r.dram_peak_gb_per_s / 1000; // TB/s: TFLOP/s per FLOP/byte
  const xs = points.map((s) => s.gpu_work!.flop_per_byte_ratio!), ys = points.map((s) => s.gpu_work!.achieved_tflop_per_s!);
  const peaks = ceilings.map((c) => c.peak_tflop_per_s);
  const top = Math.max(...peaks) * 1.5;
  const low = Math.min(...ys, ...peaks) / 3, left = Math.min(1, ...xs) / 2, right = Math.max(2000, ...xs) * 2;
  const x = (v: number) => LEFT + ((Math.log10(v) - Math.log10(left)) / (Math.log10(right) - Math.log10(left))) * (width - LEFT - RIGHT);
  const y = (v: number) => HEIGHT - BOTTOM - ((Math.log10(Math.max(v, low)) - Math.log10(low)) / (Math.log10(top) - Math.log10(low))) * (HEIGHT - BOTTOM - TOP);
  const names = placed(joined(points.map((s, i) => ({ x: x(xs[i]), y: y(ys[i]), name: clip(s.name, 24) })), 4), width);
  const called = joined(ceilings.map((c) => ({ x: 0, y: y(c.peak_tflop_per_s), name: `${c.precision} ${rateText(c.peak_tflop_per_s)}` })), 11);
  const high = Math.max(...peaks) * 0.7; // where the slope is named: no point can lie beside it
  return (
    <div class="sub">
      <h4>Roofline{r.gpu ? ` of ${clip(r.gpu, 48)}` : ''}</h4>
      <div class="scroll">
      <Picture words="roofline">
      <svg class="roofline" viewBox={`0 0 ${width} ${HEIGHT}`} role="img" aria-label="Achieved TFLOP/s over FLOP per byte, both logarithmic, below the peak rates of this GPU" fill="currentColor" font-size="11">
        <Grid across={decades(left, right)} up={decades(low, top)} x={x} y={y} to={width - RIGHT} />
        {ceilings.map((c) => (
          <g key={c.precision}>
            <polyline points={`${x(Math.max(left, low / bandwidth))},${y(Math.max(left, low / bandwidth) * bandwidth)} ${x(c.peak_tflop_per_s / bandwidth)},${y(c.peak_tflop_per_s)} ${x(right)},${y(c.peak_tflop_per_s)}`} opacity="0.6" fill="none" stroke="currentColor" />
            <title>{`${c.precision}: ${c.peak_tflop_per_s} TFLOP/s at most`}</title>
          </g>
        ))}
        {called.map((c) => <text x={width - RIGHT} y={c.y - 3} text-anchor="end">{c.name}</text>)}
        <text x={x(high / bandwidth) - 8} y={y(high)} text-anchor="end">DRAM {r.dram_peak_gb_per_s} GB/s</text>
        {points.map((s, i) => ({ s, i })).reverse().map(({ s, i }) => (
          <circle key={i} cx={x(xs[i])} cy={y(ys[i])} r="5" fill={solid(s.name)}>
            <title>{`${s.name}: ${ys[i].toPrecision(3)} TFLOP/s at ${xs[i].toPrecision(3)} FLOP per byte`}</title>
          </circle>
        ))}
        {names.map((p) => <text x={p.x} y={p.y} text-anchor={p.side > 0 ? 'start' : 'end'}>{p.name}</text>)}
        <text x={(LEFT + width) / 2} y={HEIGHT - 4} text-anchor="middle">FLOP per byte of DRAM</text>
        <text x={12} y={TOP + 4}>TFLOP/s</text>
      </svg>
      </Picture>
      </div>
      <p class="quiet">Below the slope memory is the limit, below a level line arithmetic in that precision; the gap is left unused.</p>
    </div>
  );
}

// ---- rates ----

interface Row {
  name: string;
  counters?: GpuCounters;
  work?: GpuWork;
}

const BASES: Record<string, string> = { samples: ' (sampled)', rate: ' (by its rate)', trace: ' (by its trace)', zones: ' (weights move)' };

// "tensor 52 %, DRAM 47 %": a stage that is held up by several things says so.
function boundText(w: GpuWork | undefined): string {
  const several = (w?.bounds ?? []).filter((b) => b.share_ratio >= 0.1);
  if (!w?.bound) return w?.bound_why ? 'n/a' : '';
  return (several.length > 1 ? several.map((b) => `${b.bound} ${percent(b.share_ratio, 0)}`).join(', ') : w.bound) + (BASES[w.bound_basis ?? ''] ?? '') + (w.bound_calls === 'cold' ? ' (cold)' : '');
}

// Many videos come behind the stages, which a table that is cut would lose.
function rowsOf(r: Report): Row[] {
  const videos = videosOf(r).map((g, i) => ({ ...g, name: `${unitName()} ${i + 1}` }));
  const inner = videos.length > 10 ? [...stagesOf(r), ...videos] : [...videos, ...stagesOf(r)];
  return [{ ...r, name: 'whole run' }, ...inner].map((s: { name: string; gpu_counters?: GpuCounters; gpu_work?: GpuWork }) => ({ name: s.name, counters: s.gpu_counters, work: s.gpu_work })).filter((w) => w.counters || w.work);
}

type Counter = Extract<keyof GpuCounters, `${string}_percent` | `${string}_gb_per_s`>;
const PERCENTS = 'sm_active tensor_active fp32_active dram_active occupancy fp64_active nvdec_active tensor_float tensor_integer fp16_active integer_active dram_read dram_write utilization'.split(' ').map((key) => `${key}_percent`);
const LINKS = 'pcie_rx pcie_tx nvlink_rx nvlink_tx'.split(' ').map((key) => `${key}_gb_per_s`);
const PARTS = [...PERCENTS, ...LINKS] as Counter[];
const HEADS = [['SMs', 'an SM had work, mean of all'], ['tensor', 'of their peak'], ['FP32', 'of their peak'], ['DRAM', 'of its peak bandwidth']];
const leastOf = (key: string) => (key.endsWith('s') ? 0.005 : 0.05); // of GB/s and percent: less is shown as 0

const rateText = (v: number) => (v < 100 ? v.toPrecision(3) : v.toFixed(0));
const known = (v: number | undefined, words: (v: number) => string) => (v === undefined ? 'n/a' : words(v));

const number = (key: string, value: (w: Row) => number | undefined, words: ((v: number) => string) | undefined, more: Partial<Column<Row>>): Column<Row> => ({ key, value, cell: (w, show) => known(value(w), words ?? show), ...more });

function counterColumns(rows: Row[]): Column<Row>[] {
  const column = (key: Counter, i: number) => number(key, (w) => w.counters?.[key], (v) => keyed(key, v), { head: HEADS[i]?.[0] ?? /^(fp|nvd)\w+?(?=_)/.exec(key)?.[0].toUpperCase(), help: HEADS[i]?.[1] });
  const used = PARTS.filter((key, i) => HEADS[i] || rows.some((w) => w.counters?.[key]! >= leastOf(key))).map(column);
  return [...used, number('covered_ratio', (w) => w.counters?.covered_ratio, percent, { help: 'in readings wholly inside' })];
}

// Of a stage whose rate is not known, as some of its calls were not counted, the other numbers are of a part of it.
const rated = (w: Row) => (w.work?.achieved_tflop_per_s === undefined ? undefined : w.work);

function workColumns(): Column<Row>[] {
  return [
    number('rate', (w) => w.work?.achieved_tflop_per_s, rateText, { head: 'TFLOP/s', help: 'GEMM, attention, convolution in warm calls' }),
    number('mfu', (w) => w.work?.mfu_ratio, percent, { head: 'MFU', help: "of this GPU's peak rate in that precision", cell: (w) => <span title={w.work?.mfu_why}>{known(w.work?.mfu_ratio, percent)}</span> }),
    { key: 'precision', value: (w) => rated(w)?.precision },
    number('floor_s', (w) => rated(w)?.floor_s, undefined, { help: 'at the peak rate' }),
    number('rate_over_s', (w) => rated(w)?.rate_over_s, undefined, { head: 'of', help: 'that rate, MFU and floor are of' }),
    number('flop_per_byte_ratio', (w) => rated(w)?.flop_per_byte_ratio, rateText, { head: 'FLOP per byte', help: 'of DRAM' }),
    { key: 'calls', help: 'warm: without the first; cold: there is no other', value: (w) => callsText(w.work) },
  ];
}

// "9 warm", "1 cold"
const callsText = (w: GpuWork | undefined) => (w?.rate_calls && w.achieved_tflop_per_s !== undefined ? `${w.rate_call_count} ${w.rate_calls}` : '');

function movesColumns(): Column<Row>[] {
  return [
    { key: 'moves_s', head: 'weights move', help: 'in so much of that time', value: (w) => rated(w)?.moves_s, cell: (w, show) => (rated(w)?.moves_s ? show(w.work!.moves_s!) : '') },
    { key: 'work_mfu', head: 'MFU without', help: 'MFU over the rest of the time', value: (w) => w.work?.work_mfu_ratio, cell: (w) => (w.work?.work_mfu_ratio === undefined ? '' : percent(w.work.work_mfu_ratio)) },
  ];
}

const WHYS_MOST = 3;

// Why stages have no bound: a sentence for those of which it is true, as the text has it.
function unboundWords(report: Report): string[] {
  const all = stagesOf(report).filter((s) => s.gpu_work?.bound_why).sort((a, b) => (b.total_s ?? 0) - (a.total_s ?? 0));
  const by = new Map<string, Stage[]>();
  for (const s of all) by.set(s.gpu_work!.bound_why!, [...(by.get(s.gpu_work!.bound_why!) ?? []), s]);
  const groups = [...by];
  const more = groups.slice(WHYS_MOST).reduce((n, [, stages]) => n + stages.length, 0);
  return [
    ...groups.slice(0, WHYS_MOST).map(([why, [first, ...others]]) => `What bounds ${clip(first.name, 36)}${others.length ? ` and ${others.length} more` : ''} is n/a: ${why}`),
    ...(more ? [`… and ${more} more stage${more > 1 ? 's' : ''}`] : []),
  ];
}

function Rates({ report }: { report: Report }) {
  const rows = rowsOf(report);
  if (!rows.length) return null;
  const r = report.roofline;
  const gpu = hasGpu(report); // else there is no peak rate to come near
  const counted = rows.filter((w) => w.work?.flop_count !== undefined || w.work?.uncounted_why);
  const stage = named<Row>('stage');
  const bounds: Column<Row>[] = [
    stage,
    ...(rows.some((w) => boundText(w.work)) ? [{ key: 'bound', head: 'bound by', help: 'what held the GPU up; cold: of no warm call', value: (w: Row) => boundText(w.work), cell: (w: Row) => <span class="one-line">{boundText(w.work)}</span> }] : []),
    ...(rows.some((w) => w.counters) ? counterColumns(rows) : []),
  ];
  const rates: Column<Row>[] = [
    stage,
    ...(counted.some((w) => w.work?.flop_count !== undefined) ? workColumns().filter((c) => gpu || !['mfu', 'floor_s', 'flop_per_byte_ratio'].includes(c.key)) : []),
    ...(counted.some((w) => rated(w)?.moves_s) ? movesColumns() : []),
    ...(counted.some((w) => w.work?.uncounted_why) ? [{ key: 'why', head: 'not counted', value: (w: Row) => w.work?.uncounted_why }] : []),
  ];
  return (
    <div class="sub">
      {gpu && <h4>How near stages come to what the GPU can do</h4>}
      {bounds.length > 1 && <Table caption="Counters and what bounds each stage" rows={rows} columns={bounds} most={24} />}
      {rows.some((w) => boundText(w.work).includes('%')) && <p class="quiet">Shares: of the time that was read, from 10 % on.</p>}
      {unboundWords(report).map((words) => <p key={words} class="quiet">{words}</p>)}
      {counted.length > 0 && <Table caption="Operations of model calls" rows={counted} columns={rates} most={24} />}
      {r && <p class="quiet">{r.mfu_why ? `MFU n/a: ${r.mfu_why}` : r.source && `Peak rates: ${r.source}`}</p>}
    </div>
  );
}

// ---- sampled counters ----

// "copy and cast" of "copy and layout" says both.
const familyName = (f: SampledFamily) => [f.kind?.startsWith(f.family.split(' ')[0] + ' ') ? '' : f.family, f.kind, f.precision].filter(Boolean).join(' ');

function clockText(s: SampledCounters): string {
  if (s.sm_clock_mhz === undefined) return '';
  const at = `The SMs ran at ${s.sm_clock_mhz.toFixed(0)} MHz`;
  if (s.clocks === 'held') return `${at} while sampled, at ${s.sm_clock_elsewhere_mhz!.toFixed(0)} MHz else: times measured meanwhile are not the usual ones.`;
  return `${at} by their cycles${s.clocks ? `; the driver reads ${s.sm_clock_elsewhere_mhz!.toFixed(0)} MHz otherwise` : ''}.`;
}

function Sampled({ report }: { report: Report }) {
  const s = report.sampled_counters;
  if (!s) return null;
  const rows: Row[] = [{ name: 'while sampled', counters: s.gpu_counters }, ...(s.families ?? []).map((f): Row => ({ name: familyName(f), counters: f.gpu_counters }))];
  return (
    <div class="sub">
      <h4>Sampled counters</h4>
      <p class="quiet">
        Sampled for {seconds(s.sampled_s)}, from {seconds(s.t_s)} of the run on: {count(s.sample_count)} samples of {seconds(s.interval_s)}
        {s.lost_count > 0 && `, ${count(s.lost_count)} lost`}. {clockText(s)}
        {s.pcie_read_bytes_per_s !== undefined && ` PCIe: ${keyed('x_bytes_per_s', s.pcie_read_bytes_per_s)} read, ${keyed('x_bytes_per_s', s.pcie_write_bytes_per_s)} written.`}
      </p>
      <Table caption="Sampled counters by kernel family" rows={rows} columns={[named('kernels'), ...counterColumns(rows)]} />
    </div>
  );
}

export const hasGpu = (r: Report): boolean => !!(r.gpu_metrics ?? r.gpu_trace ?? r.gpu_counters);

export function hardwareBody(r: Report): ComponentChildren {
  const stages = stagesOf(r);
  if (!rowsOf(r).length && !r.sampled_counters && !stages.some((s) => s.kernel_families?.length)) return null;
  return [<Families key="f" report={r} />, <Roofline key="l" report={r} />, <Rates key="r" report={r} />, <Sampled key="s" report={r} />];
}
