// The pages of two runs and of many ranks.
import { assert, open, settled, test, writePage } from './harness.mjs';
import { jobPage } from './kinds.mjs';

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
    metrics: [{ metric: 'gpu_memory_peak_bytes', label: 'Peak GPU memory', base_value: 8.2 * 2 ** 30, new_value: 23.8 * 2 ** 30, change_ratio: 1.9, verdict: 'worse', words: 'worse', tone: 'worse' }, { metric: 'fps', label: 'Frames/s end to end', base_value: 4.2, verdict: 'vanished', words: 'no longer measured', tone: 'none' }],
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
  assert.deepEqual(await page.locator('#metrics tbody td:first-child').allInnerTexts(), ['Peak GPU memory', 'Frames/s end to end']); // as the terminal says it
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
  assert.match(await timed.page.locator('#ranks').innerText(), /When each waited for the others stands below/);
  assert.equal(await timed.page.locator('#timeline canvas').count(), 1, 'waiting is drawn once, in the timeline');
  assert.equal(await timed.page.locator('#ranks canvas').count(), 0);
  assert.deepEqual(timed.seen.problems, []);
  await timed.close();
});

test('slower and faster ranks are told apart by their place, too', async (browser) => {
  const few = await open(browser, jobPage('heat-few', 8));
  const edges = await few.page.locator('.heat .row:not(.head) .cells i').evaluateAll((all) => all.filter((e) => e.textContent).map((e) => [e.textContent.startsWith('+'), !/ 0px -/.test(getComputedStyle(e).boxShadow)]));
  assert.ok(edges.some(([slower]) => slower) && edges.some(([slower]) => !slower));
  for (const [slower, above] of edges) assert.equal(above, slower);
  await few.close();
  const many = await open(browser, jobPage('heat-many', 40));
  const bars = await many.page.locator('.heat canvas').evaluate((c) => {
    const { data } = c.getContext('2d').getImageData(0, 0, c.width, c.height);
    const filled = (i, from, to) => Array.from({ length: to - from }, (_, y) => data[((from + y) * c.width + Math.floor(((i + 0.5) * c.width) / 40)) * 4 + 3] > 0).filter(Boolean).length;
    const zero = c.height >> 1;
    return Array.from({ length: 40 }, (_, i) => [filled(i, 0, zero), filled(i, zero, zero + 1), filled(i, zero + 1, c.height)]);
  });
  assert.ok(bars[0][0] === 0 && bars[0][2] > bars[2][2] && bars[2][2] > 0, `the faster the longer, downwards: ${bars.slice(0, 3)}`);
  assert.deepEqual(bars[1], [0, 0, 0], 'not there');
  assert.ok(bars[6][0] > 0 && bars[6][0] < bars[7][0] && bars[7][2] === 0, `the slower the longer, upwards: ${bars.slice(6, 8)}`);
  await many.close();
});

test('a cell of the heat map is said in words, by the pointer and by keys', async (browser) => {
  for (const ranks of [8, 40]) {
    const { page, close } = await open(browser, jobPage(`heat-words-${ranks}`, ranks));
    const words = async () => (await page.locator('.heat output').innerText()).replace(/[\u00a0\u202f]/g, ' ');
    await page.locator('.heat').focus();
    await page.keyboard.press('ArrowRight');
    assert.match(await words(), /^denoise, rank 0: 7\.00 s, -30\.0 % from the median$/);
    await page.keyboard.press('ArrowRight');
    assert.match(await words(), /^denoise, rank 1: not there$/);
    for (let i = 0; i < ranks; i++) await page.keyboard.press('ArrowRight');
    assert.match(await words(), new RegExp(`^denoise, rank ${ranks - 1}: 12\\.60 s, 26\\.0 %`), 'the last is the last');
    const b = await page.locator('.heat .row:not(.head) .cells').boundingBox();
    await page.mouse.move(b.x + (b.width * 4.5) / ranks, b.y + 5);
    await settled(page);
    assert.match(await words(), /^denoise, rank 4: 10\.20 s, 2\.0 %/);
    const mark = await page.locator('.heat u').boundingBox();
    assert.ok(mark.x <= b.x + (b.width * 4.5) / ranks && mark.x + mark.width >= b.x + (b.width * 4.5) / ranks, 'and marked');
    await close();
  }
});

test('on a phone the runs of a diff are named with whole dates, and what cannot be judged is judged by nothing', async (browser) => {
  const run = (side, minute) => ({ side, label: 'wan', name: 'wan', id: side, start_time: `2026-11-17T23:${minute}:11+00:00` });
  const report = { schema: 'strobe.diff/1', base: ['wan'], new: ['wan'], per_generation: false, runs: [run('base', 15), run('new', 14)], total: { metric: 'wall_s', unit: 's', base_value: 4.42, new_value: 4.41, delta_value: -0.01, verdict: 'same', words: 'too few to judge', tone: 'none', basis: 'too_few' }, explanations: [], stages: [], metrics: [], configuration: [] };
  const { page, close } = await open(browser, writePage('diff-phone', { report, kind: 'diff' }), { viewport: { width: 390, height: 844 } });
  assert.doesNotMatch(await page.locator('.figures').innerText(), /judged by/);
  const zones = await page.locator('.figures .note').evaluateAll((all) => all.flatMap((note) => {
    const at = note.textContent.indexOf('+00:00');
    if (at < 0) return [];
    const range = document.createRange();
    range.setStart(note.firstChild, at);
    range.setEnd(note.firstChild, at + 6);
    return [new Set([...range.getClientRects()].map((r) => r.top)).size];
  }));
  assert.deepEqual(zones, [1, 1], 'each on one line');
  await close();
});
