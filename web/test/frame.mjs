// What a frame of the timeline costs, in counted calls of the canvas, and that nothing is lost by it.
import { assert, open, ready, settled, test, writePage } from './harness.mjs';
import { encodeTimeline } from './encode.mjs';
import { fixture } from './fixture.mjs';

const LANES = 12;
const ZONES = 20_000;

// Lanes full of zones that are narrower than a pixel, of thirty names.
function dense() {
  const names = Array.from({ length: 30 }, (_, i) => `kernel_${i}`);
  const row = (lane) => Array.from({ length: ZONES }, (_, i) => ({ start: i * 1000, end: i * 1000 + 300 + ((i * 7 + lane) % 600), name: (i + lane) % 30 }));
  const lanes = Array.from({ length: LANES }, (_, i) => ({ kind: 'thread', name: `worker ${i}`, main: i === 0, rows: [row(i)] }));
  return { report: fixture().report, timeline: encodeTimeline({ endNs: ZONES * 1000, names, lanes }) };
}

const densePath = writePage('dense', dense());

// Calls of the canvas during one press of a key.
async function callsOf(page, key) {
  await page.evaluate(() => {
    const pen = CanvasRenderingContext2D.prototype;
    window.calls = 0;
    for (const name of ['fillRect', 'fillText', 'stroke', 'fill', 'strokeRect', 'putImageData', 'measureText']) {
      const draw = pen[name];
      pen[name] = function (...args) {
        if (this.canvas.closest('#timeline-first')) window.calls++;
        return draw.apply(this, args);
      };
    }
  });
  const frames = () => page.locator('#timeline-first canvas').getAttribute('data-frames');
  const before = Number(await frames());
  await page.locator('#timeline-first canvas').press(key);
  await page.waitForFunction((n) => Number(document.querySelector('#timeline-first canvas').dataset.frames) > n, before);
  return page.evaluate(() => window.calls);
}

test('a frame of a quarter of a million narrow zones takes a few calls of the canvas, not one for each', async (browser) => {
  const { page, close } = await open(browser, densePath);
  await ready(page);
  const calls = await callsOf(page, 'w');
  assert.ok(calls > LANES && calls < 300 * 2, `${calls} calls`); // it may take two frames
  await close();
});

test('rows are drawn between the ruler and the end at every scroll, on screens of every ratio', async (browser) => {
  for (const deviceScaleFactor of [1, 1.5, 2]) {
    const { page, close } = await open(browser, densePath, { deviceScaleFactor });
    await ready(page);
    const window_ = page.locator('#timeline-first .window');
    await window_.evaluate((e) => e.scrollTo(0, 17));
    await settled(page);
    const drawn = await page.locator('#timeline-first canvas').evaluate((c) => {
      const ratio = devicePixelRatio;
      const coloured = (y, height) => {
        const { data } = c.getContext('2d').getImageData(Math.round(140 * ratio), Math.round(y * ratio), Math.round(900 * ratio), Math.round(height * ratio));
        let n = 0;
        for (let i = 0; i < data.length; i += 4) if (Math.max(data[i], data[i + 1], data[i + 2]) - Math.min(data[i], data[i + 1], data[i + 2]) > 40) n++;
        return n / (data.length / 4);
      };
      return { ruler: coloured(6, 13), rows: coloured(22, 100) };
    });
    assert.ok(drawn.ruler < 0.01, `a row is drawn into the ruler: ${JSON.stringify(drawn)} at ${deviceScaleFactor}`);
    assert.ok(drawn.rows > 0.2 && drawn.rows < 0.9, `${JSON.stringify(drawn)} at ${deviceScaleFactor}`); // 60 % busy
    await close();
  }
});

// Charts by whether they can be seen, whether the browser copies them for a frame, and whether they were drawn.
const chartsOf = (page) =>
  page.$$eval('.chart canvas', (all) =>
    all.map((c) => {
      const { top, bottom } = c.getBoundingClientRect();
      return { far: top > innerHeight + 150 || bottom < -150, near: top < innerHeight && bottom > 0, hidden: getComputedStyle(c.parentElement).opacity === '0', empty: !c.getContext('2d').getImageData(0, 0, c.width, c.height).data.some((v) => v) };
    }),
  );

const atRest = (page) => page.waitForFunction(() => !document.body.classList.contains('moving'));

test('charts out of sight are not copied for a frame while the timeline moves; at rest and on paper they are there, and true', async (browser) => {
  const { page, close } = await open(browser, writePage('charts-unseen', fixture()));
  await ready(page);
  await atRest(page);
  const first = await chartsOf(page);
  assert.ok(first.filter((c) => c.far).length >= 4 && first.some((c) => c.near), JSON.stringify(first));
  assert.deepEqual(first.filter((c) => c.hidden || c.empty), []);
  const last = () => page.locator('#metrics .chart canvas').last().evaluate((c) => c.toDataURL());
  const before = await last();
  await page.locator('#timeline-first canvas').press('w');
  await page.waitForFunction(() => document.body.classList.contains('moving'));
  const moving = await chartsOf(page);
  assert.deepEqual(moving.filter((c) => (c.far && !c.hidden) || (c.near && c.hidden)), []);
  await atRest(page);
  assert.notEqual(await last(), before, 'it shows the time that the timeline shows');
  await page.locator('#timeline-first canvas').press('w');
  await page.evaluate(() => dispatchEvent(new Event('beforeprint')));
  assert.deepEqual((await chartsOf(page)).filter((c) => c.hidden || c.empty), []);
  await close();
});
