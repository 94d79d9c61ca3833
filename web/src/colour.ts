// One colour per name, the same in bar, table and timeline. The stages that
// take most time get hues far apart; every other name gets one from its text.
import { dark } from './state';

const HUES = [214, 28, 158, 346, 266, 47, 190, 318, 96, 236];
const known = new Map<string, number>();

export function rankNames(names: string[]): void {
  known.clear();
  names.slice(0, HUES.length).forEach((name, i) => known.set(name, HUES[i]));
}

function hueOf(name: string): number {
  const hue = known.get(name);
  if (hue !== undefined) return hue;
  let h = 2166136261;
  for (let i = 0; i < name.length && i < 256; i++) h = Math.imul(h ^ name.charCodeAt(i), 16777619);
  const made = ((h >>> 0) % 60) * 6;
  known.set(name, made);
  return made;
}

export const UNATTRIBUTED = '(unattributed)';

export function solid(name: string): string {
  if (name === UNATTRIBUTED) return dark.get() ? '#4a4f57' : '#c9ced6';
  return dark.get() ? `hsl(${hueOf(name)} 45% 56%)` : `hsl(${hueOf(name)} 52% 54%)`;
}

// The colours of a list that has nothing to do with stages.
export function nth(i: number): string {
  const hue = HUES[i % HUES.length];
  const pale = i >= HUES.length ? 16 : 0;
  return dark.get() ? `hsl(${hue} 45% ${56 - pale}%)` : `hsl(${hue} 52% ${54 + pale}%)`;
}

export interface Tint {
  fill: string;
  text: string;
  edge: string; // stands out from the card three times and more: what is narrow is drawn in it
}

const tints = new Map<string, Tint>();
dark.watch(() => tints.clear());

const CARD_DARK = 0.0137; // luminance of --card
const MARK = 3.15; // contrast of a mark with the card

const channel = (v: number) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);

function luminance(h: number, s: number, l: number): number {
  const a = s * Math.min(l, 1 - l);
  const at = (n: number) => {
    const k = (n + h / 30) % 12;
    return channel(l - a * Math.max(-1, Math.min(k - 3, 9 - k, 1)));
  };
  return 0.2126 * at(0) + 0.7152 * at(8) + 0.0722 * at(4);
}

// The lightness, in percent, at which a hue has this luminance.
function lightness(h: number, s: number, wanted: number): number {
  let low = 0;
  let high = 1;
  for (let i = 0; i < 12; i++) {
    const middle = (low + high) / 2;
    if (luminance(h, s, middle) < wanted) low = middle;
    else high = middle;
  }
  return Math.round(((low + high) / 2) * 1000) / 10;
}

export function tint(name: string): Tint {
  let t = tints.get(name);
  if (!t) {
    const h = hueOf(name);
    const mark = dark.get() ? lightness(h, 0.42, MARK * (CARD_DARK + 0.05) - 0.05) : lightness(h, 0.5, 1.05 / MARK - 0.05);
    t = dark.get()
      ? { fill: `hsl(${h} 42% ${mark}%)`, text: '#fff', edge: `hsl(${h} 42% ${mark}%)` }
      : { fill: `hsl(${h} 62% 84%)`, text: `hsl(${h} 50% 16%)`, edge: `hsl(${h} 50% ${mark}%)` };
    tints.set(name, t);
  }
  return t;
}
