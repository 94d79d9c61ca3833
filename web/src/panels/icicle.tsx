// The calls of the selected range as a picture: callers above what they call, as wide as they took.
// A click takes a name apart: who calls it, what it calls.
import { useMemo, useRef, useState } from 'preact/hooks';
import { solid, tint } from '../colour';
import { clip, count, nanos, percent } from '../format';
import { dark, generation, search, selection, useSeen, useSettled, useStore, view, type Range } from '../state';
import { Picture } from '../picture';
import { Table } from '../table';
import type { Timeline } from '../timeline/data';
import { butterfly, callTree, hasLaunches, type Measure, type Node, type Relative } from '../timeline/tree';

const DEEPEST = 40;
const NARROWEST = 0.0015; // of the width: less cannot be seen

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

function Relatives({ rows, caption, total, onPick }: { rows: Relative[]; caption: string; total: number; onPick: (r: Relative) => void }) {
  return (
    <Table
      caption={caption}
      rows={rows}
      most={12}
      onPick={onPick}
      columns={[
        { key: 'name', head: 'name', text: true, value: (r) => r.name, cell: (r) => <span dir="auto" title={r.name}>{clip(r.name, 48)}</span> },
        { key: 'count', head: 'calls', value: (r) => r.count, cell: (r) => count(r.count) },
        { key: 'total_ns', head: 'time', value: (r) => r.total },
        { key: 'ratio', head: 'share', value: (r) => r.total / total, cell: (r) => percent(r.total / total) },
      ]}
    />
  );
}

function Butterfly({ root, name, onPick }: { root: Node; name: string; onPick: (name: string) => void }) {
  const b = useMemo(() => butterfly(root, name), [root, name]);
  if (!b.total) return <p class="quiet">{clip(name, 60)} does not occur in this time.</p>;
  return (
    <div class="butterfly">
      <Relatives rows={b.callers} caption={`Callers of ${clip(name, 40)}`} total={b.total} onPick={(r) => onPick(r.name)} />
      <p>
        <b dir="auto">{clip(name, 60)}</b>
        <br />
        {nanos(b.total)} in {count(b.count)} calls, {nanos(b.self)} itself
      </p>
      <Relatives rows={b.callees} caption={`What ${clip(name, 40)} calls`} total={b.total} onPick={(r) => onPick(r.name)} />
    </div>
  );
}

function Boxes({ all, unit, height, wanted, picked, onPick }: { all: Box[]; unit: string; height: string; wanted: string; picked: string | null; onPick: (name: string) => void }) {
  const hit = (b: Box) => !wanted || b.node.name.toLowerCase().includes(wanted);
  return (
    <div class="icicle" role="img" aria-label="calls of this time, as wide as they took" style={{ height }}>
      {all.map((b, i) => (
        <button
          key={i}
          type="button"
          tabIndex={-1}
          class={`${picked === b.node.name ? 'picked' : ''} ${hit(b) ? '' : 'faded'}`}
          style={{ left: `${b.left * 100}%`, width: `${b.width * 100}%`, top: `${b.depth * 19}px`, background: tint(b.node.name).fill, color: tint(b.node.name).text, borderColor: solid(b.node.name) }}
          title={`${b.node.name}\n${nanos(b.node.total)}, ${percent(b.width)}; itself ${nanos(b.node.self)}; ${count(b.node.count)} ${unit}`}
          onClick={() => onPick(b.node.name)}
        >
          {b.width > 0.02 ? b.node.name : ''}
        </button>
      ))}
    </div>
  );
}

// The same for every range: what is below the picture stays where it is.
function heightOf(t: Timeline, measure: Measure): number {
  const rows = Math.max(...t.lanes.map((l) => (l.kind === 'thread' || l.kind === 'track' ? l.rows.length : 0)));
  const deep = Math.max(rows + Number(hasLaunches(t)), measure === 'samples' ? Math.max(...t.samples.map((s) => s.stack.length)) : 0);
  return Math.min(deep, DEEPEST) * 19 + 2;
}

export function Icicle({ data }: { data: Timeline }) {
  useStore(dark);
  useStore(generation);
  const chosen = useStore(selection);
  const shown = useSettled(view, 150);
  const wanted = useStore(search).trim().toLowerCase();
  const [measure, setMeasure] = useState<Measure>('wall');
  const [inTime, setInTime] = useState(false);
  const [name, setName] = useState<string | null>(null);
  const host = useRef<HTMLDivElement>(null);
  const seen = useSeen(host);
  const last = useRef<Range | null>(null);
  if (seen) last.current = chosen && chosen.to > chosen.from ? chosen : shown; // out of sight nothing is counted
  const range = last.current;
  const root = useMemo(() => (range ? callTree(data, range, measure) : null), [data, range?.from, range?.to, measure]);
  const all = useMemo(() => (root ? boxes(root, inTime) : []), [root, inTime]);
  const height = `${heightOf(data, measure)}px`;
  const hits = wanted ? all.filter((b) => b.node.name.toLowerCase().includes(wanted)) : [];
  return (
    <div ref={host}>
      <div class="tools">
        <span class="quiet">
          {chosen ? 'Selected' : 'Visible'} {range ? nanos(range.to - range.from) : ''}
        </span>
        {(hasLaunches(data) || data.samples.length > 0) && (
          <label>
            by{' '}
            <select value={measure} onChange={(e) => setMeasure(e.currentTarget.value as Measure)} aria-label="what a width means">
              <option value="wall">wall time</option>
              {hasLaunches(data) && <option value="gpu">GPU time launched</option>}
              {data.samples.length > 0 && <option value="samples">Python functions, sampled</option>}
            </select>
          </label>
        )}
        <label>
          <input type="checkbox" checked={inTime} onChange={(e) => setInTime(e.currentTarget.checked)} /> in order of time
        </label>
        {wanted && (
          <span class="matches">
            {count(hits.length)} boxes, {count(hits.reduce((n, b) => n + b.node.count, 0))} calls match “{clip(wanted, 30)}”
          </span>
        )}
      </div>
      {!root ? (
        <p class="quiet" style={{ height }}>{range && (measure === 'gpu' ? 'No GPU work was launched in this time.' : measure === 'samples' ? 'No sample fell into this time.' : 'Zones of this time were merged, or there are none: zoom in for their tree.')}</p>
      ) : (
        <Picture words="call tree">
          <Boxes all={all} unit={measure === 'samples' ? 'samples' : 'calls'} height={height} wanted={wanted} picked={name} onPick={setName} />
        </Picture>
      )}
      {root && name !== null && <Butterfly root={root} name={name} onPick={setName} />}
    </div>
  );
}
