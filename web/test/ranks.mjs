// From the page of a rank to its job and the ranks beside it, and from the job's page to its ranks and attempts.
import { assert, open, ready, test, writePage } from './harness.mjs';
import { small } from './fixture.mjs';

const rankPage = (name, rank, more) => writePage(name, small({ session_info: { id: `r${rank}`, name: 'train', rank, world_size_count: 8, host: 'node-3', job: 'train-7', attempt_index: 2, ...more } }));

function jobReport() {
  const one = (i) => ({ report_index: i, rank: i, run: `/runs/train-7.2/rank_${i}`, host: 'node-3', duration_s: 10, work_s: 9, straggler: false, complete: true, last_count: 0, clock: {}, page: true });
  return {
    schema: 'strobe.aggregate/1', job: 'train-7', report_count: 2, rank_count: 2, host_count: 1, missing_ranks: [], left_out: [],
    attempts: [{ attempt_index: 1, run: '/runs/train-7', state: 'killed', page: true }, { attempt_index: 2, run: '/runs/train-7.2', state: 'ended', taken: true }],
    metrics: {}, reports_summary: [one(2), one(5)], straggler_count: 0, straggler_indexes: [], stages: [], heat_map: { ranks: [2, 5], stages: [] },
  };
}

test('the page of a rank says job, rank and node, and leads to the job and to the ranks beside it', async (browser) => {
  const second = rankPage('train-7.2/rank_2/profiling_report', 2, { next_rank: 5 });
  rankPage('train-7.2/rank_5/profiling_report', 5, { previous_rank: 2 });
  writePage('train-7.2/aggregated_report', { report: jobReport(), kind: 'aggregate' });
  writePage('train-7/aggregated_report', { report: { ...jobReport(), job: 'the first attempt' }, kind: 'aggregate' });
  const { page, seen, close } = await open(browser, second);
  await ready(page);
  assert.match(await page.locator('header .when').innerText(), /^rank 2 of 8 on node-3, job train-7, attempt 2/);
  assert.deepEqual(await page.locator('.mates a').allInnerTexts(), ['all ranks of the job', 'rank 5 ›']);
  await page.locator('.mates a', { hasText: 'rank 5' }).click();
  await ready(page);
  assert.match(await page.locator('header .when').innerText(), /^rank 5 of 8/);
  await page.locator('.mates a', { hasText: 'all ranks' }).click();
  await page.waitForSelector('#ranks');
  assert.equal(await page.locator('h1').innerText(), 'train-7');
  await page.locator('#ranks a', { hasText: 'rank 2' }).click();
  await ready(page);
  assert.match(await page.locator('header .when').innerText(), /^rank 2 of 8/);
  await page.locator('.mates a', { hasText: 'all ranks' }).click();
  await page.locator('#job a', { hasText: 'train-7' }).click();
  await page.waitForFunction(() => document.querySelector('h1')?.textContent === 'the first attempt');
  assert.deepEqual(seen.problems, []);
  await close();
});

test('a page that was moved away from its job has no link that leads nowhere', async (browser) => {
  const { page, close } = await open(browser, rankPage('sent', 2, { next_rank: 5 }));
  await ready(page);
  assert.equal(await page.locator('.mates').count(), 0);
  await close();
  const job = await open(browser, writePage('sent-job', { report: jobReport(), kind: 'aggregate' }));
  assert.equal(await job.page.locator('#ranks a, #job a').count(), 0);
  await job.close();
});
