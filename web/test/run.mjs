// The page in a real Chromium: node test/run.mjs [part of a test's name]
import { assert, open, range, ready, run, settled, test, writeFile, writePage } from './harness.mjs';
import { encodeTimeline } from './encode.mjs';
import { fixture } from './fixture.mjs';
import './first.mjs';
import './frame.mjs';
import './gpu.mjs';
import './hardware.mjs';
import './labels.mjs';
import './layers.mjs';
import './looks.mjs';
import './trace.mjs';
import './workspace.mjs';
import './keep.mjs';
import './videos.mjs';
import './calls.mjs';
import './columns.mjs';
import './outputs.mjs';
import './share.mjs';
import './aligned.mjs';
import './bench.mjs';
import './job.mjs';
import './marks.mjs';
import './runs.mjs';

const base = fixture();
const basePath = writePage('base', base);
const gutter = 132;

async function box(page, id = '#timeline-first') {
  await page.locator(`${id} canvas`).scrollIntoViewIfNeeded();
  return page.locator(`${id} canvas`).boundingBox();
}

test('opens from a file with no error and no request', async (browser) => {
  const { page, seen, close } = await open(browser, basePath);
  await ready(page);
  assert.deepEqual(seen.problems, []);
  assert.deepEqual(seen.requests.filter((u) => !u.startsWith('file://')), []);
  assert.equal(seen.requests.length, 1);
  assert.equal(await page.title(), 'wan_t2v · strobe');
  await close();
});

test('the first screen holds figures, findings, stages, timeline and charts', async (browser) => {
  const { page, close } = await open(browser, basePath);
  await ready(page);
  assert.equal(await page.locator('.figure').count(), 6);
  assert.deepEqual(await page.locator('.card.right figcaption b').allInnerTexts(), ['GPU utilization', 'GPU memory used', 'CPU usage', 'Disk throughput']);
  assert.equal(await page.locator('.card.advice .findings > li:not(.rest)').count(), 3);
  for (const part of ['.figures', '.timebar', '.card.advice', '.card.table', '.card.right', '.card.right .chart:last-of-type']) {
    const b = await page.locator(part).boundingBox();
    assert.ok(b && b.y >= 0 && b.y + b.height <= 900, `${part} ends at ${b && b.y + b.height}`);
  }
  assert.ok(!(await page.evaluate(() => document.documentElement.scrollWidth > innerWidth)), 'the page is wider than the screen');
  await close();
});

test('the command to type next is on the first screen and under the advice, and can be copied', async (browser) => {
  const { report, timeline } = fixture();
  const command = "strobe run --gpu-trace=steps:3 -- python3 make.py --prompt 'a cat'";
  report.verdict = { ...report.verdict, next_command: command, next_reason: "no cause found; only the kernels of 'denoise' tell" };
  const { page, close } = await open(browser, writePage('next', { report, timeline }));
  await page.evaluate(() => {
    navigator.clipboard.writeText = async (text) => void (window.copied = text);
  });
  for (const place of ['.card.advice', '#advice']) {
    assert.equal(await page.locator(`${place} .next code`).innerText(), command);
    assert.match(await page.locator(`${place} .next`).innerText(), /only the kernels of 'denoise' tell/);
    await page.evaluate(() => (window.copied = ''));
    await page.locator(`${place} .next button`).click();
    assert.equal(await page.evaluate(() => window.copied), command);
    assert.equal(await page.locator(`${place} .next button`).innerText(), 'copied');
  }
  await close();
  const other = await open(browser, basePath);
  assert.equal(await other.page.locator('.next').count(), 0, 'where a cause was found there is nothing to type');
  await other.close();
});

test('a time is said in the unit of the rounded number', async (browser) => {
  for (const [total_s, shown] of [[0.99998, '1.00 s'], [0.00099996, '1.00 ms']]) {
    const { report, timeline } = fixture();
    for (const stage of report.stage_analysis.stages) stage.total_s = total_s;
    const { page, close } = await open(browser, writePage('rounded', { report, timeline }));
    const cells = (await page.locator('#stages tbody td').allInnerTexts()).map((c) => c.replace(/\s/g, ' '));
    assert.ok(cells.includes(shown), cells.slice(0, 30).join(', '));
    assert.ok(!cells.some((c) => c.startsWith('1000 ')), cells.join(', '));
    await close();
  }
});

// Two rows in one lane, and nothing sampled.
function small(more = {}) {
  const timeline = encodeTimeline({ endNs: 1e9, names: ['step', 'attention'], lanes: [{ kind: 'thread', name: 'main', rows: [[{ start: 0, end: 9e8, name: 0 }], [{ start: 1e8, end: 5e8, name: 1 }]] }] });
  const stages = [
    { name: 'step', count: 1, total_s: 0.9, self_s: 0.5, wall_ratio: 0.9 },
    { name: 'attention', parent: 'step', count: 1, total_s: 0.4, self_s: 0.4, wall_ratio: 0.4 },
    { name: 'norm', parent: 'step', count: 1, total_s: 0.1, self_s: 0.1, wall_ratio: 0.1 },
  ];
  const parts = [
    { kind: 'stage', name: 'attention', stage_index: 1, part_s: 0.4, wall_ratio: 0.4 },
    { kind: 'itself', name: 'step', stage_index: 0, part_s: 0.4, wall_ratio: 0.4 },
    { kind: 'stage', name: 'norm', stage_index: 2, part_s: 0.1, wall_ratio: 0.1 },
    { kind: 'unattributed', part_s: 0.1, wall_ratio: 0.1 },
  ];
  const report = { session_info: { id: 'small', name: 'small' }, summary: { wall_s: 1 }, stage_analysis: { wall_s: 1, unattributed_s: 0.1, stages, parts, bottlenecks: ['step'] }, recommendations: [], recording: { zones: 2, dropped_count: 0 }, ...more };
  return { report, timeline };
}

const lowest = (page) => page.locator('.card.right .fill > *').evaluateAll((all) => Math.max(...all.map((e) => e.getBoundingClientRect().bottom)));

test('few lanes leave no empty space on the first screen', async (browser) => {
  const t = Array.from({ length: 10 }, (_, i) => i / 10);
  const sampled = { first_charts: [{ source: 'disk', columns: ['read_gb_per_s'] }], disk_metrics: { series: { t_s: t, read_gb_per_s: t.map(() => 0.00002) } } };
  for (const [name, more] of [['sampled', sampled], ['unsampled', {}]]) {
    const { page, close } = await open(browser, writePage(`small-${name}`, small(more)));
    await ready(page);
    const card = await page.locator('.card.right').boundingBox();
    const canvas = await page.locator('#timeline-first canvas').boundingBox();
    assert.ok(canvas.height < 300, `${name}: two rows in ${canvas.height} px`);
    const room = card.y + card.height - (await lowest(page));
    assert.ok(room >= 0 && room < card.height * 0.5, `${name}: ${room} px of ${card.height} are empty`);
    if (name === 'sampled') assert.ok(room < 40, `${name}: ${room} px are empty`);
    else assert.match(await page.locator('.brief').innerText(), /step\s+1\s+900/);
    await close();
  }
});

test('small rates keep their digits', async (browser) => {
  const t = Array.from({ length: 10 }, (_, i) => i / 10);
  const { page, close } = await open(browser, writePage('slow-disk', small({ first_charts: [{ source: 'disk', columns: ['read_gb_per_s'] }], disk_metrics: { series: { t_s: t, read_gb_per_s: t.map(() => 0.0000234) } } })));
  await ready(page);
  const b = await page.locator('.card.right .chart').boundingBox();
  await page.mouse.move(b.x + 500, b.y + b.height / 2);
  await page.waitForFunction(() => document.querySelector('.card.right .chart output').textContent.length > 0);
  assert.match(await page.locator('.card.right .chart output').innerText(), /23\.4\u00a0kB\/s/);
  await close();
});

test("the bar shows the report's parts as they are", async (browser) => {
  const { page, close } = await open(browser, writePage('own-time', small()));
  const labels = await page.locator('.bar > *').evaluateAll((all) => all.map((b) => b.getAttribute('aria-label').replaceAll('\u00a0', ' ')));
  assert.deepEqual(labels, ['attention: 400 ms, 40.0 %', 'step itself: 400 ms, 40.0 %', 'norm: 100 ms, 10.0 %', 'unattributed: 100 ms, 10.0 %']);
  await close();
});

test('a run without zones says so and shows its charts', async (browser) => {
  const t = [0, 0.5, 1];
  const report = { ...small().report, stage_analysis: { wall_s: 1, unattributed_s: 1, stages: [], bottlenecks: [] }, cpu_metrics: { series: { t_s: t, usage_percent: [1, 2, 3] } }, first_charts: [{ source: 'cpu', columns: ['usage_percent'] }], not_recorded: [{ what: 'stages', why: 'none', how: 'import strobe' }] };
  const { page, seen, close } = await open(browser, writePage('no-zones', { report, timeline: encodeTimeline({ endNs: 1e9, names: [], lanes: [] }) }));
  await page.waitForSelector('.card.right .chart');
  assert.match(await page.locator('.card.right').innerText(), /No zone was recorded/);
  assert.match(await page.locator('.card.table').innerText(), /No stage was recorded: import strobe/);
  assert.equal(await page.locator('section#timeline').count(), 0);
  const text = await page.locator('.card.right .fill > p').boundingBox();
  const chart = await page.locator('.card.right .chart').first().boundingBox();
  assert.ok(text.y + 18 <= chart.y, 'the chart lies on the text');
  assert.deepEqual(seen.problems, []);
  await close();
});

test('long stage names leave the numbers in sight', async (browser) => {
  const page_ = small();
  Object.assign(page_.report.stage_analysis.stages[1], { name: 'WWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWW', code: '4f.2' });
  page_.report.stage_analysis.bottlenecks = [page_.report.stage_analysis.stages[1].name];
  const { page, close } = await open(browser, writePage('long-stage', page_));
  const [have, need] = await page.locator('.card.table .scroll').evaluate((e) => [e.clientWidth, e.scrollWidth]);
  assert.ok(need <= have, `${need} px in ${have}`);
  await close();
});

test('all timelines and charts share one axis', async (browser) => {
  const { page, close } = await open(browser, basePath);
  await ready(page);
  await page.locator('#timeline-first canvas').focus();
  await page.keyboard.press('+');
  const first = await range(page);
  await box(page, '#timeline-full'); // comes into sight, and is drawn
  await page.waitForFunction((from) => Number(document.querySelector('#timeline-full canvas').dataset.from) === from, first.from);
  assert.deepEqual(await range(page, '#timeline-full'), first);
  await close();
});

test('a click on a zone selects its time everywhere and shows its details', async (browser) => {
  const { page, close } = await open(browser, basePath);
  await ready(page);
  const b = await box(page);
  await page.mouse.click(b.x + gutter + (b.width - gutter) * 0.5, b.y + 20 + 4);
  const bar = page.locator('.selection');
  await bar.waitFor();
  assert.match(await bar.innerText(), /a cat surfing/);
  const head = await page.locator('.card.table th').allInnerTexts();
  assert.ok(head.some((h) => /in selection/.test(h)), head.join());
  assert.match(await page.locator('#range-statistics h3').innerText(), /^Selected range/);
  await page.keyboard.press('Escape');
  assert.equal(await page.locator('.selection').count(), 0);
  await close();
});

test('a stage selects from its first zone to its last', async (browser) => {
  const { page, close } = await open(browser, basePath);
  await ready(page);
  await page.locator('.card.table tr', { hasText: 'load_model' }).click();
  assert.match(await page.locator('.selection').innerText(), /9\.000 to 30\.300 s/);
  await page.locator('.selection button', { hasText: 'Zoom' }).click();
  const r = await range(page);
  assert.ok(r.from < 9e9 && r.from > 7e9 && r.to > 30.3e9 && r.to < 32e9);
  await close();
});

test('a finding leads to its place', async (browser) => {
  const { page, close } = await open(browser, basePath);
  await ready(page);
  const second = page.locator('.card.advice .findings li').nth(1);
  assert.match(await second.innerText(), /up to 15\.10\u00a0s/);
  await second.locator('.link').click();
  assert.match(await page.locator('.selection').innerText(), /load_model/);
  await close();
});

test('a finding says its cause, how its gain is known, and leads to its time', async (browser) => {
  const report = structuredClone(base.report);
  Object.assign(report.recommendations[0], { cause: 'Tensor.item() in sample(), wan/pipeline.py:211', confidence: 'likely', gain_basis: 'estimated', where: { file: '/app/wan/pipeline.py', line: 211, from_s: 36.5, to_s: 36.9 } });
  Object.assign(report.recommendations[1], { gain_basis: 'measured' });
  Object.assign(report.recommendations[2], { where: { kernel: 'flash_fwd_kernel' } });
  const { page, close } = await open(browser, writePage('causes', { ...base, report }));
  await ready(page);
  const shown = page.locator('.card.advice .findings > li');
  assert.match((await shown.nth(0).innerText()).replace(/\u00a0/g, ' '), /about 4\.40 s[\s\S]*Tensor\.item\(\) in sample\(\), wan\/pipeline\.py:211 \(likely\)[\s\S]*wan\/pipeline\.py:211/);
  assert.match((await shown.nth(1).locator('.gain').innerText()).replace(/\u00a0/g, ' '), /^15\.10 s$/);
  await shown.nth(0).locator('button.link').click();
  assert.match(await page.locator('.selection').innerText(), /36\.500 to 36\.900 s/);
  const r = await range(page);
  assert.ok(r.from > 36e9 && r.to < 37.2e9, 'it is in the middle of the picture');
  await shown.nth(2).locator('button.link').click();
  assert.match(await page.locator('.selection').innerText(), /This kernel/);
  await close();
});

test('sampled functions have a panel of their own', async (browser) => {
  const { page, seen, close } = await open(browser, basePath);
  await ready(page);
  const panel = page.locator('#functions');
  assert.match(await panel.innerText(), /Shares of 4.?000 sampled stacks/);
  assert.match(await panel.locator('tbody tr').first().innerText(), /prepare_latents[\s\S]*22\.5\u00a0%[\s\S]*211[\s\S]*wan\/pipeline\.py[\s\S]*generate/);
  assert.equal(await panel.locator('tbody tr').count(), 2);
  assert.deepEqual(seen.problems, []);
  await close();
  const without = await open(browser, writePage('no-functions', fixture({ function_samples: undefined })));
  await ready(without.page);
  assert.equal(await without.page.locator('#functions').count(), 0);
  await without.close();
});

test('search finds names and steps through their zones', async (browser) => {
  const { page, close } = await open(browser, basePath);
  await ready(page);
  await page.keyboard.press('/');
  await page.keyboard.type('VAE');
  assert.match(await page.locator('.dock .matches').innerText(), /1 of 1 name/);
  await page.keyboard.press('Enter');
  assert.match(await page.locator('.selection').innerText(), /vae_decode/);
  await page.keyboard.press('Enter');
  assert.match(await page.locator('.dock .matches').innerText(), /no more/);
  await close();
});

test('search looks at every zone and counts occurrences', async (browser) => {
  const row = Array.from({ length: 150_000 }, (_, i) => ({ start: i * 1000, end: i * 1000 + 500, name: i === 149_990 ? 1 : 0 }));
  const timeline = encodeTimeline({ endNs: 150e6, names: ['attention', 'needle'], lanes: [{ kind: 'thread', name: 'main', rows: [row] }] });
  const { page, close } = await open(browser, writePage('long-search', { ...small(), timeline }));
  await ready(page);
  await page.fill('input.search', 'needle');
  assert.equal(await page.locator('.dock .matches').innerText(), '1 of 1 name, 500\u00a0ns');
  await page.press('input.search', 'Enter');
  assert.match(await page.locator('.selection').innerText(), /needle/);
  await page.keyboard.press('Escape');
  await page.fill('input.search', 'att');
  assert.match(await page.locator('.dock .matches').innerText(), /^149.999 of 1 name, 75\.0\u00a0ms$/);
  await page.fill('input.search', 'nowhere');
  assert.equal(await page.locator('.dock .matches').innerText(), 'not in this timeline');
  await close();
});

test("findings stand in the report's order, and what they save is an upper bound", async (browser) => {
  const { page, close } = await open(browser, basePath);
  const shown = await page.locator('#advice .findings > li .where').allInnerTexts();
  assert.deepEqual(shown.map((t) => base.report.recommendations.find((f) => t.includes(f.id))?.id), base.report.recommendations.map((f) => f.id));
  assert.deepEqual((await page.locator('#advice .gain').allInnerTexts()).map((t) => t.replace(/\u00a0/g, ' ')), ['up to 4.40 s', 'up to 15.10 s']);
  assert.doesNotMatch(await page.locator('main').innerText(), /saves/);
  await close();
});

test('what is unattributed can be looked at, the longest gap first', async (browser) => {
  const { page, close } = await open(browser, writePage('gaps', small()));
  await ready(page);
  await page.locator('.bar button.nothing').click();
  assert.match(await page.locator('.selection').innerText(), /unattributed, gap 1 of 1[\s\S]*0\.900 to 1\.000 s/);
  const r = await range(page);
  assert.ok(r.from > 8.8e8 && r.from < 9e8, String(r.from));
  await page.locator('.bar .nothing').click();
  assert.equal(await page.locator('.selection').count(), 0, 'after the last gap nothing is selected');
  await close();
  const without = await open(browser, writePage('no-gaps', { report: small().report }));
  assert.equal(await without.page.locator('.bar span.nothing').count(), 1);
  assert.equal(await without.page.locator('.bar button.nothing').count(), 0, 'without a timeline there is nothing to press');
  await without.close();
});

test('tables sort by a click and by keyboard', async (browser) => {
  const { page, close } = await open(browser, basePath);
  const first = (name) => page.locator('#stages tbody tr:first-child td:first-child', { hasText: name }).waitFor();
  assert.doesNotMatch(await page.locator('#stages tbody tr:first-child td:first-child').innerText(), /load_model/);
  await page.locator('#stages th button', { hasText: 'self' }).click();
  await first('load_model');
  await page.locator('#stages th button', { hasText: 'stage' }).press('Enter');
  await first('export');
  await page.locator('#stages th button', { hasText: 'stage' }).press('Enter');
  await first('upscale');
  await close();
});

test('stages fold', async (browser) => {
  const { page, close } = await open(browser, basePath);
  const rows = page.locator('#stages tbody tr');
  const all = await rows.count();
  await page.locator('#stages .fold[aria-expanded]').first().click();
  assert.ok((await rows.count()) < all);
  assert.equal(await page.locator('#stages input[type=checkbox]').count(), 0, 'no name occurs twice: nothing to combine');
  await close();
});

test('open, cut and recursive calls stand beside the stage; combined means are of whole calls', async (browser) => {
  const stages = [
    { name: 'loop', count: 4, total_s: 5, self_s: 4, wall_ratio: 0.5, mean_s: 1, min_s: 1, max_s: 1, open_count: 1, cut_count: 2, recursive_count: 3, unfinished_s: 1, state: 'open' },
    { name: 'walk', parent: 'loop', count: 2, total_s: 1, self_s: 1, wall_ratio: 0.1, mean_s: 0.5, min_s: 0.4, max_s: 0.6 },
    { name: 'walk', count: 1, total_s: 4, self_s: 4, wall_ratio: 0.4, mean_s: 2, min_s: 2, max_s: 2, cut_count: 1, unfinished_s: 2 },
    { name: 'skip', count: 0, state: 'skipped', reason: 'not asked for' },
    { name: 'walk', parent: 'skip', count: 0, total_s: 0, self_s: 0, wall_ratio: 0, recursive_count: 1500 },
  ];
  const same_name = [{ stage_index: [1, 2, 4], stage: { name: 'walk', depth: 0, count: 3, total_s: 5, self_s: 5, wall_ratio: 0.5, mean_s: 1, min_s: 0.4, max_s: 2, cut_count: 1, recursive_count: 1500 } }];
  const { page, close } = await open(browser, writePage('apart', small({ stage_analysis: { wall_s: 10, unattributed_s: 1, stages, same_name, bottlenecks: ['loop'] } })));
  await ready(page);
  const states = (name) => page.locator('#stages tbody tr', { has: page.locator(`span[title="${name}"]`) }).locator('em.state').allInnerTexts();
  assert.deepEqual(await states('loop'), ['1 open, 2 cut, 3 recursive']);
  assert.deepEqual(await states('skip'), ['skipped (not asked for)']);
  assert.match(await page.locator('#stages em.state').first().getAttribute('title'), /^1 call not ended .*; 2 calls cut at .*; 3 calls inside a call/);
  await page.locator('#stages input[type=checkbox]').check();
  assert.deepEqual(await states('walk'), ['1 cut, 1 500 recursive']);
  assert.match((await page.locator('#stages tbody tr', { hasText: 'walk' }).innerText()).replace(/\s+/g, ' '), /1\.00 s 0\.400 s.* 2\.00 s/);
  await close();
});

test('the theme follows the system and the button', async (browser) => {
  const { page, close } = await open(browser, basePath, { colorScheme: 'dark' });
  const theme = () => page.evaluate(() => [document.documentElement.dataset.theme, getComputedStyle(document.body).backgroundColor]);
  const [name, back] = await theme();
  assert.equal(name, 'dark');
  await page.locator('.theme').click();
  const [other, otherBack] = await theme();
  assert.equal(other, 'light');
  assert.notEqual(back, otherBack);
  await close();
});

test('panels without data do not appear', async (browser) => {
  const path = writePage('bare', {
    report: {
      schema: 'strobe.report/1',
      session_info: { id: 'x', start_time: 't', duration_s: 1, tags: {}, generated_at: 't' },
      system: {}, summary: { wall_s: 1 },
      stage_analysis: { wall_s: 1, unattributed_s: 1, stages: [], bottlenecks: [] },
      recording: { events: 0, zones: 0, dropped_count: 0, drop_reasons: {}, bytes: 4096, complete: true },
      recommendations: [], not_recorded: [],
    },
  });
  const { page, seen, close } = await open(browser, path);
  const titles = await page.locator('.part > h2').allInnerTexts();
  assert.deepEqual(titles, ['System and configuration', 'Recording']);
  assert.equal(await page.locator('.sub h4').count(), 0, 'no heading over nothing');
  assert.doesNotMatch(await page.locator('main').innerText(), /NaN|undefined|\[object/);
  assert.deepEqual(seen.problems, []);
  await close();
});

test('every column and field says what it is', async (browser) => {
  const report = structuredClone(base.report);
  report.block_analysis = { ...report.block_analysis, items: [{ index: 0, t_s: 1, duration_s: 2, memory_bytes: 983040 }] };
  report.session_info = { ...report.session_info, pid: 27822, duration: '131.40 s' };
  report.cpu_metrics = { ...report.cpu_metrics, sample_count: 4, thread_max_count: 2 };
  const { page, close } = await open(browser, writePage('labels', { report }));
  assert.deepEqual((await page.locator('th').allInnerTexts()).filter((t) => !t.trim()), []);
  const fields = Object.fromEntries(await page.locator('#system .fields div, .part .fields div').evaluateAll((all) => all.map((d) => [d.children[0].textContent, d.children[1].textContent])));
  assert.equal(fields.PID, '27822');
  assert.equal(fields.samples, '4');
  assert.equal(fields['threads max'], '2');
  await close();
});

test('figures are whole on a small laptop', async (browser) => {
  const report = structuredClone(base.report);
  report.verdict = { ...report.verdict, bound_by: 'communication' };
  const { page, close } = await open(browser, writePage('small', { report }), { viewport: { width: 1024, height: 768 } });
  assert.match(await page.locator('.figures').innerText(), /communication/);
  const cut = await page.locator('.figure .value').evaluateAll((all) => all.filter((v) => v.scrollWidth > v.clientWidth).map((v) => v.textContent));
  assert.deepEqual(cut, []);
  await close();
});

test('nothing reads NaN or undefined on the full page', async (browser) => {
  const { page, close } = await open(browser, basePath);
  await ready(page);
  assert.doesNotMatch(await page.locator('main').innerText(), /NaN|undefined|\[object/);
  await close();
});

const hostile = ['<script>window.owned=1</script>', '<img src=x onerror="window.owned=1">', '\u202eesrever', '🎬🎞️ emoji', "'\"><svg/onload=window.owned=1>", 'x'.repeat(10_000), '</script><script>window.owned=1</script>', 'line\u2028sep', '\u0000\u0007bell', '{{constructor}}', '__proto__'];

test('hostile names are inert everywhere', async (browser) => {
  const f = fixture();
  const stages = hostile.map((name, i) => ({ name, count: 1, total_s: 1 + i, self_s: 1 + i, mean_s: 1, min_s: 1, max_s: 1, p50_s: 1, p95_s: 1, p99_s: 1, wall_ratio: 0.05, ...(i ? { parent: hostile[i - 1] } : {}) }));
  const report = {
    ...f.report,
    session_info: { ...f.report.session_info, name: hostile[0], command: hostile[6], tags: Object.fromEntries(hostile.map((h, i) => [h.slice(0, 60) + i, h])) },
    stage_analysis: { wall_s: 80, unattributed_s: 2, stages, bottlenecks: [hostile[0]] },
    recommendations: hostile.map((h, i) => ({ id: h.slice(0, 40), category: h, priority: 'high', issue: h, suggestion: h, evidence: h, gain_s: i })),
    events: hostile.map((h) => ({ name: h, t_s: 1, attributes: { [h.slice(0, 50)]: h } })),
    generations: { count: 1, items: [{ name: hostile[1], start_s: 1, wall_s: 2 }] },
    cache_analysis: { caches: hostile.map((h) => ({ name: h, hit_count: 1, miss_count: 0, eviction_count: 0 })) },
    gpu_trace: { ...f.report.gpu_trace, top_kernels: hostile.map((h) => ({ name: h, count: 1, total_s: 1 })) },
    not_recorded: hostile.map((h) => ({ what: h, why: h, how: h })),
  };
  const timeline = encodeTimeline({
    endNs: 80e9, names: hostile,
    lanes: [{ kind: 'thread', name: hostile[1], rows: [hostile.map((_, i) => ({ start: i * 7e9, end: i * 7e9 + 6e9, name: i }))] }],
    marks: hostile.map((_, i) => [i * 1e9, i]),
    details: [[0, 0, 0, { [hostile[0]]: hostile[1] }]],
  });
  const { page, seen, close } = await open(browser, writePage('hostile', { report, timeline }));
  await ready(page);
  const b = await box(page);
  await page.mouse.move(b.x + gutter + 20, b.y + 28);
  await page.waitForSelector('.tip');
  await page.mouse.click(b.x + gutter + 20, b.y + 28);
  await page.fill('input.search', '<');
  await settled(page);
  assert.equal(await page.evaluate(() => window.owned), undefined);
  assert.equal(seen.dialogs, 0);
  assert.deepEqual(seen.problems, []);
  assert.equal(seen.requests.length, 1, seen.requests.join());
  assert.equal(await page.locator('main img, main svg, main script').count(), 0);
  assert.ok(!(await page.evaluate(() => document.documentElement.scrollWidth > innerWidth)), 'a long name widened the page');
  await close();
});

test('a policy forbids everything from elsewhere', async (browser) => {
  const { page, close } = await open(browser, basePath);
  const blocked = await page.evaluate(async () => {
    const seen = [];
    document.addEventListener('securitypolicyviolation', (e) => seen.push(e.effectiveDirective));
    await fetch('https://example.invalid/x').catch(() => 0);
    const s = document.createElement('script');
    s.textContent = 'window.owned = 1';
    document.body.append(s);
    await new Promise((done) => setTimeout(done, 50));
    return [seen, window.owned];
  });
  assert.ok(blocked[0].includes('connect-src') && blocked[0].some((d) => d.startsWith('script-src')), JSON.stringify(blocked));
  assert.equal(blocked[1], undefined);
  await close();
});

test('merged zones say so, and ranges are counted from bins', async (browser) => {
  const entries = Array.from({ length: 2000 }, (_, i) => ({ start: i * 1e6, end: i * 1e6 + 9e5, name: i % 2, count: 50, busy: 7e5, mixed: true }));
  const timeline = encodeTimeline({ endNs: 2e9, names: ['attn', 'mlp'], lanes: [{ kind: 'thread', name: 'main', mergeNs: 1048576, rows: [entries] }] });
  const { page, seen, close } = await open(browser, writePage('merged', { report: base.report, timeline }));
  await ready(page);
  assert.match(await page.locator('#range .note').innerText(), /100.000 zones\. Those shorter than 1\.05\u00a0ms were merged/);
  const b = await box(page);
  for (let i = 0; i < 12; i++) {
    await page.mouse.move(b.x + gutter + 300, b.y + 28);
    await page.keyboard.press('w');
  }
  await settled(page);
  await page.mouse.move(b.x + gutter + 304, b.y + 29);
  assert.match(await page.locator('.tip').innerText(), /50 zones, each shorter than/);
  assert.deepEqual(seen.problems, []);
  await close();
});

test('another report can be laid beside this one', async (browser) => {
  const other = structuredClone(base.report);
  other.session_info.name = 'before';
  other.stage_analysis.stages.find((s) => s.name === 'load_model').total_s = 11.3;
  const { page, close } = await open(browser, basePath);
  const chooser = page.waitForEvent('filechooser');
  await page.locator('button', { hasText: 'Compare' }).click();
  await (await chooser).setFiles(writeFile('before.json', JSON.stringify(other)));
  const row = page.locator('.card.table tr', { hasText: 'load_model' });
  await page.waitForSelector('.card.table .worse');
  assert.match(await row.innerText(), /11\.30\u00a0s[\s\S]*\+10\.00\u00a0s/);
  await close();
});

test('the generation selector cuts to one video', async (browser) => {
  const { page, close } = await open(browser, basePath);
  await ready(page);
  await page.locator('header select').selectOption('0');
  const r = await range(page);
  assert.ok(Math.abs(r.from - 30.6e9) < 1e6, String(r.from));
  await page.locator('header select').selectOption('-1');
  assert.equal((await range(page)).from, 0);
  await close();
});

test('every control can be reached by keyboard', async (browser) => {
  const { page, close } = await open(browser, basePath);
  await ready(page);
  const reached = new Set();
  for (let i = 0; i < 60; i++) {
    await page.keyboard.press('Tab');
    reached.add(await page.evaluate(() => document.activeElement?.tagName + '.' + (document.activeElement?.className ?? '')));
  }
  for (const wanted of ['A.skip', 'SELECT.', 'BUTTON.theme', 'BUTTON.link', 'CANVAS.']) assert.ok(reached.has(wanted), `${wanted} not in ${[...reached].join(' ')}`);
  await close();
});

test('print keeps the tables and drops the controls', async (browser) => {
  const { page, close } = await open(browser, basePath, { colorScheme: 'dark' });
  await ready(page);
  await page.emulateMedia({ media: 'print' });
  assert.equal(await page.locator('.contents').isVisible(), false);
  assert.equal(await page.locator('#stages table').isVisible(), true);
  assert.equal(await page.evaluate(() => getComputedStyle(document.body).backgroundColor), 'rgb(255, 255, 255)');
  assert.equal(await page.evaluate(() => getComputedStyle(document.documentElement).getPropertyValue('--accent').trim()), '#2f6fd6');
  const corner = () => page.locator('.timeline canvas').first().evaluate((c) => c.getContext('2d').getImageData(2, 2, 1, 1).data[0]);
  await page.waitForTimeout(300);
  assert.ok((await corner()) > 200, 'the timeline is drawn for paper');
  await page.emulateMedia({ media: 'screen', colorScheme: 'dark' });
  await page.waitForTimeout(300);
  assert.ok((await corner()) < 100, 'and for the screen again');
  await close();
});

test('paper shows pictures that were never scrolled to', async (browser) => {
  const { page, close } = await open(browser, basePath);
  await ready(page);
  assert.equal(await page.locator('#calls .icicle *').count(), 0, 'not counted before it is seen');
  const drawn = await page.evaluate(async () => {
    dispatchEvent(new Event('beforeprint'));
    await Promise.resolve();
    const canvases = [...document.querySelectorAll('.part .chart canvas')].filter((c) => c.width && c.height);
    const blank = (c) => !c.getContext('2d').getImageData(0, 0, c.width, c.height).data.some(Boolean);
    return { charts: canvases.length, blank: canvases.filter(blank).length };
  });
  assert.ok(drawn.charts > 3);
  assert.equal(drawn.blank, 0);
  await page.waitForFunction(() => document.querySelectorAll('#calls .icicle *').length > 3);
  await close();
});

test('a run that was killed says so, and how', async (browser) => {
  const killed = fixture();
  killed.report.recording = { ...killed.report.recording, complete: false, dropped_count: 0 };
  killed.report.session_info = { ...killed.report.session_info, outcome: 'killed by SIGKILL (out of memory)' };
  const { page, close } = await open(browser, writePage('killed', killed));
  await ready(page);
  assert.equal(await page.locator('header .run-state.killed').innerText(), 'killed by SIGKILL (out of memory)');
  await close();
  const fine = await open(browser, basePath);
  await ready(fine.page);
  assert.equal(await fine.page.locator('header .run-state').count(), 0, 'one that ended well says nothing');
  await fine.close();
});

test('an empty page says what it lacks', async (browser) => {
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(`file://${writeFile('empty.html', (await import('./harness.mjs')).template())}`);
  await page.waitForFunction(() => document.getElementById('page').textContent.length > 0);
  assert.match(await page.locator('#page').innerText(), /no report inside/);
  await context.close();
});

test('a diff leads with the whole, then the stages by their share in the change', async (browser) => {
  const report = {
    schema: 'strobe.diff/1', base: ['/data/runs/before'], new: ['<b>after'], per_generation: false,
    runs: [{ side: 'base', label: '/data/runs/before', id: '5f0c', host: 'node-7', start_time: '2026-11-14T18:02:11+00:00', command: 'python wan.py --steps 50', tags: 'model=wan seed=42' }, { side: 'new', label: '<b>after', host: 'node-8', command: 'python wan.py --steps 40 <i>' }],
    total: { metric: 'wall_s', unit: 's', base_value: 281.96, new_value: 299.88, delta_value: 17.92, change_ratio: 0.0636, verdict: 'worse', words: 'slower', tone: 'worse', basis: 'tolerance' },
    explanations: ['disk reads fell <i>2.1</i> -> 0.03 GB/s'],
    stages: [
      { name: 'unet', base_s: 116.33, new_s: 129.65, delta_s: 13.32, change_ratio: 0.115, contribution_s: 13.32, verdict: 'worse', words: 'slower', tone: 'worse', base_count: 1, new_count: 1 },
      { name: 'raft', base_s: 14.02, new_s: 10.05, delta_s: -3.97, change_ratio: -0.283, contribution_s: -3.97, verdict: 'better', words: 'faster', tone: 'better', base_count: 1, new_count: 1 },
    ],
    metrics: [{ metric: 'peak_memory_bytes', base_value: 8.2 * 2 ** 30, new_value: 23.8 * 2 ** 30, change_ratio: 1.9, verdict: 'worse', words: 'worse', tone: 'worse' }, { metric: 'fps', base_value: 4.2, verdict: 'vanished', words: 'no longer measured', tone: 'none' }],
    configuration: [{ scope: 'tag', key: 'iters', base: '12', new: '6' }],
  };
  const { page, seen, close } = await open(browser, writePage('diff', { report, kind: 'diff' }));
  assert.match(await page.locator('.figures').innerText(), /281\.96\u00a0s[\s\S]*299\.88\u00a0s[\s\S]*\+17\.92\u00a0s/);
  assert.equal(await page.locator('h1').innerText(), 'before → <b>after');
  assert.match((await page.locator('#runs').innerText()).replace(/[\u00a0\u2011]/g, (c) => (c === '\u2011' ? '-' : ' ')), /Before[\s\S]*2026-11-14 18:02:11[\s\S]*node-7[\s\S]*--steps 50[\s\S]*model=wan seed=42[\s\S]*Now[\s\S]*node-8[\s\S]*--steps 40 <i>/);
  assert.match(await page.locator('#stages tbody tr').first().innerText(), /unet[\s\S]*slower/);
  const bars = await page.locator('.balance i').evaluateAll((all) => all.map((b) => b.getBoundingClientRect().width > 1 && b.getBoundingClientRect().height > 1));
  assert.deepEqual(bars, [true, true]);
  assert.match(await page.locator('#metrics').innerText(), /8\.2\u00a0GB[\s\S]*23\.8\u00a0GB[\s\S]*no longer measured/);
  assert.equal(await page.locator('#metrics .better').count(), 0, 'what is not measured is not better');
  assert.deepEqual(seen.problems, []);
  await close();
});

test('an aggregate shows ranks as lanes and stage by rank as a heat map', async (browser) => {
  const rank = (i) => ({ report_index: i, rank: i, run: `rank_${i}`, duration_s: i === 2 ? 14 : 10, work_s: 9, straggler: i === 2, slow_stage: 'denoise', complete: true, clock: {}, host: 'node-7', ...(i === 2 ? { behind_s: 4, works_more: true, slow_stage_s: 12, slow_stage_median_s: 8, last_count: 30, caused_wait_s: 3.5 } : {}) });
  const report = {
    schema: 'strobe.aggregate/1', report_count: 4, rank_count: 4, host_count: 1, missing_ranks: [3], left_out: [{ run: 'rank_3', why: 'not a recording' }],
    metrics: { wall_s: { count: 4, min_value: 10, min_rank: 0, max_value: 14, max_rank: 2, avg_value: 11, median_value: 10, sum_value: 44 } },
    reports_summary: [0, 1, 2].map(rank), straggler_count: 1, straggler_indexes: [2],
    stages: [{ name: 'denoise', count: 4, total_s: { min_value: 8, max_value: 12, max_rank: 2, avg_value: 9 }, imbalance_ratio: 0.33 }],
    heat_map: { ranks: [0, 1, 2], stages: [{ name: 'denoise', median_s: 10, total_s: [8, null, 12] }] },
  };
  const { page, seen, close } = await open(browser, writePage('aggregate', { report, kind: 'aggregate' }));
  assert.match((await page.locator('.lead').innerText()).replaceAll('\u00a0', ' '), /^rank 2 on node-7 holds the others up: 4\.00 s more work than the median rank, most of it in denoise \(12\.00 s against 8\.00 s\)\. The others waited 3\.50 s for it in 30 collectives\.$/);
  assert.equal(await page.locator('.rank').count(), 3);
  assert.equal(await page.locator('.rank .late').count(), 1);
  assert.equal(await page.locator('.heat .row:not(.head) .cells i').count(), 3);
  assert.equal(await page.locator('.heat .none').count(), 1);
  assert.deepEqual(await page.locator('.heat .row:not(.head) .cells i').allInnerTexts(), ['−20\u00a0%', '', '+20\u00a0%']);
  assert.match(await page.locator('main').innerText(), /missing: 3[\s\S]*not a recording/);
  assert.deepEqual(seen.problems, []);
  await close();

  report.rank_lanes = { bin_s: 2.5, wait_tenths: ['afk.', 'aaa.', 'aa??'] };
  const timed = await open(browser, writePage('aggregate-lanes', { report, kind: 'aggregate' }));
  const strengths = await timed.page.locator('.rank canvas').first().evaluate((c) => [...c.getContext('2d').getImageData(0, 0, 4, 1).data].filter((_, i) => i % 4 === 3));
  assert.ok(strengths[0] === 255 && strengths[1] < 200 && strengths[2] < strengths[1] && strengths[3] === 0, `${strengths}`);
  assert.match(await timed.page.locator('.rank.axis').innerText(), /10\.00\u00a0s/);
  assert.deepEqual(timed.seen.problems, []);
  await timed.close();
});

await run();
