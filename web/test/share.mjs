// What `strobe share` writes: a page like any other, with a recording inside that the page leaves alone.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { assert, assembled, open, ready, test } from './harness.mjs';

const tool = process.env.STROBE_TOOL ?? new URL('../../build/strobe', import.meta.url).pathname;
const trace = process.env.STROBE_TRACE ?? new URL('../../tests/data/kineto-h200.json.gz', import.meta.url).pathname;

test('a shared page opens, asks for nothing, and lists what was removed', async (browser) => {
  const path = join(mkdtempSync(join(tmpdir(), 'strobe-share-')), 'shared.html');
  execFileSync(tool, ['share', trace, '-q', '-o', path]);
  assert.ok(readFileSync(assembled(path), 'utf8').includes('id="strobe-recording"'));
  const { page, seen, close } = await open(browser, path);
  await ready(page);
  assert.deepEqual(seen.problems, []);
  assert.equal(seen.requests.length, 1);
  assert.ok((await page.content()).includes('by strobe share'));
  await close();
});
