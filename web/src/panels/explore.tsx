// The full timeline: every lane, a search, the statistics of what is selected.
import { useMemo, useRef, useState } from 'preact/hooks';
import { TimeChart, type Chart } from '../charts';
import { count, nanos } from '../format';
import { search, selection, show, useSettled, useStore, view, whole, zoom } from '../state';
import { Table } from '../table';
import { derived, entriesOf, type Lane, type Timeline } from '../timeline/data';
import { statistics } from '../timeline/statistics';
import { countFound, findNext, GUTTER, TimelineView } from '../timeline/view';
import { gpuColumns, zoneColumns } from './range';

const KIND_ORDER = ['generation', 'block', 'step', 'iteration', 'rank', 'thread', 'track', 'stream'];
const RANKED_AS: Record<string, string> = { span: 'stream' }; // a stream's spans stay beside its kernels

export function laneOrder(t: Timeline, most: number): number[] {
  const rank = (i: number) => {
    const at = KIND_ORDER.indexOf(RANKED_AS[t.lanes[i].kind] ?? t.lanes[i].kind);
    return at < 0 ? KIND_ORDER.length : at;
  };
  return t.lanes.map((_, i) => i).sort((a, b) => rank(a) - rank(b) || a - b).slice(0, most);
}

export function Explore({ data, charts }: { data: Timeline; charts: Chart[] }) {
  const text = useStore(search);
  const input = useRef<HTMLInputElement>(null);
  const [found, setFound] = useState<boolean | null>(null);
  const lanes = useMemo(() => laneOrder(data, 400), [data]);
  const matches = useMemo(() => (text.trim() ? foundWords(data, text) : ''), [text, data]);
  return (
    <>
      <div class="tools">
        <input
          ref={input}
          type="search"
          placeholder="Search names (/)"
          aria-label="search names"
          class="search"
          value={text}
          onInput={(e) => {
            search.set(e.currentTarget.value);
            setFound(null);
          }}
          onKeyDown={(e) => {
            if (e.key === 'Enter') setFound(findNext(data, !e.shiftKey));
            if (e.key === 'Escape') search.set('');
          }}
        />
        <button type="button" onClick={() => setFound(findNext(data, false))} disabled={!text.trim()}>
          ← previous
        </button>
        <button type="button" onClick={() => setFound(findNext(data, true))} disabled={!text.trim()}>
          next →
        </button>
        <span class="quiet matches">{matches && found === false ? `${matches}; no more that way` : matches}</span>
        <span class="spring" />
        <button type="button" onClick={() => zoom(0.5)} aria-label="zoom in">
          +
        </button>
        <button type="button" onClick={() => zoom(2)} aria-label="zoom out">
          −
        </button>
        <button type="button" onClick={() => show(whole.get())}>
          Whole run
        </button>
      </div>
      <TimelineView id="timeline-full" data={data} lanes={lanes} rowHeight={18} mostRows={12} maxHeight={520} />
      {charts.slice(0, 2).map((c, i) => (
        <TimeChart key={c.title} chart={c} height={i === 1 ? 84 : 64} gutter={GUTTER} axis={i === 1} />
      ))}
      <MergeNote data={data} />
      <RangeStatistics data={data} />
    </>
  );
}

// "12 400 of 3 names"
function foundWords(data: Timeline, text: string): string {
  const { names, zones, merged } = countFound(data, text);
  if (!names) return 'not in this timeline';
  return `${merged ? 'about ' : ''}${count(zones)} of ${count(names)} ${names === 1 ? 'name' : 'names'}`;
}

// "138 zones, 130 GPU spans and 3 192 kernels, copies"
function contents(data: Timeline): string {
  const groups: [number, string][] = [];
  const add = (what: Lane[]) => {
    const zones = what.reduce((sum, l) => sum + l.zones, 0);
    if (zones) groups.push([zones, entriesOf({ ...what.reduce((a, b) => (b.rows.length > a.rows.length ? b : a)), zones })]);
  };
  const shown = data.lanes.filter((l) => !derived(l.kind));
  add(shown.filter((l) => l.kind !== 'span' && l.kind !== 'stream'));
  add(shown.filter((l) => l.kind === 'span'));
  add(shown.filter((l) => l.kind === 'stream'));
  const words = groups.map(([n, what]) => `${count(n)} ${what.replace(', ', ' and ')}`);
  return words.length > 1 ? `${words.slice(0, -1).join(', ')} and ${words[words.length - 1]}` : (words[0] ?? '0 zones');
}

export function MergeNote({ data }: { data: Timeline }) {
  const merged = data.lanes.filter((l) => l.mergeNs > 0);
  return (
    <p class="quiet note">
      {merged.length
        ? `${contents(data)}. Those shorter than ${nanos(Math.max(...merged.map((l) => l.mergeNs)))} were merged with their neighbours in ${merged.length} of ${data.lanes.length} lanes to keep this file small: hatched, with their true count and busy time. Longer ones are exact, and so are all totals in the tables.`
        : `All ${contents(data)} are here, exact to the nanosecond.`}
      {data.foldedNs > 0 && ` Before ${(data.foldedNs / 1e9).toFixed(1)} s the recording had reached its size limit and keeps totals only: the timeline is empty there, the tables are exact.`}
      {data.tooDeep > 0 && ` ${count(data.tooDeep)} zones nested deeper than 64 levels are not drawn.`}
      {data.cutLanes > 0 && ` ${count(data.cutLanes)} lanes with the least time were left out.`} Wheel zooms, drag moves, Shift and drag selects a range; keys: ← → + − Home f n p Esc.
    </p>
  );
}

function RangeStatistics({ data }: { data: Timeline }) {
  const chosen = useStore(selection);
  const shown = useSettled(view, 150);
  const range = chosen ?? shown;
  const s = useMemo(() => statistics(data, range), [data, chosen, chosen ? null : shown]);
  if (!s.names.length && !s.gpu.length) return null;
  return (
    <div id="range-statistics">
      <h3>
        {chosen ? 'Selected' : 'Visible'} range: {nanos(range.to - range.from)} from {(range.from / 1e9).toFixed(3)} s
      </h3>
      <p class="quiet">
        {s.exact ? 'Counted from the zones themselves.' : `Counted in bins of ${nanos(s.resolutionNs)}: the ends of the range are shared out evenly.`} Time of nested zones is part of their parents' time too; calls inside a call of the same name count once.
      </p>
      {s.names.length > 0 && <Table caption="Time by name in this range" rows={s.names} most={15} columns={zoneColumns(s, range, 90, 'of the range')} />}
      {s.gpu.length > 0 && <Table caption="Work on the GPU in this range: kernels and copies, all streams" rows={s.gpu} most={10} columns={gpuColumns(range, 90)} />}
    </div>
  );
}
