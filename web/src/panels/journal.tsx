// A baseline and the steps after it: strobe journal show --format html, strobe diff A B C --format html.
import { clip, percent } from '../format';
import { num, text, type Journal as JournalReport, type JournalStage, type JournalStep } from '../report';
import { Table, type Column } from '../table';
import { dark, useStore } from '../state';
import { Name, Shell } from './shell';

// Enough decimals for four digits of the shortest total: one unit all the way down.
function decimals(steps: JournalStep[]): number {
  let least = Math.min(...steps.map((s) => s.total_s));
  let n = 2;
  for (; least < 9.995 && n < 6; least *= 10) n++;
  return n;
}

function change(delta: number | undefined, from: number | undefined, n: number): string {
  if (delta === undefined) return '';
  const sign = delta < 0 ? '−' : '+';
  return `${sign}${Math.abs(delta).toFixed(n)} s${from ? ` (${sign}${percent(Math.abs(delta / from))})` : ''}`;
}

// Against the baseline's output.
function output(s: JournalStep): string | undefined {
  const psnr = num(s, 'psnr_db');
  const verdict = text(s, 'output_verdict');
  if (!verdict) return undefined;
  if (verdict === 'identical' || verdict === 'same_pixels') return 'same';
  return psnr === undefined ? (verdict === 'changed' ? 'changed' : '?') : `${psnr.toFixed(1)} dB`;
}

function stepColumns(d: JournalReport, n: number): Column<JournalStep>[] {
  const at = (s: JournalStep) => d.steps.indexOf(s);
  return [
    { key: 'step', head: '#', value: at },
    { key: 'title', head: 'step', cell: (s) => <span dir="auto">{clip(s.title, 60)}</span> },
    { key: 'total', head: d.per_generation ? 'generation' : 'total', value: (s) => s.total_s, cell: (s) => `${s.total_s.toFixed(n)} s` },
    { key: 'before', head: 'vs before', value: (s) => num(s, 'delta_before_s'), cell: (s) => change(num(s, 'delta_before_s'), d.steps[at(s) - 1]?.total_s, n) },
    { key: 'base', head: 'vs baseline', value: (s) => num(s, 'delta_base_s'), cell: (s) => change(num(s, 'delta_base_s'), d.steps[0]?.total_s, n) },
    { key: 'speedup', head: 'speed-up', value: (s) => num(s, 'speedup_ratio'), cell: (s) => (num(s, 'speedup_ratio') === undefined ? '' : `${num(s, 'speedup_ratio')!.toFixed(2)}×`) },
    { key: 'fps', head: 'frames/s', cell: (s) => num(s, 'fps')?.toFixed(2) ?? '' },
    { key: 'memory_peak_bytes', head: 'peak memory', value: (s) => num(s, 'gpu_memory_peak_bytes') ?? num(s, 'rss_peak_bytes') },
    ...(d.steps.some((s) => output(s)) ? [{ key: 'output', help: 'PSNR against the baseline’s output', value: output, cell: (s: JournalStep) => <span title={text(s, 'output_words')}>{output(s) ?? ''}</span> }] : []),
    { key: 'commit' },
    { key: 'run', cell: (s) => <span dir="auto">{clip(s.run, 40)}</span> },
  ];
}

const inStep = (step: JournalStep, key: string) => step.stages.find((s) => s.key === key);

// Stages of the baseline in their order, then those that came later.
function stagesOf(d: JournalReport): JournalStage[] {
  const seen = new Map<string, JournalStage>();
  for (const step of d.steps) for (const s of step.stages) if (!seen.has(s.key)) seen.set(s.key, s);
  return [...seen.values()].filter((s) => d.steps.some((step) => (inStep(step, s.key)?.total_s ?? 0) >= 0.01 * step.wall_s));
}

function stageColumns(d: JournalReport, n: number): Column<JournalStage>[] {
  const label = (s: JournalStage) => (s.code ? `[${s.code}] ${s.name}` : s.name);
  return [
    { key: 'name', head: 'stage', value: label, cell: (s) => <Name name={s.name} code={s.code} /> },
    ...d.steps.map((step, i): Column<JournalStage> => ({
      key: `step${i}`,
      head: `step ${i}`,
      help: step.title,
      value: (s) => inStep(step, s.key)?.total_s,
      cell: (s) => {
        const now = inStep(step, s.key)?.total_s;
        const before = i ? inStep(d.steps[i - 1]!, s.key)?.total_s : undefined;
        if (now === undefined) return 'n/a';
        const changed = before !== undefined && Math.abs(now - before) >= 0.5 * 10 ** -n;
        return `${now.toFixed(n)} s${changed ? ` (${change(now - before, undefined, n)})` : ''}`;
      },
    })),
  ];
}

export function Journal({ d }: { d: JournalReport }) {
  useStore(dark);
  const n = decimals(d.steps);
  const last = d.steps[d.steps.length - 1];
  return (
    <Shell title={last ? `${d.steps[0]!.title} → ${last.title}` : 'An empty journal'} kind="journal">
      <section class="part">
        <Table rows={d.steps} columns={stepColumns(d, n)} caption="Steps, each against the one before and against the baseline" />
      </section>
      <section class="part">
        <Table rows={stagesOf(d)} columns={stageColumns(d, n)} caption="Stages of at least 1 % of a step; in brackets against the step before" />
      </section>
    </Shell>
  );
}
