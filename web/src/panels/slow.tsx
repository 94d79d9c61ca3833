// Slow moments that were caught: each beside a normal one, and what took longer.
import type { ComponentChildren } from 'preact';
import { clip, seconds } from '../format';
import { jumpTo } from '../jump';
import type { Report, SlowMoment, SlowMomentPart } from '../report';
import { Table, type Column } from '../table';
import { title } from '../words';

const titleOf = (m: SlowMoment): string => {
  if (m.row) return `Slow: ${m.row.words}`;
  const what = m.what === 'out_of_memory' ? 'When memory ran out' : m.what === 'asked' ? `Asked for${m.why ? ` (${m.why})` : ''}` : `Slow ${m.what}`;
  return m.step_index === undefined ? what : `${what}, step ${m.step_index}`;
};

const generationOf = (m: SlowMoment): string => (m.generation_index === undefined ? '' : ` in generation ${m.generation_index}`);

const beside = (s: number | undefined, normal: number | undefined): string => (normal === undefined ? seconds(s) : `${seconds(s)} (normal ${seconds(normal)})`);

// Without a normal one beside it nothing is longer: what there was in it is all that is known.
const aloneColumns: Column<SlowMomentPart>[] = [
  { key: 'kind', head: '' },
  { key: 'name', head: 'what', cell: (p) => <span dir="auto" title={p.name}>{clip(p.name, 84)}</span> },
  { key: 'total_s', head: 'time' },
  { key: 'count', help: 'launches, calls or samples' },
];
const partColumns: Column<SlowMomentPart>[] = [
  ...aloneColumns.slice(0, 2),
  { key: 'more_s', head: 'longer by' },
  { key: 'total_s', head: 'slow' },
  { key: 'normal_s' },
  { key: 'count', help: 'launches, calls or samples' },
  { key: 'normal_count', head: 'normally' },
];

function Moment({ m }: { m: SlowMoment }) {
  const alone = m.normal_duration_s === undefined;
  return (
    <div class="slow-moment">
      <p>
        <button class="link" onClick={() => jumpTo(titleOf(m), m.t_s, m.duration_s, m.what === 'step' ? 'step' : undefined)}>
          {titleOf(m)}
        </button>
        {m.row ? `, the slowest${m.step_index === undefined ? '' : `, step ${m.step_index}`}` : ''}{generationOf(m)}{m.row ? ', ' : ' '}at {m.t_s.toFixed(2)}&nbsp;s: <b>{beside(m.duration_s, m.normal_duration_s)}</b>
        {m.gpu_work_s !== undefined && `; GPU worked ${beside(m.gpu_work_s, m.normal_gpu_work_s)}`}
        {!!(m.gpu_idle_s || m.normal_gpu_idle_s) && `, idle between ${beside(m.gpu_idle_s, m.normal_gpu_idle_s)}`}
        {m.words && <>; {m.words}</>}.
      </p>
      {!!m.counters?.length && (
        <Table
          caption="What parts of the GPU did meanwhile, mean"
          rows={m.counters}
          columns={[
            { key: 'counter', head: 'part of the GPU', value: (c) => title(c.counter) },
            { key: 'percent', head: 'slow', unit: '_percent' },
            ...(alone ? [] : [{ key: 'normal_percent' as const }]),
          ]}
        />
      )}
      {m.parts && m.parts.length > 0 && (
        <Table
          caption={alone ? 'What took its time' : 'What took longer than in the normal one'}
          rows={m.parts}
          most={15}
          columns={alone ? aloneColumns : partColumns}
        />
      )}
    </div>
  );
}

export function slowBody(r: Report): ComponentChildren {
  const watched = r.slow_watch?.words;
  if (!r.slow_moments?.length && !watched) return null;
  return (
    <>
      {r.slow_moments?.map((m) => <Moment key={`${m.what}${m.t_s}`} m={m} />)}
      {watched && <p>{watched}</p>}
    </>
  );
}
