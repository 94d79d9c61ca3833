// What the program told at a moment, and what it counted.
import type { ComponentChildren } from 'preact';
import { clip, count, keyed } from '../format';
import { jumpTo } from '../jump';
import { text, type Event, type EventName, type Report } from '../report';
import { useKept } from '../state';
import { FieldTable, Table } from '../table';
import { title } from '../words';

export function eventsBody(r: Report): ComponentChildren {
  const events = r.events ?? [];
  const counters = r.counters ?? [];
  if (!events.length && !counters.length) return null;
  return (
    <>
      {events.length > 0 && <Events all={events} names={r.event_names ?? []} />}
      <FieldTable rows={counters} caption="Counters" />
    </>
  );
}

// One name often drowns the others: a click on a name shows its own.
function Events({ all, names }: { all: Event[]; names: EventName[] }) {
  const [only, setOnly] = useKept('events');
  const kinds = new Set(all.map((e) => text(e, 'kind')));
  return (
    <>
      {names.length > 1 && (
        <p class="tools" role="group" aria-label="events by name">
          {names.slice(0, 12).map(({ name, count: n }) => (
            <button key={name} aria-pressed={only === name} onClick={() => setOnly(only === name ? '' : name)}>
              {clip(name, 40)} <span class="quiet">{count(n)}</span>
            </button>
          ))}
        </p>
      )}
      <Table
        caption="Events"
        rows={!only ? all : all.filter((e) => e.name === only)}
        most={25}
        onPick={(e) => jumpTo(e.name, e.t_s, 0)}
        columns={[
          { key: 't_s' },
          { key: 'name', head: 'event', cell: (e) => <span dir="auto">{clip(e.name, 80)}</span> },
          ...(kinds.size > 1 ? [{ key: 'kind' as const, head: 'kind' }] : []),
          { key: 'attributes', value: (e) => attributes(e), cell: (e) => <span dir="auto">{clip(attributes(e), 160)}</span> },
        ]}
      />
    </>
  );
}

function attributes(e: Event): string {
  const a = e.attributes;
  const words = a ? Object.entries(a).map(([k, v]) => `${title(k)} ${keyed(k, v)}`) : [];
  if (text(e, 'reason')) words.unshift(text(e, 'reason')!);
  return words.join(', ');
}
