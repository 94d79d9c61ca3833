// What the page works out of a range, against what the tool says of the same range: random recordings, whole
// and in parts. usage: statistics.mjs SOURCE BUILD
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build } from 'esbuild';

const [source, built] = process.argv.slice(2);
const SEEDS = 24;
const folder = mkdtempSync(join(tmpdir(), 'strobe-statistics-'));
let checked = 0;
let failed = 0;

function same(what, page, tool, within) {
  checked++;
  if (Math.abs((page ?? 0) - (tool ?? 0)) <= within) return;
  failed++;
  if (failed <= 20) console.error(`${what}: ${page} on the page, ${tool} from the tool`);
}

async function modules() {
  const entry = join(folder, 'entry.ts');
  const at = (file) => JSON.stringify(join(source, 'web/src', file));
  writeFileSync(entry, `export * from ${at('timeline/statistics.ts')};\nexport * from ${at('timeline/data.ts')};\nexport * from ${at('timeline/entry.ts')};\n`);
  await build({ entryPoints: [entry], bundle: true, format: 'esm', platform: 'node', outfile: join(folder, 'page.mjs'), nodePaths: [join(built, 'web/node_modules')], logLevel: 'warning' });
  return import(join(folder, 'page.mjs'));
}

const strobe = (...args) => execFileSync(join(built, 'strobe'), args, { encoding: 'utf8', env: { ...process.env, STROBE_HISTORY: 'off' }, maxBuffer: 1 << 28 });
const report = (file, ...args) => JSON.parse(strobe('report', file, '--format', 'json', ...args));

// The names from the outermost stage to this one.
const path = (stages, i) => (stages[i].parent_index === undefined ? '' : `${path(stages, stages[i].parent_index)}\n`) + stages[i].name;

const timed = (s) => s.state !== 'skipped' && s.state !== 'untimed';

async function timelineOf(page, file) {
  strobe('report', file, '--format', 'html', '-o', join(folder, 'report.html'));
  const html = readFileSync(join(folder, 'report.html'), 'utf8');
  const found = /<script[^>]*id="strobe-timeline"([^>]*)>([\s\S]*?)<\/script>/.exec(html);
  const packed = page.unbase64(found[2].trim());
  return page.decodeTimeline(/encoding="raw"/.test(found[1]) ? packed : await page.gunzip(packed));
}

// The tool's stages and names of a range, each against the page's own sums of the timeline.
function compare(page, seed, timeline, whole, part, range) {
  const stages = whole.stage_analysis.stages;
  const times = page.stageTimes(timeline, stages, range);
  const known = part.stage_analysis.stages;
  const of = new Map(known.map((s, i) => [path(known, i), s]));
  stages.forEach((s, i) => {
    if (!timed(s)) return;
    const tool = of.get(path(stages, i));
    same(`seed ${seed}, ${range.from / 1e9}-${range.to / 1e9} s, stage ${path(stages, i).replaceAll('\n', ' > ')}`, times.seconds[i], tool?.total_s, 1e-6);
  });
}

function compareNames(page, seed, timeline, combined, range) {
  const names = new Map(page.statistics(timeline, range).names.map((n) => [n.name, n]));
  for (const s of combined.stage_analysis.stages) {
    if (!timed(s) || s.name.includes('*')) continue;
    const what = `seed ${seed}, ${range.from / 1e9}-${range.to / 1e9} s, name ${s.name}`;
    const here = names.get(s.name);
    same(`${what}: calls`, here?.count, s.count + (s.open_count ?? 0) + (s.cut_count ?? 0), 0);
    if (!s.span) same(`${what}: time`, (here?.total ?? 0) / 1e9, s.total_s, 1e-6);
    else same(`${what}: time, at most`, Math.max(0, (here?.total ?? 0) / 1e9 - s.total_s), 0, 1e-6); // with at least one open
  }
}

function compareRows(page, seed, timeline, whole, range) {
  const stages = whole.stage_analysis.stages;
  const times = page.stageTimes(timeline, stages, range);
  for (const n of whole.stage_analysis.same_name ?? []) {
    const row = { ...n.stage, index: -1, parental: false, joined: n.stage_index };
    same(`seed ${seed}, all of ${n.stage.name}`, page.rowTime(times, stages, row), n.stage.total_s, 1e-6);
  }
}

// In the gaps that the tool lists the page finds no zone of any lane, and where it lists all they are the unattributed time.
function compareGaps(page, seed, timeline, whole) {
  const { gaps = [], unattributed_s } = whole.stage_analysis;
  for (const g of gaps) {
    const inside = page.statistics(timeline, { from: Math.round(g.t_s * 1e9), to: Math.round((g.t_s + g.duration_s) * 1e9) }).names.filter((n) => n.total > 0 && !n.span);
    same(`seed ${seed}, zones in the gap at ${g.t_s} s`, inside.length, 0, 0);
  }
  if (gaps.length < 20) same(`seed ${seed}, all gaps`, gaps.reduce((sum, g) => sum + g.duration_s, 0), unattributed_s, 1e-6);
}

// The nodes of a tree by the tool's path of their stage: a name inside itself is the outer call again, and what is
// below it belongs to that one's stage.
function byStage(root) {
  const out = new Map();
  const walk = (n, above) => {
    const again = above.findLast((a) => a.name === n.name);
    const own = again?.path ?? (above.length ? `${above[above.length - 1].path}\n` : '') + n.name;
    const sum = out.get(own) ?? { total: 0, count: 0, self: 0 };
    if (!again) Object.assign(sum, { total: sum.total + n.total, count: sum.count + n.count });
    out.set(own, { ...sum, self: sum.self + n.self });
    n.below.forEach((c) => walk(c, [...above, { name: n.name, path: own }]));
  };
  root?.below.forEach((n) => walk(n, []));
  return out;
}

// The call tree of a range: a path's time, calls and own time are those of the tool's stage.
function compareTree(page, seed, timeline, part, range) {
  const found = byStage(page.callTree(timeline, range, 'wall'));
  const stages = part.stage_analysis.stages;
  const names = stages.map((_, i) => path(stages, i));
  if (names.some((p) => new Set(p.split('\n')).size < p.split('\n').length)) return; // steps inside a section of their name
  stages.forEach((s, i) => {
    if (!timed(s) || names[i].includes('*')) return;
    const what = `seed ${seed}, tree of ${range.from / 1e9}-${range.to / 1e9} s, ${names[i].replaceAll('\n', ' > ')}`;
    const node = found.get(names[i]);
    same(`${what}: time`, (node?.total ?? 0) / 1e9, s.total_s, 1e-6);
    same(`${what}: calls`, node?.count, s.count + (s.open_count ?? 0) + (s.cut_count ?? 0), 0);
    same(`${what}: own time`, (node?.self ?? 0) / 1e9, s.self_s, 1e-6);
  });
}

// Where the CPU runs ahead of the GPU the pictures of the videos add up to what the tool says of the run, and each to its video.
function compareVideos(page, timeline, whole) {
  const { stages } = whole.stage_analysis;
  const sums = stages.map(() => 0);
  for (const g of whole.generations.items) {
    const parts = page.partsOf(whole, timeline, g);
    for (const p of parts.filter((one) => one.kind === 'stage')) sums[p.stage_index] += p.part_s;
    same(`parts of the video at ${g.start_s} s`, parts.reduce((sum, p) => sum + p.part_s, 0), g.wall_s, 1e-6);
  }
  stages.forEach((s, i) => {
    if (s.role === 'generation') return;
    same(`${s.name} of all videos`, sums[i], s.real_s, 1e-6);
    if (Math.abs(s.real_s - s.total_s) < 0.1 * s.total_s) throw new Error(`${s.name} takes what the CPU takes for it`);
  });
}

// A zone among its peers: how many they are, their middle, shortest and longest are those of the tool's row of the name.
function comparePeers(page, seed, timeline, combined) {
  for (const s of combined.stage_analysis.stages) {
    const lane = timeline.lanes.findIndex((l) => l.kind === 'thread' && l.rows.some((r) => r.name.some((n) => timeline.names[n] === s.name)));
    if (lane < 0 || !timed(s) || s.name.includes('*') || s.open_count || s.cut_count || s.span || s.median_s === undefined) continue;
    const row = timeline.lanes[lane].rows.findIndex((r) => r.name.some((n) => timeline.names[n] === s.name));
    const e = { lane, row, index: timeline.lanes[lane].rows[row].name.findIndex((n) => timeline.names[n] === s.name) };
    const p = page.peers(timeline, e);
    if (p.count !== s.count) continue; // inside itself or on a task too: the tool's row has other calls
    const length = (at) => page.lengthOf(timeline, at) / 1e9;
    same(`seed ${seed}, peers of ${s.name}: median`, p.median / 1e9, s.median_s, 2e-6 + 0.01 * s.median_s);
    same(`seed ${seed}, peers of ${s.name}: longest`, length(p.longest), s.max_s, 1e-6);
    same(`seed ${seed}, peers of ${s.name}: shortest`, length(p.shortest), s.min_s, 1e-6);
  }
}

// Work on the GPU in a range, by name; names that the timeline shortens another way are left out.
function compareGpu(page, timeline, part, range) {
  const words = `GPU, ${range.from / 1e9}-${range.to / 1e9} s`;
  const gpu = new Map(page.statistics(timeline, range).gpu.map((k) => [k.name, k]));
  for (const k of (part.gpu_trace?.top_kernels ?? []).filter((one) => !one.name.includes('...'))) {
    same(`${words}: time of ${k.name}`, (gpu.get(k.name)?.total ?? 0) / 1e9, k.total_s, 1e-6);
    same(`${words}: calls of ${k.name}`, gpu.get(k.name)?.count, k.count, 0);
  }
}

// What zones launched: the tree by GPU time has for each innermost zone what the tool has, and the launches of the
// outermost zones add up to all that the tool knows of.
function compareLaunched(page, timeline, whole) {
  const own = new Map();
  const walk = (n, top, around) => {
    const zone = /^cu(da)?[A-Z]/.test(n.name) ? around : n.name; // the call of the driver is no zone of the tool's
    const name = top === zone ? top : `${top} > ${zone}`;
    for (const c of n.below) {
      if (!c.below.length) own.set(name, (own.get(name) ?? 0) + c.total);
      walk(c, top, zone);
    }
  };
  page.callTree(timeline, { from: timeline.startNs, to: timeline.endNs }, 'gpu').below.forEach((n) => walk(n, n.name, n.name));
  const g = whole.gpu_trace;
  for (const z of g.top_zones) same(`launched by ${z.name}`, (own.get(z.name) ?? 0) / 1e9, z.total_s, 1e-6);
  let launched = 0;
  timeline.lanes.forEach((l, lane) => {
    if (l.kind === 'thread') for (let index = 0; index < (l.rows[0]?.size ?? 0); index++) launched += page.launched(timeline, { lane, row: 0, index }).total;
  });
  same('launched by the outermost zones', launched / 1e9, g.kernel_total_s + g.memsets.total_s + g.copies.reduce((sum, c) => sum + c.total_s, 0), 1e-6);
}

try {
  const page = await modules();
  for (let seed = 1; seed <= SEEDS; seed++) {
    const file = join(folder, `${seed}.strobe`);
    execFileSync(join(built, 'tests/make_random'), [file, String(seed)]);
    const whole = report(file);
    if (!whole.stage_analysis?.stages.length) continue;
    const timeline = await timelineOf(page, file);
    const all = { from: timeline.startNs, to: timeline.endNs };
    compare(page, seed, timeline, whole, whole, all);
    compareNames(page, seed, timeline, report(file, '--combine'), all);
    compareRows(page, seed, timeline, whole, all);
    compareTree(page, seed, timeline, whole, all);
    compareGaps(page, seed, timeline, whole);
    comparePeers(page, seed, timeline, report(file, '--combine'));
    const third = Math.round((all.to - all.from) / 3);
    for (const range of [{ from: all.from + third, to: all.from + 2 * third }, { from: all.from, to: all.from + third }]) {
      const words = ['--from', `${range.from / 1e9}s`, '--to', `${range.to / 1e9}s`];
      const part = report(file, ...words);
      compare(page, seed, timeline, whole, part, range);
      compareTree(page, seed, timeline, part, range);
      compareNames(page, seed, timeline, report(file, '--combine', ...words), range);
    }
  }
  execFileSync(join(built, 'tests/make_recordings'), [folder]);
  compareVideos(page, await timelineOf(page, join(folder, 'ahead.strobe')), report(join(folder, 'ahead.strobe')));
  const trace = join(source, 'tests/data/kineto-h200.json.gz');
  const real = report(trace);
  const traced = await timelineOf(page, trace);
  const half = Math.round((traced.startNs + traced.endNs) / 2);
  compareGpu(page, traced, real, { from: traced.startNs, to: traced.endNs });
  compareGpu(page, traced, report(trace, '--from', `${half / 1e9}s`), { from: half, to: traced.endNs });
  compareLaunched(page, traced, real);
  // A real recording with so many zones that they were merged: the tree of a part of it has the tool's stages.
  const many = execFileSync(join(built, 'bench/make_recording'), ['4000000', 'steps'], { encoding: 'utf8', cwd: folder, env: { ...process.env, STROBE_OUTPUT_DIR: folder } }).trim();
  const stages = report(many).stage_analysis.stages;
  const picture = await timelineOf(page, many);
  if (!picture.lanes.some((l) => l.rows.some((r) => r.count.some((n) => n > 1)))) throw new Error('nothing was merged');
  for (const [a, b] of [[0, 1], [0.2, 0.6], [0.5, 0.501]]) {
    const length = picture.endNs - picture.startNs;
    const range = { from: Math.round(picture.startNs + a * length), to: Math.round(picture.startNs + b * length) };
    const tool = report(many, '--from', `${range.from / 1e9}s`, '--to', `${range.to / 1e9}s`).stage_analysis.stages;
    const bin = picture.profile.binNs / 1e9;
    page.stagesOfPart(picture, stages, range).forEach((s, i) => {
      const its = tool.find((o) => o.name === s.name);
      same(`merged, ${a} to ${b} of ${s.name}`, s.total_s, its?.total_s, b === 1 ? 1e-6 : 2 * bin);
      same(`merged, calls of ${s.name}`, s.count / stages[i].count, (its?.count ?? 0) / stages[i].count, b === 1 ? 1e-6 : (2 * bin * 1e9) / length);
    });
  }
  // Zones that were merged: the whole run is counted from bins, the last of which reaches beyond its end.
  const profile = { startNs: 0, binNs: 300, names: [0], total: [[200, 200, 200, 90]], count: [[10, 10, 10, 7]] };
  const merged = { count: [2], size: 1, start: [0], end: [1000], name: [0], endingAfter: () => 0 };
  const [counted] = page.statistics({ startNs: 0, endNs: 1000, names: ['a'], profile, gpuProfile: null, lanes: [{ kind: 'thread', rows: [merged], mergeNs: 1 }], merged: true }, { from: 0, to: 1000 }).names;
  same('merged, calls of the whole run', counted.count, 37, 0);
  same('merged, time of the whole run', counted.total, 690, 0);
} finally {
  rmSync(folder, { recursive: true });
}
console.log(`${checked} figures compared, ${failed} differ`);
process.exit(failed || checked < 500 ? 1 : 0);
