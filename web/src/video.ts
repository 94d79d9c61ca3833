// The video as the unit: which one the page is about, and what of the report is its own.
import type { Generation, Report, Stage } from './report';
import { generation, show, whole, type Range } from './state';
import type { Timeline } from './timeline/data';
import { stageTimes } from './timeline/statistics';

export const videosOf = (r: Report): Generation[] => (r.generations?.whole_run ? [] : (r.generations?.items ?? []));

export const rangeOfVideo = (g: Generation): Range => ({ from: g.start_s * 1e9, to: (g.start_s + g.wall_s) * 1e9 });

// The middle one of those that were warm: the first pays for compiling and caches.
export function medianWarm(all: Generation[]): number {
  const warm = all.map((_, i) => i).filter((i) => i > 0 && all[i].state === undefined);
  warm.sort((a, b) => all[a].wall_s - all[b].wall_s);
  return warm[Math.floor((warm.length - 1) / 2)] ?? 0;
}

let videos: Generation[] = [];

export const hasVideos = (): boolean => videos.length > 1;
export const chosenVideo = (): Generation | null => (generation.get() === null ? null : (videos[generation.get()!] ?? null));
export const videoRange = (): Range | null => (chosenVideo() ? rangeOfVideo(chosenVideo()!) : null);

// Once, before anything is drawn: a run of several videos is about a warm one.
export function startVideos(r: Report): void {
  const first = !videos.length;
  videos = videosOf(r);
  if (!first || videos.length < 2) return;
  generation.watch(() => show(videoRange() ?? whole.get()));
  generation.set(medianWarm(videos));
}

export interface Part {
  name: string;
  stage?: number; // its index in the report
  seconds: number;
}

const PARTS_MOST = 8;

// Where a video's time went: the stages directly inside it, then what no stage has.
export function partsOf(r: Report, t: Timeline, g: Generation): Part[] {
  const stages = r.stage_analysis?.stages ?? [];
  const { seconds } = stageTimes(t, stages, rangeOfVideo(g));
  const time = (i: number) => seconds[i] ?? 0;
  // Where the videos are zones, what other threads did meanwhile is no part of them.
  const marked = stages.some((s, i) => s.role === 'generation' && time(i) > 0);
  const outer = (s: Stage) => (marked ? s.parent_index !== undefined && stages[s.parent_index].role === 'generation' : s.parent_index === undefined);
  const inside = stages.flatMap((s, i) => (s.role !== 'generation' && outer(s) && time(i) > 0 ? [{ name: s.name, stage: i, seconds: time(i) }] : []));
  inside.sort((a, b) => b.seconds - a.seconds);
  const parts: Part[] = inside.slice(0, PARTS_MOST);
  const small = inside.slice(PARTS_MOST).reduce((sum, p) => sum + p.seconds, 0);
  if (small > 0) parts.push({ name: `${inside.length - PARTS_MOST} smaller stages`, seconds: small });
  const rest = g.wall_s - parts.reduce((sum, p) => sum + p.seconds, 0);
  if (rest > 0) parts.push({ name: '(unattributed)', seconds: rest });
  return parts;
}
