// What is shown fits where it is shown, in one unit and in words, at every width.
import { assert, open, ready, settled, test, writePage } from './harness.mjs';
import { fixture, small } from './fixture.mjs';

const WIDTHS = [1920, 1440, 1280, 768, 390];
const plain = (text) => text.replaceAll(/[\u00a0\u202f\u2009]/g, ' ');

// What a canvas writes, and where it ends: [text, left, right] of each.
const watchInk = () => {
  window.ink = [];
  const write = CanvasRenderingContext2D.prototype.fillText;
  CanvasRenderingContext2D.prototype.fillText = function (text, x, y, ...rest) {
    window.ink.push([String(text), x, x + this.measureText(text).width, this.canvas.clientWidth, y]);
    return write.call(this, text, x, y, ...rest);
  };
};

test('the ruler says seconds in seconds, all in one unit, and cuts no number off', async (browser) => {
  const { page, close } = await open(browser, writePage('ruler', fixture()));
  await page.addInitScript(watchInk);
  for (const [to, unit] of [[4190000000, 's'], [417000000, 'ms'], [900000, 'µs'], [900, 'ns']]) {
    await page.goto(`${page.url().split('#')[0]}#view=0_${to}`);
    await page.reload();
    await ready(page);
    const ruler = (await page.evaluate(() => window.ink.filter(([text]) => /^[\d.]+\u00a0(s|ms|µs|ns)$/.test(text)))).filter(([, , , , y]) => y < 20);
    assert.ok(ruler.length > 3, `${ruler.length} labels up to ${to} ns`);
    assert.deepEqual([...new Set(ruler.map(([text]) => text.split('\u00a0')[1]))], [unit]);
    for (const [text, , right, width] of ruler) assert.ok(right <= width, `${text} ends at ${right} of ${width} px`);
  }
  await close();
});

test('key figures leave no hole and cut no note, with any number of them', async (browser) => {
  for (const width of WIDTHS)
    for (const make of [fixture, small]) {
      const verdict = { bound_by: 'cpu_launch', why: 'the GPU idles 95 % and 100 % of its kernels are short' };
      const { page, close } = await open(browser, writePage('figures', make({ verdict })), { viewport: { width, height: 900 } });
      await settled(page);
      const { box, all, cut } = await page.evaluate(() => {
        const rect = (e) => e.getBoundingClientRect();
        const notes = [...document.querySelectorAll('.figure .note')];
        return { box: rect(document.querySelector('.figures')), all: [...document.querySelectorAll('.figure')].map((e) => rect(e).toJSON()), cut: notes.filter((e) => e.scrollHeight > e.clientHeight + 1 || e.scrollWidth > e.clientWidth + 1).map((e) => e.textContent) };
      });
      const last = all[all.length - 1];
      assert.ok(Math.abs(last.right - box.right) <= 2, `${all.length} figures at ${width} px: the last row ends at ${last.right} of ${box.right}`);
      assert.deepEqual(cut, [], `at ${width} px`);
      await close();
    }
});

test('what is measured is not called its own cause', async (browser) => {
  const finding = (id, cause) => ({ id, category: 'stages', priority: 'low', issue: id, suggestion: 'look', evidence: 'seen', effort: '< 1 day', cause, confidence: 'likely' });
  const recommendations = [finding('a', 'not looked for: this only reports what was measured'), finding('b', 'cause not found: sample it'), finding('c', 'pipeline.py:12')];
  const { page, close } = await open(browser, writePage('causes', small({ recommendations })));
  await ready(page);
  assert.deepEqual(await page.locator('#advice .cause').allInnerTexts(), ['cause not found: sample it', 'pipeline.py:12 (likely)']);
  await close();
});

test('rates and parts of a video have names in words', async (browser) => {
  const { report, timeline } = fixture();
  report.diffusion_analysis.rates.push({ scope: 'denoise_vae', wall_s: 90, wall_fps: 0.9 });
  report.diffusion_analysis.split.push({ part: 'text_encode', self_s: 1.2, wall_ratio: 0.01 });
  const { page, close } = await open(browser, writePage('worded', { report, timeline }));
  await ready(page);
  const text = await page.locator('#steps').innerText();
  assert.match(text, /denoise and VAE/);
  assert.match(text, /end to end/);
  assert.match(text, /text encode/);
  assert.doesNotMatch(text, /denoise_vae|end_to_end|text_encode/);
  await close();
});

test('unattributed time is the same in the bar and over the table', async (browser) => {
  const { report, timeline } = fixture();
  report.stage_analysis.parts.unshift({ kind: 'startup', part_s: 1, wall_ratio: 0.01 });
  report.stage_analysis.parts.find((p) => p.kind === 'unattributed').part_s = 0.7;
  const { page, close } = await open(browser, writePage('unattributed-once', { report, timeline }));
  await ready(page);
  assert.match(plain(await page.locator('.legend').first().innerText()), /unattributed 700 ms/);
  assert.match(plain(await page.locator('#stages .tools').innerText()), /unattributed 1\.70 s of [\d.]+ s, 1\.00 s of it in the start-up/);
  await close();
});

test('many sentences that nothing is wrong are one line until they are asked for', async (browser) => {
  const good = Array.from({ length: 6 }, (_, i) => ({ id: 'fast_enough', panel: 'stages', text: `'op ${i}' is fast enough`, good: true }));
  const { page, close } = await open(browser, writePage('good', small({ readings: [{ id: 'x', panel: 'stages', text: 'worth a look' }, ...good] })));
  await ready(page);
  assert.equal(await page.locator('#stages .readings li:visible').count(), 1);
  await page.locator('#stages summary').click();
  assert.equal(await page.locator('#stages .readings li:visible').count(), 7);
  await close();
});

test('the first timeline shows its charts whole on narrow screens, with no empty room below', async (browser) => {
  for (const width of [768, 390])
    for (const [name, page_] of [['charts', fixture()], ['table', small()]]) {
      const { page, close } = await open(browser, writePage(`first-${name}`, page_), { viewport: { width, height: 900 } });
      await ready(page);
      const seen = await page.evaluate(() => {
        const box = document.querySelector('.card.right').getBoundingClientRect();
        const inside = [...document.querySelectorAll('.card.right .chart, .card.right .brief, .card.right .timeline')].map((e) => e.getBoundingClientRect().bottom);
        const title = document.querySelector('.brief h2')?.getBoundingClientRect();
        const words = document.createRange();
        if (title) words.selectNodeContents(document.querySelector('.brief h2'));
        const copy = document.querySelector('.brief .takeaway')?.getBoundingClientRect();
        return { bottom: box.bottom, last: Math.max(...inside), title: title && Math.max(...[...words.getClientRects()].map((r) => r.right)), copy: copy?.left };
      });
      assert.ok(seen.last <= seen.bottom, `${name} at ${width} px: cut ${seen.last - seen.bottom} px`);
      assert.ok(seen.bottom - seen.last < 60, `${name} at ${width} px: ${seen.bottom - seen.last} px are empty`);
      if (seen.copy !== undefined) assert.ok(seen.title <= seen.copy, `the title ends at ${seen.title}, the buttons begin at ${seen.copy}`);
      await close();
    }
});

test('a text without times has no wall time on its page', async (browser) => {
  for (const no_times of [undefined, true]) {
    const made = small();
    made.report.session_info = { ...made.report.session_info, no_times };
    made.report.generations = undefined;
    const { page, close } = await open(browser, writePage(`no-times-${no_times}`, made));
    await ready(page);
    assert.equal(await page.locator('.figure', { hasText: 'wall time' }).count(), no_times ? 0 : 1);
    await close();
  }
});

test('search marks what it finds in the tables too', async (browser) => {
  const { page, close } = await open(browser, writePage('found', fixture()));
  await ready(page);
  await page.locator('.search').first().fill('VAE_dec');
  await settled(page);
  const marked = await page.locator('tr.found').evaluateAll((rows) => rows.map((r) => [r.closest('section').id, r.querySelector('td').innerText.trim(), getComputedStyle(r.querySelector('td')).textDecorationLine]));
  assert.ok(marked.some(([where]) => where === 'stages') && marked.some(([where]) => where === 'range'), `${marked}`);
  for (const [, name, line] of marked) assert.ok(/vae_decode/.test(name) && line === 'underline', `${name} ${line}`);
  await page.locator('.search').first().fill('');
  assert.equal(await page.locator('tr.found').count(), 0);
  await close();
});

test('on a phone no name and no mark of the first table of stages is cut', async (browser) => {
  const names = ['text_to_video', 'block', 'denoise', 'denoise_step', 'transformer'];
  const stages = names.map((name, i) => ({ name, depth: i, parent: names[i - 1], parent_index: i ? i - 1 : undefined, bottleneck: i === 4 || undefined, count: 40, total_s: 9.06, self_s: i === 4 ? 9 : 0, wall_ratio: 0.848, first_s: 0, end_s: 9.1 }));
  const { report, timeline } = small();
  const { page, close } = await open(browser, writePage('cut-marks', { report: { ...report, stage_analysis: { ...report.stage_analysis, stages } }, timeline }), { viewport: { width: 390, height: 844 } });
  const cut = await page.locator('.card.table .stage > span, .card.table .stage em').evaluateAll((all) => all.filter((e) => e.scrollWidth > e.clientWidth).map((e) => e.textContent));
  assert.deepEqual(cut, []);
  assert.match(await page.locator('.card.table').innerText(), /transformer\s+bottleneck/);
  await close();
});

test('on a phone the colour of a stage with a long name stands beside it', async (browser) => {
  const { report, timeline } = small();
  const stages = [{ name: 'aten::_scaled_dot_product_cudnn_attention_forward', depth: 0, count: 1, total_s: 9.06, self_s: 9, wall_ratio: 0.848, first_s: 0, end_s: 9.1 }];
  const { page, close } = await open(browser, writePage('long-stage', { report: { ...report, stage_analysis: { ...report.stage_analysis, stages } }, timeline }), { viewport: { width: 390, height: 844 } });
  const [colour, name] = await Promise.all(['i', 'span'].map((of) => page.locator(`.card.table .stage > ${of}:not(.fold)`).first().boundingBox()));
  assert.ok(colour.y > name.y && colour.y + colour.height < name.y + name.height, JSON.stringify([colour, name]));
  await close();
});
