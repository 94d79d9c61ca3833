// Finds the data inside the page.
import type { Page, Report } from './report';
import { decodeTimeline, gunzip, unbase64, type Timeline } from './timeline/data';

function script(id: string): HTMLElement | null {
  return document.getElementById(id);
}

// From strobe serve: its front page lists every run.
export const served = (): boolean => script('strobe-report')?.dataset.live !== undefined;

export function readPage(): Page | null {
  const e = script('strobe-report');
  if (!e?.textContent?.trim()) return null;
  const kind = (e.dataset.kind ?? 'report') as Page['kind'];
  const data = JSON.parse(e.textContent);
  const live = e.dataset.live ? // empty: from the server, but nothing to follow
    { report: `${e.dataset.live}/report.json`, timeline: `${e.dataset.live}/timeline`, events: `${e.dataset.live}/events`, runs: '/api/runs' } : undefined;
  return { kind, [kind]: data, live } as Page;
}

// Of two runs side by side, 'strobe-timeline' is of the one now.
export async function readTimeline(id = 'strobe-timeline'): Promise<Timeline | null> {
  const e = script(id);
  const text = e?.textContent?.trim();
  if (!e || !text) return null;
  const packed = unbase64(text);
  e.textContent = ''; // the bytes are out; let the text go
  return decodeTimeline(e.dataset.encoding === 'raw' ? packed : await gunzip(packed));
}

export async function fetchTimeline(url: string): Promise<Timeline> {
  const answer = await fetch(url);
  if (!answer.ok) throw new Error(`the server answered ${answer.status}`);
  const bytes = new Uint8Array(await answer.arrayBuffer());
  return decodeTimeline(bytes[0] === 0x1f && bytes[1] === 0x8b ? await gunzip(bytes) : bytes);
}

// A report from a file the reader has chosen: JSON, or a page with JSON inside.
export function readReport(text: string): Report | null {
  try {
    const found = /<script[^>]*id="strobe-report"[^>]*>([\s\S]*?)<\/script>/.exec(text);
    const data = JSON.parse(found ? found[1] : text) as Report;
    return data && typeof data === 'object' && data.stage_analysis ? data : null;
  } catch {
    return null;
  }
}
