// The list of lanes: filter, pin, fold, order, for pointer and keyboard alike.
import { count } from '../format';
import { arrangement, generation, USUAL, useStore } from '../state';
import { entriesOf, type Timeline } from '../timeline/data';
import { laneOrder, moveLane, toggleFold, togglePin } from '../timeline/lanes';

export function LaneList({ data }: { data: Timeline }) {
  const a = useStore(arrangement);
  useStore(generation);
  const order = laneOrder(data, a);
  return (
    <div class="lanes-list" role="group" aria-label="lanes">
      <p class="tools">
        <input type="search" class="search" placeholder="Filter lanes" aria-label="filter lanes" value={a.filter} onInput={(e) => arrangement.set({ ...a, filter: e.currentTarget.value })} />
        <span class="quiet">
          {count(order.length)} of {count(data.lanes.length)} lanes
        </span>
        <button onClick={() => arrangement.set(USUAL)} disabled={a === USUAL}>
          As at first
        </button>
      </p>
      <ul>
        {order.slice(0, 400).map((i, at) => {
          const lane = data.lanes[i];
          const pinned = a.pinned.includes(i);
          const folded = a.folded.includes(i);
          return (
            <li key={i}>
              <span dir="auto" title={lane.name}>
                {lane.name}
              </span>
              <span class="quiet">{lane.kind === 'busy' ? '' : `${count(lane.zones)} ${entriesOf(lane)}`}</span>
              <button aria-pressed={pinned} aria-label={`pin ${lane.name}`} title="keep on top" onClick={() => togglePin(i)}>
                {pinned ? '◉' : '⌖'}
              </button>
              <button aria-pressed={folded} aria-label={`only one row of ${lane.name}`} title="one row or all" disabled={lane.rows.length < 2} onClick={() => toggleFold(i, 0, lane.rows.length)}>
                {folded ? '▸' : '▾'}
              </button>
              <button aria-label={`${lane.name} up`} disabled={at === 0} onClick={() => moveLane(data, i, order[at - 1])}>
                ↑
              </button>
              <button aria-label={`${lane.name} down`} disabled={at === order.length - 1} onClick={() => moveLane(data, i, order[at + 1])}>
                ↓
              </button>
            </li>
          );
        })}
      </ul>
    </div>
  );
}
