// Memory over time: layers on each other, and what is resident at the moment that is clicked.
import { assert, open, ready, test, writePage } from './harness.mjs';
import { encodeTimeline } from './encode.mjs';

const MS = 1e6;
const plain = (text) => text.replace(/[\s\u00a0]+/g, ' ').trim();
const t_s = Array.from({ length: 21 }, (_, i) => i / 20);
const layer = (component, of, more = {}) => ({ component, ...more, held_mb: t_s.map(of) });

const picture = (layers) => ({ device_index: 0, peak_index: 16, t_s, stages: t_s.map((t) => (t < 0.1 ? '' : t < 0.6 ? 'denoise' : 'vae_decode')), layers });
const layers = [
  layer('other processes and the driver', () => 512),
  layer('CUDA context and libraries', () => 512),
  layer('weights of transformer', () => 10240, { dtype: 'bfloat16' }),
  layer('activations and other tensors', (t) => (t === 0.8 ? 20480 : t > 0.6 ? 8192 : 2048)),
];

const report = (all) => ({
  session_info: { id: 'layers', name: 'layers' }, summary: { wall_s: 1 }, recommendations: [], recording: { zones: 2, dropped_count: 0 },
  stage_analysis: { wall_s: 1, unattributed_s: 0, stages: [{ name: 'denoise', first_s: 0.1, end_s: 0.6, count: 1, total_s: 0.5, self_s: 0.5, wall_ratio: 0.5 }], bottlenecks: [], parts: [] },
  memory_over_time: [picture(all)],
});
const timeline = () => encodeTimeline({ endNs: 1000 * MS, names: ['denoise'], lanes: [{ kind: 'thread', name: 'main', rows: [[{ name: 0, start: 100 * MS, end: 600 * MS }]] }] });
const caption = async (page) => plain(await page.locator('#held .layers caption, #held .layers .caption').first().innerText());
const rows = async (page) => (await page.locator('#held .layers table tbody tr').allInnerTexts()).map(plain);

test('without a selection the table is of the highest moment', async (browser) => {
  const { page, seen, close } = await open(browser, writePage('layers', { report: report(layers), timeline: timeline() }));
  assert.match(await caption(page), /Memory of GPU 0 at 0\.80 s in vae_decode, the highest: 31\.0 GB/);
  assert.deepEqual((await rows(page)).map((r) => r.split(' ').slice(0, 2).join(' ')), ['activations and', 'weights of', 'other processes', 'CUDA context']);
  assert.deepEqual(seen.problems, []);
  await close();
});

test('a click on the layers says what is resident then', async (browser) => {
  const { page, close } = await open(browser, writePage('layers-click', { report: report(layers), timeline: timeline() }));
  const canvas = page.locator('#held .layers canvas');
  await canvas.scrollIntoViewIfNeeded();
  const box = await canvas.boundingBox();
  await page.mouse.click(box.x + box.width * 0.55, box.y + box.height / 2);
  await page.waitForFunction(() => /in denoise/.test(document.querySelector('#held .layers').textContent));
  assert.match(await caption(page), /in denoise: 13\.0 GB/);
  await close();
});

test('layers fill the chart from the bottom in the order of the report', async (browser) => {
  const { page, close } = await open(browser, writePage('layers-colours', { report: report(layers), timeline: timeline() }));
  const canvas = page.locator('#held .layers canvas');
  await canvas.scrollIntoViewIfNeeded();
  const seen = await canvas.evaluate((c) => {
    const pen = c.getContext('2d');
    const found = [];
    for (let y = c.height - 1; y >= 0; y--) {
      const [r, g, b, a] = pen.getImageData(Math.round(c.width * 0.5), y, 1, 1).data;
      const colour = a > 250 ? `${r},${g},${b}` : '';
      if (found.at(-1)?.colour === colour) found.at(-1).px++;
      else found.push({ colour, px: 1 });
    }
    return found.filter((one) => one.colour && one.px > 3);
  });
  const keys = await page.locator('#held .layers figcaption .key').evaluateAll((all) => all.map((k) => getComputedStyle(k, '::before').backgroundColor.replace(/[^\d,]/g, '')));
  const [weights, tensors] = ['10240', '2048'].map((_, i) => seen.findIndex((one) => one.colour === keys[2 + i]));
  assert.ok(weights >= 0 && tensors > weights, `${JSON.stringify(seen)} of ${keys}`);
  const ratio = seen[weights].px / seen[tensors].px;
  assert.ok(ratio > 3 && ratio < 8, `as high as what they hold, 5 to 1: ${ratio}`);
  await close();
});

test('more layers than colours are joined, and the table has all', async (browser) => {
  const many = Array.from({ length: 9 }, (_, i) => layer(`weights of m${i}`, () => 1000 + 10 * i));
  const { page, close } = await open(browser, writePage('layers-many', { report: report(many), timeline: timeline() }));
  const keys = (await page.locator('#held .layers figcaption .key').allInnerTexts()).map(plain);
  assert.equal(keys.length, 6);
  assert.equal(keys.at(-1), '4 smaller ones');
  assert.equal((await rows(page)).length, 9);
  await close();
});
