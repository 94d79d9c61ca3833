// Two runs on one axis.
import { assert, open, range, ready, settled, test, writePage } from './harness.mjs';
import { encodeTimeline } from './encode.mjs';

const MS = 1e6;
const plain = (text) => text.replace(/[\u00a0\u202f]/g, ' ');

// Three videos of four steps after some start-up; each step launches one kernel.
function run(startup, step, kernel, more = {}, tracedVideos = 3) {
  const [videos, steps, kernels] = [[], [], []];
  let t = startup;
  for (let v = 0; v < 3; v++) {
    const from = t;
    for (let s = 0; s < 4; s++, t += step + 1) {
      steps.push({ start: t * MS, end: (t + step) * MS, name: 1 });
      if (v < tracedVideos) kernels.push({ start: t * MS, end: (t + step - 2) * MS, name: 2 });
    }
    videos.push({ start: from * MS, end: t * MS, name: 0 });
    t += 100;
  }
  const lanes = [{ kind: 'generation', name: 'Generations', rows: [videos] }, { kind: 'step', name: 'Steps', rows: [steps] }, { kind: 'thread', name: 'main', main: true, rows: [videos, steps] }, { kind: 'stream', name: 'GPU 0 stream 7', device: 0, rows: [kernels] }];
  return encodeTimeline({ endNs: t * MS, names: ['a cat', 'step', kernel], lanes, kernels: [[2, 'GEMM', '', '']], ...more });
}

const report = {
  schema: 'strobe.diff/1', base: ['/runs/before'], new: ['/runs/after'], per_generation: true,
  runs: [{ side: 'base', label: '/runs/before', median_generation_start_s: 1.144 }, { side: 'new', label: '/runs/after', median_generation_start_s: 0.484 }],
  total: { metric: 'wall_s', unit: 's', base_value: 0.044, new_value: 0.084, verdict: 'worse', words: 'slower', tone: 'worse' },
  explanations: [], stages: [], metrics: [], configuration: [],
};

test('a diff lays both runs on one axis, by video and by step, and compares their kernels', async (browser) => {
  const { page, seen, close } = await open(browser, writePage('aligned', { report, kind: 'diff', base: run(1000, 10, 'gemm_fp32'), timeline: run(300, 20, 'gemm_bf16') }));
  await ready(page);
  const near = async (from, to) => {
    const r = await range(page);
    assert.ok(Math.abs(r.from - from * MS) < 3 * MS && Math.abs(r.to - to * MS) < 3 * MS, JSON.stringify(r));
  };
  await near(0, 84);
  assert.match(plain(await page.locator('#timeline .tools').first().innerText()), /44\.0 ms before, 84\.0 ms now/);
  const b = await page.locator('#timeline-first canvas').boundingBox();
  const under = async (share, y) => {
    await page.mouse.move(b.x + 132 + (b.width - 132) * share, b.y + y);
    await settled(page);
    return (await page.locator('.tip').count()) ? plain(await page.locator('.tip').innerText()) : '';
  };
  assert.match(await under(0.4, 30), /a cat[\s\S]*44\.0 ms/, 'the run before is on top');
  assert.match(await under(0.4, 54), /a cat[\s\S]*84\.0 ms/, 'the run now below it, from the same moment');
  assert.equal(await under(0.8, 30), '', 'and is longer');
  await page.locator('[aria-label="align at step"]').selectOption('3');
  await near(0, 80);
  await page.locator('[aria-label="align at video"]').selectOption('0');
  await near(0, 84);
  const rowsOf = async (caption) => (await page.locator('#kernels table', { hasText: caption }).locator('tbody tr').allInnerTexts()).map(plain);
  const [family, ...others] = await rowsOf('Families of kernels');
  assert.match(family, /^GEMM[\s\S]*32\.0 ms[\s\S]*72\.0 ms[\s\S]*\+40\.0 ms[\s\S]*4[\s\S]*4/);
  assert.deepEqual(others, []);
  const rows = await rowsOf('Kernels and copies');
  assert.match(rows[0], /gemm_bf16[\s\S]*72\.0 ms[\s\S]*\+72\.0 ms/);
  assert.match(rows[1], /gemm_fp32[\s\S]*32\.0 ms[\s\S]*−32\.0 ms/);
  await page.locator('h1').click();
  await page.keyboard.press('w');
  await settled(page);
  assert.ok((await range(page)).to < 80 * MS, 'keys zoom');
  assert.deepEqual(seen.problems, []);
  await close();
});

test('kernels that were not traced in one of the runs are not called gone', async (browser) => {
  const traced = [[1000 * MS, 1044 * MS]]; // of the first video alone
  const { page, close } = await open(browser, writePage('aligned-untraced', { report, kind: 'diff', base: run(1000, 10, 'gemm', { traced }, 1), timeline: run(300, 20, 'gemm') }));
  await ready(page);
  const part = page.locator('#kernels');
  assert.match(plain(await part.innerText()), /traced for 0\.?0? % of the time before and 100 % now: they cannot be compared/);
  assert.equal(await part.locator('table').count(), 0);
  await page.locator('[aria-label="align at video"]').selectOption('0');
  assert.match(plain(await part.innerText()), /Families of kernels/);
  await close();
});
