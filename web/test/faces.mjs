// What the page's own code shows of random recordings, against the report's JSON: figures, bar, stage tree. (Text and
// one-screen summary against the same JSON: tests/report/check_faces.py.) usage: faces.mjs SOURCE BUILD
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build } from 'esbuild';

const [source, built] = process.argv.slice(2);
const SEEDS = 40;
const folder = mkdtempSync(join(tmpdir(), 'strobe-faces-'));
let checked = 0;
const wrong = [];

const tool = (file, ...args) => execFileSync(join(built, file), args, { encoding: 'utf8', env: { ...process.env, STROBE_HISTORY: 'off' }, maxBuffer: 1 << 28 });

// ---- the page's components, drawn once without a browser: state as it begins, no effects ----

const HOOKS = `export const useState = (v) => [typeof v === 'function' ? v() : v, () => {}];
export const useMemo = (make) => make();
export const useRef = (v) => ({ current: v });
export const useEffect = () => {};
export const useLayoutEffect = () => {};
export const useCallback = (f) => f;\n`;

async function modules() {
  const entry = join(folder, 'entry.ts');
  const hooks = join(folder, 'hooks.mjs');
  const at = (file) => JSON.stringify(join(source, 'web/src', file));
  writeFileSync(hooks, HOOKS);
  writeFileSync(
    entry,
    `export { Figures, TimeBar } from ${at('panels/overview.tsx')};
export { StageTree } from ${at('panels/stages.tsx')};
export { generation, kept } from ${at('state.ts')};
export { startVideos } from ${at('video.ts')};
export * from ${at('timeline/data.ts')};
export { h, Fragment } from 'preact';\n`,
  );
  await build({
    entryPoints: [entry], bundle: true, format: 'esm', platform: 'node', outfile: join(folder, 'page.mjs'), logLevel: 'warning',
    jsx: 'automatic', jsxImportSource: 'preact', alias: { 'preact/hooks': hooks }, nodePaths: [join(built, 'web/node_modules')],
  });
  return import(join(folder, 'page.mjs'));
}

// { tag, props, children } of an element; its text is all that it holds.
function draw(node) {
  if (node === null || node === undefined || typeof node === 'boolean') return [];
  if (Array.isArray(node)) return node.flatMap(draw);
  if (typeof node !== 'object') return [String(node)];
  if (typeof node.type === 'function') return draw(node.type(node.props));
  return [{ tag: node.type, props: node.props, children: draw(node.props.children ?? null) }];
}
const textOf = (n) => (typeof n === 'string' ? n : n.children.map(textOf).join('')).replaceAll('\u00a0', ' ');
const all = (nodes, pass) => nodes.flatMap((n) => (typeof n === 'string' ? [] : [...(pass(n) ? [n] : []), ...all(n.children, pass)]));
const tagged = (nodes, tag) => all(nodes, (n) => n.tag === tag);
const classed = (nodes, name) => all(nodes, (n) => String(n.props.class ?? '').split(' ').includes(name));

// ---- numbers as shown ----

const UNITS = { s: 1, ms: 1e-3, 'µs': 1e-6, ns: 1e-9, '%': 0.01, '': 1, mJ: 1 / 3.6e6, J: 1 / 3600, Wh: 1, kWh: 1e3, B: 1, kB: 2 ** 10, MB: 2 ** 20, GB: 2 ** 30 };

// Whether the shown number is the exact one to its last digit.
function shows(shown, exact) {
  const m = /^(< )?([\d\u202f]+(?:\.(\d+))?(?:e[+-]?\d+)?) ?(s|ms|µs|ns|%|mJ|J|Wh|kWh|B|kB|MB|GB)?$/.exec(shown);
  if (!m || exact === undefined) return false;
  const unit = UNITS[m[4] ?? ''];
  const value = Number(m[2].replaceAll('\u202f', '')) * unit;
  if (m[1]) return exact > 0 && exact < value;
  const slack = /e/.test(m[2]) ? Math.abs(exact) * 0.006 : 0.5001 * 10 ** -(m[3]?.length ?? 0) * unit;
  return Math.abs(value - exact) <= slack + 1e-12;
}

function same(where, shown, exact) {
  checked++;
  if (!shows(shown, exact)) wrong.push(`${where}: the page shows ${shown}, the report says ${exact}`);
}

function is(where, shown, exact) {
  checked++;
  if (shown !== exact) wrong.push(`${where}: the page shows ${shown}, the report says ${exact}`);
}

// ---- the figures: label -> what the report says it is ----

const FIGURES = {
  'wall time': (r) => r.summary.wall_s,
  'time per video': (r) => r.generations.wall.p50_s,
  'time per video, median': (r) => r.generations.wall.p50_s,
  'frames per second': (r) => r.summary.fps ?? r.diffusion_analysis?.fps ?? r.streaming_analysis?.fps,
  'iterations per second': (r) => r.iterations[0].per_second,
  'zones recorded': (r) => r.recording.zones,
  'time per warm step': (r) => r.diffusion_analysis.warm_step.p50_s,
  'time per step': (r) => r.diffusion_analysis.step.p50_s,
  'time per block': (r) => r.block_analysis.block.p50_s,
  'largest stage': (r) => r.stage_analysis.stages.find((s) => s.bottleneck)?.total_s,
  'VRAM peak of this run': (r) => r.summary.gpu_memory_peak_bytes,
  'VRAM peak of the whole GPU': (r) => r.summary.gpu_memory_peak_bytes,
  'VRAM peak allocated': (r) => r.summary.gpu_memory_peak_bytes,
  'RAM peak, machine': (r) => r.summary.ram_peak_bytes,
  'GPU energy per video': (r) => r.summary.video_energy_wh,
  'GPU energy': (r) => r.summary.run_energy_wh,
  'GPU busy while traced': (r) => r.gpu_trace.busy_ratio,
};
const OF_VIDEO = {
  'time of this video': (g) => g.wall_s,
  'frames per second': (g) => g.fps,
  'time per step': (g) => g.step_median_s,
  'GPU energy of this video': (g) => g.energy_wh,
};
const BOUNDS = { gpu: 'GPU', cpu: 'CPU', cpu_launch: 'CPU launch', unknown: 'not known' };

function figuresOf(page, r) {
  const made = (r.summary?.frames || r.generations?.items?.some((g) => g.frames)) && !r.summary?.video_count ? 'video' : 'generation';
  const all = classed(draw(page.h(page.Figures, { report: r })), 'figure').map((f) => ['label', 'value', 'note'].map((k) => textOf(classed([f], k).at(-1))));
  return all.map(([label, ...rest]) => [label.replace(`this ${made}`, 'this video').replace(`per ${made}`, 'per video'), ...rest]);
}

function checkFigure(where, r, label, value) {
  if (label === 'bound by') return is(`${where}, ${label}`, value, BOUNDS[r.verdict.bound_by] ?? r.verdict.bound_by);
  if (label === 'recording') return is(`${where}, ${label}`, /dropped/.test(value), r.recording.dropped_count > 0);
  const iterations = r.iterations?.[0];
  const exact = FIGURES[label] ?? (iterations && label === `time per ${iterations.name}` ? () => iterations.median_s : null);
  if (!exact) return is(where, `a figure ${label}`, 'none of that name');
  same(`${where}, ${label}`, value, exact(r));
}

function checkNote(where, r, label, note) {
  const time = '([\\d.]+ (?:s|ms|µs|ns))';
  const part = (pattern, exact) => {
    const m = new RegExp(pattern).exec(note);
    if (m) same(`${where}, note of ${label}`, m[1], exact);
  };
  if (label === 'wall time') part('^(.*%) unattributed', r.stage_analysis.parts?.find((p) => p.kind === 'unattributed')?.wall_ratio ?? r.stage_analysis.unattributed_s / r.stage_analysis.wall_s);
  if (label.startsWith('time per video')) {
    part(`p95 ${time}`, r.generations.wall?.p95_s);
    part(` of (\\d+);`, r.generations.wall?.count);
    part(`run ${time}$`, r.summary.wall_s);
    part(`of ${time} run`, r.summary.wall_s);
  }
  if (label === 'time per warm step') part(`first ${time}`, r.diffusion_analysis.first_step_s);
}

function checkFigures(page, where, r) {
  const shown = figuresOf(page, r);
  for (const [label, value, note] of shown) {
    checkFigure(where, r, label, value);
    checkNote(where, r, label, note);
  }
}

function checkVideo(page, where, r, i) {
  const g = r.generations.items[i];
  page.generation.set(i);
  for (const [label, value, note] of figuresOf(page, r)) {
    const own = label.endsWith(', whole run') ? null : OF_VIDEO[label];
    if (own && own(g) !== undefined) same(`${where}, video ${i}, ${label}`, value, own(g));
    else checkFigure(`${where}, video ${i}`, r, label.replace(', whole run', ''), value);
    const faster = /^(\d+) of (\d+) were faster$/.exec(note);
    const ended = r.generations.items.filter((o) => o.state === undefined);
    if (faster) is(`${where}, video ${i}, faster`, `${faster[1]} of ${faster[2]}`, `${ended.filter((o) => o.wall_s < g.wall_s).length} of ${ended.length}`);
  }
  page.generation.set(null);
}

// ---- the bar and the tree ----

function checkBar(page, where, r, timeline) {
  const parts = r.stage_analysis.parts ?? [];
  const pieces = classed(draw(page.h(page.TimeBar, { report: r, timeline })), 'bar').flatMap((b) => b.children);
  is(`${where}, pieces of the bar`, pieces.length, parts.length);
  let sum = 0;
  pieces.forEach((p, i) => {
    const m = /: ([^:]+), ([^,]+)$/.exec(p.props['aria-label'].replaceAll('\u00a0', ' '));
    same(`${where}, bar ${p.props['aria-label']}`, m[1], parts[i].part_s);
    same(`${where}, bar ${p.props['aria-label']}`, m[2], parts[i].wall_ratio);
    sum += parseFloat(m[2].replace('< ', ''));
  });
  const overlap = r.stage_analysis.parts_overlap_s ?? 0; // parts at the same time: they add up to that much more
  const whole = 100 * (1 + overlap / r.stage_analysis.wall_s);
  if (pieces.length) is(`${where}, the bar is whole`, Math.abs(sum - whole) <= 0.051 * pieces.length + 0.01, true);
}

const COLUMNS = { inclusive: 'total_s', self: 'self_s', share: 'wall_ratio', mean: 'mean_s', min: 'min_s', p50: 'p50_s', p95: 'p95_s', p99: 'p99_s', max: 'max_s', 'GPU span': 'gpu_span_s', 'GPU busy': 'gpu_busy_s' };

function expectedRows(r) {
  const stages = r.stage_analysis.stages;
  const startup = stages.filter((s) => s.startup);
  if (!startup.length || r.summary.startup_end_s === undefined) return stages;
  const part = r.stage_analysis.parts.find((p) => p.kind === 'startup');
  return [{ name: 'start-up', total_s: part?.part_s ?? 0, wall_ratio: part?.wall_ratio ?? 0 }, ...startup, ...stages.filter((s) => !s.startup)];
}

function checkTree(page, where, r, timeline) {
  const drawn = draw(page.h(page.StageTree, { report: r, timeline, base: null }));
  const heads = tagged(drawn, 'th').map(textOf);
  const rows = tagged(tagged(drawn, 'tbody'), 'tr');
  const expected = expectedRows(r);
  is(`${where}, rows of the tree`, rows.length, Math.min(120, expected.length));
  rows.forEach((row, i) => {
    const s = expected[i];
    row.children.forEach((cell, k) => {
      const key = COLUMNS[heads[k]];
      const shown = textOf(cell);
      const at = `${where}, ${heads[k]} of ${s.name}`;
      if (heads[k] === 'stage') is(at, shown.includes(s.name), true);
      else if (heads[k] === 'calls') s.count ? same(at, shown, s.count) : is(at, /^(–|0|)$/.test(shown), true);
      else if (key === undefined) is(where, `a column ${heads[k]}`, 'none of that name');
      else if (shown === '') is(at, s[key], undefined);
      else same(at, shown.replace(/^>/, ''), s[key]);
    });
  });
  const sums = /unattributed (.*?) of (\d.*? \w+)/.exec(textOf({ children: classed(drawn, 'tools') }));
  same(`${where}, unattributed`, sums[1], r.stage_analysis.unattributed_s);
  same(`${where}, wall`, sums[2], r.stage_analysis.wall_s);
}

// ---- one recording ----

const withoutTime = ({ session_info, ...rest }) => JSON.stringify(rest); // when it was made

async function check(page, seed) {
  const file = join(folder, 'random.strobe');
  const html = join(folder, 'report.html');
  tool('tests/make_random', file, String(seed));
  const json = JSON.parse(tool('strobe', 'report', file, '--format', 'json', '-o', '-'));
  tool('strobe', 'report', file, '--format', 'html', '-o', html);
  const text = readFileSync(html, 'utf8');
  const r = JSON.parse(/<script[^>]*id="strobe-report"[^>]*>([\s\S]*?)<\/script>/.exec(text)[1]);
  const packed = /<script[^>]*id="strobe-timeline"([^>]*)>([\s\S]*?)<\/script>/.exec(text);
  const bytes = page.unbase64(packed[2].trim());
  const timeline = page.decodeTimeline(/encoding="raw"/.test(packed[1]) ? bytes : await page.gunzip(bytes));
  const where = `seed ${seed}`;
  is(`${where}, the report inside the page`, withoutTime(r), withoutTime(json));
  page.startVideos(r);
  page.generation.set(null);
  checkFigures(page, where, r);
  checkBar(page, where, r, timeline);
  if (r.stage_analysis.stages.length) checkTree(page, where, r, timeline);
  const videos = r.generations.whole_run ? 0 : r.generations.items.length;
  for (let i = 0; videos > 1 && i < Math.min(videos, 6); i++) checkVideo(page, where, r, i);
}

const page = await modules();
page.kept.set({ startup: 'on' });
for (let seed = 1; seed <= SEEDS; seed++) await check(page, seed);
rmSync(folder, { recursive: true, force: true });
for (const line of wrong.slice(0, 20)) console.error(line);
console.log(`${SEEDS} recordings, ${checked} numbers on the page, ${wrong.length} disagree`);
process.exit(wrong.length || checked < 3000 ? 1 : 0);
