// What held memory: when it ran out, and at the peak of each stage. Bars are as long as what they hold.
import type { ComponentChildren } from 'preact';
import { nth } from '../colour';
import { count, memory } from '../format';
import { jumpTo } from '../jump';
import type { AllocRetries, OutOfMemory, Report, Resident, ResidencyMoment } from '../report';
import { FieldTable, Table } from '../table';
import { Layers, Segments } from './layers';

interface Part {
  name: string;
  bytes: number;
}

const partOf = (p: Resident): Part => ({ name: p.dtype ? `${p.component} (${p.dtype})` : p.component, bytes: p.bytes });
const placeOf = (m: ResidencyMoment): string => (m.device_index === undefined ? 'host' : `GPU ${m.device_index}`);
const held = (caption: string, all: Resident[] | undefined): ComponentChildren => <FieldTable caption={caption} most={12} rows={all?.map(partOf).map((p) => ({ what: p.name, memory_bytes: p.bytes }))} />;

// One bar of parts side by side, in the colours of their names.
function Bar({ parts, of, names }: { parts: Part[]; of: number; names: string[] }) {
  return (
    <span class="held-bar" role="img" aria-label={parts.map((p) => `${p.name} ${memory(p.bytes)}`).join(', ')}>
      {parts.map((p) => (
        <span key={p.name} title={`${p.name}: ${memory(p.bytes)}`} style={{ display: 'inline-block', height: '0.9em', width: `${(100 * p.bytes) / of}%`, ...nth(names.indexOf(p.name)) }} />
      ))}
    </span>
  );
}

function ranOut(o: OutOfMemory): ComponentChildren {
  const asked = o.requested_bytes !== undefined && `${memory(o.requested_bytes)} were asked for`;
  const free = o.free_bytes !== undefined && `${memory(o.free_bytes)} were free`;
  const place = o.file && `${o.file.split('/').pop()}${o.line ? `:${o.line}` : ''}`;
  return (
    <>
      <p class="bad">
        {o.killed ? 'The kernel killed the run for its memory' : 'Memory ran out'}
        {o.stage && ` in ${o.stage}`}
        {place && ` (${place})`}
        {[asked, free].some(Boolean) && `: ${[asked, free].filter(Boolean).join(', ')}`}
        {o.count > 1 && `; ${count(o.count)} times, this is the last`}.
      </p>
      {o.limit_bytes !== undefined && <p>The program may take {memory(o.limit_bytes)}.</p>}
      {!!o.piece_count && !!o.fragmented_bytes && (
        <p>
          Fragmentation: {memory(o.fragmented_bytes)} in {count(o.piece_count)} pieces between blocks in use
          {o.largest_piece_bytes !== undefined && `, the largest ${memory(o.largest_piece_bytes)}`}.
        </p>
      )}
      {held('What held it then', o.residents)}
      <FieldTable caption="Each time" most={8} rows={o.times} />
      <FieldTable caption="What would have helped" most={8} rows={o.would_fit?.map((w) => ({ without: w.free, gives_memory_bytes: w.bytes, the_request_fits_then: w.fits }))} />
    </>
  );
}

function retried(o: AllocRetries): ComponentChildren {
  return (
    <>
      <p class="bad">
        The allocator got memory only after it gave its cache back
        {o.stage && ` in ${o.stage}`}
        {o.count > 1 && `; ${count(o.count)} times`}.{o.allocated_bytes !== undefined && ` Before the last: ${memory(o.allocated_bytes)} allocated, ${memory(o.slack_bytes)} more reserved, of ${memory(o.limit_bytes ?? o.total_bytes)}.`}
      </p>
      {held('What held it after the last', o.residents)}
    </>
  );
}

function peaks(moments: ResidencyMoment[], generation: number): ComponentChildren {
  const rows = moments.filter((m) => m.at === 'peak').map((m) => ({ moment: m, parts: [...m.parts.map(partOf), ...(m.rest_bytes > 0 ? [{ name: 'no name', bytes: m.rest_bytes }] : [])] }));
  const names = [...new Set(rows.flatMap((r) => r.parts.map((p) => p.name)))];
  const most = Math.max(...rows.map((r) => r.moment.total_bytes));
  if (!rows.length) return null;
  return (
    <Table
      caption={`At the peak of each stage${generation ? ` of generation ${generation}` : ''}`}
      rows={rows}
      most={32}
      onPick={(r) => jumpTo(r.moment.stage, r.moment.t_s, 0)}
      columns={[
        { key: 'stage', value: (r) => r.moment.stage },
        { key: 'of', value: (r) => placeOf(r.moment) },
        { key: 'total_bytes', head: 'in use', value: (r) => r.moment.total_bytes },
        { key: 'parts', head: 'held by', value: (r) => r.parts.map((p) => `${p.name} ${memory(p.bytes)}`).slice(0, 3).join(', ') },
        { key: 'bar', head: '', value: () => '', cell: (r) => <Bar parts={r.parts} of={most} names={names} /> },
      ]}
    />
  );
}

export function heldBody(r: Report): ComponentChildren {
  const moments = r.residency?.moments ?? [];
  const unplaced = r.residency?.unplaced;
  const pictures = r.memory_over_time ?? [];
  const segments = r.memory_segments ?? [];
  if (!r.out_of_memory && !r.alloc_retries && !pictures.length && !segments.length && !moments.some((m) => m.at === 'peak')) return null;
  return (
    <>
      {r.out_of_memory && ranOut(r.out_of_memory)}
      {r.alloc_retries && retried(r.alloc_retries)}
      {pictures.length > 0 && <Layers pictures={pictures} />}
      {segments.length > 0 && <Segments segments={segments} />}
      {peaks(moments, r.residency?.generation_index ?? 0)}
      {unplaced && <p class="quiet">No row: {unplaced.join(', ')}, which moved; where to is not recorded.</p>}
    </>
  );
}
