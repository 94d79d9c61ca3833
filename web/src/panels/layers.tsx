// What memory held over time: layers on each other, on the timeline's axis; a click says what is resident at that moment.
import { TimeChart, type Chart } from '../charts';
import { memory, percent } from '../format';
import type { MemoryLayer, MemoryPicture } from '../report';
import { selection, useStore } from '../state';
import { Table } from '../table';

const MB = 1048576;
const SHOWN = 6; // as many as there are colours

const nameOf = (l: MemoryLayer): string => (l.dtype ? `${l.component} (${l.dtype})` : l.component);
const heldAt = (l: MemoryLayer, i: number): number => l.held_mb[i] ?? 0;
const most = (l: MemoryLayer): number => l.held_mb.reduce<number>((a, b) => Math.max(a, b ?? 0), 0);
const placeOf = (p: MemoryPicture): string =>
  (p.device_index === undefined ? 'Host memory' : `Memory of GPU ${p.device_index}`) + (p.by_line ? ' by line of the program' : '');

const times = (p: MemoryPicture): number[] => p.t_s.map((t) => t ?? 0);

// The largest keep their colours; what is smaller is one layer at their side. The report's order stays.
function chartOf(p: MemoryPicture): Chart {
  const large = new Set([...p.layers].sort((a, b) => most(b) - most(a)).slice(0, p.layers.length > SHOWN ? SHOWN - 1 : SHOWN));
  const small = p.layers.filter((l) => !large.has(l));
  const lines = p.layers.filter((l) => large.has(l)).map((l) => ({ key: nameOf(l), label: nameOf(l), values: l.held_mb as (number | null)[] }));
  if (small.length) lines.push({ key: 'smaller', label: `${small.length} smaller ones`, values: p.t_s.map((_, i) => small.reduce((sum, l) => sum + heldAt(l, i), 0)) });
  return { group: 'Memory', title: placeOf(p), unit: '_mb', t: times(p), lines, stacked: true };
}

// The last moment that is not after the selected one; without a selection the peak.
function momentOf(p: MemoryPicture, t: number | undefined): number {
  return t === undefined ? p.peak_index : Math.max(0, times(p).findLastIndex((one) => one <= t + 1e-9));
}

function Moment({ picture: p, at }: { picture: MemoryPicture; at: number }) {
  const rows = p.layers.map((l) => ({ name: nameOf(l), held: heldAt(l, at) * MB, most: most(l) * MB })).filter((r) => r.held > 0);
  const all = rows.reduce((sum, r) => sum + r.held, 0);
  const stage = p.stages[at];
  return (
    <Table
      caption={`${placeOf(p)} at ${times(p)[at].toFixed(2)} s${stage && ` in ${stage}`}${at === p.peak_index ? ', the highest' : ''}: ${memory(all)}`}
      rows={rows.sort((a, b) => b.held - a.held)}
      most={16}
      columns={[
        { key: 'name', head: 'resident', text: true, value: (r) => r.name },
        { key: 'held', head: 'held', value: (r) => r.held, cell: (r) => memory(r.held) },
        { key: 'share', head: 'share', value: (r) => r.held / all, cell: (r) => percent(r.held / all) },
        { key: 'most', head: 'at most', value: (r) => r.most, cell: (r) => memory(r.most) },
      ]}
    />
  );
}

export function Layers({ pictures }: { pictures: MemoryPicture[] }) {
  const s = useStore(selection);
  return (
    <>
      {pictures.map((p) => (
        <div class="layers" key={`${p.device_index ?? 'host'}${p.by_line ? ' by line' : ''}`}>
          <TimeChart chart={chartOnce(p)} height={170} axis />
          <Moment picture={p} at={momentOf(p, s ? s.to / 1e9 : undefined)} />
        </div>
      ))}
    </>
  );
}

// The same chart for the same picture: one that is new is drawn from the start.
const charts = new WeakMap<MemoryPicture, Chart>();
function chartOnce(p: MemoryPicture): Chart {
  const known = charts.get(p) ?? chartOf(p);
  charts.set(p, known);
  return known;
}
