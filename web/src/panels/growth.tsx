// Whether memory and open files grow with the work: one row each, with what it rests on.
import { count, memory } from '../format';
import type { MemoryGrowth } from '../report';
import { Table } from '../table';

const OF: Record<string, string> = { vram: 'VRAM', host: "the process's memory", pinned: 'pinned memory', open_files: 'open files' };
const MEANS: Record<string, string> = { settles: 'settles: a cache that filled up', returned: 'given back after the generation', grows: 'grows: a leak' };

const each = (g: MemoryGrowth) => (g.per_unit_mb !== undefined ? g.per_unit_mb * 2 ** 20 : g.per_unit_count);
const shown = (g: MemoryGrowth, bytes: number | undefined, files: number | undefined) => (bytes !== undefined ? memory(bytes * 2 ** 20) : files !== undefined ? count(files) : '');
const ends = (g: MemoryGrowth) => {
  const low = shown(g, g.per_unit_low_mb, g.per_unit_low_count);
  return low && `${low} to ${shown(g, g.per_unit_high_mb, g.per_unit_high_count)}`;
};

// Growth that chance does not explain may still be too little to matter.
const means = (g: MemoryGrowth) => (g.verdict === 'steady' && g.p_value_ratio <= 0.02 ? 'grows too little for a leak' : (MEANS[g.verdict] ?? g.verdict));

export function Growth({ rows }: { rows: MemoryGrowth[] }) {
  return (
    <Table
      caption="Does it grow with the work?"
      rows={rows}
      most={12}
      columns={[
        { key: 'of', value: (g) => OF[g.of] ?? g.of },
        { key: 'verdict', head: 'it', value: means },
        { key: 'per_unit', head: 'by', help: 'the median over all pairs of readings', value: each, cell: (g) => shown(g, g.per_unit_mb, g.per_unit_count) },
        { key: 'per', head: 'with every', value: (g) => [g.per, g.stage && `of ${g.stage}`].filter(Boolean).join(' ') },
        { key: 'interval', head: '95 % between', value: ends },
        { key: 'unit_count', head: 'of them' },
        { key: 'reading_count', head: 'readings', help: 'the lowest between two of them' },
        { key: 'p_value_ratio', head: 'by chance', help: 'how often such an order comes without growth' },
        ...(rows.some((g) => g.where) ? [{ key: 'where' as const, head: 'most of it in' }] : []),
      ]}
    />
  );
}
