// Links inside the page leave the address alone: it says what is seen.
export function goTo(e: MouseEvent): void {
  const id = (e.currentTarget as HTMLAnchorElement).getAttribute('href')!.slice(1);
  e.preventDefault();
  document.getElementById(id)?.scrollIntoView();
}

export function toTimeline(e: MouseEvent): void {
  e.preventDefault();
  document.querySelector<HTMLElement>('#timeline-first canvas')?.focus();
}
