// Numbers as people read them: always with a unit, never more digits than they mean.

const NBSP = '\u00a0';

export function seconds(s: number | undefined): string {
  if (s === undefined || !Number.isFinite(s)) return 'n/a';
  const a = Math.abs(s); // the unit is the one of the rounded number: 999.7 ms are 1.00 s
  if (a === 0) return `0${NBSP}s`;
  if (a < 999.5e-9) return `${(s * 1e9).toFixed(0)}${NBSP}ns`;
  if (a < 999.5e-6) return `${fixed3(s * 1e6)}${NBSP}µs`;
  if (a < 0.9995) return `${fixed3(s * 1e3)}${NBSP}ms`;
  if (a < 999.995) return `${s.toFixed(2)}${NBSP}s`;
  return grouped(s, 0) + `${NBSP}s`;
}

// A time of an imported text, with no digit that the text did not have.
export function printed(s: number | undefined, digit: number | undefined): string {
  const a = Math.abs(s ?? NaN);
  if (!digit || !Number.isFinite(a) || digit <= 1.01 * (a < 1 ? a / 100 : 0.01)) return seconds(s);
  return a < digit / 2 ? `0${NBSP}s` : s!.toFixed(Math.max(0, Math.ceil(-Math.log10(digit) - 1e-9))) + `${NBSP}s`;
}

export const nanos = (ns: number): string => seconds(ns / 1e9);

function fixed3(v: number): string {
  const a = Math.abs(v);
  return v.toFixed(a < 9.995 ? 2 : a < 99.95 ? 1 : 0);
}

export function grouped(v: number, digits = 0): string {
  const [whole, part] = Math.abs(v).toFixed(digits).split('.');
  const text = whole.replace(/\B(?=(\d{3})+(?!\d))/g, '\u202f');
  return (v < 0 ? '−' : '') + text + (part ? '.' + part : '');
}

export function count(v: number | undefined): string {
  return v === undefined ? 'n/a' : grouped(v, Number.isInteger(v) ? 0 : 2);
}

// What is there but too small for the digits is not called nothing.
export function percent(ratio: number | undefined, digits = 1): string {
  if (ratio === undefined || !Number.isFinite(ratio)) return 'n/a';
  const least = 10 ** -digits;
  return ratio > 0 && ratio * 100 < least / 2 ? `<${NBSP}${least.toFixed(digits)}${NBSP}%` : `${(ratio * 100).toFixed(digits)}${NBSP}%`;
}

// The unit is that of the rounded number, as in the text (src/report/panels/words.c).
function sized(v: number | undefined, step: number): string {
  if (v === undefined || !Number.isFinite(v)) return 'n/a';
  const unit = [4, 3, 2, 1].find((n) => Math.abs(v) >= 0.99995 * step ** n) ?? 0;
  return `${(v / step ** unit).toFixed(unit && 1)}${NBSP}${['B', 'kB', 'MB', 'GB', 'TB'][unit]}`;
}

export const bytes = (v: number | undefined): string => sized(v, 1e3);

// Memory as nvidia-smi and torch have it: 1 MB is 2^20 bytes.
export const memory = (v: number | undefined): string => sized(v, 1024);

// The unit that suits it, by the rule of the text (src/stats/energy.c).
export function energy(wh: number): string {
  const a = Math.abs(wh);
  const j = wh * 3600;
  if (a === 0) return `0${NBSP}J`;
  if (a >= 999.5) return `${(wh / 1000).toFixed(2)}${NBSP}kWh`;
  if (a >= 0.0995) return `${wh.toFixed(a >= 9.995 ? 1 : 2)}${NBSP}Wh`;
  if (Math.abs(j) >= 0.9995) return `${j.toFixed(Math.abs(j) >= 99.95 ? 0 : 1)}${NBSP}J`;
  return `${Math.abs(j) >= 0.00995 ? (j * 1000).toFixed(0) : Number((j * 1000).toPrecision(2))}${NBSP}mJ`;
}

function rate(v: number): string {
  return Math.abs(v) >= 1e9 ? `${(v / 1e9).toFixed(2)}${NBSP}GB/s` : `${bytes(v)}/s`;
}

export function plain(v: number): string {
  if (Number.isInteger(v)) return grouped(v);
  const a = Math.abs(v);
  return a >= 1000 ? grouped(v, 1) : a >= 1 ? v.toFixed(2) : a >= 0.001 ? String(Number(v.toPrecision(3))) : v.toExponential(2);
}

export function big(v: number): string {
  if (v >= 1e9) return (v / 1e9).toFixed(1) + 'B';
  if (v >= 1e6) return (v / 1e6).toFixed(1) + 'M';
  return grouped(v);
}

// The unit of an axis that ends here: how much of the values' own it is, and its name.
function axisScale(unit: string, high: number): [number, string] | undefined {
  const [, format, factor = 1] = UNITS.find(([end]) => unit === end) ?? [];
  const found = format && SCALES.get(format)?.findLast(([one]) => high * factor >= one * 0.9995);
  return found && [found[0] / factor, found[1]];
}

// Steps are round in this: 1024 of a megabyte, where the axis is in gigabytes.
export const axisUnit = (unit: string, high: number): number => axisScale(unit, high)?.[0] ?? 1;

// For axes: no digits that only say nothing.
export function axisLabel(unit: string, v: number, high = v): string {
  const scale = axisScale(unit, high);
  return (scale ? `${grouped(v / scale[0], 2)}${NBSP}${scale[1]}` : keyed('x' + unit, v)).replace(/(\.\d*?)0+(?=\D|$)/, '$1').replace(/\.(?=\D|$)/, '').replace(NBSP, '\u2009');
}

// A key's ending says its unit; longer endings first.
// A factor: what the formatter takes one as.
const UNITS: [string, (v: number) => string, number?][] = [
  ['_tflop_per_s', (v) => `${v.toFixed(1)}${NBSP}TFLOP/s`],
  ['_gb_per_s', rate, 1e9],
  ['_mb_per_s', rate, 1e6],
  ['_bytes_per_s', rate],
  ['_per_second', (v) => `${plain(v)}/s`],
  ['_per_s', (v) => `${plain(v)}/s`],
  ['_per_hour', (v) => `${plain(v)}/h`],
  ['_percent', (v) => `${v.toFixed(1)}${NBSP}%`],
  ['_ratio', (v) => percent(v)],
  ['_celsius', (v) => `${v.toFixed(0)}${NBSP}°C`],
  ['_peak_bytes', memory],
  ['memory_mean_bytes', memory],
  ['memory_bytes', memory],
  ['_total_bytes', memory],
  ['rss_bytes', memory],
  ['_bytes', bytes],
  ['_count', count],
  ['_mhz', (v) => `${grouped(v)}${NBSP}MHz`],
  ['_ghz', (v) => `${v.toFixed(2)}${NBSP}GHz`],
  ['_hz', (v) => `${grouped(v)}${NBSP}Hz`],
  ['_wh', energy],
  ['_mb', memory, 2 ** 20],
  ['_gb', bytes, 1e9],
  ['_fps', (v) => `${plain(v)}${NBSP}frames/s`],
  ['_bps', (v) => `${plain(v)}${NBSP}blocks/s`],
  ['_ms', seconds, 1 / 1e3],
  ['_us', seconds, 1 / 1e6],
  ['_ns', seconds, 1 / 1e9],
  ['_w', (v) => `${v.toFixed(0)}${NBSP}W`],
  ['_c', (v) => `${v.toFixed(0)}${NBSP}°C`],
  ['_j', (v) => `${grouped(v, 0)}${NBSP}J`],
  ['_s', seconds],
];

export function unitOf(key: string): string {
  const found = UNITS.find(([end]) => key.endsWith(end));
  return found ? found[0] : '';
}

// "2026-11-15T09:47:17.417+00:00", to the second and in one piece.
function moment(text: string): string {
  const found = /^(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)(?:\.\d+)?(Z|[+-]\d\d:\d\d)?$/.exec(text);
  return found ? found.slice(1).filter(Boolean).join(NBSP).replaceAll('-', '\u2011') : text;
}

export function keyed(key: string, v: unknown): string {
  if (typeof v === 'boolean') return v ? 'yes' : 'no';
  if (typeof v !== 'number') return v === null || v === undefined ? 'n/a' : moment(String(v));
  if (/(^|_)(pid|code_value|version|line)$/.test(key)) return String(v);
  if (key.endsWith('speedup_ratio')) return `${v.toFixed(2)}×`;
  if (key === 'fps' || key === 'bps' || key === 'gb_per_s' || key === 'bytes' || key === 'per_second') return keyed('_' + key, v);
  const found = UNITS.find(([end]) => key.endsWith(end));
  return found ? found[1](v * (found[2] ?? 1)) : plain(v);
}

// Units that share a column: size, name; the smallest first.
type Scale = [number, string][];
const scale = (base: number, ...names: string[]): Scale => names.map((name, i) => [base ** i, name]);
const DECIMAL = scale(1e3, 'B', 'kB', 'MB', 'GB');
const SCALES = new Map<(v: number) => string, Scale>([
  [seconds, [[1e-9, 'ns'], [1e-6, 'µs'], [1e-3, 'ms'], [1, 's']]],
  [bytes, DECIMAL],
  [memory, scale(1024, 'B', 'kB', 'MB', 'GB')],
  [rate, DECIMAL.map(([size, name]) => [size, `${name}/s`])],
  [energy, [[1 / 3.6e6, 'mJ'], [1 / 3600, 'J'], [1, 'Wh'], [1e3, 'kWh']]],
]);

export type Show = (v: number | undefined, digit?: number) => string;

// How the numbers of one column are shown: all in one unit, that of the largest; where most would then be nothing, in a smaller one.
// digit: the smallest step that a number of an imported text has.
export function columnShow(key: string, values: (number | string | undefined)[]): Show {
  const [, format, factor = 1] = UNITS.find(([end]) => `_${key}`.endsWith(end)) ?? [];
  const units = format && SCALES.get(format);
  const sizes = values.flatMap((v) => (typeof v === 'number' && v && Number.isFinite(v) ? [Math.abs(v * factor)] : [])).sort((a, b) => a - b);
  if (!format || !units || !sizes.length) return (v) => keyed(`_${key}`, v);
  const names = new Set([sizes[0], sizes[sizes.length - 1]].map((v) => format(v).split(NBSP)[1]));
  if (names.size === 1) {
    const zero = `0${NBSP}${[...names][0]}`;
    return (v, digit) => (v === 0 ? zero : digit && format === seconds ? printed(v, digit) : keyed(`_${key}`, v));
  }
  const middle = sizes[(sizes.length - 1) >> 1];
  let at = Math.max(0, units.findLastIndex(([size]) => sizes[sizes.length - 1] >= size * 0.9995));
  while (at > 0 && middle < units[at][0] / 1000 && sizes[sizes.length - 1] < units[at - 1][0] * 1e5) at--;
  const [size, name] = units[at];
  const digitsFor = (v: number, digits: number) => digits - 1 - Math.floor(Math.log10(v / size));
  const most = Math.max(2, Math.min(3, Math.max(digitsFor(middle, 3), digitsFor(sizes[Math.floor(sizes.length / 10)], 1))));
  return (v, digit) => {
    if (v === undefined || !Number.isFinite(v)) return 'n/a';
    const digits = digit ? Math.max(0, Math.min(most, Math.ceil(-Math.log10((digit * factor) / size) - 1e-9))) : most;
    const least = 10 ** -digits;
    const n = (v * factor) / size;
    return (n && Math.abs(n) < least / 2 ? `<${NBSP}${least.toFixed(digits)}` : n ? grouped(n, digits) : '0') + NBSP + name;
  };
}

// Long names keep their beginning and their end.
// What kernels of long names are called in a few words, as strobe says it.
export const shortNames = new Map<string, string>();

export const shortName = (name: string): string => shortNames.get(name) ?? name;

export function clip(long: string, most: number): string {
  const text = shortName(long);
  if (text.length <= most) return text;
  const keep = most - 1;
  const head = Math.ceil(keep * 0.6);
  return text.slice(0, head) + '…' + text.slice(text.length - (keep - head));
}

// Stages of one kind are grouped: "chunk_*" holds the zones chunk_1, chunk_2...
export function sameStage(stage: string, zone: string): boolean {
  if (stage === zone) return true;
  return stage.includes('*') && zone.replace(/\d+/g, '*') === stage;
}
