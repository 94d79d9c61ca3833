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

export interface Tint {
  fill: string;
  text: string;
  edge: string;
}

const tints = new Map<string, Tint>();
dark.watch(() => tints.clear());

export function tint(name: string): Tint {
  let t = tints.get(name);
  if (!t) {
    const h = hueOf(name);
    t = dark.get()
      ? { fill: `hsl(${h} 36% 36%)`, text: `hsl(${h} 40% 93%)`, edge: `hsl(${h} 40% 24%)` }
      : { fill: `hsl(${h} 62% 80%)`, text: `hsl(${h} 50% 18%)`, edge: `hsl(${h} 42% 62%)` };
    tints.set(name, t);
  }
  return t;
}
