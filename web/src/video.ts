// The video as the unit: which one the page is about, and what of the report is its own.
import type { Generation, Report } from './report';

interface Span {
  t_s: number;
  duration_s: number;
}
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
  generation.set(openedAt(r));
}

const LEAST = 0.01; // of a video: as good as nothing

// How much of a video the spans hold.
function shareOf(g: Generation, spans: Span[]): number {
  const { from, to } = rangeOfVideo(g);
  return spans.reduce((sum, s) => sum + Math.max(0, Math.min(to, (s.t_s + s.duration_s) * 1e9) - Math.max(from, s.t_s * 1e9)), 0) / Math.max(1, to - from);
}

// The median warm one, or, where kernels were traced or counters sampled in others alone, the one that has most of that.
function openedAt(r: Report): number {
  const median = r.generations?.median_index ?? 0;
  const sampled = r.sampled_counters;
  const spans: Span[] = [...(r.gpu_trace?.traces ?? []), ...(sampled?.t_s !== undefined && sampled.duration_s ? [{ t_s: sampled.t_s, duration_s: sampled.duration_s }] : [])];
  const shares = videos.map((g) => shareOf(g, spans));
  return shares[median] > LEAST || !shares.some((s) => s > LEAST) ? median : shares.indexOf(Math.max(...shares));
}
