// What every part of the page shares: the visible time, the selection, the theme.
import { useEffect, useState } from 'preact/hooks';

export class Store<T> {
  private listeners = new Set<(value: T) => void>();
  constructor(private value: T) {}
  get(): T {
    return this.value;
  }
  set(value: T): void {
    if (Object.is(value, this.value)) return;
    this.value = value;
    for (const tell of [...this.listeners]) tell(value);
  }
  watch(tell: (value: T) => void): () => void {
    this.listeners.add(tell);
    return () => this.listeners.delete(tell);
  }
}

export function useStore<T>(store: Store<T>): T {
  const [value, setValue] = useState(store.get());
  useEffect(() => {
    setValue(store.get());
    return store.watch(setValue);
  }, [store]);
  return value;
}

// The same, once the value has stayed for a moment: for work too slow for every frame.
export function useSettled<T>(store: Store<T>, ms: number): T {
  const [value, setValue] = useState(store.get());
  useEffect(() => {
    let timer = 0;
    const stop = store.watch((v) => {
      clearTimeout(timer);
      timer = window.setTimeout(() => setValue(v), ms);
    });
    setValue(store.get());
    return () => {
      clearTimeout(timer);
      stop();
    };
  }, [store]);
  return value;
}

export interface Seen {
  draw: () => void;
  stop: () => void;
}

// Whether it can be seen, or nearly: now, and whenever that changes.
function watchSight(element: Element, tell: (seen: boolean) => void): () => void {
  const watcher = new IntersectionObserver((entries) => tell(entries[entries.length - 1].isIntersecting), { rootMargin: '150px' });
  watcher.observe(element);
  return () => watcher.disconnect();
}

const inSight = new WeakSet<Element>(); // of charts that are made anew, as on a live page: drawn before they are shown
const late = new Set<() => void>(); // draws of what is out of sight, for paper and for pictures of the whole page
let timer = 0;

// One by one, when nothing has moved for a while. Until then they are hidden: a browser copies every canvas of the page
// for every frame, changed or not.
function drawLate(all?: boolean): void {
  for (const draw of late) {
    draw();
    if (!all) {
      timer = setTimeout(drawLate, 30);
      return;
    }
  }
  document.body.classList.remove('moving');
}

// Calls draw at once while the element can be seen, else when it comes into sight or when nothing moves.
export function whenSeen(element: HTMLElement, draw: () => void): Seen {
  let seen = inSight.has(element);
  const missed = () => {
    late.delete(missed);
    draw();
  };
  const ask = () => {
    if (seen) return draw();
    late.add(missed);
    document.body.classList.add('moving');
    clearTimeout(timer);
    timer = setTimeout(drawLate, 500);
  };
  window.onbeforeprint = () => drawLate(true);
  const stop = watchSight(element, (now) => {
    seen = now;
    inSight[seen ? 'add' : 'delete'](element);
    element.classList.toggle('unseen', !seen);
    if (seen && late.has(missed)) {
      missed();
      requestAnimationFrame(() => performance.mark('strobe-drawn')); // test/measure.mjs reads the last one
    }
  });
  if (!seen) ask();
  return {
    draw: ask,
    stop: () => {
      late.delete(missed);
      stop();
    },
  };
}

// Whether an element can be seen, or nearly: what costs time waits for it.
export function useSeen(element: { current: Element | null }): boolean {
  const [seen, setSeen] = useState(false);
  useEffect(() => {
    const stop = watchSight(element.current!, setSeen);
    const all = () => setSeen(true);
    addEventListener('beforeprint', all);
    return () => {
      removeEventListener('beforeprint', all);
      stop();
    };
  }, []);
  return seen;
}

// Whether the window is wider than that, now.
export function useWider(px: number): boolean {
  const [wider, setWider] = useState(innerWidth > px);
  useEffect(() => {
    const measure = () => setWider(innerWidth > px);
    addEventListener('resize', measure);
    return () => removeEventListener('resize', measure);
  }, []);
  return wider;
}

// Nanoseconds since the run began.
export interface Range {
  from: number;
  to: number;
}

// One entry of the timeline, by its place: the same in every view of the same file.
export interface EntryPlace {
  lane: number;
  row: number;
  start: number;
}

export interface Selection extends Range {
  label: string;
  entry?: EntryPlace; // a zone, a kernel, a step
  moment?: boolean; // a sample or an event: a moment without a length
  name?: string; // of a zone or stage: its occurrences stand out
  stage?: number; // the stage's index in the report
  unattributed?: number; // which of the gaps between stages, the longest first
}

export const view = new Store<Range>({ from: 0, to: 1 });
export const whole = new Store<Range>({ from: 0, to: 1 });
export const selection = new Store<Selection | null>(null);
export const search = new Store<string>('');
export const cursor = new Store<number | null>(null); // the moment under the pointer, in lanes and charts

// How the reader arranged the lanes; lanes are named by their index in the file.
export interface Arrangement {
  order: number[]; // moved lanes and where they stand: empty, the usual order
  pinned: number[];
  folded: number[]; // to one row
  open: number[]; // every row shown
  filter: string;
  families: boolean; // a lane for each family of kernels, too
}

export const USUAL: Arrangement = { order: [], pinned: [], folded: [], open: [], filter: '', families: false };
export const arrangement = new Store<Arrangement>(USUAL);
export const dark = new Store<boolean>(false);
export const generation = new Store<number | null>(null); // which video the page is about; null: the whole run

// Whatever else the reader chose, by its key; what is not here is as at first.
export const kept = new Store<Record<string, string>>({});

export function useKept(key: string, usual = ''): [string, (v: string) => void] {
  const [value, setValue] = useState(kept.get()[key] ?? usual);
  useEffect(() => {
    const take = () => setValue(kept.get()[key] ?? usual);
    take();
    return kept.watch(take);
  }, [key, usual]);
  return [
    value,
    (v) => {
      const { [key]: _, ...others } = kept.get();
      kept.set(v === usual ? others : { ...others, [key]: v });
    },
  ];
}

// The same for what is on or off.
export function useSwitch(key: string): [boolean, (on: boolean) => void] {
  const [value, set] = useKept(key);
  return [value !== '', (on) => set(on ? 'on' : '')];
}

const LEAST_NS = 50;

export function show(range: Range): void {
  const all = whole.get();
  const span = Math.min(Math.max(range.to - range.from, LEAST_NS), all.to - all.from);
  const middle = (range.from + range.to) / 2;
  const from = Math.min(Math.max(middle - span / 2, all.from), all.to - span);
  view.set({ from, to: from + span });
}

export function pan(ratio: number): void {
  const v = view.get();
  const by = (v.to - v.from) * ratio;
  show({ from: v.from + by, to: v.to + by });
}

// factor < 1 zooms in; the moment at stays where it is.
export function zoom(factor: number, at?: number): void {
  const v = view.get();
  const all = whole.get();
  const span = Math.min(Math.max((v.to - v.from) * factor, LEAST_NS), all.to - all.from);
  const fix = at ?? (v.from + v.to) / 2;
  const share = (fix - v.from) / (v.to - v.from);
  const from = Math.min(Math.max(fix - share * span, all.from), all.to - span);
  view.set({ from, to: from + span });
}

export function select(s: Selection | null): void {
  selection.set(s);
  if (!s) return;
  const v = view.get();
  if (s.to <= v.from || s.from >= v.to) {
    const span = Math.max(s.to - s.from, (v.to - v.from) / 4);
    const middle = (s.from + s.to) / 2;
    show({ from: middle - span, to: middle + span });
  }
}

export function focusSelection(): void {
  const s = selection.get();
  if (!s) return;
  const edge = (s.to - s.from) * 0.05;
  show({ from: s.from - edge, to: s.to + edge });
}

const THEME = 'strobe-theme';
let chosen: string | null = null; // by the reader; else the system's choice holds

export function startTheme(): void {
  const system = matchMedia('(prefers-color-scheme: dark)');
  const paper = matchMedia('print'); // is light, and what is drawn must follow
  try {
    chosen = localStorage.getItem(THEME);
  } catch {
    // storage may be closed for files
  }
  const apply = (isDark: boolean) => {
    document.documentElement.dataset.theme = isDark ? 'dark' : 'light';
  };
  const choose = () => dark.set(!paper.matches && (chosen ? chosen === 'dark' : system.matches));
  dark.watch(apply);
  choose();
  apply(dark.get());
  system.addEventListener('change', choose);
  paper.addEventListener('change', choose);
}

export const themeChosen = (): boolean => chosen !== null;

export const toggleTheme = (): void => setTheme(!dark.get());

export function setTheme(isDark: boolean): void {
  chosen = isDark ? 'dark' : 'light';
  dark.set(isDark);
  try {
    localStorage.setItem(THEME, chosen);
  } catch {
    // see above
  }
}
