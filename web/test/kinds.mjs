// One page of each kind, with something of everything that the kind can show.
import { writePage } from './harness.mjs';
import { encodeTimeline } from './encode.mjs';
import { fixture } from './fixture.mjs';

const MS = 1e6;

// Three videos of four steps, each after some start-up.
function videos(startup, step) {
  const [all, steps] = [[], []];
  let t = startup;
  for (let v = 0; v < 3; v++, t += 100) {
    const from = t;
    for (let s = 0; s < 4; s++, t += step + 1) steps.push({ start: t * MS, end: (t + step) * MS, name: 1 });
    all.push({ start: from * MS, end: t * MS, name: 0 });
  }
  const lanes = [{ kind: 'generation', name: 'Generations', rows: [all] }, { kind: 'step', name: 'Steps', rows: [steps] }, { kind: 'thread', name: 'main', main: true, rows: [all, steps] }];
  return encodeTimeline({ endNs: t * MS, names: ['a cat', 'step'], lanes });
}

const verdict = (words, tone) => ({ verdict: tone, words, tone });

export const diffPage = (name) =>
  writePage(name, {
    kind: 'diff', base: videos(1000, 10), timeline: videos(300, 20),
    report: {
      schema: 'strobe.diff/1', base: ['/runs/before'], new: ['/runs/after'], per_generation: true,
      runs: [{ side: 'base', label: '/runs/before', median_generation_start_s: 1.144 }, { side: 'new', label: '/runs/after', median_generation_start_s: 0.484 }],
      total: { metric: 'wall_s', unit: 's', base_value: 0.044, new_value: 0.084, ...verdict('slower', 'worse') },
      explanations: ['steps took longer'],
      stages: [{ name: 'step', base_s: 0.04, new_s: 0.08, delta_s: 0.04, change_ratio: 1, contribution_s: 0.04, base_count: 4, new_count: 4, ...verdict('slower', 'worse') }, { name: 'decode', base_s: 0.04, new_s: 0.02, delta_s: -0.02, change_ratio: -0.5, contribution_s: -0.02, base_count: 1, new_count: 1, ...verdict('faster', 'better') }],
      metrics: [{ metric: 'fps', label: 'Frames/s', base_value: 4.2, ...verdict('no longer measured', 'none') }],
      configuration: [{ scope: 'tag', key: 'steps', base: '12', new: '6' }],
    },
  });

export function jobPage(name, ranks = 8) {
  const all = Array.from({ length: ranks }, (_, i) => i);
  const late = (i) => i === 2;
  return writePage(name, {
    kind: 'aggregate',
    report: {
      schema: 'strobe.aggregate/1', job: 'train', report_count: ranks, rank_count: ranks, host_count: 1, missing_ranks: [ranks], left_out: [{ run: 'rank_x', why: 'not a recording' }],
      metrics: { wall_s: { count: ranks, min_value: 10, min_rank: 0, max_value: 14, max_rank: 2, avg_value: 11, median_value: 10, sum_value: 44 } },
      reports_summary: all.map((i) => ({ report_index: i, rank: i, run: `rank_${i}`, host: 'node-1', duration_s: late(i) ? 14 : 10, work_s: 6, straggler: late(i), complete: i !== 3, last_count: 0, clock: {} })),
      straggler_count: 1, straggler_indexes: [2], stages: [],
      heat_map: { ranks: all, stages: [{ name: 'denoise', median_s: 10, total_s: all.map((i) => (i === 1 ? null : 7 + (i % 8) * 0.8)) }] },
      rank_lanes: { bin_s: 1, wait_tenths: all.map((i) => (late(i) ? 'aaaaaaaaaa' : 'aaaaakfaaa')), stages: all.map(() => 'aaabbb..aa'), stage_names: ['denoise', 'decode'] },
    },
  });
}

const measured = (name, median_s) => ({ name, state: 'ok', count: 3, median_s, median_low_s: median_s * 0.95, median_high_s: median_s * 1.05, min_s: median_s * 0.9, max_s: median_s * 1.1, seconds_s: [median_s * 0.9, median_s, median_s * 1.1], step_speedup_ratio: 2, total_speedup_ratio: 2 });

export const benchPage = (name) => writePage(name, { kind: 'bench', report: { command: 'python wan.py', measured: 'processes', warmup_count: 1, iterations_count: 3, interrupted: false, rows: [measured('baseline', 2), measured('compile', 1)] } });

export function listPage(name) {
  const run = (i, more) => ({ id: `wan-${i}`, name: 'wan', host: 'gpu7', start_time: `2026-11-1${i}T10:00:00+00:00`, state: 'ended', live: false, bytes: 4096, pid: 42, duration_s: 10 * (i + 1), ...more });
  return writePage(name, { kind: 'runs', report: { runs: [run(3, { state: 'live', live: true }), run(2, { state: 'killed' }), run(1, { command: 'python wan.py' })] } });
}

export const journalPage = (name) =>
  writePage(name, {
    kind: 'journal',
    report: { schema: 'strobe.journal/1', per_generation: false, steps: [{ title: 'baseline', run: 'a.log', total_s: 300, wall_s: 300, stages: [] }, { title: 'faster', run: 'b.log', total_s: 240, wall_s: 240, stages: [], delta_before_s: -60, delta_base_s: -60, step_speedup_ratio: 1.25, speedup_ratio: 1.25 }] },
  });

// A run of three videos, the second one the median.
export function videosPage(name) {
  const { report, timeline } = fixture();
  const [one] = report.generations.items;
  const items = [0, 1, 2].map((i) => ({ ...one, name: `cat ${i}`, start_s: one.start_s + i * 30, wall_s: 29 }));
  report.generations = { ...report.generations, count: 3, median_index: 1, items };
  return writePage(name, { report, timeline });
}
