// Colours that everyone can tell apart, that stay with their name, and that are never the only thing said.
import { assert, open, ready, test, writePage } from './harness.mjs';
import { encodeTimeline } from './encode.mjs';
import { mostAlike } from './vision.mjs';

const S = 1e9;
const NAMES = ['load', 'text_encode', 'denoise', 'vae_decode', 'upscale', 'interpolate', 'encode', 'write'];

// Stages one after the other, each as long as asked for; the bar has them, the start-up, smaller ones and what no stage has.
function run(names, lengths) {
  let t = 0;
  const zones = names.map((_, i) => ({ name: i, start: t * S, end: (t += lengths[i]) * S }));
  const stage = (name, i) => ({ name, count: 1, first_s: zones[i].start / S, end_s: zones[i].end / S, total_s: lengths[i], self_s: lengths[i], wall_ratio: lengths[i] / 100, mean_s: lengths[i], p50_s: lengths[i] });
  const other = (kind, more) => ({ kind, part_s: 8, wall_ratio: 0.08, ...more });
  const parts = names.map((name, i) => ({ kind: 'stage', name, stage_index: i, part_s: lengths[i], wall_ratio: lengths[i] / 100 }));
  return {
    report: {
      session_info: { id: 'c', name: 'colours' },
      summary: { wall_s: 100 },
      stage_analysis: { wall_s: 100, unattributed_s: 8, stages: names.map(stage), largest: names, parts: [other('startup', { stage_count: 3 }), ...parts.sort((a, b) => b.part_s - a.part_s), other('smaller', { stage_count: 3 }), other('unattributed')] },
      recommendations: [],
      recording: { zones: names.length, dropped_count: 0 },
    },
    timeline: encodeTimeline({ endNs: 100 * S, names, lanes: [{ kind: 'thread', name: 'main', main: true, rows: [zones] }] }),
  };
}

const equal = NAMES.map(() => 8);
const rgb = (css) => css.match(/\d+/g).slice(0, 3).map(Number);
const luminance = (c) => c.map((v) => v / 255).map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)).reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
const contrast = (a, b) => (Math.max(luminance(a), luminance(b)) + 0.05) / (Math.min(luminance(a), luminance(b)) + 0.05);
const looks = (page) => page.locator('.bar > *').evaluateAll((all) => all.map((e) => ({ back: getComputedStyle(e).backgroundColor, ink: getComputedStyle(e).color, words: e.getAttribute('aria-label') })));

for (const colorScheme of ['light', 'dark']) {
  test(`stages are told apart without red, green or blue light, ${colorScheme}`, async (browser) => {
    const { page, close } = await open(browser, writePage('colours', run(NAMES, equal)), { colorScheme });
    await ready(page);
    const bar = await looks(page);
    assert.equal(bar.length, NAMES.length + 3);
    const worst = mostAlike(bar.map((b) => rgb(b.back)));
    assert.ok(worst.apart >= 10, `${worst.pair.map((i) => bar[i].words).join(' and ')}: ${worst.apart.toFixed(1)} apart with ${worst.vision}`);
    for (const b of bar) assert.ok(contrast(rgb(b.back), rgb(b.ink)) >= 4.5, `the share on ${b.words}`);

    // The zones of the timeline, a few pixels from their right ends, where no name is written.
    const zones = await page.locator('#timeline-first canvas').evaluate((c, count) => {
      const ratio = c.width / c.clientWidth;
      const pen = c.getContext('2d');
      const [from, to] = [Number(c.dataset.from), Number(c.dataset.to)];
      const left = 132;
      const width = c.clientWidth - left;
      return Array.from({ length: count }, (_, i) => {
        const x = left + (((i + 1) * 8e9 - from) / (to - from)) * width - 6;
        return [...pen.getImageData(Math.round(x * ratio), Math.round(26 * ratio), 1, 1).data.slice(0, 3)];
      });
    }, NAMES.length);
    const alike = mostAlike(zones);
    assert.ok(alike.apart >= 8, `zones ${alike.pair}: ${alike.apart.toFixed(1)} apart with ${alike.vision}`);
    await close();
  });

  test(`the lines of a chart are told apart, and their names are read, ${colorScheme}`, async (browser) => {
    const { page, close } = await open(browser, writePage('chart-colours', run(NAMES, equal)), { colorScheme });
    const [card, ...lines] = await page.evaluate(() => ['--card', '--c1', '--c2', '--c3', '--c4', '--c5', '--c6'].map((name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim()));
    const hex = (text) => [1, 3, 5].map((i) => parseInt(text.slice(i, i + 2), 16));
    const worst = mostAlike(lines.map(hex));
    assert.ok(worst.apart >= 12, `lines ${worst.pair}: ${worst.apart.toFixed(1)} apart with ${worst.vision}`);
    for (const line of lines) assert.ok(contrast(hex(line), hex(card)) >= 4.5, line);
    await close();
  });
}

test('what a colour stands for is said in words, too', async (browser) => {
  const { page, close } = await open(browser, writePage('colour-words', run(NAMES, equal)));
  await ready(page);
  const bar = await looks(page);
  const legend = await page.locator('.timebar .legend li').allInnerTexts();
  assert.deepEqual(legend.map((l) => l.replace(/\s+[\d.]+.s?$/, '').trim()), bar.map((b) => b.words.split(':')[0])); // in the order of the bar
  for (const name of NAMES) assert.ok(bar.some((b) => b.words.startsWith(`${name}: 8.00`)), name);
  await close();
});

test('a stage keeps its colour while its run goes on', async (browser) => {
  const colours = async (path) => {
    const { page, close } = await open(browser, path);
    await ready(page);
    const all = new Map((await looks(page)).map((b) => [b.words.split(':')[0], b.back]));
    await close();
    return all;
  };
  const early = await colours(writePage('early', run(NAMES.slice(0, 4), [30, 1, 5, 2])));
  const late = await colours(writePage('late', run(NAMES, [2, 3, 4, 20, 10, 11, 12, 13])));
  for (const name of NAMES.slice(0, 4)) assert.equal(late.get(name), early.get(name), name);
});
