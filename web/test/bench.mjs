// The page of strobe bench: every measurement, a sweep as lines, a ladder as rungs.
import { assert, open, settled, test, writePage } from './harness.mjs';

const plain = (text) => text.replace(/[\u00a0\u202f]/g, ' ');
const row = (name, median, more = {}) => ({ name, state: 'ok', count: 3, median_s: median, median_low_s: median * 0.95, median_high_s: median * 1.05, min_s: median * 0.9, max_s: median * 1.1, seconds_s: [median * 0.9, median, median * 1.1], ...more });
const bench = (rows) => ({ command: 'python wan.py', measured: 'processes', warmup_count: 1, iterations_count: 3, interrupted: false, target_fps: 16, rows });
const opened = (browser, name, rows) => open(browser, writePage(name, { report: bench(rows), kind: 'bench' }));

test('a sweep is drawn as lines over its number, one per other setting', async (browser) => {
  const rows = [1, 2, 4].flatMap((batch) => ['fp16', 'fp32'].map((dtype) => row(`batch=${batch} dtype=${dtype}`, batch * (dtype === 'fp16' ? 0.5 : 0.8), { values: { batch: String(batch), dtype }, frames_fps: 32 / batch })));
  const { page, seen, close } = await opened(browser, 'bench-sweep', [...rows, { name: 'batch=8 dtype=fp32', state: 'oom', reason: 'out of memory', count: 0, seconds_s: [], values: { batch: '8', dtype: 'fp32' } }]);
  assert.match(plain(await page.locator('.figures').innerText()), /fastest, median\s+500 ms\s+batch=1 dtype=fp16[\s\S]*did not run\s+1\s+out of memory/);
  assert.deepEqual(await page.locator('#sweep .key').allInnerTexts(), ['dtype=fp16', 'dtype=fp32', 'dtype=fp16', 'dtype=fp32']);
  const b = await page.locator('#sweep canvas').first().boundingBox();
  await page.mouse.move(b.x + 80 + (b.width - 80) * 0.35, b.y + 100);
  await settled(page);
  assert.match(plain(await page.locator('#sweep output').first().innerText()), /batch=2: 1\.00 s, 1\.60 s/);
  assert.match(await page.locator('#rows').innerText(), /out of memory/);
  assert.ok(!(await page.evaluate(() => document.documentElement.scrollWidth > innerWidth)));
  assert.deepEqual(seen.problems, []);
  await close();
});

test('a ladder shows every measurement on one axis, and what each rung gives', async (browser) => {
  const rows = [row('baseline', 2), row('compile', 1, { step_speedup_ratio: 2, total_speedup_ratio: 2 }), row('cache', 0.5, { step_speedup_ratio: 2, total_speedup_ratio: 4 })];
  const { page, seen, close } = await opened(browser, 'bench-ladder', rows);
  assert.equal(await page.locator('#measurements h2').innerText(), 'Ladder');
  assert.equal(await page.locator('#sweep').count(), 0);
  const dots = await page.locator('.dots').evaluateAll((all) => all.map((d) => [...d.querySelectorAll('i')].map((i) => i.getBoundingClientRect().x)));
  assert.deepEqual(dots.map((d) => d.length), [3, 3, 3]);
  assert.ok(dots[0][0] > dots[1][2] && dots[1][0] > dots[2][2], `${dots}`);
  assert.match(plain(await page.locator('#measurements').innerText()), /cache[\s\S]*500 ms, 2\.00× as fast as the one before, 4\.00× as fast as the first/);
  assert.deepEqual((await page.locator('.rank.axis .ticks span').allInnerTexts()).map(plain), ['0 s', '0.5 s', '1.0 s', '1.5 s', '2.0 s'], 'round times along the axis');
  assert.ok((await page.locator('#rows th').allInnerTexts()).some((h) => h.trim() === 'total speedup'), 'the head says what it is');
  assert.match(plain(await page.locator('#rows tbody tr').last().innerText()), /2\.00×[\s\S]*4\.00×/, 'a speed-up is a factor, not a share');
  assert.deepEqual(seen.problems, []);
  await close();
});
