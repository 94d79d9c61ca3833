// The server's list of runs.
import { assert, open, test, writePage } from './harness.mjs';

const plain = (text) => text.replace(/[\u00a0\u202f]/g, ' ');
const run = (i, more = {}) => ({ id: `wan-${i}`, name: 'wan', host: 'gpu7', start_time: `2026-11-1${i}T10:00:00+00:00`, state: 'ended', live: false, bytes: 4096, pid: 42, duration_s: 10 * (i + 1), ...more });

test('the list of runs says how long, how fast and how each ended, and two are compared', async (browser) => {
  const runs = [run(3, { frames: 80, steps: 50, command: 'python wan.py --steps 50', commit: 'c0ffee0123456789c0ffee0123456789c0ffee01' }), run(2, { state: 'killed' }), run(1), { ...run(0), id: 'ltx-0', name: 'ltx' }];
  const { page, close } = await open(browser, writePage('runs', { report: { runs }, kind: 'runs' }), { wait: 'tbody tr' });
  const rows = (await page.locator('tbody tr').allInnerTexts()).map(plain);
  assert.match(rows[0], /wan[\s\S]*ended[\s\S]*40\.00 s[\s\S]*2\b[\s\S]*50/);
  assert.match(rows[0], /python wan\.py --steps 50[\s\S]*c0ffee012\b/);
  assert.match(rows[1], /killed/);
  assert.equal(await page.locator('tbody tr').nth(0).locator('.spark i').count(), 3, 'a bar for each run of this name so far');
  assert.equal(await page.locator('tbody tr').nth(3).locator('.spark').count(), 0, 'alone there is no trend');
  assert.match(await page.locator('.spark').first().getAttribute('aria-label'), /20\.00.s, 30\.00.s, 40\.00.s/);
  await page.locator('[aria-label="choose wan-1"]').check();
  await page.locator('[aria-label="choose wan-3"]').check();
  assert.match(await page.locator('a.link', { hasText: 'Compare' }).getAttribute('href'), /base=wan-1&new=wan-3/);
  await page.fill('[aria-label="filter runs"]', 'killed');
  assert.equal(await page.locator('tbody tr').count(), 1);
  await page.fill('[aria-label="filter runs"]', 'C0FFEE');
  assert.equal(await page.locator('tbody tr').count(), 1, 'a commit is found');
  await page.fill('[aria-label="filter runs"]', '--steps 50');
  assert.equal(await page.locator('tbody tr').count(), 1, 'a command is found');
  await page.fill('[aria-label="filter runs"]', '');
  await page.locator('th button', { hasText: 'duration' }).click();
  assert.match(plain(await page.locator('tbody tr').first().innerText()), /40\.00 s/);
  await close();
});

test('the list of runs has no column that no run fills', async (browser) => {
  const { page, close } = await open(browser, writePage('runs-bare', { report: { runs: [run(1)] }, kind: 'runs' }), { wait: 'tbody tr' });
  assert.deepEqual((await page.locator('th').allInnerTexts()).map((h) => h.trim()), ['', 'run', 'state', 'started', 'duration', 'host', 'process', 'size', 'folder']);
  await close();
});
