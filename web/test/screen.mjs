// The first screen: what it holds, and what it says of runs that have little.
import { assert, open, ready, test, writePage } from './harness.mjs';
import { encodeTimeline } from './encode.mjs';
import { base, basePath } from './base.mjs';
import { fixture, small } from './fixture.mjs';

const lowest = (page) => page.locator('.card.right .fill > *').evaluateAll((all) => Math.max(...all.map((e) => e.getBoundingClientRect().bottom)));

test('the first screen holds figures, findings, stages, timeline and charts', async (browser) => {
  const { page, close } = await open(browser, basePath);
  await ready(page);
  assert.equal(await page.locator('.figure').count(), 6);
  assert.deepEqual(await page.locator('.card.right figcaption b').allInnerTexts(), ['GPU utilisation', 'GPU memory used', 'CPU usage', 'Disk throughput']);
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

test('figures are whole on a small laptop', async (browser) => {
  const report = structuredClone(base.report);
  report.verdict = { ...report.verdict, bound_by: 'communication' };
  const { page, close } = await open(browser, writePage('small', { report }), { viewport: { width: 1024, height: 768 } });
  assert.match(await page.locator('.figures').innerText(), /communication/);
  const cut = await page.locator('.figure .value').evaluateAll((all) => all.filter((v) => v.scrollWidth > v.clientWidth).map((v) => v.textContent));
  assert.deepEqual(cut, []);
  await close();
});

test('legends show every name, at every width', async (browser) => {
  const long = ['time_embedding_projection', 'cross_attention_text_branch', 'self_attention_spatial', 'feed_forward_temporal', 'patchify_and_position', 'unpatchify_and_scale', 'classifier_guidance_merge', 'scheduler_multistep_step'];
  const page_ = small({ memory_over_time: [{ device_index: 0, t_s: [0, 0.5, 1], peak_index: 1, stages: ['', '', ''], layers: long.slice(0, 6).map((component) => ({ component, held_mb: [10, 20, 15] })), sum_mb: [60, 120, 90] }] });
  page_.report.stage_analysis.parts = long.map((name, i) => ({ kind: 'stage', name, stage_index: i % 3, part_s: 0.1, wall_ratio: 0.12 }));
  for (const width of [390, 768, 1280]) {
    const { page, close } = await open(browser, writePage('legends', page_), { viewport: { width, height: 800 } });
    await ready(page);
    const [have, need] = await page.locator('.timebar .legend').evaluate((e) => [e.getBoundingClientRect().bottom, Math.max(...[...e.children].map((c) => c.getBoundingClientRect().bottom))]);
    assert.ok(need <= have + 1, `${width}: the last name ends at ${need}, the legend at ${have}`);
    const caption = page.locator('#memory .chart figcaption, #held .chart figcaption').first();
    await caption.scrollIntoViewIfNeeded();
    const cut = await caption.locator('.key').evaluateAll((all) => all.filter((k) => k.scrollWidth > k.clientWidth + 1 || k.getBoundingClientRect().right > innerWidth).map((k) => k.textContent));
    assert.deepEqual(cut, [], `${width}`);
    await close();
  }
});

test('a memory axis has round numbers in the unit it names', async (browser) => {
  const t = [0, 0.5, 1];
  const { page, close } = await open(browser, writePage('memory-axis', small({ first_charts: [{ source: 'process', columns: ['rss_mb'] }], cpu_metrics: { series: { t_s: t, usage_percent: [1, 2, 3] }, process: { t_s: t, rss_mb: [20_000, 70_000, 64_000] } } })));
  await ready(page);
  await page.evaluate(() => {
    window.said = [];
    const write = CanvasRenderingContext2D.prototype.fillText;
    CanvasRenderingContext2D.prototype.fillText = function (text, ...rest) {
      window.said.push(text);
      return write.call(this, text, ...rest);
    };
  });
  await page.keyboard.press('w');
  await page.waitForFunction(() => window.said.some((s) => /GB/.test(s)));
  const labels = await page.evaluate(() => [...new Set(window.said.filter((s) => /GB/.test(s)))]);
  assert.ok(labels.every((l) => /^\d+\u2009GB$/.test(l)), labels.join());
  await close();
});

test('a cost says the price that it is reckoned with', async (browser) => {
  const { report, timeline } = fixture();
  report.summary = { ...report.summary, video_gpu_cost: 0.0042, video_energy_wh: 1.5 };
  report.system = { facts: {}, ...report.system, settings: { gpu_cost_per_hour: '2.5' } };
  const { page, close } = await open(browser, writePage('cost', { report, timeline }));
  await ready(page);
  assert.match((await page.locator('.figures').innerText()).replace(/\u00a0/g, ' '), /GPU cost per video\s+0\.0042\s+at 2\.5 an hour; 1\.50 Wh/);
  await close();
});

test('stages that are all short stand in the short table', async (browser) => {
  const page_ = small();
  for (const s of page_.report.stage_analysis.stages) Object.assign(s, { total_s: s.total_s / 1e3, wall_ratio: s.wall_ratio / 1e3 });
  const { page, close } = await open(browser, writePage('all-short', page_));
  assert.equal(await page.locator('.card.table tbody tr').count(), 3);
  await close();
});
