// Opening the page, and what no name and no network may do to it.
import { assert, open, ready, settled, template, test, writeFile, writePage } from './harness.mjs';
import { encodeTimeline } from './encode.mjs';
import { basePath, box, gutter } from './base.mjs';
import { fixture } from './fixture.mjs';

const hostile = ['<script>window.owned=1</script>', '<img src=x onerror="window.owned=1">', '\u202eesrever', '🎬🎞️ emoji', "'\"><svg/onload=window.owned=1>", 'x'.repeat(10_000), '</script><script>window.owned=1</script>', 'line\u2028sep', '\u0000\u0007bell', '{{constructor}}', '__proto__'];

test('opens from a file with no error and no request', async (browser) => {
  const { page, seen, close } = await open(browser, basePath);
  await ready(page);
  assert.deepEqual(seen.problems, []);
  assert.deepEqual(seen.requests.filter((u) => !u.startsWith('file://')), []);
  assert.equal(seen.requests.length, 1);
  assert.equal(await page.title(), 'wan_t2v · strobe');
  await close();
});

test('an empty page says what it lacks', async (browser) => {
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(`file://${writeFile('empty.html', (await import('./harness.mjs')).template())}`);
  await page.waitForFunction(() => document.getElementById('page').textContent.length > 0);
  assert.match(await page.locator('#page').innerText(), /This page has no report\./);
  await context.close();
});

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

test('the code of the page is at most 250 KB', async () => {
  const bytes = Buffer.byteLength(template());
  assert.ok(bytes <= 250_000, `${bytes} bytes`);
});
