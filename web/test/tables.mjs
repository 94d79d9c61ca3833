// The tables and panels below the first screen.
import { assert, open, ready, settled, test, writeFile, writePage } from './harness.mjs';
import { encodeTimeline } from './encode.mjs';
import { base, basePath, box, gutter } from './base.mjs';
import { fixture, small } from './fixture.mjs';

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
  const { page, close } = await open(browser, writePage('apart', small({ stage_analysis: { wall_s: 10, unattributed_s: 1, stages, same_name, by_name_index: [0, 1, 3], bottlenecks: ['loop'] } })));
  await ready(page);
  const states = (name) => page.locator('#stages tbody tr', { has: page.locator(`span[title="${name}"]`) }).locator('em.state').allInnerTexts();
  assert.deepEqual(await states('loop'), ['1 open, 2 cut, 3 recursive']);
  assert.deepEqual(await states('skip'), ['skipped (not asked for)']);
  assert.equal(await page.locator('.card.table tr', { hasText: 'not asked for' }).locator('em.state').getAttribute('title'), 'skipped (not asked for)', 'what is cut can be read');
  assert.match(await page.locator('#stages em.state').first().getAttribute('title'), /^1 call not ended .*; 2 calls cut at .*; 3 calls inside a call/);
  await page.locator('#stages input[type=checkbox]').check();
  assert.deepEqual(await states('walk'), ['1 cut, 1 500 recursive']);
  assert.match((await page.locator('#stages tbody tr', { hasText: 'walk' }).innerText()).replace(/\s+/g, ' '), /1\.00 s 0\.400 s.* 2\.00 s/);
  await close();
});

test('shares of functions are of the samples that are not those of threads that only waited', async (browser) => {
  const functions = [{ name: 'app.run', self_count: 177, total_count: 177, self_ratio: 0.22, total_ratio: 0.22 }];
  const r = { ...small().report, function_samples: { sample_count: 1259, functions, waiting_count: 510, waiting: [{ name: 'threading.Condition.wait', self_count: 510, total_count: 510, self_ratio: 1, total_ratio: 1 }] } };
  const { page, close } = await open(browser, writePage('functions-waiting', { report: r }));
  assert.match((await page.locator('#functions p').innerText()).replaceAll('\u202f', ''), /^Shares of the time of 749 sampled stacks, not measured times\. 510 more only waited: threading\.Condition\.wait\.$/);
  await close();
});

test('sampled functions have a panel of their own', async (browser) => {
  const { page, seen, close } = await open(browser, basePath);
  await ready(page);
  const panel = page.locator('#functions');
  assert.match(await panel.innerText(), /Shares of the time of 4.?000 sampled stacks/);
  assert.match(await panel.locator('tbody tr').first().innerText(), /prepare_latents[\s\S]*22\.5\u00a0%[\s\S]*211[\s\S]*wan\/pipeline\.py[\s\S]*generate/);
  assert.equal(await panel.locator('tbody tr').count(), 2);
  assert.deepEqual(seen.problems, []);
  await close();
  const without = await open(browser, writePage('no-functions', fixture({ function_samples: undefined })));
  await ready(without.page);
  assert.equal(await without.page.locator('#functions').count(), 0);
  await without.close();
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

test('nothing reads NaN or undefined on the full page', async (browser) => {
  const { page, close } = await open(browser, basePath);
  await ready(page);
  assert.doesNotMatch(await page.locator('main').innerText(), /NaN|undefined|\[object/);
  await close();
});

test('the whole run of merged zones has the tree of its stages, with their calls', async (browser) => {
  const timeline = encodeTimeline({ endNs: 1e9, names: ['step', 'attention'], lanes: [{ kind: 'thread', name: 'main', mergeNs: 1e6, rows: [[{ start: 0, end: 9e8, name: 0, count: 1000, busy: 9e8 }]] }] });
  const { page, close } = await open(browser, writePage('merged-tree', { report: small().report, timeline }));
  await ready(page);
  await page.locator('#calls').scrollIntoViewIfNeeded();
  await page.waitForSelector('.icicle button');
  assert.deepEqual((await page.locator('.icicle button').allInnerTexts()).sort(), ['attention', 'norm', 'step']);
  assert.match(await page.locator('.icicle button', { hasText: 'attention' }).getAttribute('title'), /400\u00a0ms, 44\.4/);
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

test('the keyboard reaches every row of every table, and what copies and saves it', async (browser) => {
  const { page, close } = await open(browser, basePath);
  await ready(page);
  const tables = page.locator('main table:not(.detail table)');
  assert.ok((await tables.count()) > 12);
  for (let i = 0; i < (await tables.count()); i++) {
    const rows = tables.nth(i).locator('tbody tr');
    const last = (await rows.count()) - 1;
    if (!(await tables.nth(i).locator('caption').count())) continue; // a list beside what is selected
    assert.equal(await tables.nth(i).locator('tbody tr[tabindex="0"]').count(), 1, 'one stop of the Tab key for each table');
    await rows.nth(0).focus();
    for (let down = 0; down < Math.min(last, 3); down++) await page.keyboard.press('ArrowDown');
    assert.ok(await rows.nth(Math.min(last, 3)).evaluate((r) => r === document.activeElement), `table ${i}: arrows walk the rows`);
    await page.keyboard.press('End');
    assert.ok(await rows.nth(last).evaluate((r) => r === document.activeElement), `table ${i}: End is the last row`);
  }
  assert.equal(await page.locator('.takeaway [tabindex="-1"], .png[tabindex="-1"]').count(), 0);
  await close();
});

test('functions below the phases of a pipeline are on the page as in the text', async (browser) => {
  const functions = [{ function: 'Scheduler.step', file: '/srv/diffusers/scheduler.py', line: 88, estimate_s: 0.5, share_ratio: 0.8 }];
  const report = { ...base.report, unattributed: { between_steps: { unattributed_s: 0.62, unattributed_ratio: 0.11, sample_count: 60, functions } } };
  const { page, close } = await open(browser, writePage('phases', { ...base, report }));
  const text = (await page.locator('#unattributed').innerText()).replace(/\u00a0/g, ' ');
  assert.match(text, /Between the steps[\s\S]*620 ms \(11\.0 %\) belong to between_steps[\s\S]*Scheduler\.step\s+diffusers\/scheduler\.py:88/);
  await close();
});
