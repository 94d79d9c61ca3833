// The figures that statistics.ts works out.
import type { Entry } from './entry';

export interface NameTime {
  name: string;
  total: number; // ns inside the range with at least one call open, per thread; threads add up
  count: number; // calls that touch the range
  nested: number; // calls inside one of the same name: not in count, their time not again in total
  length: number; // of the counted calls, inside the range
  span?: number; // ns from event to event on the GPU's streams
}

export interface RangeStatistics {
  names: NameTime[]; // zones of the CPU
  gpu: NameTime[]; // kernels and copies
  exact: boolean;
  resolutionNs: number;
}

export interface StageTimes {
  seconds: (number | undefined)[]; // by the stage's index; undefined: none of it is in the range, or not known
  exact: boolean;
  resolutionNs: number;
}

export interface Sampled {
  count: number;
  ns: number; // that the samples span
  inside: boolean; // false: the kernel is shorter than a sample, this is the one around its middle
  means: [string, number][];
}

export interface Relative {
  name: string;
  total: number;
  count: number;
}

export interface Sum {
  name: string;
  count: number;
  total: number;
  longest: Entry;
}

export interface Peers {
  count: number; // of this name, one zone each
  shorter: number;
  median: number;
  longest: Entry;
  shortest: Entry;
  merged: number; // zones of this name that may be hidden in merged ones
  previous: Entry | null;
  next: Entry | null;
}

// Of two runs.
export interface Pair {
  name: string;
  before?: number;
  now?: number;
  beforeCount?: number;
  nowCount?: number;
}
