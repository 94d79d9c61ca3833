// Steps that stand out: slower than their peers, served by a cache, or guided.
import type { Report } from '../report';
import type { Timeline } from './data';

export interface StepMark {
  at: number; // ns, where the step begins
  kind: 'slow' | 'cached' | 'guided';
  words: string;
  to?: number; // where the step ends: a narrow one has no room for the mark
}

let marks: StepMark[] = [];

export const stepMarks = (): StepMark[] => marks;

// Steps in which guidance runs the model more than once: the same zone again and again right inside the step.
function guided(t: Timeline): StepMark[] {
  return [...t.details].flatMap(([key, a]) => {
    if (typeof a.guidance_scale !== 'number' || a.guidance_scale <= 1) return [];
    const [lane, r, start] = key.split('.').map(Number);
    const { kind, rows } = t.lanes[lane];
    const [row, below] = [rows[r], rows[r + 1]];
    if (kind !== 'thread' || !below) return [];
    const to = row.end[row.firstStartingAt(start)];
    const calls = new Map<number, number>();
    for (let k = below.firstStartingAt(start); k < below.size && below.start[k] < to; k++) calls.set(below.name[k], (calls.get(below.name[k]) ?? 0) + below.count[k]);
    const [name, n] = [...calls].sort((a, b) => b[1] - a[1])[0] ?? [0, 0];
    return n > 1 ? { at: start, kind: 'guided', to, words: `${n} calls of ${t.names[name]}` } : [];
  });
}

export function markSteps(r: Report, t: Timeline | null): void {
  const slow = (r.diffusion_analysis?.slow_steps ?? []).map((s): StepMark => ({ at: s.t_s * 1e9, kind: 'slow', words: `${(s.duration_s / s.peer_median_s).toFixed(2)} times its peers' median` }));
  const cached = t ? [...t.details].flatMap(([key, a]): StepMark[] => (a.cached ? [{ at: Number(key.split('.')[2]), kind: 'cached', words: 'served by a cache' }] : [])) : [];
  marks = [...slow, ...cached, ...(t ? guided(t) : [])];
}

const CLOSE_NS = 2000; // the report's seconds are rounded

export const marksAt = (start: number): StepMark[] => marks.filter((m) => Math.abs(m.at - start) < CLOSE_NS);
