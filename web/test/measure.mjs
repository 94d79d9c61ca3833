// How fast a page is: node test/measure.mjs PAGE.html [1920x1080@2]. First picture, then
// frames per second while panning and zooming the timeline.
import { chromium } from 'playwright-core';
import { statSync } from 'node:fs';
import { launchOptions } from './browser.mjs';

const path = process.argv[2];
const browser = await chromium.launch(launchOptions());
const [, width, height, scale] = /^(\d+)x(\d+)(?:@(\d+))?$/.exec(process.argv[3] ?? '1440x900');
const page = await browser.newPage({ viewport: { width: Number(width), height: Number(height) }, deviceScaleFactor: Number(scale ?? 1) });
await page.goto(`file://${path}`, { waitUntil: 'commit' });
const first = await page
  .waitForFunction(() => {
    const drawn = performance.getEntriesByName('strobe-drawn').at(-1);
    return drawn && performance.now() - drawn.startTime > 1000 && drawn.startTime;
  })
  .then((found) => found.jsonValue());

async function frames(move) {
  await page.evaluate((kind) => {
    const canvas = document.querySelector('#timeline-first canvas');
    canvas.focus();
    window.times = [];
    const start = performance.now();
    let last = start;
    const tick = (now) => {
      window.times.push(now - last);
      last = now;
      const k = Math.floor((now - start) / 700) % 2;
      const send = (key) => canvas.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }));
      if (kind === 'pan') send(k ? 'a' : 'd');
      else send(k ? 's' : 'w');
      if (now - start < 2800) requestAnimationFrame(tick);
      else window.done = true;
    };
    window.done = false;
    requestAnimationFrame(tick);
  }, move);
  await page.waitForFunction(() => window.done);
  const times = (await page.evaluate(() => window.times)).slice(2).sort((a, b) => a - b);
  const mean = times.reduce((a, b) => a + b, 0) / times.length;
  return { fps: 1000 / mean, p95_ms: times[Math.floor(times.length * 0.95)] };
}

const zoom = await frames('zoom');
await page.evaluate(() => {
  const canvas = document.querySelector('#timeline-first canvas');
  canvas.dispatchEvent(new KeyboardEvent('keydown', { key: 'Home', bubbles: true }));
  for (let i = 0; i < 2; i++) canvas.dispatchEvent(new KeyboardEvent('keydown', { key: 'w', bubbles: true }));
});
const pan = await frames('pan');
console.log(JSON.stringify({ page_mb: statSync(path).size / 1e6, first_picture_ms: Math.round(first), pan_fps: +pan.fps.toFixed(1), pan_p95_ms: +pan.p95_ms.toFixed(1), zoom_fps: +zoom.fps.toFixed(1), zoom_p95_ms: +zoom.p95_ms.toFixed(1) }));
await browser.close();
