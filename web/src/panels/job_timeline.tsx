// All ranks of a job on one clock, to zoom and move about in: in which stage each was and when it waited for the others.
import { useEffect, useMemo } from 'preact/hooks';
import { rankNames } from '../colour';
import { seconds } from '../format';
import { useKeys } from '../keys';
import type { Aggregate } from '../report';
import { select, show, useKept, whole } from '../state';
import type { Lane, Timeline } from '../timeline/data';
import { Row } from '../timeline/row';
import { Detail } from './detail';
import { Lanes } from './explore';

const LANES_MOST = 1024;
const TENTHS = 'abcdefghijk';
const UNKNOWN = 'not known';
const NAMES = [...TENTHS].map((_, i) => (i === 0 ? 'works' : i === 10 ? 'waits for other ranks' : `waits ${i * 10} % of the time`)).concat(UNKNOWN);

type Shown = 'stages' | 'waits' | 'both';
const BOTH_MOST = 32; // ranks: with more of them one row each

const waitName = (letter: string) => (letter === '?' ? NAMES.length - 1 : TENTHS.indexOf(letter));
const stageName = (letter: string) => (letter === '?' ? NAMES.length - 1 : letter === '.' || letter === '-' ? -1 : NAMES.length + letter.charCodeAt(0) - 97);

// Parts of the same letter are one entry; no name: it did not run, or was in no stage.
function rowOf(letters: string, binNs: number, nameOf: (letter: string) => number): Row {
  const parts: { from: number; to: number; name: number }[] = [];
  for (let i = 0; i < letters.length; i++) {
    const name = nameOf(letters[i]);
    const last = parts[parts.length - 1];
    if (name < 0) continue;
    if (last && last.to === i && last.name === name) last.to = i + 1;
    else parts.push({ from: i, to: i + 1, name });
  }
  const n = parts.length;
  return new Row(Float64Array.from(parts, (p) => p.from * binNs), Float64Array.from(parts, (p) => p.to * binNs), Uint32Array.from(parts, (p) => p.name), new Uint32Array(n).fill(1), Float64Array.from(parts, (p) => (p.to - p.from) * binNs), new Uint8Array(n), 0);
}

function timelineOf(d: Aggregate, shown: Shown): Timeline {
  const { bin_s, wait_tenths, stages, stage_names = [] } = d.rank_lanes!;
  const lanes = d.reports_summary.slice(0, LANES_MOST).flatMap((r, i): Lane[] => {
    if (!wait_tenths[i]) return [];
    const rows = [...(stages?.[i] && shown !== 'waits' ? [rowOf(stages[i], bin_s * 1e9, stageName)] : []), ...(shown !== 'stages' ? [rowOf(wait_tenths[i], bin_s * 1e9, waitName)] : [])];
    return [{ kind: 'rank', name: `${r.rank >= 0 ? `rank ${r.rank}` : r.run}${r.straggler ? ' (late)' : ''}`, note: r.host, overlap: false, main: false, traced: null, rows, zones: rows.reduce((n, one) => n + one.zones, 0), mergeNs: 0 }];
  });
  const endNs = Math.max(1, ...wait_tenths.map((l) => l.length * bin_s * 1e9));
  return { startNs: 0, endNs, foldedNs: 0, names: [...NAMES, ...stage_names], lanes, marks: [], profile: null, gpuProfile: null, kernels: new Map(), shapes: [], samples: [], memory: [], details: new Map(), zones: lanes.reduce((n, l) => n + l.zones, 0), merged: false, cutLanes: 0, tooDeep: 0 };
}

export function JobTimeline({ d }: { d: Aggregate }) {
  const staged = (d.rank_lanes!.stages ?? []).length > 0;
  const [kept, setShown] = useKept('lanes', !staged ? 'waits' : d.reports_summary.length > BOTH_MOST ? 'stages' : 'both');
  const shown = kept as Shown;
  const data = useMemo(() => {
    rankNames(d.rank_lanes!.stage_names ?? []);
    return timelineOf(d, shown);
  }, [d, shown]);
  useKeys();
  useEffect(() => {
    whole.set({ from: 0, to: data.endNs });
    show({ from: 0, to: data.endNs });
  }, [data.endNs]);
  return (
    <section class="part" id="timeline">
      <h2>All ranks on one clock</h2>
      <p class="quiet">
        In parts of {seconds(d.rank_lanes!.bin_s)}: {staged ? 'the stage that the main thread of a rank was in for most of it, and how much of it the rank waited for others' : 'how much of it a rank waited for others'}. Ctrl or ⌘ and wheel, or W and S, zoom; A and D move; drag selects.
      </p>
      {staged && (
        <p role="group" aria-label="what the lanes show">
          {(['stages', 'waits', 'both'] as const).map((one) => (
            <button key={one} aria-pressed={shown === one} onClick={() => (select(null), setShown(one))}>
              {one}
            </button>
          ))}
        </p>
      )}
      <Lanes id="timeline-first" data={data} rowHeight={data.lanes.length > 64 ? 12 : 18} mostRows={2} maxHeight={Math.max(260, innerHeight * 0.55)} />
      <Detail data={data} report={{} as never} charts={[]} />
    </section>
  );
}
