// The video as the unit: which one the page is about, and what of the report is its own.
import type { Generation, Report } from './report';
import { generation, show, whole, type Range } from './state';

export const videosOf = (r: Report): Generation[] => (r.generations?.whole_run ? [] : (r.generations?.items ?? []));

export const rangeOfVideo = (g: Generation): Range => ({ from: g.start_s * 1e9, to: (g.start_s + g.wall_s) * 1e9 });

let videos: Generation[] = [];
let unit = 'video';

// What one generation is called: as the text has it, a video where it made frames, and one of them.
export const unitName = (): string => unit;

export const hasVideos = (): boolean => videos.length > 1;
export const chosenVideo = (): Generation | null => (generation.get() === null ? null : (videos[generation.get()!] ?? null));
export const videoRange = (): Range | null => (chosenVideo() ? rangeOfVideo(chosenVideo()!) : null);

// Once, before anything is drawn: a run of several videos is about a warm one.
export function startVideos(r: Report): void {
  const first = !videos.length;
  videos = videosOf(r);
  unit = (r.summary?.frames || videos.some((g) => g.frames)) && !r.summary?.video_count ? 'video' : 'generation';
  if (!first || videos.length < 2) return;
  generation.watch(() => show(videoRange() ?? whole.get()));
  generation.set(r.generations?.median_index ?? 0);
}
