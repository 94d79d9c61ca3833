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

test('a moment is one line of the list, on a tablet too', async (browser) => {
  const { page, close } = await open(browser, writePage('runs-narrow', { report: { runs: [run(3), run(2, { command: 'python wan.py' })] }, kind: 'runs' }), { wait: 'tbody tr', viewport: { width: 768, height: 1024 } });
  const cell = page.locator('tbody td', { hasText: '10:00:00' }).first();
  assert.ok((await cell.evaluate((td) => td.firstChild.getClientRects?.().length ?? (() => { const r = document.createRange(); r.selectNodeContents(td); return r.getClientRects().length; })())) === 1);
  await close();
});

test('at 1280 px the list of runs ends inside the window', async (browser) => {
  const full = { frames: 80, steps: 50, command: 'python wan.py --steps 50 --prompt "a cat surfing at sunset" --size 832x480', commit: 'c0ffee0123456789c0ffee0123456789c0ffee01' };
  const runs = [3, 2].map((i) => run(i, { ...full, id: `wan-2026111${i}-100000-4242`, rank_count: 8, state: 'killed' }));
  const { page, close } = await open(browser, writePage('runs-laptop', { report: { runs }, kind: 'runs' }), { wait: 'tbody tr', viewport: { width: 1280, height: 800 } });
  assert.ok(await page.locator('.scroll').evaluate((e) => e.scrollWidth <= e.clientWidth));
  await close();
});

test('on a phone a run says how long, how fast and how it ended, without a way sideways', async (browser) => {
  const command = `python wan.py ${'--prompt a_cat '.repeat(6)}`;
  const { page, close } = await open(browser, writePage('runs-phone', { report: { runs: [run(3, { frames: 82, command }), run(2, { state: 'killed', name: 'a_name_that_has_no_place_to_break_and_goes_on_for_sixty' })] }, kind: 'runs' }), { wait: 'tbody tr', viewport: { width: 390, height: 844 } });
  assert.ok(!(await page.evaluate(() => [document.documentElement, ...document.querySelectorAll('.scroll')].some((e) => e.scrollWidth > e.clientWidth))), 'nothing goes on to the right');
  for (const words of ['40.00', 'killed', '30.00', '2.05', 'gpu7', 'wan-3']) {
    const box = await page.locator('tbody td', { hasText: words }).first().boundingBox();
    assert.ok(box && box.x >= 0 && box.x + box.width <= 390, `${words} ${JSON.stringify(box)}`);
  }
  await page.locator('th button', { hasText: 'duration' }).click();
  await page.locator('th button', { hasText: 'duration' }).click();
  assert.match(plain(await page.locator('tbody tr').first().innerText()), /killed/, 'and it sorts');
  await close();
});

test('live, killed and a lost server differ in more than their words', async (browser) => {
  const { page, close } = await open(browser, writePage('states', { report: { runs: [run(3, { state: 'live', live: true }), run(2, { state: 'killed' })] }, kind: 'runs' }), { wait: 'tbody tr' });
  await page.waitForSelector('header .run-state.lost'); // a file has no server
  const looks = await page.evaluate(() => {
    document.querySelector('tbody').insertAdjacentHTML('beforeend', '<tr><td><span class="run-state live">live</span></td></tr>'); // after the loss it is "was live"
    return ['live', 'killed', 'lost'].map((state) => {
      const e = document.querySelector(`.run-state.${state}`);
      const style = getComputedStyle(e);
      return { colour: style.color, shape: `${style.borderStyle} ${getComputedStyle(e, '::before').content}` };
    });
  });
  assert.equal(new Set(looks.map((l) => l.colour)).size, 3, JSON.stringify(looks));
  assert.equal(new Set(looks.map((l) => l.shape)).size, 3, JSON.stringify(looks));
  await close();
});
