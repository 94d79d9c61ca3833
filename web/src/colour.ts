// One colour per name, the same in bar, table and timeline, and in every opening of a run that grows.
import { dark } from './state';

type Shade = [hue: number, saturation: number, lightness: number];

// Any two of a list differ for everyone, with and without red, green or blue light (CIEDE2000 of 11 and more:
// test/vision.mjs), and each stands out from the card three times and more.
const LIGHT: Shade[] = [[226, 75, 50], [34, 55, 46], [174, 55, 30], [334, 55, 30], [260, 35, 62], [55, 55, 28], [174, 55, 40], [332, 75, 50], [84, 35, 22], [240, 45, 40]];
const FILLS: Shade[] = [[234, 45, 86], [42, 75, 70], [166, 45, 66], [340, 35, 64], [264, 75, 72], [65, 25, 58], [166, 65, 86], [324, 75, 66], [92, 65, 84], [244, 45, 76]]; // of zones with a LIGHT edge: 8.9
const DARK: Shade[] = [[230, 75, 72], [12, 65, 48], [162, 45, 62], [0, 25, 48], [270, 55, 56], [55, 55, 48], [184, 45, 34], [320, 45, 60], [92, 35, 64], [246, 25, 76]];

const known = new Map<string, number>(); // below LIGHT.length: the place in the list; from there on a hue
const tints = new Map<string, Tint>();
dark.watch(() => tints.clear());

function hashOf(name: string): number {
  let h = 9682; // with it the usual stages of a pipeline ask for different colours
  for (let i = 0; i < name.length && i < 256; i++) h = Math.imul(h ^ name.charCodeAt(i), 16777619);
  return h >>> 9;
}

// The first names get colours of the list: each the one its text asks for, or the next that is free.
export function rankNames(names: string[]): void {
  known.clear();
  tints.clear();
  const free = new Set(LIGHT.keys());
  for (const name of names.slice(0, LIGHT.length)) {
    let at = hashOf(name) % LIGHT.length;
    while (!free.delete(at)) at = (at + 1) % LIGHT.length;
    known.set(name, at);
  }
}

const CARD_DARK = 0.0137; // luminance of --card
const MARK = 3.3; // contrast of a mark with the card

const channel = (v: number) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);

function luminance([h, s, l]: Shade): number {
  const a = (s / 100) * Math.min(l / 100, 1 - l / 100);
  const at = (n: number) => {
    const k = (n + h / 30) % 12;
    return channel(l / 100 - a * Math.max(-1, Math.min(k - 3, 9 - k, 1)));
  };
  return 0.2126 * at(0) + 0.7152 * at(8) + 0.0722 * at(4);
}

// The lightness at which a hue stands out from the card.
function lightness(h: number): number {
  const wanted = dark.get() ? MARK * (CARD_DARK + 0.05) - 0.05 : 1.05 / MARK - 0.05;
  let low = 0;
  let high = 100;
  for (let i = 0; i < 12; i++) {
    const middle = (low + high) / 2;
    if (luminance([h, 45, middle]) < wanted) low = middle;
    else high = middle;
  }
  return Math.round(low * 5 + high * 5) / 10;
}

export const UNATTRIBUTED = '(unattributed)';

function placeOf(name: string): number {
  let at = known.get(name.replace(/^\d+ smaller/, 'smaller'));
  if (at === undefined) known.set(name, (at = LIGHT.length + (hashOf(name) % 60) * 6));
  return at;
}

function shadeOf(name: string): Shade {
  if (name === UNATTRIBUTED) return dark.get() ? [217, 8, 32] : [217, 14, 81];
  const at = placeOf(name);
  const hue = at - LIGHT.length;
  return hue < 0 ? (dark.get() ? DARK : LIGHT)[at] : [hue, 45, lightness(hue)];
}

const css = ([h, s, l]: Shade) => `hsl(${h} ${s}% ${l}%)`;

// White or black, whichever is read more easily on it.
const inkOn = (shade: Shade) => (luminance(shade) > 0.179 ? '#000' : '#fff');

export const solid = (name: string): string => css(shadeOf(name));

// What has no stage is pale, so it has an edge.
export const fillOf = (name: string) => ({ background: solid(name), color: inkOn(shadeOf(name)), boxShadow: name === UNATTRIBUTED ? 'inset 0 0 0 1px var(--faint)' : undefined });

// The colours of a list that has nothing to do with stages, and what is read on them.
export function nth(i: number): { background: string; color: string } {
  const [h, s, l] = (dark.get() ? DARK : LIGHT)[i % LIGHT.length];
  const shade: Shade = [h, s, i < LIGHT.length ? l : dark.get() ? l + (100 - l) * 0.35 : l * 0.7];
  return { background: css(shade), color: inkOn(shade) };
}

export interface Tint {
  fill: string;
  text: string;
  edge: string; // stands out from the card three times and more: what is narrow is drawn in it
}

export function tint(name: string): Tint {
  let t = tints.get(name);
  if (!t) {
    const shade = shadeOf(name);
    const edge = css(shade);
    t = dark.get() ? { fill: edge, text: inkOn(shade), edge } : { fill: css(FILLS[placeOf(name)] ?? [shade[0], 62, 84]), text: css([shade[0], 50, 10]), edge };
    tints.set(name, t);
  }
  return t;
}
