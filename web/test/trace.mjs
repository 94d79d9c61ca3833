// A real trace of torch.profiler on an H200: the page says what the report says, stage by stage.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { assert, assembled, open, ready, settled, test } from './harness.mjs';

const tool = process.env.STROBE_TOOL ?? new URL('../../build/strobe', import.meta.url).pathname;
const trace = process.env.STROBE_TRACE ?? new URL('../../tests/data/kineto-h200.json.gz', import.meta.url).pathname;
const folder = mkdtempSync(join(tmpdir(), 'strobe-trace-'));

function write(name, ...options) {
  const path = join(folder, name);
  execFileSync(tool, ['report', trace, '-o', path, ...options]);
  return path;
}

const readStages = (...options) => JSON.parse(readFileSync(write('report.json', ...options), 'utf8')).stage_analysis;

let made;
const page_ = () => (made ??= { path: assembled(write('trace.html')), analysis: readStages() });

// Name, depth and cells of every row of the tree.
const rowsOf = async (page) => {
  const more = page.locator('#stages .more');
  if (await more.count()) await more.click();
  return page.locator('#stages tbody tr').evaluateAll((all) =>
    all.map((tr) => ({ name: tr.querySelector('.stage span[dir=auto]').title, depth: parseInt(tr.querySelector('.stage').style.paddingLeft, 10) / 14, cells: [...tr.children].map((td) => td.innerText.replace(/\u00a0/g, ' ')) })),
  );
};

const UNIT = { s: 1, ms: 1e-3, µs: 1e-6, ns: 1e-9 };
const secondsOf = (text) => {
  const [, value, unit] = /^([\d.]+) (s|ms|µs|ns)$/.exec(text) ?? [];
  return value === undefined ? undefined : Number(value) * UNIT[unit];
};

test('a real trace hangs every stage below its own parent', async (browser) => {
  const { path, analysis } = page_();
  const names = new Map();
  analysis.stages.forEach((s, i) => names.has(s.name) || names.set(s.name, i));
  assert.ok(analysis.stages.some((s) => s.parent && names.get(s.parent) !== s.parent_index), 'no name occurs twice: the trace shows nothing');
  const { page, seen, close } = await open(browser, path);
  const shown = await rowsOf(page);
  assert.deepEqual(shown.map((r) => [r.name, r.depth]), analysis.stages.map((s) => [s.name, s.depth]));
  assert.deepEqual(seen.problems, []);
  await close();
});

test('a part of a run of merged zones has the tree of its stages, too, and says how it was counted', async (browser) => {
  const run = execFileSync(join(dirname(tool), 'bench/make_recording'), ['4000000', 'steps'], { encoding: 'utf8', env: { ...process.env, STROBE_OUTPUT_DIR: folder } }).trim();
  execFileSync(tool, ['report', run, '--format', 'html', '-o', join(folder, 'merged.html')]);
  const { page, seen, close } = await open(browser, assembled(join(folder, 'merged.html')));
  await ready(page);
  for (let i = 0; i < 3; i++) await page.keyboard.press('w');
  await settled(page);
  await page.locator('#calls').scrollIntoViewIfNeeded();
  await page.locator('#calls', { hasText: 'tree of the stages, counted in bins of' }).waitFor();
  assert.deepEqual((await page.locator('.icicle button').allInnerTexts()).sort(), ['cache', 'scheduler', 'step', 'transformer']);
  await page.locator('.icicle button', { hasText: 'cache' }).click();
  assert.match(await page.locator('.butterfly').innerText(), /Callers of cache[\s\S]*step/);
  assert.deepEqual(seen.problems, []);
  await close();
});

test('folding a stage folds no other of its name', async (browser) => {
  const { path, analysis } = page_();
  const { page, close } = await open(browser, path);
  const all = analysis.stages;
  const parental = all.filter((_, i) => all[i + 1]?.parent_index === i);
  const twice = parental.find((s) => parental.some((o) => o !== s && o.name === s.name));
  assert.ok(twice, 'no name with children occurs twice');
  const index = all.indexOf(twice);
  const inside = (i) => all[i].parent_index !== undefined && (all[i].parent_index === index || inside(all[i].parent_index));
  await rowsOf(page);
  await page.locator('#stages tbody tr').nth(index).locator('.fold').click();
  await settled(page);
  const left = (await rowsOf(page)).map((r) => r.name).join('\n');
  assert.equal(left, all.filter((_, i) => !inside(i)).map((s) => s.name).join('\n'));
  await close();
});

test('the bar and the table have one number for what is unattributed', async (browser) => {
  const { path, analysis } = page_();
  const { page, close } = await open(browser, path);
  const bar = (await page.locator('.bar .nothing').getAttribute('aria-label')).replace(/\u00a0/g, ' ');
  const table = (await page.locator('#stages .tools').innerText()).replace(/\u00a0/g, ' ');
  const said = /unattributed: ([^,]+),/.exec(bar)[1];
  assert.ok(table.includes(`unattributed ${said} of `), `${bar} / ${table}`);
  const parts = await page.locator('.bar > *').evaluateAll((all) => all.map((b) => b.getAttribute('aria-label').replace(/ itself: /, ': ').split(': ')[0]));
  assert.deepEqual(parts, analysis.parts.map((p) => p.name ?? (p.kind === 'smaller' ? `${p.stage_count} smaller stages` : p.kind)));
  assert.ok(Math.abs(analysis.parts.reduce((sum, p) => sum + p.part_s, 0) - analysis.wall_s) < 1e-6, 'the parts are the wall time');
  assert.ok(Math.abs(secondsOf(said) - analysis.unattributed_s) < 0.006 * analysis.unattributed_s, said);
  await close();
});

const pathOf = (stages, i) => (stages[i].parent_index === undefined ? '' : `${pathOf(stages, stages[i].parent_index)} > `) + stages[i].name;

async function compare(page, whole, part) {
  const at = (await page.locator('#stages th').allInnerTexts()).findIndex((t) => t.includes('in selection'));
  assert.equal((await page.locator('#stages th').nth(at).innerText()).trim(), 'in selection');
  const expected = new Map(part.stages.map((s, i) => [pathOf(part.stages, i), s.total_s]));
  const wrong = (await rowsOf(page)).flatMap((r, i) => {
    const [, below, shown] = /^(< )?(.*)$/.exec(r.cells[at].replaceAll('\u202f', ''));
    const told = secondsOf(shown) ?? 0;
    const true_ = expected.get(pathOf(whole.stages, i)) ?? 0;
    const last = told && (told / parseFloat(shown)) * 10 ** -(/\.(\d+)/.exec(shown)?.[1].length ?? 0); // what its last digit is worth
    const right = below ? true_ > 0 && true_ < told : Math.abs(told - true_) <= 0.006 * true_ + last / 2 + 2e-9;
    return right ? [] : [`${pathOf(whole.stages, i)}: ${r.cells[at]}, not ${true_}`];
  });
  assert.deepEqual(wrong, []);
}

test("times in a selection are the report's, for the whole and for a part", async (browser) => {
  const { path, analysis } = page_();
  const { page, close } = await open(browser, path);
  await ready(page);
  await page.locator('#timeline-first canvas').focus();
  await page.keyboard.press('Enter');
  await compare(page, analysis, analysis);
  await page.keyboard.press('Escape');
  const linear = analysis.stages.findIndex((s, i) => i > 0 && s.count > 1 && s.end_s - s.first_s < 0.8 * analysis.wall_s && analysis.stages[i + 1]?.parent_index === i);
  const { first_s: from, end_s: to } = analysis.stages[linear];
  await page.locator('#stages tbody tr').nth(linear).click();
  await compare(page, analysis, readStages('--from', from.toFixed(9), '--to', to.toFixed(9)));
  await close();
});

test('a kernel of a real trace brings its launch along', async (browser) => {
  const { page, close } = await open(browser, page_().path);
  await ready(page);
  await page.locator('#kernels tbody tr').first().click();
  await page.waitForSelector('.detail');
  const words = (await page.locator('.detail').innerText()).replace(/[\s\u00a0\u202f]+/g, ' ');
  assert.match(words, /family GEMM.* grid \d+ × \d+ × \d+ blocks block \d+ × \d+ × \d+ threads registers \d+ of a thread/);
  await close();
});
