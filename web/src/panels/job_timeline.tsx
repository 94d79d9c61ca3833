// All ranks of a job on one clock, to zoom and move about in: when each worked and when it waited for the others.
import { useEffect, useMemo } from 'preact/hooks';
import { seconds } from '../format';
import { useKeys } from '../keys';
import type { Aggregate } from '../report';
import { show, whole } from '../state';
import type { Lane, Timeline } from '../timeline/data';
import { Row } from '../timeline/row';
import { TimelineView } from '../timeline/view';
import { Detail } from './detail';

const LANES_MOST = 1024;
const TENTHS = 'abcdefghijk';
const UNKNOWN = 'not known';
const NAMES = [...TENTHS].map((_, i) => (i === 0 ? 'works' : i === 10 ? 'waits for other ranks' : `waits ${i * 10} % of the time`)).concat(UNKNOWN);

const nameOf = (letter: string) => (letter === '?' ? NAMES.length - 1 : TENTHS.indexOf(letter));

// Parts of the same letter are one entry; '.': it did not run.
function rowOf(letters: string, binNs: number): Row {
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

function timelineOf(d: Aggregate): Timeline {
  const { bin_s, wait_tenths } = d.rank_lanes!;
  const lanes = d.reports_summary.slice(0, LANES_MOST).flatMap((r, i): Lane[] => {
    if (!wait_tenths[i]) return [];
    const row = rowOf(wait_tenths[i], bin_s * 1e9);
    return [{ kind: 'rank', name: `${r.rank >= 0 ? `rank ${r.rank}` : r.run}${r.straggler ? ' (late)' : ''}`, note: r.host, overlap: false, main: false, traced: null, rows: [row], zones: row.zones, mergeNs: 0 }];
  });
  const endNs = Math.max(1, ...wait_tenths.map((l) => l.length * bin_s * 1e9));
  return { startNs: 0, endNs, foldedNs: 0, names: NAMES, lanes, marks: [], profile: null, gpuProfile: null, kernels: new Map(), shapes: [], samples: [], memory: [], details: new Map(), zones: lanes.reduce((n, l) => n + l.zones, 0), merged: false, cutLanes: 0, tooDeep: 0 };
}

export function JobTimeline({ d }: { d: Aggregate }) {
  const data = useMemo(() => timelineOf(d), [d]);
  useKeys();
  useEffect(() => {
    whole.set({ from: 0, to: data.endNs });
    show({ from: 0, to: data.endNs });
  }, [data]);
  return (
    <section class="part" id="timeline">
      <h2>All ranks on one clock</h2>
      <p class="quiet">In parts of {seconds(d.rank_lanes!.bin_s)}. Ctrl or ⌘ and wheel, or W and S, zoom; A and D move; drag selects; the page of a rank has its stages.</p>
      <TimelineView id="timeline-first" data={data} rowHeight={data.lanes.length > 64 ? 12 : 18} mostRows={1} maxHeight={Math.max(260, innerHeight * 0.55)} />
      <Detail data={data} report={{} as never} charts={[]} />
    </section>
  );
}
