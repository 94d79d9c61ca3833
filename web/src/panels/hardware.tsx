// How well the GPU is used: what its kernels do per stage, how near stages come to its ceilings.
import type { ComponentChildren } from 'preact';
import { solid } from '../colour';
import { percent, seconds } from '../format';
import type { Report, Stage } from '../report';
import { Table } from '../table';

const STAGES_MOST = 12;
const SHARE_LEAST = 0.02; // of the kernels' time, to be worth a bar

interface Part {
  family: string;
  ratio: number;
}

// Kinds and precisions of one family together, as the report's order has them.
function parts(stage: Stage): Part[] {
  const out: Part[] = [];
  for (const k of stage.kernel_families ?? []) {
    const same = out.find((p) => p.family === k.family);
    if (same) same.ratio += k.share_ratio ?? 0;
    else out.push({ family: k.family, ratio: k.share_ratio ?? 0 });
  }
  return out;
}

function FamilyBar({ stage }: { stage: Stage }) {
  const all = parts(stage);
  return (
    <div style={{ display: 'flex', width: '320px', height: '14px' }} role="img" aria-label={`${stage.name}: ${all.map((p) => `${p.family} ${percent(p.ratio)}`).join(', ')}`}>
      {all.map((p) => (
        <span key={p.family} title={`${p.family} ${percent(p.ratio)}`} style={{ flex: `0 0 ${p.ratio * 100}%`, background: solid(p.family) }} />
      ))}
    </div>
  );
}

function Families({ report }: { report: Report }) {
  const whole = report.gpu_trace?.kernel_total_s ?? 0;
  const stages = (report.stage_analysis?.stages ?? []).filter((s) => s.kernel_families?.length && (s.kernel_s ?? 0) >= SHARE_LEAST * whole).slice(0, STAGES_MOST);
  if (!stages.length) return null;
  const names = [...new Set(stages.flatMap((s) => parts(s).map((p) => p.family)))];
  return (
    <>
      <h3>What the kernels of a stage do</h3>
      <p>
        {names.map((name) => (
          <span key={name} style={{ marginRight: '1em' }}>
            <span style={{ background: solid(name), display: 'inline-block', width: '10px', height: '10px', marginRight: '4px' }} />
            {name}
          </span>
        ))}
      </p>
      <Table
        caption="Kernel families by stage"
        rows={stages}
        columns={[
          { key: 'name', head: 'Stage', text: true, value: (s: Stage) => s.name },
          { key: 'kernel_s', head: 'Kernels', value: (s: Stage) => s.kernel_s, cell: (s: Stage) => seconds(s.kernel_s ?? 0) },
          { key: 'families', head: 'Share', text: true, value: (s: Stage) => parts(s)[0]?.family, cell: (s: Stage) => <FamilyBar stage={s} /> },
        ]}
      />
    </>
  );
}

// ---- the roofline, log-log ----

const WIDTH = 640, HEIGHT = 320, LEFT = 56, BOTTOM = 36, TOP = 12, RIGHT = 16;

function Roofline({ report }: { report: Report }) {
  const r = report.roofline;
  const points = (report.stage_analysis?.stages ?? []).filter((s) => s.gpu_work?.achieved_tflop_per_s && s.gpu_work.flop_per_byte_ratio).slice(0, STAGES_MOST);
  const ceilings = r?.ceilings ?? [];
  if (!r?.dram_peak_gb_per_s || !ceilings.length || !points.length) return null;
  const bandwidth = r.dram_peak_gb_per_s / 1000; // TB/s: TFLOP/s per FLOP/byte
  const xs = points.map((s) => s.gpu_work!.flop_per_byte_ratio!), ys = points.map((s) => s.gpu_work!.achieved_tflop_per_s!);
  const top = Math.max(...ceilings.map((c) => c.peak_tflop_per_s)) * 1.5;
  const low = Math.min(...ys) / 3, left = Math.min(1, ...xs) / 2, right = Math.max(2000, ...xs) * 2;
  const x = (v: number) => LEFT + ((Math.log10(v) - Math.log10(left)) / (Math.log10(right) - Math.log10(left))) * (WIDTH - LEFT - RIGHT);
  const y = (v: number) => HEIGHT - BOTTOM - ((Math.log10(Math.max(v, low)) - Math.log10(low)) / (Math.log10(top) - Math.log10(low))) * (HEIGHT - BOTTOM - TOP);
  const decades = (from: number, to: number) => Array.from({ length: Math.floor(Math.log10(to)) - Math.ceil(Math.log10(from)) + 1 }, (_, i) => 10 ** (Math.ceil(Math.log10(from)) + i));
  return (
    <>
      <h3>Roofline of this GPU</h3>
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} style={{ maxWidth: `${WIDTH}px`, width: '100%' }} role="img" aria-label="Achieved TFLOP/s over FLOP per byte, both logarithmic, below the peak rates of this GPU" fill="none" stroke="currentColor" font-size="11">
        {decades(left, right).map((v) => (
          <g key={`x${v}`}>
            <line x1={x(v)} x2={x(v)} y1={TOP} y2={HEIGHT - BOTTOM} opacity="0.15" />
            <text x={x(v)} y={HEIGHT - BOTTOM + 14} text-anchor="middle" fill="currentColor" stroke="none">{v}</text>
          </g>
        ))}
        {decades(low, top).map((v) => (
          <g key={`y${v}`}>
            <line x1={LEFT} x2={WIDTH - RIGHT} y1={y(v)} y2={y(v)} opacity="0.15" />
            <text x={LEFT - 4} y={y(v) + 4} text-anchor="end" fill="currentColor" stroke="none">{v}</text>
          </g>
        ))}
        {ceilings.map((c) => (
          <g key={c.precision}>
            <polyline points={`${x(Math.max(left, low / bandwidth))},${y(Math.max(left, low / bandwidth) * bandwidth)} ${x(c.peak_tflop_per_s / bandwidth)},${y(c.peak_tflop_per_s)} ${x(right)},${y(c.peak_tflop_per_s)}`} opacity="0.6" />
            <text x={WIDTH - RIGHT} y={y(c.peak_tflop_per_s) - 3} text-anchor="end" fill="currentColor" stroke="none">{c.precision}</text>
          </g>
        ))}
        {points.map((s, i) => (
          <g key={i}>
            <circle cx={x(xs[i])} cy={y(ys[i])} r="5" fill={solid(s.name)} stroke="none">
              <title>{`${s.name}: ${ys[i].toPrecision(3)} TFLOP/s at ${xs[i].toPrecision(3)} FLOP per byte`}</title>
            </circle>
            <text x={x(xs[i]) + 8} y={y(ys[i]) + 4} fill="currentColor" stroke="none">{s.name}</text>
          </g>
        ))}
        <text x={(LEFT + WIDTH) / 2} y={HEIGHT - 4} text-anchor="middle" fill="currentColor" stroke="none">FLOP per byte of DRAM</text>
        <text x={12} y={TOP + 4} fill="currentColor" stroke="none">TFLOP/s</text>
      </svg>
    </>
  );
}

// ---- rates ----

function Rates({ report }: { report: Report }) {
  const stages = (report.stage_analysis?.stages ?? []).filter((s) => s.gpu_work || s.gpu_counters).slice(0, 40);
  if (!stages.length) return null;
  const share = (v: number | undefined) => (v === undefined ? 'n/a' : `${v.toFixed(1)} %`);
  const number = (v: number | undefined) => (v === undefined ? 'n/a' : v.toPrecision(4));
  return (
    <>
      <h3>How near stages come to what the GPU can do</h3>
      <Table
        caption="Counters, rates and what bounds each stage"
        rows={stages}
        columns={[
          { key: 'name', head: 'Stage', text: true, value: (s: Stage) => s.name },
          { key: 'sm', head: 'SMs', value: (s: Stage) => s.gpu_counters?.sm_active_percent, cell: (s: Stage) => share(s.gpu_counters?.sm_active_percent) },
          { key: 'tensor', head: 'Tensor', value: (s: Stage) => s.gpu_counters?.tensor_active_percent, cell: (s: Stage) => share(s.gpu_counters?.tensor_active_percent) },
          { key: 'fp32', head: 'FP32', value: (s: Stage) => s.gpu_counters?.fp32_active_percent, cell: (s: Stage) => share(s.gpu_counters?.fp32_active_percent) },
          { key: 'dram', head: 'DRAM', value: (s: Stage) => s.gpu_counters?.dram_active_percent, cell: (s: Stage) => share(s.gpu_counters?.dram_active_percent) },
          { key: 'rate', head: 'TFLOP/s', value: (s: Stage) => s.gpu_work?.achieved_tflop_per_s, cell: (s: Stage) => number(s.gpu_work?.achieved_tflop_per_s) },
          { key: 'mfu', head: 'MFU', value: (s: Stage) => s.gpu_work?.mfu_ratio, cell: (s: Stage) => (s.gpu_work?.mfu_ratio === undefined ? 'n/a' : percent(s.gpu_work.mfu_ratio)) },
          { key: 'floor', head: 'Floor', value: (s: Stage) => s.gpu_work?.floor_s, cell: (s: Stage) => (s.gpu_work?.floor_s === undefined ? 'n/a' : seconds(s.gpu_work.floor_s)) },
          { key: 'bound', head: 'Bound by', text: true, value: (s: Stage) => s.gpu_work?.bound ?? s.gpu_work?.uncounted_why ?? '' },
        ]}
      />
      {report.roofline?.source && <p>Peak rates: {report.roofline.source}</p>}
    </>
  );
}

export function hardwareBody(r: Report): ComponentChildren {
  const stages = r.stage_analysis?.stages ?? [];
  if (!stages.some((s) => s.gpu_work || s.gpu_counters || s.kernel_families?.length)) return null;
  return [<Families key="f" report={r} />, <Roofline key="l" report={r} />, <Rates key="r" report={r} />];
}
