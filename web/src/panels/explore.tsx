// The timeline that stays in view while the tables scroll: every lane, a search; and what fills a range.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { ComponentChildren } from 'preact';
import { savePng } from '../export';
import { count, nanos } from '../format';
import { arrangement, search, selection, show, useSettled, useStore, useSwitch, view, whole, zoom } from '../state';
import { Table } from '../table';
import { derived, entriesOf, type Lane, type Timeline } from '../timeline/data';
import { hasFamilies } from '../timeline/families';
import { countFound, findNext } from '../timeline/search';
import { statistics } from '../timeline/statistics';
import { TimelineView } from '../timeline/view';
import { LaneList } from './lanes';
import { gpuColumns, zoneColumns } from './range';

function Search({ data }: { data: Timeline }) {
  const text = useStore(search);
  const [found, setFound] = useState<boolean | null>(null);
  const matches = useMemo(() => (text.trim() ? foundWords(data, text) : ''), [text, data]);
  return (
    <>
      <input
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
      <button onClick={() => setFound(findNext(data, false))} disabled={!text.trim()} aria-label="previous match">
        ←
      </button>
      <button onClick={() => setFound(findNext(data, true))} disabled={!text.trim()} aria-label="next match">
        →
      </button>
      <span class="quiet matches">{matches && found === false ? `${matches}; no more that way` : matches}</span>
    </>
  );
}

const LOW = 0.3; // of the window's height
const HIGH = 0.66;

// How high the lanes may be; tables below need the rest.
function useRoom(tall: boolean): number {
  const [room, setRoom] = useState(innerHeight);
  useEffect(() => {
    const again = () => setRoom(innerHeight);
    addEventListener('resize', again);
    return () => removeEventListener('resize', again);
  }, []);
  return Math.max(110, Math.round(room * (tall ? HIGH : LOW)));
}

type LanesProps = Parameters<typeof TimelineView>[0] & { closed?: boolean; children?: ComponentChildren };

// A timeline with a search, a list of its lanes, and buttons; children: more of these.
export function Lanes({ closed, children, ...props }: LanesProps) {
  const { data, id } = props;
  const [lanes, setLanes] = useSwitch('lanes-list');
  const a = useStore(arrangement);
  return (
    <>
      <div class="tools">
        <Search data={data} />
        <span class="spring" />
        {hasFamilies(data) && (
          <button class="zoom" aria-pressed={a.families} title="a lane for each family of kernels" onClick={() => arrangement.set({ ...a, families: !a.families })}>
            Families
          </button>
        )}
        <button aria-expanded={lanes} onClick={() => setLanes(!lanes)}>
          Lanes
        </button>
        <button class="zoom" onClick={() => zoom(0.5)} aria-label="zoom in">
          +
        </button>
        <button class="zoom" onClick={() => zoom(2)} aria-label="zoom out">
          −
        </button>
        <button class="zoom" title="the lanes as a picture" onClick={() => savePng('timeline', [...document.querySelectorAll<HTMLCanvasElement>(`#${id} canvas`)])}>
          PNG
        </button>
        <button onClick={() => show(whole.get())}>
          Whole run
        </button>
        {children}
      </div>
      {lanes && <LaneList data={data} />}
      {!closed && <TimelineView {...props} />}
    </>
  );
}

export function Dock({ data }: { data: Timeline }) {
  const host = useRef<HTMLDivElement>(null);
  const [tall, setTall] = useSwitch('tall');
  const [closed, setClosed] = useSwitch('hidden');
  const room = useRoom(tall);
  useEffect(() => {
    const watcher = new ResizeObserver(() => document.documentElement.style.setProperty('--dock', `${host.current?.offsetHeight ?? 0}px`));
    watcher.observe(host.current!);
    return () => watcher.disconnect();
  }, []);
  return (
    <div class="dock" id="timeline" ref={host}>
      <Lanes id="timeline-full" data={data} rowHeight={18} mostRows={12} maxHeight={room} closed={closed}>
        <button class="zoom" aria-pressed={tall} onClick={() => setTall(!tall)} disabled={closed} title="more or less room for the lanes">
          {tall ? 'Lower' : 'Taller'}
        </button>
        <button aria-expanded={!closed} onClick={() => setClosed(!closed)}>
          {closed ? 'Timeline' : 'Hide'}
        </button>
      </Lanes>
    </div>
  );
}

// "12 400 of 3 names, 4.20 s"
function foundWords(data: Timeline, text: string): string {
  const { names, zones, ns, merged } = countFound(data, text);
  if (!names) return 'not in this timeline';
  return `${merged ? 'about ' : ''}${count(zones)} of ${count(names)} ${names === 1 ? 'name' : 'names'}, ${nanos(ns)}`;
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
        ? `${contents(data)}. Those shorter than ${nanos(Math.max(...merged.map((l) => l.mergeNs)))} were merged with their neighbours in ${merged.length} of ${data.lanes.filter((l) => l.kind !== 'busy').length} lanes to keep this file small: hatched, with their true count and busy time. Longer ones are exact, and so are all totals in the tables.`
        : `All ${contents(data)} are here, exact to the nanosecond.`}
      {data.foldedNs > 0 && ` Before ${(data.foldedNs / 1e9).toFixed(1)} s the recording had reached its size limit and keeps totals only: the timeline is empty there, the tables are exact.`}
      {data.tooDeep > 0 && ` ${count(data.tooDeep)} zones nested deeper than 64 levels are not drawn.`}
      {data.cutLanes > 0 && ` ${count(data.cutLanes)} lanes with the least time were left out.`} The wheel scrolls; Ctrl or ⌘ and wheel, or W and S, zoom; A and D, or Shift and drag, move; drag selects a range; double click fits; arrows walk from zone to zone.
    </p>
  );
}

export function RangeStatistics({ data }: { data: Timeline }) {
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
