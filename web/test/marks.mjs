// Steps that stand out.
import { assert, open, ready, settled, test, writePage } from './harness.mjs';
import { encodeTimeline } from './encode.mjs';
import { fixture } from './fixture.mjs';

const MS = 1e6;
const plain = (text) => text.replace(/[\u00a0\u202f]/g, ' ');

test('slow and cached steps are marked by their shape, and say what they are', async (browser) => {
  const steps = Array.from({ length: 8 }, (_, i) => ({ start: i * 100 * MS, end: (i * 100 + 90) * MS, name: 0 }));
  const timeline = encodeTimeline({ endNs: 800 * MS, names: ['step'], lanes: [{ kind: 'step', name: 'Steps', rows: [steps] }, { kind: 'thread', name: 'main', main: true, rows: [steps] }], details: [[1, 0, 500 * MS, { cached: 1 }]] });
  const { report } = fixture();
  report.diffusion_analysis = { steps: 8, rates: [], split: [], slow_steps: [{ step_index: 2, iteration_index: 2, t_s: 0.2, duration_s: 0.09, peer_median_s: 0.05 }] };
  report.generations = { count: 0, items: [] };
  const { page, seen, close } = await open(browser, writePage('marks', { report, timeline }));
  await ready(page);
  const canvas = page.locator('#timeline-first canvas');
  assert.equal(await canvas.getAttribute('data-steps'), '2');
  const b = await canvas.boundingBox();
  const tip = async (x) => {
    await page.mouse.move(x, b.y + 28);
    await settled(page);
    return plain(await page.locator('.tip').innerText());
  };
  const at = (ms) => b.x + 132 + ((b.width - 132 - 8) * ms) / 800;
  assert.match(await tip(at(240)), /slow\s+1\.80 times its peers' median/);
  assert.match(await tip(at(540)), /cached\s+served by a cache/);
  assert.doesNotMatch(await tip(at(140)), /slow|cached/);
  assert.match(await tip(b.x + 20), /▲ slower than its peers, ○ served by a cache/);
  assert.deepEqual(seen.problems, []);
  await close();
});
