// Links inside the page leave the address alone: it says what is seen.
export function goTo(e: MouseEvent): void {
  const id = (e.currentTarget as HTMLAnchorElement).getAttribute('href')!.slice(1);
  e.preventDefault();
  document.getElementById(id)?.scrollIntoView();
}

// Where the page is scrolled to: the panel in the middle of the window, and where it begins; '': the first screen.
export function placeNow(): string {
  const at = [...document.querySelectorAll('.part[id]')].findLast((part) => part.getBoundingClientRect().top < innerHeight / 2);
  return at && scrollY > 0 ? `${at.id}.${Math.round(at.getBoundingClientRect().top)}` : '';
}

// After what was asked for is drawn.
export function goToPlace(place: string): void {
  const [id, top] = place.split('.');
  requestAnimationFrame(() => requestAnimationFrame(() => {
    const part = document.getElementById(id);
    if (part) scrollBy(0, part.getBoundingClientRect().top - (Number(top) || 0));
  }));
}

export function toTimeline(e: MouseEvent): void {
  e.preventDefault();
  document.querySelector<HTMLElement>('#timeline-first canvas')?.focus();
}
