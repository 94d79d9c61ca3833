// What leads to a place on the timeline: a click, a finding, a search, a gap, a video.
import { assert, open, range, ready, test, writePage } from './harness.mjs';
import { encodeTimeline } from './encode.mjs';
import { base, basePath, box, gutter } from './base.mjs';
import { small } from './fixture.mjs';

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

test("findings stand in the report's order, and what they save is an upper bound", async (browser) => {
  const { page, close } = await open(browser, basePath);
  const shown = await page.locator('#advice .findings > li .where').allInnerTexts();
  assert.deepEqual(shown.map((t) => base.report.recommendations.find((f) => t.includes(f.id))?.id), base.report.recommendations.map((f) => f.id));
  assert.deepEqual((await page.locator('#advice .gain').allInnerTexts()).map((t) => t.replace(/\u00a0/g, ' ')), ['up to 4.40 s', 'up to 15.10 s']);
  assert.doesNotMatch(await page.locator('main').innerText(), /saves/);
  await close();
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
