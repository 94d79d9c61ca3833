// The calls of the selected range as a picture: callers above what they call, as wide as they took.
// A click takes a name apart: who calls it, what it calls.
import { useMemo, useRef } from 'preact/hooks';
import { solid, tint } from '../colour';
import { clip, count, memory, nanos, percent } from '../format';
import { dark, generation, search, selection, useKept, useSeen, useSettled, useStore, useSwitch, view, type Range } from '../state';
import { Picture } from '../picture';
import type { Stage } from '../report';
import { Table } from '../table';
import type { Timeline } from '../timeline/data';
import type { Relative } from '../timeline/figures';
import { butterfly, callTree, stagesOfPart, stageTree, statistics, topmost } from '../timeline/statistics';
import { hasCpu, hasLaunches, memorySources, type Measure, type Node } from '../timeline/tree';

const DEEPEST = 40;
const NARROWEST = 0.0015; // of the width: less cannot be seen

// What a width means, in words and in its unit.
const amount = (m: Measure, v: number): string => (m.startsWith('memory') ? memory(v) : nanos(v));

function measuresOf(t: Timeline): [Measure, string][] {
  const memories = memorySources(t).map((d): [Measure, string] => [`memory${d}`, d >= 0 ? `memory allocated on GPU ${d}` : d === -1 ? 'host memory that came' : 'memory, as the program told']);
  const out: [Measure, string][] = [['wall', 'wall time']];
  if (hasCpu(t)) out.push(['cpu', 'CPU time']);
  if (hasLaunches(t)) out.push(['gpu', 'GPU time launched']);
  out.push(...memories);
  if (t.samples.some((s) => s.ns > 0)) out.push(['samples', 'Python functions, wall time']);
  if (hasCpu(t)) out.push(['samples-cpu', 'Python functions, CPU time']);
  return out;
}

const NOTES: [RegExp, string][] = [
  [/^cpu/, "CPU time of each thread between two samples, shared by the zones that it was in; threads without zones are at the top."],
  [/^memory-2/, 'Allocations that the program told of.'],
  [/^memory/, 'What the memory rose by between two readings, shared by the zones that ran. What was freed is not taken off.'],
];

const EMPTY: [RegExp, string][] = [
  [/^gpu/, 'No GPU work was launched in this time.'],
  [/^samples/, 'No sample fell into this time.'],
  [/^cpu/, 'No CPU time was read in this time.'],
  [/^memory/, 'Memory did not rise in this time.'],
  [/./, 'Zones were merged here, or there are none: zoom in for their tree.'],
];
const wordsOf = (all: [RegExp, string][], m: Measure): string => all.find(([r]) => r.test(m))?.[1] ?? '';

interface Box {
  node: Node;
  left: number;
  width: number;
  depth: number;
}

function boxes(root: Node, inTime: boolean): Box[] {
  const out: Box[] = [];
  const lay = (n: Node, left: number, depth: number) => {
    const width = n.total / root.total;
    if (width < NARROWEST || depth > DEEPEST) return;
    if (depth >= 0) out.push({ node: n, left, width, depth });
    let at = left;
    for (const c of [...n.below].sort((a, b) => (inTime ? a.first - b.first : b.total - a.total))) {
      lay(c, at, depth + 1);
      at += c.total / root.total;
    }
  };
  lay(root, 0, -1);
  return out;
}

function Relatives({ rows, caption, total, measure, onPick }: { rows: Relative[]; caption: string; total: number; measure: Measure; onPick: (r: Relative) => void }) {
  return (
    <Table
      caption={caption}
      rows={rows}
      most={12}
      onPick={onPick}
      columns={[
        { key: 'name', cell: (r) => <span dir="auto" title={r.name}>{clip(r.name, 48)}</span> },
        { key: 'count', head: 'calls' },
        measure.startsWith('memory') ? { key: 'total_bytes', head: 'memory', unit: '_total_bytes', value: (r) => r.total } : { key: 'total_ns', head: 'time', value: (r) => r.total },
        { key: 'share_ratio', value: (r) => r.total / total },
      ]}
    />
  );
}

function Butterfly({ root, name, measure, onPick }: { root: Node; name: string; measure: Measure; onPick: (name: string) => void }) {
  const b = useMemo(() => butterfly(root, name), [root, name]);
  if (!b.total) return <p class="quiet">{clip(name, 60)} does not occur in this time.</p>;
  return (
    <div class="butterfly">
      <Relatives rows={b.callers} caption={`Callers of ${clip(name, 40)}`} total={b.total} measure={measure} onPick={(r) => onPick(r.name)} />
      <p>
        <b dir="auto">{clip(name, 60)}</b>
        <br />
        {amount(measure, b.total)}{measure === 'wall' ? ` in ${count(b.count)} calls` : ''}, {amount(measure, b.self)} itself
      </p>
      <Relatives rows={b.callees} caption={`What ${clip(name, 40)} calls`} total={b.total} measure={measure} onPick={(r) => onPick(r.name)} />
    </div>
  );
}

// How often is known of calls and samples, not of what is shared out.
const shared = (m: Measure): boolean => m === 'cpu' || m.startsWith('memory');

function Boxes({ all, measure, height, wanted, picked, onPick }: { all: Box[]; measure: Measure; height: string; wanted: string; picked: string | null; onPick: (name: string) => void }) {
  const hit = (b: Box) => !wanted || b.node.name.toLowerCase().includes(wanted);
  return (
    <div class="icicle" role="img" aria-label="calls of this time, as wide as they took" style={{ height }}>
      {all.map((b, i) => (
        <button
          key={i}
         
          tabIndex={-1}
          class={`${picked === b.node.name ? 'picked' : ''} ${hit(b) ? '' : 'faded'}`}
          style={{ left: `${b.left * 100}%`, width: `${b.width * 100}%`, top: `${b.depth * 19}px`, background: tint(b.node.name).fill, color: tint(b.node.name).text, borderColor: solid(b.node.name) }}
          title={`${b.node.name}\n${amount(measure, b.node.total)}, ${percent(b.width)}; itself ${amount(measure, b.node.self)}${shared(measure) ? '' : `; ${count(b.node.count)} ${measure.startsWith('samples') ? 'samples' : 'calls'}`}`}
          onClick={() => onPick(b.node.name)}
        >
          {b.width > 0.02 ? clip(b.node.name, 99) : ''}
        </button>
      ))}
    </div>
  );
}

// The same for every range: what is below the picture stays where it is.
function heightOf(t: Timeline, measure: Measure): number {
  const rows = Math.max(...t.lanes.map((l) => (l.kind === 'thread' || l.kind === 'track' ? l.rows.length : 0)));
  const deep = Math.max(rows + Number(hasLaunches(t)), measure.startsWith('samples') ? Math.max(...t.samples.map((s) => s.stack.length)) : 0);
  return Math.min(deep, DEEPEST) * 19 + 2;
}

export function Icicle({ data, stages }: { data: Timeline; stages: Stage[] }) {
  useStore(dark);
  useStore(generation);
  const chosen = useStore(selection);
  const shown = useSettled(view, 150);
  const wanted = useStore(search).trim().toLowerCase();
  const [by, setMeasure] = useKept('by', 'wall');
  const [inTime, setInTime] = useSwitch('intime');
  const [name, setName] = useKept('callsof');
  const measures = useMemo(() => measuresOf(data), [data]);
  const measure = measures.some(([one]) => one === by) ? (by as Measure) : 'wall';
  const host = useRef<HTMLDivElement>(null);
  const seen = useSeen(host);
  const last = useRef<Range | null>(null);
  if (seen) last.current = chosen && chosen.to > chosen.from ? chosen : shown; // out of sight nothing is counted
  const range = last.current;
  const whole = range && range.from <= data.startNs && range.to >= data.endNs;
  const exact = useMemo(() => range && callTree(data, range, measure), [data, range?.from, range?.to, measure]);
  const root = useMemo(() => exact ?? (range && measure === 'wall' ? stageTree(whole ? stages : stagesOfPart(data, stages, range)) : null), [exact, stages, range?.from, range?.to, measure]);
  const all = useMemo(() => (root ? boxes(root, inTime) : []), [root, inTime]);
  const height = `${heightOf(data, measure)}px`;
  const hits = wanted ? all.filter((b) => b.node.name.toLowerCase().includes(wanted)) : [];
  return (
    <div ref={host}>
      <div class="tools">
        <span class="quiet">
          {chosen ? 'Selected' : 'Visible'} {range ? nanos(range.to - range.from) : ''}
        </span>
        {measures.length > 1 && (
          <label>
            by{' '}
            <select value={measure} onChange={(e) => setMeasure(e.currentTarget.value)} aria-label="what a width means">
              {measures.map(([value, words]) => (
                <option value={value}>{words}</option>
              ))}
            </select>
          </label>
        )}
        <label>
          <input type="checkbox" checked={inTime} onChange={(e) => setInTime(e.currentTarget.checked)} /> in order of time
        </label>
        {wanted && (
          <span class="matches">
            {count(hits.length)} boxes{shared(measure) ? '' : `, ${count(hits.reduce((n, b) => n + b.node.count, 0))} ${measure.startsWith('samples') ? 'samples' : 'calls'}`}, {amount(measure, topmost(hits.map((b) => b.node)))} match “{clip(wanted, 30)}”
          </span>
        )}
      </div>
      {!root ? (
        <p class="quiet" style={{ height }}>{range && wordsOf(EMPTY, measure)}</p>
      ) : (
        <Picture words="call tree">
          <Boxes all={all} measure={measure} height={height} wanted={wanted} picked={name || null} onPick={setName} />
        </Picture>
      )}
      {root && !exact && !whole && range && <p class="quiet">Zones were merged here: this is the tree of the stages, counted in bins of {nanos(statistics(data, range).resolutionNs)}; stages of one name share its time as in the whole run.</p>}
      {wordsOf(NOTES, measure) && <p class="quiet">{wordsOf(NOTES, measure)}</p>}
      {root && name && <Butterfly root={root} name={name} measure={measure} onPick={setName} />}
    </div>
  );
}
