// The page that most tests open, and where its timeline lies.
import { writePage } from './harness.mjs';
import { fixture } from './fixture.mjs';

export const base = fixture();
export const basePath = writePage('base', base);
export const gutter = 132;

export async function box(page, id = '#timeline-first') {
  await page.locator(`${id} canvas`).scrollIntoViewIfNeeded();
  return page.locator(`${id} canvas`).boundingBox();
}
