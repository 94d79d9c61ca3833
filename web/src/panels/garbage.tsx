// Python's garbage collector: how much time it took, and its longest collections.
import type { ComponentChildren } from 'preact';
import { count, seconds } from '../format';
import { jumpTo } from '../jump';
import type { GarbageCollection, Report } from '../report';
import { Table } from '../table';

const startOf = (c: GarbageCollection) => Math.max(0, c.end_s - c.duration_s);

export function garbageBody(r: Report): ComponentChildren {
  const g = r.garbage_collection;
  if (!g?.count) return null;
  return (
    <>
      <p>
        {count(g.count)} {g.count === 1 ? 'collection' : 'collections'}, <b>{seconds(g.total_s)}</b>, {count(g.object_count)} objects freed; {count(g.long_count)} of 1&nbsp;ms or longer
        {g.long_count > 0 && !r.generations?.whole_run && `, ${seconds(g.in_generations_s)} of them in generations`}.
      </p>
      {g.longest.length > 0 && (
        <Table
          caption="The longest collections"
          rows={g.longest}
          most={6}
          onPick={(c) => jumpTo('garbage collection', startOf(c), c.duration_s)}
          columns={[
            { key: 't_s', value: startOf, cell: (c) => `${startOf(c).toFixed(3)}\u00a0s` },
            { key: 'duration_s', head: 'took' },
            { key: 'gc_generation_index', head: "Python's generation", help: '0: young objects, 2: all', cell: (c) => String(c.gc_generation_index) },
            { key: 'object_count', head: 'objects freed' },
          ]}
        />
      )}
    </>
  );
}
