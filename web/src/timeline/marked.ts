// Steps that stand out: slower than their peers, served by a cache, or guided.
import type { Report } from '../report';
import type { Timeline } from './data';
import { entryAt, rangeOf } from './entry';
import { children } from './statistics';

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
    const [lane, row, start] = key.split('.').map(Number);
    const step = t.lanes[lane].kind === 'thread' && entryAt(t, { lane, row, start });
    const most = step ? children(t, step).sums.sort((x, y) => y.count - x.count)[0] : undefined;
    return step && most && most.count > 1 ? { at: start, kind: 'guided', to: rangeOf(t, step).to, words: `${most.count} calls of ${most.name}` } : [];
  });
}

export function markSteps(r: Report, t: Timeline | null): void {
  const slow = (r.diffusion_analysis?.slow_steps ?? []).map((s): StepMark => ({ at: s.t_s * 1e9, kind: 'slow', words: `${(s.duration_s / s.peer_median_s).toFixed(2)} times its peers' median` }));
  const cached = t ? [...t.details].flatMap(([key, a]): StepMark[] => (a.cached ? [{ at: Number(key.split('.')[2]), kind: 'cached', words: 'served by a cache' }] : [])) : [];
  marks = [...slow, ...cached, ...(t ? guided(t) : [])];
}

const CLOSE_NS = 2000; // the report's seconds are rounded

export const marksAt = (start: number): StepMark[] => marks.filter((m) => Math.abs(m.at - start) < CLOSE_NS);
