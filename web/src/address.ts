// What the reader sees, kept behind the '#' of the address: reload, Back and a copied link give it again.
// A selection or another generation is a step that Back undoes; moving about is not.
import { arrangement, dark, generation, kept, search, select, selection, setTheme, show, themeChosen, USUAL, view, whole, type Selection } from './state';
import { goToPlace, placeNow } from './place';
import { hasVideos, videoRange } from './video';

const MORE = '.'; // before the key of what is not named here
const STEPS = ['video', 'step']; // choices that Back undoes
const whole_ = (v: number) => String(Math.round(v));
const list = (numbers: number[]) => numbers.join('.');
const unlist = (text: string | null) => (text ? text.split('.').map(Number).filter((n) => Number.isInteger(n) && n >= 0) : []);

function range(text: string | null): { from: number; to: number } | null {
  const found = /^(-?\d+)_(-?\d+)$/.exec(text ?? '');
  return found && Number(found[1]) <= Number(found[2]) ? { from: Number(found[1]), to: Number(found[2]) } : null;
}

function putSelection(p: URLSearchParams, s: Selection): void {
  p.set('at', `${whole_(s.from)}_${whole_(s.to)}`);
  p.set('label', s.label);
  if (s.entry) p.set('entry', list([s.entry.lane, s.entry.row, s.entry.start]));
  if (s.name !== undefined && s.name !== s.label) p.set('name', s.name);
  else if (s.name !== undefined) p.set('named', '');
  if (s.stage !== undefined) p.set('stage', String(s.stage));
  if (s.unattributed !== undefined) p.set('gap', String(s.unattributed));
  if (s.moment) p.set('moment', '');
}

function getSelection(p: URLSearchParams): Selection | null {
  const at = range(p.get('at'));
  if (!at) return null;
  const label = p.get('label') ?? '';
  const [lane, row, start] = (p.get('entry') ?? '').split('.').map(Number);
  const number = (key: string) => (p.has(key) && Number.isInteger(Number(p.get(key))) ? Number(p.get(key)) : undefined);
  return {
    ...at,
    label,
    entry: Number.isInteger(start) ? { lane, row, start } : undefined,
    name: p.has('named') ? label : (p.get('name') ?? undefined),
    stage: number('stage'),
    unattributed: number('gap'),
    moment: p.has('moment') || undefined,
  };
}

export function written(): string {
  const p = new URLSearchParams();
  const v = view.get();
  const all = whole.get();
  const s = selection.get();
  const a = arrangement.get();
  if (v.from > all.from || v.to < all.to) p.set('view', `${whole_(v.from)}_${whole_(v.to)}`);
  if (hasVideos()) p.set('generation', generation.get() === null ? 'all' : String(generation.get()! + 1));
  if (s) putSelection(p, s);
  if (search.get().trim()) p.set('search', search.get());
  for (const key of ['order', 'pinned', 'folded', 'open'] as const) if (a[key].length) p.set(key, list(a[key]));
  if (a.filter) p.set('lanes', a.filter);
  if (a.families) p.set('families', '');
  if (themeChosen()) p.set('theme', dark.get() ? 'dark' : 'light');
  if (placeNow()) p.set('place', placeNow());
  for (const [key, v] of Object.entries(kept.get())) p.set(MORE + key, v);
  return p.toString();
}

let reading = false;

// What the address says is shown; one without our words is a place on the page, or nothing.
export function read(): void {
  const p = new URLSearchParams(location.hash.slice(1));
  reading = true;
  kept.set(Object.fromEntries([...p].flatMap(([key, v]) => (key.startsWith(MORE) ? [[key.slice(1), v]] : []))));
  const theme = p.get('theme');
  if (theme) setTheme(theme === 'dark');
  const g = Number(p.get('generation'));
  if (p.has('generation')) generation.set(Number.isInteger(g) && g > 0 ? g - 1 : null);
  search.set(p.get('search') ?? '');
  const a = { order: unlist(p.get('order')), pinned: unlist(p.get('pinned')), folded: unlist(p.get('folded')), open: unlist(p.get('open')), filter: p.get('lanes') ?? '', families: p.has('families') };
  arrangement.set(a.families || [a.order, a.pinned, a.folded, a.open, a.filter].some((v) => v.length) ? a : USUAL);
  select(getSelection(p));
  show(range(p.get('view')) ?? videoRange() ?? whole.get());
  reading = false;
  if (p.has('place')) goToPlace(p.get('place')!);
}

const SETTLED_MS = 200;

// Called once, when the axis of time is known.
export function startAddress(): void {
  let timer = 0;
  let step = false;
  let before = kept.get();
  const write = () => {
    const text = written();
    if (text === location.hash.slice(1)) return;
    try {
      history[step ? 'pushState' : 'replaceState'](null, '', `#${text}`);
    } catch {
      // a page inside another one may have no address
    }
    step = false;
  };
  const soon = (ms: number, isStep: boolean) => {
    if (reading) return;
    step ||= isStep;
    clearTimeout(timer);
    timer = window.setTimeout(write, ms);
  };
  for (const store of [view, search, arrangement, dark] as const) (store as typeof search).watch(() => soon(step ? 0 : SETTLED_MS, false));
  for (const store of [selection, generation] as const) (store as typeof selection).watch(() => soon(0, true));
  kept.watch((now) => {
    const other = STEPS.some((key) => now[key] !== before[key]);
    before = now;
    soon(other ? 0 : SETTLED_MS, other);
  });
  addEventListener('popstate', read);
  addEventListener('scroll', () => soon(step ? 0 : SETTLED_MS, false), { passive: true });
  if (location.hash.includes('=')) read();
  else if (!hasVideos() && written().includes('view')) soon(0, false); // Back finds the first view again
}
