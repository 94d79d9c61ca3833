// A copied link shows what was seen, whatever it was, on pages of every kind.
import { assert, open, range, ready, settled, test, writePage } from './harness.mjs';
import { encodeTimeline } from './encode.mjs';
import { fixture, small } from './fixture.mjs';
import { diffPage, jobPage, listPage } from './kinds.mjs';

// The same address in another window, as somebody else opens it.
async function elsewhere(browser, page, wait, ...words) {
  await page.waitForFunction((all) => all.every((w) => location.hash.includes(w)), words); // moving about is written when it has settled
  const other = await open(browser, page.url(), { wait });
  await settled(other.page);
  return other;
}

test('a link keeps how tables are sorted, what is folded, hidden and switched', async (browser) => {
  const { page, close } = await open(browser, writePage('links', fixture()));
  await ready(page);
  await page.locator('#stages th button', { hasText: 'self' }).click();
  await page.locator('#stages tr', { hasText: 'denoise' }).locator('.fold').click();
  await page.locator('.card.table tr', { hasText: 'vae_decode' }).click();
  await page.locator('.selection button', { hasText: 'Hide' }).click();
  await page.locator('.dock button', { hasText: 'Taller' }).click();
  await page.locator('#calls').scrollIntoViewIfNeeded();
  await page.locator('#calls input[type=checkbox]').check();
  await page.locator('#calls .icicle button').first().click();
  const look = async (p) => ({
    stages: await p.locator('#stages tbody tr').allInnerTexts(),
    sorted: await p.locator('#stages [aria-sort]').innerText(),
    details: await p.locator('.detail').count(),
    tall: await p.locator('.dock [aria-pressed="true"]').allInnerTexts(),
    inTime: await p.locator('#calls input[type=checkbox]').isChecked(),
    butterfly: await p.locator('.butterfly').count(),
  });
  const before = await look(page);
  assert.equal(before.butterfly, 1);
  assert.equal(before.details, 0);
  const other = await elsewhere(browser, page, '.figures', '.callsof=', '.tall=');
  await ready(other.page);
  await other.page.locator('#calls').scrollIntoViewIfNeeded();
  await other.page.waitForSelector('.butterfly');
  assert.deepEqual(await look(other.page), before);
  await other.close();
  await close();
});

test('a selected zone far down is in sight when its link is opened', async (browser) => {
  const lanes = Array.from({ length: 60 }, (_, i) => ({ kind: 'thread', name: `worker ${i}`, rows: [[{ start: 0, end: 1e9, name: 0 }]] }));
  const { page, close } = await open(browser, writePage('links-far', { ...small(), timeline: encodeTimeline({ endNs: 1e9, names: ['work'], lanes }) }));
  await ready(page);
  await page.locator('#timeline-first canvas').focus();
  for (let i = 0; i < 40; i++) await page.keyboard.press('ArrowDown');
  await page.waitForFunction(() => /worker 39\b/.test(document.querySelector('.detail')?.innerText)); // every lane on the way was selected, too
  const shown = (p) => p.locator('#timeline-full .window').evaluate((e) => e.scrollTop);
  const other = await elsewhere(browser, page, '.figures', 'entry=39.');
  await ready(other.page);
  assert.equal(await shown(other.page), await shown(page));
  assert.ok((await shown(page)) > 0);
  await other.close();
  await close();
});

test("a diff's link keeps video, step, range and selection; Back leads from one to the other", async (browser) => {
  const { page, seen, close } = await open(browser, diffPage('links-diff'));
  await ready(page);
  const first = await range(page);
  await page.locator('[aria-label="align at video"]').selectOption('0');
  await page.locator('[aria-label="align at step"]').selectOption({ label: '3' });
  const aligned = await range(page);
  const b = await page.locator('#timeline-first canvas').boundingBox();
  await page.mouse.click(b.x + 300, b.y + 78); // a step of the run before
  await page.waitForSelector('.selection');
  const chosen = await page.locator('.selection header').innerText();
  const look = async (p) => ({ range: await range(p), video: await p.locator('[aria-label="align at video"]').inputValue(), step: await p.locator('[aria-label="align at step"]').inputValue(), chosen: await p.locator('.selection header').innerText() });
  const other = await elsewhere(browser, page, '.selection', 'entry=');
  await ready(other.page);
  assert.deepEqual(await look(other.page), { range: aligned, video: '0', step: '2', chosen });
  await other.close();
  await page.goBack();
  await page.waitForFunction(() => !document.querySelector('.selection'));
  await page.goBack();
  await page.goBack();
  await settled(page);
  assert.deepEqual(await range(page), first);
  assert.deepEqual(seen.problems, []);
  await close();
});

test('timelines of a diff and of a job are searched, and their lanes arranged', async (browser) => {
  for (const [path, words, lane] of [[diffPage('search-diff'), 'step', 'now: Steps'], [jobPage('search-job'), 'waits for', 'rank 5']]) {
    const { page, seen, close } = await open(browser, path);
    await ready(page);
    await page.locator('[aria-label="search names"]').fill(words);
    await page.keyboard.press('Enter');
    assert.match(await page.locator('.matches').innerText(), /^\d+ of \d+ name/);
    assert.match(await page.locator('.selection header b').innerText(), new RegExp(`^${words}`));
    await page.locator('.tools button', { hasText: /^Lanes$/ }).click();
    await page.locator(`[aria-label="pin ${lane}"]`).click();
    assert.equal(await page.locator('.lanes-list li > span:first-child').first().innerText(), lane);
    const other = await elsewhere(browser, page, '.lanes-list', 'pinned=', '.lanes-list=');
    await ready(other.page);
    assert.equal(await other.page.locator('.lanes-list li > span:first-child').first().innerText(), lane);
    assert.equal(await other.page.locator('[aria-label="search names"]').inputValue(), words);
    assert.deepEqual(seen.problems, []);
    await other.close();
    await close();
  }
});

test('the list of runs keeps its filter and what was chosen', async (browser) => {
  const { page, close } = await open(browser, listPage('links-list'), { wait: 'tbody tr' });
  await page.locator('[aria-label="choose wan-1"]').check();
  await page.locator('[aria-label="choose wan-2"]').check();
  await page.locator('[aria-label="filter runs"]').fill('wan');
  const other = await elsewhere(browser, page, 'tbody tr', '.filter=wan', 'wan-2');
  assert.equal(await other.page.locator('[aria-label="filter runs"]').inputValue(), 'wan');
  assert.match(await other.page.locator('a.link', { hasText: 'Compare' }).getAttribute('href'), /base=wan-1&new=wan-2/);
  await other.close();
  await close();
});

test('the selector of a single video says what is seen', async (browser) => {
  const { page, close } = await open(browser, writePage('links-one', fixture()));
  await ready(page);
  const says = (words) => page.waitForFunction((w) => document.querySelector('header select').selectedOptions[0].text.startsWith(w), words);
  await says('whole run');
  await page.keyboard.press('w');
  await says('part of the run');
  await page.locator('header select').selectOption('0');
  await says('1: a cat surfing');
  await page.keyboard.press('Escape');
  await page.locator('header select').selectOption('-1');
  await says('whole run');
  await close();
});

test('a link, a reload and Back find the place that was scrolled to', async (browser) => {
  const { page, seen, close } = await open(browser, writePage('scrolled', fixture()));
  await ready(page);
  await page.mouse.move(700, 860);
  await page.mouse.wheel(0, 2600);
  await page.waitForFunction(() => scrollY === 2600);
  await page.waitForFunction(() => { // the wheel may have paused on the way
    const part = [...document.querySelectorAll('.part')].findLast((one) => one.getBoundingClientRect().top < innerHeight / 2);
    return location.hash.includes(`place=${part.id}.${Math.round(part.getBoundingClientRect().top)}`);
  });
  const at = () => page.evaluate(() => { // which panel is read, and where its head is
    const part = [...document.querySelectorAll('.part')].findLast((one) => one.getBoundingClientRect().top < innerHeight / 2);
    return { id: part.id, top: Math.round(part.getBoundingClientRect().top) };
  });
  const same = (a, b, what) => assert.ok(a.id === b.id && Math.abs(a.top - b.top) <= 2, `${what}: ${JSON.stringify([a, b])}`);
  const read = await at();
  const link = page.url();
  await page.reload();
  await ready(page);
  await settled(page);
  same(await at(), read, 'after a reload');
  const other = await browser.newContext({ viewport: { width: 1440, height: 900 } }).then((c) => c.newPage());
  await other.goto(link);
  await other.waitForSelector('#timeline-first canvas[data-to]');
  await settled(other);
  same(await other.evaluate(() => { const part = [...document.querySelectorAll('.part')].findLast((one) => one.getBoundingClientRect().top < innerHeight / 2); return { id: part.id, top: Math.round(part.getBoundingClientRect().top) }; }), read, 'in another window');
  await other.context().close();
  await page.locator('#timeline-full canvas').focus();
  await page.keyboard.press('ArrowRight'); // selects: a step that Back undoes
  await page.waitForSelector('.selection');
  await page.waitForFunction(() => location.hash.includes('at='));
  await page.evaluate(() => scrollTo(0, 0));
  await page.waitForFunction(() => !location.hash.includes('place='));
  await page.goBack();
  await page.waitForFunction(() => !document.querySelector('.selection'));
  await settled(page);
  await settled(page);
  same(await at(), read, 'after Back');
  assert.deepEqual(seen.problems, []);
  await close();
});
