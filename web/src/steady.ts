// What the reader points at stays where it is: when a panel above it changes its height, the page scrolls by as much.
let x = innerWidth / 2;
let y = innerHeight / 2;
let held: HTMLElement | null = null;
let top = 0;

const partAt = (left: number, down: number) => document.elementFromPoint(left, down)?.closest<HTMLElement>('.part') ?? null;

function hold(part: HTMLElement | null): void {
  held = part;
  top = part?.offsetTop ?? 0;
}

const holdPointed = () => hold(partAt(x, y) ?? partAt(innerWidth / 2, innerHeight / 2));

const watcher = new ResizeObserver(() => {
  const by = (held?.isConnected ? held.offsetTop : top) - top;
  top += by;
  if (by) scrollBy(0, by);
});

addEventListener('pointermove', (e) => {
  x = e.clientX;
  y = e.clientY;
  if (!held?.contains(e.target as Node)) holdPointed();
});
addEventListener('scroll', holdPointed, { passive: true });
addEventListener('focusin', (e) => hold((e.target as HTMLElement).closest('.part') ?? held));

// After every drawing: panels come and go.
export const keepSteady = (): void => document.querySelectorAll('.part').forEach((part) => watcher.observe(part));

// While a button of the mouse or a finger is down, what is under it is not exchanged.
let pressed = false;
let later: (() => void) | null = null;
const release = () => {
  pressed = false;
  setTimeout(() => { // after the click that this press makes
    const draw = later;
    later = null;
    draw?.();
  });
};
addEventListener('pointerdown', () => (pressed = true), true);
for (const end of ['pointerup', 'pointercancel']) addEventListener(end, release, true);

export function whenReleased(draw: () => void): void {
  if (pressed) later = draw;
  else draw();
}
