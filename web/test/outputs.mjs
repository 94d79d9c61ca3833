// What runs made, beside how fast they were: diff and journal.
import { assert, open, test, writePage } from './harness.mjs';

const dot = 'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNoAAAAggCBd81ytgAAAABJRU5ErkJggg==';
const diff = (outputs, more) => ({
  schema: 'strobe.diff/1', base: ['a'], new: ['b'], runs: [], per_generation: false, explanations: [], stages: [], metrics: [], configuration: [], outputs, ...more,
  total: { metric: 'wall_s', unit: 's', base_value: 10, new_value: 5, delta_value: -5, change_ratio: -0.5, verdict: 'better', words: 'faster', tone: 'better', basis: 'tolerance' },
});

test('a diff shows the frames that differ most, and that a speed-up changed the output', async (browser) => {
  const frame = { frame_index: 70, psnr_db: 32.7, ssim_ratio: 0.9485, base_picture: dot, new_picture: dot, difference_picture: dot };
  const changed = { name: '<b>out.mp4', verdict: 'changed', words: 'changed: PSNR 33.5 dB', psnr_db: 33.5, worst_frames: [frame] };
  const { page, seen, close } = await open(browser, writePage('outputs', { report: diff([changed, { name: 'mask.mp4', verdict: 'identical', words: 'identical' }], { output_verdict: 'faster, but the output changed' }), kind: 'diff' }));
  assert.match(await page.locator('.figures').innerText(), /faster, but the output changed/);
  assert.match(await page.locator('#outputs').innerText(), /<b>out\.mp4 changed: PSNR 33\.5 dB[\s\S]*frame 70: before, now[\s\S]*PSNR 32\.7 dB, SSIM 0\.9485[\s\S]*mask\.mp4 identical/);
  const images = await page.locator('#outputs img').evaluateAll((all) => all.map((i) => [i.alt, i.naturalWidth]));
  assert.deepEqual(images, [['frame 70, before', 1], ['frame 70, now', 1], ['frame 70, where it differs', 1]]);
  assert.equal(await page.locator('#outputs .worse').count(), 1, 'only what changed stands out');
  assert.deepEqual(seen.problems, []);
  await close();
});

test('a diff without outputs has no word about them', async (browser) => {
  const { page, close } = await open(browser, writePage('no-outputs', { report: diff(undefined), kind: 'diff' }));
  assert.equal(await page.locator('#outputs').count(), 0);
  await close();
});

const stage = (name, code, total_s) => ({ name, code, key: `[${code}]`, total_s });
const step = (title, total_s, more) => ({ title, run: `${title}.log`, total_s, wall_s: total_s, stages: [stage('RAFT', '3b', total_s / 3), stage('UNet', '4f.2', total_s / 2), stage('seldom', '9', 0.001)], ...more });
const plain = (rows) => rows.map((r) => r.map((c) => c.replaceAll('\u00a0', ' ')));
const cells = (table) => table.locator('tr').evaluateAll((rows) => rows.map((r) => [...r.children].map((c) => c.innerText.trim())));

test('a journal sets each step against the one before and against the baseline', async (browser) => {
  const report = {
    schema: 'strobe.journal/1', per_generation: false,
    steps: [
      step('baseline', 300, { fps: 4.4, rss_peak_bytes: 2 ** 30, commit: 'abc1234' }),
      step('RAFT 12 → 8', 240, { delta_before_s: -60, delta_base_s: -60, step_speedup_ratio: 1.25, speedup_ratio: 1.25, output_verdict: 'identical', output_words: 'identical' }),
      step('<i>one step', 150, { delta_before_s: -90, delta_base_s: -150, step_speedup_ratio: 1.6, speedup_ratio: 2, output_verdict: 'changed', output_words: 'changed: PSNR 31.2 dB', psnr_db: 31.24 }),
    ],
  };
  const { page, seen, close } = await open(browser, writePage('journal', { report, kind: 'journal' }), { wait: 'table' });
  assert.equal(await page.locator('h1').innerText(), 'baseline → <i>one step');
  const [head, base, first, second] = plain(await cells(page.locator('table').first()));
  const at = (row, name) => row[head.findIndex((h) => h.startsWith(name))];
  assert.deepEqual([at(base, 'total'), at(first, 'total'), at(second, 'total')], ['300.00 s', '240.00 s', '150.00 s']);
  assert.deepEqual([at(base, 'vs before'), at(first, 'vs before'), at(second, 'vs before')], ['', '−60.00 s (−20.0 %)', '−90.00 s (−37.5 %)']);
  assert.equal(at(second, 'vs baseline'), '−150.00 s (−50.0 %)');
  assert.equal(at(second, 'speed-up'), '2.00×');
  assert.deepEqual([at(base, 'output'), at(first, 'output'), at(second, 'output')], ['', 'same', '31.2 dB']);
  const stages = plain(await cells(page.locator('table').nth(1)));
  assert.equal(stages.length, 3, 'a head and two stages: what is below 1 % has no row');
  assert.match(stages[1].join(' | '), /RAFT.*100\.00 s \| 80\.00 s \(−20\.00 s\) \| 50\.00 s \(−30\.00 s\)/);
  assert.deepEqual(seen.problems, []);
  await close();
});

test('on a phone the words above the tables of a journal are whole', async (browser) => {
  const report = { schema: 'strobe.journal/1', per_generation: false, steps: [step('baseline', 300, {}), step('RAFT 12 → 8 iterations', 240, { delta_before_s: -60, delta_base_s: -60, speedup_ratio: 1.25 })] };
  const { page, close } = await open(browser, writePage('journal-phone', { report, kind: 'journal' }), { wait: 'table', viewport: { width: 390, height: 844 } });
  const ends = await page.locator('caption').evaluateAll((all) => all.map((c) => [c, ...c.querySelectorAll('button')].map((e) => e.getBoundingClientRect().right)).flat());
  assert.ok(ends.length === 6 && ends.every((x) => x <= 390), ends.join());
  await close();
});

test('an empty journal says so', async (browser) => {
  const { page, close } = await open(browser, writePage('journal-empty', { report: { schema: 'strobe.journal/1', per_generation: false, steps: [] }, kind: 'journal' }), { wait: 'h1' });
  assert.equal(await page.locator('h1').innerText(), 'An empty journal');
  await close();
});

test('sides that are written alike are told apart by name and begin; a run with itself says so', async (browser) => {
  const run = (side, name) => ({ side, label: 'last', name, start_time: '2026-11-16T10:14:00Z' });
  const title = async (id, runs, base = 'last', now = 'last') => {
    const { page, close } = await open(browser, writePage(id, { report: { ...diff(undefined), base: [base], new: [now], runs }, kind: 'diff' }));
    const words = await page.locator('h1').innerText();
    await close();
    return words;
  };
  assert.match(await title('diff-itself', [run('base', 'wan'), run('new', 'wan')]), /^wan, .*2026.*, with itself$/);
  assert.match(await title('diff-alike', [run('base', 'wan'), run('new', 'hunyuan')]), /^wan, .* → hunyuan, /);
  assert.match(await title('diff-typed', [run('base', 'wan'), run('new', 'hunyuan')], 'last~1', './b'), /^wan, .* → hunyuan, /, 'not as they were typed');
});
