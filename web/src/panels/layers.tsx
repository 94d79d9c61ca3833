// What memory held over time: layers on each other, on the timeline's axis; a click says what is resident at that moment.
import { useRef } from 'preact/hooks';
import { TimeChart, type Chart } from '../charts';
import { count, memory, percent, seconds } from '../format';
import { Picture } from '../picture';
import type { MemoryLayer, MemoryPicture, MemorySegment } from '../report';
import { selection, useKept, useStore } from '../state';
import { Stack, Table } from '../table';

const MB = 1048576;

const nameOf = (l: MemoryLayer): string => (l.dtype ? `${l.component} (${l.dtype})` : l.component);
const heldAt = (l: MemoryLayer, i: number): number => l.held_mb[i] ?? 0;
const kindOf = (p: MemoryPicture): string => (p.by_line ? 'line of the program' : p.by_stage ? 'stage' : 'component');
const placeOf = (p: MemoryPicture): string => (p.device_index === undefined ? 'Host memory' : `Memory of GPU ${p.device_index}`);
const titleOf = (p: MemoryPicture): string => placeOf(p) + (p.by_line || p.by_stage ? ` by ${kindOf(p)}` : '');

const HELP: Record<string, string> = {
  exact: 'the stage that allocated each block, from the history',
  stage: 'what rose in a stage and is still there; what is given back counts as what came last',
  'line of the program': "from the allocator's history: which line asked for it",
};

const helpOf = (p: MemoryPicture): string | undefined => HELP[p.exact ? 'exact' : kindOf(p)];

const times = (p: MemoryPicture): number[] => p.t_s.map((t) => t ?? 0);

// The largest keep their colours; what is smaller is one layer at their side. The report's order stays.
function chartOf(p: MemoryPicture): Chart {
  const small = p.layers.filter((l) => l.small);
  const lines = p.layers.filter((l) => !l.small).map((l) => ({ key: nameOf(l), label: nameOf(l), values: l.held_mb }));
  if (p.small_mb) lines.push({ key: 'smaller', label: `${small.length} smaller ones`, values: p.small_mb });
  return { group: 'Memory', title: titleOf(p), unit: '_mb', t: times(p), lines, stacked: true };
}

// The last moment that is not after the selected one; without a selection the peak.
function momentOf(p: MemoryPicture, t: number | undefined): number {
  return t === undefined ? p.peak_index : Math.max(0, times(p).findLastIndex((one) => one <= t + 1e-9));
}

function Moment({ picture: p, at }: { picture: MemoryPicture; at: number }) {
  const rows = p.layers.map((l) => ({ name: nameOf(l), stack: l.stack, held: heldAt(l, at) * MB, most: l.most_mb * MB })).filter((r) => r.held > 0);
  const all = (p.sum_mb[at] ?? 0) * MB;
  const stage = p.stages[at];
  type Row = (typeof rows)[number];
  return (
    <Table
      caption={`${titleOf(p)} at ${seconds(times(p)[at])}${stage && ` in ${stage}`}${at === p.peak_index ? ', the highest' : ''}: ${memory(all)}`}
      rows={rows.sort((a, b) => b.held - a.held)}
      most={16}
      columns={[
        { key: 'name', head: p.by_line || p.by_stage ? kindOf(p) : 'resident' },
        { key: 'held', unit: '_memory_bytes' },
        { key: 'share_ratio', value: (r) => r.held / all },
        { key: 'most', head: 'at most', unit: '_memory_bytes' },
        ...(p.layers.some((l) => l.stack) ? [{ key: 'stack' as const, head: 'called from', help: 'the stack of its largest allocation', cell: (r: Row) => r.stack && <Stack of={r.stack} /> }] : []),
      ]}
    />
  );
}

const DRAWN_MS = 60;

// What a click asked for is in sight, above the bar of what is selected.
function seeBelow(e: HTMLElement): void {
  const bar = document.querySelector('.selection')?.getBoundingClientRect().top ?? innerHeight;
  const rows = e.querySelectorAll('tbody tr');
  const hidden = (rows[Math.min(2, rows.length - 1)]?.getBoundingClientRect().bottom ?? 0) + 8 - bar;
  if (hidden > 0) scrollBy(0, hidden);
}

// Pictures of one memory, of which one is shown.
function Place({ pictures, t }: { pictures: MemoryPicture[]; t: number | undefined }) {
  const [at, setAt] = useKept(`layers${placeOf(pictures[0])}`, '0');
  const p = pictures[Number(at)] ?? pictures[0];
  const host = useRef<HTMLDivElement>(null);
  return (
    <div class="layers" ref={host}>
      {pictures.length > 1 && (
        <p class="switch" role="group" aria-label={`${placeOf(p)}: layers are`}>
          Layers:{' '}
          {pictures.map((one, i) => (
            <button key={i} title={helpOf(one)} aria-pressed={one === p} onClick={() => setAt(String(i))}>
              {kindOf(one)}
            </button>
          ))}
        </p>
      )}
      <div onClick={() => setTimeout(() => seeBelow(host.current!), DRAWN_MS)}>
        <TimeChart chart={chartOnce(p)} height={170} axis />
      </div>
      {p.by_stage && <p class="quiet">{helpOf(p)}.</p>}
      <Moment picture={p} at={momentOf(p, t)} />
    </div>
  );
}

export function Layers({ pictures }: { pictures: MemoryPicture[] }) {
  const s = useStore(selection);
  const places = [...new Set(pictures.map(placeOf))];
  return (
    <>
      {places.map((place) => (
        <Place key={place} pictures={pictures.filter((p) => placeOf(p) === place)} t={s ? s.to / 1e9 : undefined} />
      ))}
    </>
  );
}

// Blocks of a segment from one end to the other: as wide as they are large, as high as they are full.
function Segment({ s, of }: { s: MemorySegment; of: number }) {
  const used = (i: number) => s.used_ratio[i] ?? 0;
  const words = (bytes: number, i: number) => `${memory(bytes)} ${used(i) >= 1 ? 'in use' : used(i) <= 0 ? 'free' : `of small blocks, ${percent(used(i), 0)} in use`}`;
  return (
    <span class="segment" role="img" aria-label={s.part_bytes.map((b, i) => words(b ?? 0, i)).join(', ')} style={{ width: `${(100 * s.segment_bytes) / of}%` }}>
      {s.part_bytes.map((b, i) => (
        <span key={i} title={words(b ?? 0, i)} style={{ flexGrow: b ?? 0 }}>
          <i style={{ height: `${100 * used(i)}%` }} />
        </span>
      ))}
    </span>
  );
}

export function Segments({ segments }: { segments: MemorySegment[] }) {
  const largest = Math.max(...segments.map((s) => s.segment_bytes));
  const devices = new Set(segments.map((s) => s.device_index)).size > 1;
  return (
    <Picture words="Fragmentation">
      <Table
        caption="Fragmentation: the allocator's segments when its snapshot was taken, the most free memory first. Filled: in use; empty: free"
        rows={segments}
        columns={[
          { key: 'blocks', value: () => '', cell: (s) => <Segment s={s} of={largest} /> },
          ...(devices ? [{ key: 'device_index' as const, head: 'GPU' }] : []),
          { key: 'segment_bytes', unit: '_memory_bytes' },
          { key: 'free_bytes', unit: '_memory_bytes' },
          { key: 'free_count', head: 'in pieces', cell: (s) => count(s.free_count) },
          { key: 'largest_free_bytes', head: 'the largest', help: 'a request that is larger does not fit', unit: '_memory_bytes' },
        ]}
      />
    </Picture>
  );
}

// The same chart for the same picture: one that is new is drawn from the start.
const charts = new WeakMap<MemoryPicture, Chart>();
export function chartOnce(p: MemoryPicture): Chart {
  const known = charts.get(p) ?? chartOf(p);
  charts.set(p, known);
  return known;
}
