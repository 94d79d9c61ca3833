// The right half of the first screen: the timeline, the charts under it, and
// how they share the height so that none of it stays empty.
import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { FinestChart, type Chart } from '../charts';
import { nanos } from '../format';
import { selection, useSettled, useStore, view } from '../state';
import { Table } from '../table';
import type { Timeline } from '../timeline/data';
import { statistics } from '../timeline/statistics';
import { TimelineView } from '../timeline/view';
import { zoneColumns } from './range';

const AROUND = 26; // px: ruler and border
const LANE_GAP = 5;
const CHART_LEAST = 70;
const AXIS = 22;
const TABLE_AROUND = 72; // px: its title and head
const TABLE_ROW = 23.5;
const TABLE_LEAST = 3;
const TABLE_MOST = 12;
const SIDE_BY_SIDE = 1000; // px, as in the style; on narrower screens the panel is as tall as what it holds
const STACKED = 620; // px to share out there
const ROW_TALL = 28;
const ROW_TALLEST = 110;

interface Shares {
  rowHeight: number;
  mostRows: number;
  timeline: number;
  chart: number;
  rest: number;
}

// Lanes first grow to a comfortable height and show the rows that were folded
// away; then the charts, or else a table of what is visible, take the rest.
export function share(height: number, lanes: number[], charts: number, names: number): Shares {
  const least = charts ? charts * CHART_LEAST + AXIS : 0;
  const room = Math.max(lanes.length ? 140 : AROUND, height - least);
  const rows = (most: number) => lanes.reduce((sum, n) => sum + Math.min(most, n), 0);
  const fits = (most: number, tall: number) => rows(most) * tall + lanes.length * LANE_GAP + AROUND <= room;
  let mostRows = 6;
  while (mostRows < 24 && rows(mostRows + 1) > rows(mostRows) && fits(mostRows + 1, 22)) mostRows++;
  const fixed = lanes.length * LANE_GAP + AROUND;
  const tall = (space: number) => Math.floor((space - fixed) / Math.max(1, rows(mostRows)));
  const table = Math.min(TABLE_MOST, names) * TABLE_ROW + TABLE_AROUND;
  const tallest = charts ? ROW_TALL : Math.max(ROW_TALL, Math.min(ROW_TALLEST, tall(room - table)));
  const rowHeight = Math.max(15, Math.min(tallest, tall(room)));
  const rest = Math.max(0, room - rows(mostRows) * rowHeight - fixed);
  if (charts) return { rowHeight, mostRows, timeline: room - rest, chart: CHART_LEAST + Math.floor(rest / charts), rest: 0 };
  return rest >= TABLE_LEAST * TABLE_ROW + TABLE_AROUND ? { rowHeight, mostRows, timeline: room - rest, chart: 0, rest } : { rowHeight, mostRows, timeline: room, chart: 0, rest: 0 };
}

interface Props {
  data: Timeline | null;
  problem: string;
  charts: Chart[];
}

export function FirstTimeline({ data, problem, charts }: Props) {
  const host = useRef<HTMLDivElement>(null);
  const [height, setHeight] = useState(0);
  useLayoutEffect(() => {
    const measure = () => setHeight(innerWidth > SIDE_BY_SIDE ? (host.current?.clientHeight ?? 0) : STACKED);
    const watcher = new ResizeObserver(measure);
    measure();
    watcher.observe(host.current!);
    return () => watcher.disconnect();
  }, []);
  const shares = share(height, data ? data.lanes.map((l) => (l.kind === 'busy' ? 2 : l.rows.length)) : [], charts.length, data?.names.length ?? 0);
  const empty = data !== null && data.lanes.length === 0;
  return (
    <div class="fill" ref={host}>
      {height > 0 && (
        <>
          {!data || empty ? (
            <p class="quiet" style={{ height: `${shares.timeline}px` }}>
              {empty ? 'No zone was recorded: there are no lanes to show.' : problem || 'Reading the timeline…'}
            </p>
          ) : (
            <TimelineView id="timeline-first" data={data} rowHeight={shares.rowHeight} mostRows={shares.mostRows} maxHeight={shares.timeline} />
          )}
          {charts.map((c, i) => (
            <FinestChart key={c.title} chart={c} height={shares.chart + (i === charts.length - 1 ? AXIS : 0)} axis={i === charts.length - 1} />
          ))}
          {data && !empty && shares.rest > 0 && <Brief data={data} room={shares.rest} />}
        </>
      )}
    </div>
  );
}

// Where no metric was sampled: the names that fill the visible or selected time.
function Brief({ data, room }: { data: Timeline; room: number }) {
  const chosen = useStore(selection);
  const shown = useSettled(view, 150);
  const range = chosen ?? shown;
  const s = useMemo(() => statistics(data, range), [data, range]);
  const span = range.to - range.from;
  if (!s.names.length) return null;
  return (
    <div class="brief">
      <h2>
        Most time in the {chosen ? 'selected' : 'visible'} {nanos(span)}
        {s.exact ? '' : `, counted in bins of ${nanos(s.resolutionNs)}`}
      </h2>
      <Table
        caption="Time by name"
        rows={s.names.slice(0, Math.max(TABLE_LEAST, Math.floor((room - TABLE_AROUND) / TABLE_ROW)))}
        columns={zoneColumns(s, range, 60, 'share')}
      />
    </div>
  );
}
