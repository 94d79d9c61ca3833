// First screens that were ugly: a memory snapshot's.
import { assert, open, test, writePage } from './harness.mjs';

const plain = (text) => text.replace(/[\s\u00a0\u202f]+/g, ' ').trim();

test('a memory snapshot has its picture on the first screen, and no empty headings', async (browser) => {
  const t_s = [0.01, 0.02, 0.03];
  const report = {
    session_info: { id: 's', name: 'snapshot.pickle' }, summary: { wall_s: 0.04 }, recommendations: [], recording: { zones: 0, dropped_count: 0 }, system: { facts: {}, settings: {} },
    memory_over_time: [{ device_index: 0, by_line: true, peak_index: 1, t_s, stages: ['', '', ''], layers: [{ component: 'vae.py:8 decode', held_mb: [10, 300, 20] }], sum_mb: [10, 300, 20] }],
  };
  const { page, seen, close } = await open(browser, writePage('snapshot', { report }));
  await page.waitForSelector('.card.right canvas');
  assert.equal(await page.locator('.card.right figcaption b').innerText(), 'Memory of GPU 0 by line of the program');
  assert.match(plain(await page.locator('#held caption').first().innerText()), /at 20\.0 ms, the highest: 300\.0 MB/);
  assert.equal(await page.locator('h4', { hasText: /Machine|Configuration/ }).count(), 0);
  assert.deepEqual(seen.problems, []);
  await close();
});
