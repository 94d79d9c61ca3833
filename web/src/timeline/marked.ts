// Steps that stand out: slower than their peers, or served by a cache.
import type { Report } from '../report';
import type { Timeline } from './data';

export interface StepMark {
  at: number; // ns, where the step begins
  kind: 'slow' | 'cached';
  words: string;
}

let marks: StepMark[] = [];

export const stepMarks = (): StepMark[] => marks;

export function markSteps(r: Report, t: Timeline | null): void {
  const slow = (r.diffusion_analysis?.slow_steps ?? []).map((s): StepMark => ({ at: s.t_s * 1e9, kind: 'slow', words: `${(s.duration_s / s.peer_median_s).toFixed(2)} times its peers' median` }));
  const cached = t ? [...t.details].flatMap(([key, a]): StepMark[] => (a.cached ? [{ at: Number(key.split('.')[2]), kind: 'cached', words: 'served by a cache' }] : [])) : [];
  marks = [...slow, ...cached];
}

const CLOSE_NS = 2000; // the report's seconds are rounded

export const marksAt = (start: number): StepMark[] => marks.filter((m) => Math.abs(m.at - start) < CLOSE_NS);
