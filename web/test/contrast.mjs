// Text stands out from its ground 4.5 times and more, marks three times, on every page in both themes.
import { assert, open, settled, test, writePage } from './harness.mjs';
import { fixture } from './fixture.mjs';
import { benchPage, diffPage, jobPage, journalPage, listPage, videosPage } from './kinds.mjs';

// In the page: what is too faint, as "1.23 where what".
function tooFaint() {
  const parse = (css) => {
    const [kind, ...v] = css.match(/^\w+|-?[\d.]+/g);
    const scale = kind === 'color' ? 255 : 1;
    return [v[0] * scale, v[1] * scale, v[2] * scale, v[3] === undefined ? 1 : Number(v[3])];
  };
  const over = (a, b) => [0, 1, 2].map((i) => a[i] * a[3] + b[i] * (1 - a[3])).concat(1);
  const channel = (v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  const light = (c) => 0.2126 * channel(c[0] / 255) + 0.7152 * channel(c[1] / 255) + 0.0722 * channel(c[2] / 255);
  const contrast = (a, b) => (Math.max(light(a), light(b)) + 0.05) / (Math.min(light(a), light(b)) + 0.05);
  const up = (e) => (e ? [...up(e.parentElement), e] : []);
  const ground = (e) => up(e).reduce((b, one) => over(parse(getComputedStyle(one).backgroundColor), b), [255, 255, 255, 1]);
  const faded = (e) => up(e).reduce((o, one) => o * Number(getComputedStyle(one).opacity), 1);
  const seen = (css, e, on) => over([...parse(css).slice(0, 3), parse(css)[3] * faded(e)], on);
  const bad = [];
  for (const e of document.querySelectorAll('body *')) {
    const { width, height } = e.getBoundingClientRect();
    const s = getComputedStyle(e);
    if (width < 2 || height < 2 || e.disabled || e.matches('canvas, input, svg, svg *:not(text), .png')) continue; // .png is there under the pointer
    const words = [...e.childNodes].filter((n) => n.nodeType === 3).map((n) => n.textContent.trim()).join('');
    const where = `${e.closest('[id]')?.id} ${e.tagName}.${e.className} in .${e.parentElement.className}`;
    if (words) {
      const c = contrast(seen(e.tagName === 'text' ? s.fill : s.color, e, ground(e)), ground(e));
      if (c < 4.5) bad.push(`${c.toFixed(2)} ${where} “${words.slice(0, 20)}”`);
    } else if (!e.children.length && parse(s.backgroundColor)[3] > 0 && !e.matches('td, .stack u')) {
      const below = ground(e.parentElement); // an edge does for a faint fill
      const edges = [...(parseFloat(s.borderBottomWidth) > 0 ? [s.borderBottomColor] : []), ...(/^rgb.*inset$/.test(s.boxShadow) ? [s.boxShadow.slice(0, s.boxShadow.indexOf(')'))] : [])];
      const c = Math.max(...[s.backgroundColor, ...edges].map((css) => contrast(seen(css, e, below), below)));
      if (c < 3) bad.push(`${c.toFixed(2)} ${where}`);
    }
  }
  // Of a heat map each pixel is a mark, and so are the lines of a hatch.
  for (const c of document.querySelectorAll('.heat canvas')) {
    const { data } = c.getContext('2d').getImageData(0, 0, c.width, c.height);
    for (let i = 0; i < data.length; i += 4) {
      const seen = data[i + 3] && contrast(over([...data.slice(i, i + 3), data[i + 3] / 255], ground(c)), ground(c));
      if (seen && seen < 3) bad.push(`${seen.toFixed(2)} ${data.slice(i, i + 3)} of the heat map`);
    }
  }
  for (const e of document.querySelectorAll('.heat .none')) {
    const seen = contrast(parse(getComputedStyle(e).backgroundImage.match(/rgb\([^)]*\)/)[0]), ground(e));
    if (seen < 3) bad.push(`${seen.toFixed(2)} hatch of the heat map`);
  }
  return [...new Set(bad)];
}

const PAGES = { report: (name) => writePage(name, fixture()), videos: videosPage, diff: diffPage, job: jobPage, ranks: (name) => jobPage(name, 300), bench: benchPage, list: listPage, journal: journalPage };

for (const [kind, make] of Object.entries(PAGES))
  test(`text and marks stand out in both themes: ${kind}`, async (browser) => {
    const path = make(`contrast-${kind}`);
    for (const colorScheme of ['light', 'dark']) {
      const { page, close } = await open(browser, path, { colorScheme, wait: 'main' });
      await settled(page);
      await page.evaluate(() => dispatchEvent(new Event('beforeprint'))); // what was not scrolled to, too
      for (const row of await page.locator('tr.pick').all().then((all) => all.slice(0, 1))) await row.click();
      if (await page.locator('[aria-label="search names"]').count()) await page.locator('[aria-label="search names"]').fill('st');
      for (const button of await page.locator('.tools button', { hasText: /^Lanes$/ }).all()) await button.click();
      await settled(page);
      assert.deepEqual(await page.evaluate(tooFaint), [], colorScheme);
      await close();
    }
  });
