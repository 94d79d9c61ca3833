// A job of many ranks.
import { assert, open, range, ready, settled, test, writePage } from './harness.mjs';
import { jobPage } from './kinds.mjs';

const plain = (text) => text.replace(/[\u00a0\u202f]/g, ' ');
const RANKS = 1024;
const NODES = 128;
const LATE = 517;

function job() {
  const ranks = Array.from({ length: RANKS }, (_, i) => i);
  const one = (i) => ({ report_index: i, rank: i, run: `rank_${i}`, host: `node-${i % NODES}`, duration_s: i === LATE ? 14 : 10, work_s: 9, straggler: i === LATE, complete: true, last_count: 0, clock: { method: 'collectives', offset_s: i * 1e-6, uncertainty_s: 2e-5, collective_count: 40 }, ...(i === 700 ? { failure: 'exit 1', collective_total_count: 5000 } : {}), ...(i === LATE ? { behind_s: 4, works_more: true, slow_stage: 'denoise', caused_wait_s: 900, last_count: 30 } : {}) });
  return {
    schema: 'strobe.aggregate/1', job: 'train-7', report_count: RANKS, rank_count: RANKS, host_count: NODES, missing_ranks: [], left_out: [],
    attempts: [{ attempt_index: 1, run: 'train-7.1', state: 'killed' }, { attempt_index: 2, run: 'train-7.2', state: 'ended', taken: true }],
    communication: [{ group: 'nccl 0-7 sp', operation: 'all_to_all', rank_count: 8, collective_count: 40, bytes: 2 ** 30, late_wait_s: 900, transfer_s: 120, hidden_s: 60, bus_bytes_per_s: 2e11, last_rank: LATE, last_count: 30 }],
    made: [{ what: 'generations', count: 8, rank_min_count: 0, rank_max_count: 1 }, { what: 'steps', rank_min_count: 40, rank_max_count: 50 }],
    late_groups: [{ group: 'nccl 0-7 sp', late_count: 12, shared_count: 40, wait_s: 3.5 }],
    metrics: { wall_s: { count: RANKS, min_value: 10, min_rank: 0, max_value: 14, max_rank: LATE, avg_value: 10.1, median_value: 10, sum_value: 10244 } },
    reports_summary: ranks.map(one), straggler_count: 1, straggler_indexes: [LATE], collective_count: 40, unclear_collective_count: 3, late_wait_s: 900, transfer_s: 120, hidden_s: 60, clock_uncertainty_s: 2e-5,
    stages: [{ name: 'denoise', count: RANKS, total_s: { min_value: 8, max_value: 12, max_rank: LATE, avg_value: 8.1 }, imbalance_ratio: 0.33 }],
    heat_map: { ranks, stages: Array.from({ length: 40 }, (_, k) => ({ name: `stage ${k}`, median_s: 8.1, total_s: ranks.map((i) => (i === LATE ? 12 : 8 + (i % 3) / 10)) })) },
    rank_lanes: { bin_s: 0.1, wait_tenths: ranks.map(() => 'aabbk'.repeat(20)) },
  };
}

test('a job of 1 024 ranks: who is late, lanes by node and rank, attempts, groups, clocks', async (browser) => {
  const { page, seen, close } = await open(browser, writePage('job', { report: job(), kind: 'aggregate' }));
  assert.match(plain(await page.locator('.lead').innerText()), /^rank 517 on node-5 holds the others up: 4\.00 s more work/);
  assert.match(plain(await page.locator('.figures').innerText()), /generations\s+8\s+all ranks\s+steps\s+50\s+a rank at most; ranks may share a video/);
  const nodes = await page.locator('#ranks h4').allInnerTexts();
  assert.deepEqual([nodes.length, nodes[0], nodes[9], nodes[127]], [128, 'node-0', 'node-9', 'node-127'], 'nodes in the order of their numbers');
  assert.equal(await page.locator('#ranks .rank b').count(), RANKS);
  await page.locator('.lead a').click();
  await settled(page);
  const late = await page.locator(`#rank-${LATE}`).boundingBox();
  assert.ok(late.y >= 0 && late.y < 900, `the late rank is at ${late.y}`);
  assert.match(plain(await page.locator('#rank-700').innerText()), /failed: exit 1$/);
  const text = plain(await page.locator('#job').innerText());
  assert.match(text, /^40 collectives looked at, of up to 5\D?000 of a rank, all ranks: /m);
  assert.match(text, /900\.00 s waiting for the last rank, 120\.00 s transferring, 60\.00 s hidden[\s\S]*At 3 of them the clocks cannot tell/);
  assert.match(text, /train-7\.1\s+killed[\s\S]*train-7\.2\s+ended\s+yes/);
  assert.match(text, /nccl 0-7 sp\s+12\s+40\s+3\.50 s/);
  assert.match(text, /all_to_all\s+8\s+40\s+1\.\d+ GB\s+900\.00 s\s+120\.00 s\s+60\.00 s\s+[\d. ]+ GB\/s\s+517\s+30/);
  assert.match(text, /may be 20\.0 µs apart/);
  const heat = page.locator('#heat canvas').first();
  assert.equal(await page.locator('#heat canvas').count(), 40);
  await heat.scrollIntoViewIfNeeded();
  const b = await heat.boundingBox();
  await page.mouse.move(b.x + (b.width * (LATE + 0.5)) / RANKS, b.y + 8);
  await settled(page);
  assert.match(plain(await page.locator('#heat output').innerText()), /stage 0, rank 517: 12\.00 s/);
  assert.ok((await page.evaluate(() => document.querySelectorAll('*').length)) < 12_000, 'few enough elements to scroll');
  assert.ok(!(await page.evaluate(() => document.documentElement.scrollWidth > innerWidth)));
  assert.deepEqual(seen.problems, []);
  await close();
});

test('on a phone the cells of a heat map hold whole numbers, or bars', async (browser) => {
  for (const ranks of [4, 12]) {
    const { page, close } = await open(browser, jobPage(`heat-phone-${ranks}`, ranks), { viewport: { width: 390, height: 844 } });
    assert.deepEqual(await page.locator('.heat .row:not(.head) i').evaluateAll((all) => all.filter((e) => e.scrollWidth > e.clientWidth).map((e) => e.textContent)), []);
    assert.equal(await page.locator('.heat canvas').count(), ranks > 7 ? 1 : 0);
    await page.setViewportSize({ width: 1200, height: 700 });
    await settled(page);
    assert.equal(await page.locator('.heat canvas').count(), 0, 'turned or widened, there is room for numbers');
    await close();
  }
});

test('1 024 ranks are no wider than a phone', async (browser) => {
  const { page, close } = await open(browser, writePage('job-phone', { report: job(), kind: 'aggregate' }), { viewport: { width: 390, height: 844 } });
  assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 390);
  const heads = await page.locator('.heat .head i').evaluateAll((all) => all.filter((e) => getComputedStyle(e).visibility === 'visible').map((e) => {
    const text = document.createRange();
    text.selectNodeContents(e);
    const { left, right } = text.getBoundingClientRect();
    return { left, right, cut: getComputedStyle(e).overflow !== 'visible' && e.scrollWidth > e.clientWidth };
  }));
  assert.ok(heads.length >= 4 && heads.every((h, i) => !h.cut && (i === 0 || heads[i - 1].right <= h.left)), `numbers of ranks: ${JSON.stringify(heads)}`);
  await close();
});

test('a rank shows the stage that it was in, and below it when it waited', async (browser) => {
  const report = job();
  report.reports_summary.length = report.rank_count = report.report_count = 2;
  Object.assign(report, { straggler_count: 0, straggler_indexes: [] });
  report.rank_lanes = { bin_s: 1, wait_tenths: ['aaaaakaaaa', 'aaaaaaaaaa'], stage_names: ['denoise', 'vae_decode'], stages: ['aaaaaabb-.', 'aaaaaaaabb'] };
  const { page, seen, close } = await open(browser, writePage('job-stages', { report, kind: 'aggregate' }));
  await ready(page);
  const canvas = page.locator('#timeline-first canvas');
  await canvas.scrollIntoViewIfNeeded();
  const tip = async (second, row) => {
    const b = await canvas.boundingBox();
    await page.mouse.move(b.x + 132 + ((b.width - 132 - 8) * second) / 10, b.y + 20 + row * 19 + 6);
    await settled(page);
    return plain((await page.locator('.tip').innerText().catch(() => '')) || '');
  };
  assert.match(await tip(6.5, 0), /vae_decode[\s\S]*2\.00 s[\s\S]*rank 0/);
  assert.match(await tip(5.5, 1), /waits for other ranks[\s\S]*1\.00 s[\s\S]*rank 0/);
  await page.locator('#timeline button', { hasText: 'waits' }).click();
  assert.match(await tip(5.5, 0), /waits for other ranks/);
  await page.locator('#timeline button', { hasText: 'stages' }).click();
  assert.match(await tip(2.5, 0), /denoise[\s\S]*6\.00 s/);
  assert.deepEqual(seen.problems, []);
  await close();
});

test("a job's ranks are one timeline to zoom into", async (browser) => {
  const { page, seen, close } = await open(browser, writePage('job-zoom', { report: job(), kind: 'aggregate' }));
  await ready(page);
  const canvas = page.locator('#timeline-first canvas');
  await canvas.scrollIntoViewIfNeeded();
  assert.deepEqual(await range(page), { from: 0, to: 10e9 });
  const b = await canvas.boundingBox();
  await page.mouse.move(b.x + 132 + (b.width - 132) * 0.445, b.y + 20 + 6); // 4.4 to 4.5 s: the first rank waits
  await page.waitForSelector('.tip');
  assert.match(plain(await page.locator('.tip').innerText()), /waits for other ranks[\s\S]*100 ms[\s\S]*rank 0/);
  await page.keyboard.press('w');
  await page.keyboard.press('w');
  const r = await range(page);
  assert.ok(r.to - r.from < 5e9 && r.from < 4.45e9 && r.to > 4.45e9, JSON.stringify(r));
  await page.mouse.click(b.x + 132 + (b.width - 132) * 0.445, b.y + 20 + 6);
  await page.waitForSelector('.detail');
  assert.match(plain(await page.locator('.selection').innerText()), /waits for other ranks/);
  assert.deepEqual(seen.problems, []);
  await close();
});

test('times of ranks stand below each other in one unit', async (browser) => {
  const report = job();
  report.reports_summary[3].duration_s = 0.25;
  const { page, close } = await open(browser, writePage('rank-units', { report, kind: 'aggregate' }));
  const shown = new Set((await page.locator('#ranks .rank > .quiet').allInnerTexts()).map((t) => plain(t).split(',')[0].replace(/.* /, '')));
  assert.deepEqual([...shown], ['s']);
  assert.equal(plain(await page.locator('#rank-3 .quiet').innerText()), '0.25 s');
  await close();
});
