// Which stage of the report a zone on the timeline is, from the zones around it; as src/run/paths.c decides it.
import { sameStage } from '../format';
import type { Stage } from '../report';
import { derived, type Timeline } from './data';

export interface Frame {
  name: string;
  stage: number; // -1: none in the report
  end: number;
}

export class Paths {
  private children = new Map<string, number>(); // parent and name
  private groups = new Map<number, number[]>(); // by parent: names that stand for several
  private once = new Map<string, number>(); // names of one stage only

  constructor(private stages: Stage[]) {
    stages.forEach((s, i) => {
      const parent = s.parent_index ?? -1;
      this.children.set(`${parent} ${s.name}`, i);
      if (s.name.includes('*')) this.groups.set(parent, [...(this.groups.get(parent) ?? []), i]);
      this.once.set(s.name, this.once.has(s.name) ? -1 : i);
    });
  }

  // Inside a zone of its name: steps are a stage of their own there, a section that calls itself is that again.
  own(t: Timeline, around: Frame[], name: string, start: number): number | undefined {
    const stage = this.children.get(`${around[around.length - 1].stage} ${name}`);
    if (stage === undefined || around.some((f) => f.stage === stage)) return undefined;
    const lanes = t.lanes.filter((l) => derived(l.kind) && l.kind === this.stages[stage].role);
    return !lanes.length || lanes.some((l) => l.rows.some((r) => r.start[r.startingAt(start)] === start)) ? stage : undefined;
  }

  below(parent: number, name: string): number {
    return this.children.get(`${parent} ${name}`) ?? this.groups.get(parent)?.find((i) => sameStage(this.stages[i].name, name)) ?? this.once.get(name) ?? -1;
  }
}
