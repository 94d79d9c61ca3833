// A page that follows a recording: node test/live.mjs BUILD
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { chromium } from 'playwright-core';
import { launchOptions } from './browser.mjs';

const build = process.argv[2];
const folder = mkdtempSync(join(tmpdir(), 'strobe-live-'));
const env = { ...process.env, STROBE_GENERATE_FINAL_REPORT: 'false' };
const recorder = spawn(join(build, 'tests/live_recorder'), [folder], { stdio: ['pipe', 'pipe', 'inherit'], env });
const server = spawn(join(build, 'strobe'), ['serve', folder, '--port', '0'], { stdio: ['ignore', 'pipe', 'inherit'] });
const firstLine = (stream) => new Promise((done) => createInterface(stream).once('line', done));

let code = 1;
const browser = await chromium.launch(launchOptions());
try {
  await firstLine(recorder.stdout);
  const address = /http:\/\/[^ ]+\//.exec(await firstLine(server.stdout))[0];
  const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
  let problems = [];
  const elsewhere = [];
  page.on('console', (m) => ['error', 'warning'].includes(m.type()) && problems.push(m.text()));
  page.on('pageerror', (e) => problems.push(e.message));
  page.on('request', (r) => r.url().startsWith(address) || elsewhere.push(r.url()));

  await page.goto(address);
  await page.locator('a.link', { hasText: 'live "test"' }).click();
  await page.waitForSelector('header .run-state.live', { timeout: 120_000 });
  await page.waitForSelector('#timeline-first canvas[data-to]', { timeout: 120_000 });
  const zones = () => page.locator('#recording dt', { hasText: /^zones$/ }).locator('xpath=following-sibling::dd').innerText();
  const before = await zones();
  await page.waitForFunction((text) => [...document.querySelectorAll('#recording dt')].find((e) => e.textContent === 'zones').nextSibling.textContent !== text, before, { timeout: 120_000 });
  console.log('ok    the page follows the recording');

  const row = page.locator('#stages tbody tr').first();
  const name = await row.locator('.stage span[dir=auto]').innerText();
  await row.hover();
  await page.mouse.down();
  const held = await zones();
  for (let news = 0; news < 2; news++) await page.waitForResponse((r) => r.url().endsWith('/timeline'), { timeout: 120_000 });
  assert.equal(await zones(), held, 'what is under the button was exchanged');
  await page.mouse.up();
  await page.locator('.selection header', { hasText: name }).waitFor();
  await page.waitForFunction((text) => [...document.querySelectorAll('#recording dt')].find((e) => e.textContent === 'zones').nextSibling.textContent !== text, held, { timeout: 120_000 });
  console.log('ok    a click is not lost when news comes while the button is down');

  recorder.stdin.end();
  await page.waitForSelector('header .run-state.ended', { timeout: 120_000 });
  console.log('ok    and says when it has ended');

  const killed = spawn(join(build, 'tests/live_recorder'), [folder], { stdio: ['pipe', 'pipe', 'inherit'], env });
  const id = (await firstLine(killed.stdout)).split('/').pop();
  await page.goto(`${address}runs/${encodeURIComponent(id)}`);
  await page.waitForSelector('header .run-state.live', { timeout: 120_000 });
  killed.kill('SIGKILL');
  await page.waitForSelector('header .run-state.killed', { timeout: 120_000 });
  await page.locator('a.mark').click(); // the way back to all runs
  await page.waitForSelector('td .run-state.killed', { timeout: 120_000 });
  console.log('ok    a killed run is no ended one');
  const [one, two] = (await page.locator('td a.link').evaluateAll((all) => all.map((a) => a.getAttribute('href').split('/').pop()))).slice(0, 2);
  await page.goto(`${address}diff?base=${one}&new=${two}`);
  await page.waitForSelector('#timeline-first canvas[data-to]', { timeout: 120_000 });
  assert.match(await page.locator('#timeline h2').innerText(), /Both runs on one axis/);
  console.log('ok    the diff of the server has both timelines');
  assert.deepEqual(problems, []);

  const last = spawn(join(build, 'tests/live_recorder'), [folder], { stdio: ['pipe', 'pipe', 'inherit'], env });
  const lastId = (await firstLine(last.stdout)).split('/').pop();
  await page.goto(`${address}runs/${encodeURIComponent(lastId)}`);
  await page.waitForSelector('header .run-state.live', { timeout: 120_000 });
  const list = await browser.newPage();
  await list.goto(address);
  await list.waitForSelector('td .run-state.live', { timeout: 120_000 });
  assert.equal(await list.locator('a.mark').count(), 0, 'the list of runs leads to itself');
  server.kill('SIGKILL');
  await page.waitForSelector('header .run-state.lost', { timeout: 120_000 });
  await list.waitForSelector('header .run-state.lost', { timeout: 120_000 });
  assert.equal(await list.locator('td .run-state.live').count(), 0, 'nothing is live on a server that is gone');
  last.stdin.end();
  console.log('ok    a server that is gone is no live run, and the list of runs says so');
  assert.deepEqual(elsewhere, []);
  console.log('ok    no error, no request elsewhere');
  code = 0;
} catch (e) {
  console.log('FAIL ', e);
} finally {
  await browser.close();
  recorder.stdin.end();
  server.kill('SIGINT');
  rmSync(folder, { recursive: true, force: true });
}
process.exit(code);
