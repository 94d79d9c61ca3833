// What is selected, and what it has to do with: a zone, a kernel, a step, a gap, a sample, a range.
import { useMemo } from 'preact/hooks';
import type { ComponentChildren } from 'preact';
import { lastBefore, type Chart } from '../charts';
import { copyText, saveCsv } from '../export';
import { clip, columnShow, count, keyed, nanos, percent, shortName } from '../format';
import type { Report } from '../report';
import { focusSelection, select, selection, useStore, useSwitch, type Selection } from '../state';
import { derived, type Timeline } from '../timeline/data';
import { attributesOf, covering, describe, entryAt, launchOf, nameOf, parents, pick, rangeOf, rowOf, type Entry } from '../timeline/entry';
import { busyWords } from '../timeline/canvas';
import { children, launched, launchedFamilies, peers, statistics, waitsIn, type Shortened } from '../timeline/statistics';
import { unitName } from '../video';
import { title } from '../words';
import { kernelCounters } from './kernel_counters';
import { GapFunctions, GPU_IDLE, IdleFunctions } from './unattributed';

interface Props {
  data: Timeline | null;
  report: Report;
  charts: Chart[];
}

function Jump({ data, to, children: words }: { data: Timeline; to: Entry; children?: ComponentChildren }) {
  const name = nameOf(data, to);
  return (
    <button class="link" dir="auto" title={name} onClick={() => pick(data, to)}>
      {words ?? clip(name, 44)}
    </button>
  );
}

function Facts({ rows }: { rows: [string, ComponentChildren][] }) {
  return (
    <dl>
      {rows.map(([k, v]) => (
        <>
          <dt>{k}</dt>
          <dd dir="auto">{v}</dd>
        </>
      ))}
    </dl>
  );
}

function Block({ head, children: body }: { head: string; children: ComponentChildren }) {
  return (
    <section>
      <h3>{head}</h3>
      {body}
    </section>
  );
}

// "longer than 87 % of 1 500", and ways to the others.
function PeersBlock({ data, e }: { data: Timeline; e: Entry }) {
  const p = useMemo(() => peers(data, e), [data, e.lane, e.row, e.index]);
  const rank = p.count > 1 ? p.shorter / (p.count - 1) : 0;
  const length = (to: Entry) => nanos(rangeOf(data, to).to - rangeOf(data, to).from);
  const rows: [string, ComponentChildren][] = [
    ['percentile', p.count > 1 ? `${(rank * 100).toFixed(0)}: longer than ${count(p.shorter)} of ${count(p.count - 1)} others` : 'the only one of its name'],
  ];
  if (p.count > 1) rows.push(['median', nanos(p.median)], ['longest', <Jump data={data} to={p.longest}>{length(p.longest)}</Jump>], ['shortest', <Jump data={data} to={p.shortest}>{length(p.shortest)}</Jump>]);
  if (p.merged) rows.push(['not counted', `${count(p.merged)} in merged ones`]);
  return (
    <Block head="Among its peers">
      <Facts rows={rows} />
      <p class="steps">
        <button disabled={!p.previous} onClick={() => p.previous && pick(data, p.previous)}>
          ← previous
        </button>
        <button disabled={!p.next} onClick={() => p.next && pick(data, p.next)}>
          next →
        </button>
      </p>
    </Block>
  );
}

function SumsBlock({ head, data, found, of = found.total }: { head: string; data: Timeline; found: Shortened; of?: number }) {
  if (!found.sums.length) return null;
  const time = columnShow('_ns', found.sums.map((s) => s.total));
  return (
    <Block head={`${head}: ${count(found.count)}, ${nanos(found.total)}`}>
      <table>
        <tbody>
          {found.sums.map((s) => (
            <tr key={s.name}>
              <td class="text">
                <Jump data={data} to={s.longest}>{clip(s.name, 44)}</Jump>
              </td>
              <td>{count(s.count)} ×</td>
              <td>{time(s.total)}</td>
              <td>{percent(s.total / of)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {found.more > 0 && <p class="quiet">and {count(found.more)} other names</p>}
    </Block>
  );
}

// Steps, blocks and videos are shown once more on lanes of their own: the zone itself is on its thread.
function original(data: Timeline, e: Entry): Entry {
  if (!derived(data.lanes[e.lane].kind)) return e;
  const { from, to } = rangeOf(data, e);
  const name = rowOf(data, e).name[e.index];
  for (let lane = 0; lane < data.lanes.length; lane++) {
    if (derived(data.lanes[lane].kind)) continue;
    for (let row = 0; row < data.lanes[lane].rows.length; row++) {
      const found = entryAt(data, { lane, row, start: from });
      if (found && rangeOf(data, found).to === to && rowOf(data, found).name[found.index] === name) return found;
    }
  }
  return e;
}

const KINDS: Record<string, string> = { family: 'kernel', wait: 'wait for the GPU', block: 'block of frames', step: 'step', iteration: 'iteration', thread: 'zone', track: 'span', span: 'GPU span', rank: 'time of a rank' };

function kindOf(data: Timeline, e: Entry): string {
  const { kind } = data.lanes[e.lane];
  if (kind === 'stream') return e.row === 0 ? 'kernel' : 'copy or fill';
  return kind === 'generation' ? unitName() : (KINDS[kind] ?? 'zone');
}

// Why a step is slow, where the report says so.
function slowStep(report: Report, e: { from: number }): [string, ComponentChildren][] {
  const slow = report.diffusion_analysis?.slow_steps?.find((s) => Math.abs((s.t_s ?? -1) * 1e9 - e.from) < 2e3);
  return slow ? Object.entries(slow).flatMap(([k, v]) => (k === 't_s' || k === 'duration_s' || typeof v === 'object' ? [] : [[title(k), keyed(k, v)] as [string, ComponentChildren]])) : [];
}

function EntryDetail({ data, e, report }: { data: Timeline; e: Entry; report: Report }) {
  const own = original(data, e);
  const range = rangeOf(data, e);
  const merged = rowOf(data, e).count[e.index] > 1;
  const launch = launchOf(data, e);
  const wait = data.lanes[e.lane].kind === 'wait';
  const around = parents(data, own);
  const more = own !== e ? Object.entries(attributesOf(data, own)).filter(([k]) => !(k in attributesOf(data, e))) : [];
  const facts: [string, ComponentChildren][] = [...describe(data, e), ...more.map(([k, v]): [string, string] => [title(k), keyed(k, v)]), ...slowStep(report, range)];
  const name = nameOf(data, e);
  if (shortName(name) !== name) facts.push(['whole name', name]);
  return (
    <>
      <Block head={merged ? 'Merged zones' : `This ${kindOf(data, e)}`}>
        <Facts rows={facts} />
      </Block>
      {launch && (
        <Block head={wait ? 'Called by' : 'Launched by'}>
          <Facts
            rows={[
              ['thread', launch.lane < 0 ? 'one without zones' : data.lanes[launch.lane].name],
              ['zone', launch.zones.length ? <Path data={data} of={launch.zones} /> : 'none was open'],
              ...(wait ? [] : ([['launched at', `${(launch.at / 1e9).toFixed(6)}\u00a0s`], ['waited for the GPU', nanos(Math.max(0, launch.delay))]] as [string, string][])),
            ]}
          />
        </Block>
      )}
      {!merged &&
        kernelCounters(report, data, e, range).map((c) => (
          <Block head={c.head}>
            <Facts rows={c.rows} />
          </Block>
        ))}
      {!merged && <PeersBlock data={data} e={e} />}
      {around.length > 0 && (
        <Block head="Inside of">
          <Path data={data} of={around} />
        </Block>
      )}
      {!merged && <SumsBlock head="Holds" data={data} found={children(data, own)} of={range.to - range.from} />}
      {!merged && <SumsBlock head="Launched, by family" data={data} found={launchedFamilies(data, own)} />}
      {!merged && <SumsBlock head="Launched" data={data} found={launched(data, own)} />}
    </>
  );
}

function Path({ data, of }: { data: Timeline; of: Entry[] }) {
  return (
    <ol class="path">
      {of.map((p) => (
        <li key={`${p.row}.${p.index}`}>
          <Jump data={data} to={p} />
        </li>
      ))}
    </ol>
  );
}

// What was open on each thread, innermost, at a moment.
function openAt(data: Timeline, moment: number): { lane: string; entry: Entry }[] {
  return data.lanes.flatMap((lane, l) => {
    if (lane.kind !== 'thread' && lane.kind !== 'track') return [];
    const open = lane.rows.flatMap((_, r) => covering(data, l, r, moment) ?? []);
    return open.length ? [{ lane: lane.name, entry: open[open.length - 1] }] : [];
  });
}

function OpenBlock({ data, moment, head }: { data: Timeline; moment: number; head: string }) {
  const open = openAt(data, moment);
  return (
    <Block head={head}>
      {open.length ? <Facts rows={open.slice(0, 8).map((o) => [clip(o.lane, 24), <Jump data={data} to={o.entry} />])} /> : <p class="quiet">no zone on any thread</p>}
      {open.length > 8 && <p class="quiet">and on {count(open.length - 8)} other threads</p>}
    </Block>
  );
}

function SampleDetail({ data, s, charts }: { data: Timeline | null; s: Selection; charts: Chart[] }) {
  const rows = charts.flatMap((c) => c.lines.map((line): [string, ComponentChildren] => [c.lines.length > 1 ? `${c.group} ${line.label}` : c.title, lastBefore(c, line, s.from / 1e9)]));
  return (
    <>
      {rows.length > 0 && (
        <Block head={`Sampled at ${(s.from / 1e9).toFixed(3)} s`}>
          <div class="wide">
            <Facts rows={rows.filter(([, v]) => v !== '').slice(0, 36)} />
          </div>
        </Block>
      )}
      {data && <OpenBlock data={data} moment={s.from} head="Open then" />}
    </>
  );
}

// The zones on either side of a gap, on the main thread.
function neighbours(data: Timeline, s: Selection): { before: Entry | null; after: Entry | null } {
  const lane = Math.max(0, data.lanes.findIndex((l) => l.kind === 'thread'));
  const row = data.lanes[lane]?.rows[0];
  if (!row) return { before: null, after: null };
  const next = row.startingAt(s.to - 1);
  const at = (index: number) => (index >= 0 && index < row.size ? { lane, row: 0, index } : null);
  return { before: at(row.startingAt(s.from) - 1), after: at(next) };
}

// The names with the most time.
function Names({ of }: { of: ReturnType<typeof statistics>['names'] }) {
  const rows = of.slice(0, 8);
  const time = columnShow('_ns', rows.map((n) => n.total));
  return (
    <table>
      <tbody>
        {rows.map((n) => (
          <tr key={n.name}>
            <td class="text">
              <span dir="auto" title={n.name}>{clip(n.name, 36)}</span>
            </td>
            <td>{count(n.count)} ×</td>
            <td>{time(n.total)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function RangeDetail({ data, s, report }: { data: Timeline; s: Selection; report: Report }) {
  const found = useMemo(() => statistics(data, s), [data, s.from, s.to]);
  const { before, after } = neighbours(data, s);
  const gpus = data.lanes.filter((l) => l.kind === 'busy');
  const facts: [string, ComponentChildren][] = [];
  for (const g of gpus) facts.push([g.name, busyWords(g, s)]);
  for (const w of waitsIn(data, s)) facts.push([w.name, `${count(w.count)} ×, ${nanos(w.total)}`]);
  if (s.unattributed !== undefined) {
    if (before) facts.push(['after', <Jump data={data} to={before} />]);
    if (after) facts.push(['before', <Jump data={data} to={after} />]);
  }
  return (
    <>
      {facts.length > 0 && (
        <Block head={s.unattributed !== undefined ? 'A gap: no zone is open' : 'In this time'}>
          <Facts rows={facts} />
        </Block>
      )}
      {s.unattributed !== undefined && <GapFunctions report={report} gap={s} />}
      {s.label === GPU_IDLE && <IdleFunctions report={report} />}
      {found.names.length > 0 && <Block head={found.exact ? 'Zones in it' : 'Zones in it, from bins'}><Names of={found.names} /></Block>}
      {found.gpu.length > 0 && <Block head="On the GPU"><Names of={found.gpu} /></Block>}
      {s.to - s.from < 5e9 && <OpenBlock data={data} moment={(s.from + s.to) / 2} head="Open in the middle of it" />}
    </>
  );
}

function body({ data, report, charts }: Props, s: Selection): ComponentChildren {
  const e = data && s.entry ? entryAt(data, s.entry) : null;
  if (data && e) return <EntryDetail data={data} e={e} report={report} />;
  if (s.moment) return <SampleDetail data={data} s={s} charts={charts} />;
  return data ? <RangeDetail data={data} s={s} report={report} /> : null;
}

// What the details say, line by line.
const rowsIn = (e: Element) => [...e.querySelectorAll<HTMLElement>('.detail :is(dt, tr)')].map((row) => (row instanceof HTMLTableRowElement ? [...row.cells] : [row, row.nextElementSibling as HTMLElement]).map((c) => c.innerText.replaceAll('\u00a0', ' ')));

export function Detail(props: Props) {
  const s = useStore(selection);
  const [folded, setFolded] = useSwitch('nodetails');
  if (!s) return null;
  const length = s.to - s.from;
  const digits = length > 0 && length < 1e7 ? (length < 1e5 ? 9 : 6) : 3; // both ends of what is short differ
  const [from, to] = [s.from, s.to].map((at) => (at / 1e9).toFixed(digits));
  return (
    <aside class="selection" aria-label="what is selected">
      <header>
        <b dir="auto" aria-live="polite" title={s.label}>
          {clip(s.label, 60)}
        </b>
        <span>
          {from} to {to} s, {nanos(length)}
        </span>
        <span class="spring" />
        <button onClick={() => document.getElementById('range-statistics')?.scrollIntoView()}>
          Statistics
        </button>
        <button onClick={focusSelection}>
          Zoom to it (f)
        </button>
        <button onClick={() => history.back()} title="to what was selected before">
          Back
        </button>
        <button title="these details as text" onClick={(e) => void copyText((e.currentTarget.closest('.selection') as HTMLElement).querySelector<HTMLElement>('.detail')?.innerText ?? '')}>
          Copy
        </button>
        <button title="these details as a table" onClick={(e) => saveCsv(s.label, rowsIn(e.currentTarget.closest('.selection')!))}>
          CSV
        </button>
        <button title="the address of this view" onClick={() => void copyText(location.href)}>
          Link
        </button>
        <button aria-expanded={!folded} onClick={() => setFolded(!folded)}>
          {folded ? 'Details' : 'Hide'}
        </button>
        <button onClick={() => select(null)} aria-label="clear the selection">
          Clear (Esc)
        </button>
      </header>
      {!folded && <div class="detail">{body(props, s)}</div>}
    </aside>
  );
}
