// What `strobe export --to speedscope` writes, in the real speedscope: node test/speedscope.mjs BUILD
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';
import { launchOptions } from './browser.mjs';

const build = process.argv[2];
const viewer = join(dirname(fileURLToPath(import.meta.url)), '../node_modules/speedscope/dist/release/index.html');
if (!existsSync(viewer)) {
  console.log('skipped: speedscope is not installed');
  process.exit(77);
}
const folder = mkdtempSync(join(tmpdir(), 'strobe-speedscope-'));
const browser = await chromium.launch(launchOptions());

// As speedscope's own command opens a file.
async function show(name) {
  execFileSync(join(build, 'strobe'), ['export', join(folder, `${name}.strobe`), '-o', join(folder, `${name}.speedscope.json`)]);
  const script = join(folder, `${name}.js`);
  const base64 = readFileSync(join(folder, `${name}.speedscope.json`)).toString('base64');
  writeFileSync(script, `speedscope.loadFileFromBase64(${JSON.stringify(`${name}.speedscope.json`)}, ${JSON.stringify(base64)})`);
  const page = await (await browser.newContext({ viewport: { width: 1200, height: 800 } })).newPage();
  const problems = [];
  page.on('pageerror', (e) => problems.push(e.message));
  page.on('console', (m) => m.type() === 'error' && !/WebGL|GPU/.test(m.text()) && problems.push(m.text()));
  page.on('dialog', (d) => {
    problems.push(d.message());
    void d.dismiss();
  });
  await page.goto(`file://${viewer}#localProfilePath=${script}`);
  await page.waitForFunction(() => / - speedscope$/.test(document.title), null, { timeout: 30000 });
  return { page, problems };
}

// The table of all frames.
/** The text of the table once it has these frames, or what there is of it after 10 s: its rows come after its heading. */
async function sandwich(page, frames) {
  await page.getByText('Sandwich', { exact: false }).first().click();
  const all = wanted => /Symbol Name/i.test(document.body.innerText) && wanted.every(frame => document.body.innerText.includes(frame));
  await page.waitForFunction(all, frames, { timeout: 10000 }).catch(() => {});
  return page.locator('body').innerText();
}

try {
  execFileSync(join(build, 'tests/make_recordings'), [folder]);
  for (const [name, profile, frames] of [
    ['traced', 'main', ['transformer', 'vae_decode', 'denoise']],
    ['rich', 'main', ['transformer', 'load', 'offload:text_encoder']],
    ['blocks', 'main thread', ['denoise_step', 'block']],
    ['killed', 'main thread', []],
  ]) {
    const { page, problems } = await show(name);
    assert.equal(await page.title(), `${name} - speedscope`);
    assert.ok((await page.locator('body').innerText()).includes(profile), `${name}: ${profile} is not the profile shown`);
    const table = await sandwich(page, frames);
    for (const frame of frames) assert.ok(table.includes(frame), `${name}: ${frame} is not in\n${table}`);
    assert.deepEqual(problems, [], name);
    console.log(`ok ${name}: ${await page.title()}`);
    await page.context().close();
  }
} finally {
  await browser.close();
  rmSync(folder, { recursive: true });
}
