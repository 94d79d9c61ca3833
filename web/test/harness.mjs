// Just enough to name behaviours and count failures.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, writeFileSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { chromium } from 'playwright-core';
import { launchOptions } from './browser.mjs';
import { assemble } from './encode.mjs';
import { unknownKeys } from './schema.mjs';

export const template = () => readFileSync(process.env.STROBE_PAGE ?? new URL('../../src/report/page/page.html', import.meta.url), 'utf8');
const folder = mkdtempSync(join(tmpdir(), 'strobe-page-'));
const tests = [];

export function test(name, body) {
  tests.push({ name, body });
}

// Stages name their parents in a test where names are unique; strobe writes the parent's index, too.
function withIndices(report) {
  const stages = report.stage_analysis?.stages ?? [];
  for (const s of stages) {
    if (s.parent !== undefined) s.parent_index ??= stages.findIndex((o) => o.name === s.parent);
    s.depth ??= s.parent_index === undefined ? 0 : stages[s.parent_index].depth + 1;
  }
  return report;
}

export function writePage(name, { report, timeline, kind, base }) {
  if (kind === undefined) withIndices(report);
  const path = join(folder, `${name}.html`);
  mkdirSync(dirname(path), { recursive: true });
  if (kind !== 'runs') assert.deepEqual(unknownKeys(report, kind ?? 'report'), [], `${name} has keys that strobe never writes`);
  writeFileSync(path, assemble(template(), report, timeline, kind, base));
  return path;
}

// A page that strobe wrote, with the page under test around its data.
export function assembled(path) {
  const data = readFileSync(path, 'utf8').match(/<script type="application\/[^>]* id="strobe-[\s\S]*?<\/script>/g);
  writeFileSync(path, template().replace('<!--strobe:data-->', () => data.join('\n')));
  return path;
}

export function writeFile(name, text) {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

// A person looks after the page has drawn what a click changed; so do the tests.
function seeWhatActionsDraw(page) {
  const locator = Object.getPrototypeOf(page.locator('body'));
  if (locator.seesWhatItDraws) return;
  locator.seesWhatItDraws = true;
  for (const name of ['click', 'dblclick', 'press', 'fill', 'hover', 'check', 'selectOption']) {
    const act = locator[name];
    locator[name] = async function (...args) {
      const result = await act.apply(this, args);
      await settled(this.page()).catch(() => {}); // it led to another page
      return result;
    };
  }
}

// Opens a page and watches everything it must not do.
export async function open(browser, path, { wait = '.figures', ...options } = {}) {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, ...options });
  const page = await context.newPage();
  const seen = { problems: [], requests: [], dialogs: 0 };
  page.on('console', (m) => ['error', 'warning'].includes(m.type()) && seen.problems.push(m.text()));
  page.on('pageerror', (e) => seen.problems.push(e.message));
  page.on('request', (r) => seen.requests.push(r.url()));
  page.on('dialog', (d) => {
    seen.dialogs++;
    void d.dismiss();
  });
  seeWhatActionsDraw(page);
  await page.goto(path.includes('://') ? path : `file://${path}`);
  await page.waitForSelector(wait);
  return { page, seen, close: () => context.close() };
}

export async function settled(page) {
  await page.evaluate(() => new Promise((done) => {
    setTimeout(done, 1000); // a page that is not shown draws nothing
    requestAnimationFrame(() => requestAnimationFrame(done));
  }));
}

// The first timeline's visible range in nanoseconds.
export async function range(page, id = '#timeline-first') {
  await settled(page);
  return page.$eval(`${id} canvas`, (c) => ({ from: Number(c.dataset.from), to: Number(c.dataset.to) }));
}

export async function ready(page) {
  await page.waitForSelector('#timeline-first canvas[data-to]');
  await settled(page);
}

async function passes(browser, t) {
  try {
    await t.body(browser);
    console.log(`ok    ${t.name}`);
    return true;
  } catch (e) {
    console.log(`FAIL  ${t.name}\n      ${String(e.stack ?? e).split('\n').slice(0, 8).join('\n      ')}`);
    for (const context of browser.contexts()) await context.close();
    return false;
  }
}

export async function run() {
  const browser = await chromium.launch(launchOptions());
  const only = process.argv[2];
  let failed = 0;
  for (const t of tests) {
    if (only && !t.name.includes(only)) continue;
    if (!(await passes(browser, t))) failed++;
  }
  await browser.close();
  console.log(`${tests.length} tests, ${failed} failed`);
  process.exit(failed ? 1 : 0);
}

export { assert };
