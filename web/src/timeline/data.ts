// The timeline that the report brings along: docs/page.md describes its bytes.
import { shortNames } from '../format';
import { busyOf } from './busy';
import { windowsOf, type Traced } from './traced';
import { Row, type Launches } from './row';

export interface Lane extends Traced {
  kind: string; // thread, track, span, stream, step, block, iteration, generation, rank; wait, of a GPU: calls that wait for it; made here: busy and family, of a GPU's streams
  name: string;
  note: string;
  main: boolean; // of a process
  device?: number; // of a stream
  rows: Row[];
  zones: number;
  mergeNs: number; // 0: every zone is there
  overlap: boolean; // its zones may overlap; none is inside another
}

export interface Mark {
  at: number;
  name: string;
}

// Time and count per name over equal bins of the run: true statistics of a
// range even where single zones are gone.
export interface Profile {
  startNs: number;
  binNs: number;
  names: number[];
  total: Float64Array[];
  count: Float64Array[];
}

// A stack of Python that was sampled: names, the outermost first, and the time that it stands for.
export interface Sample {
  at: number;
  ns: number; // that it stands for; 0: of a thread without Python, the CPU time alone is known
  cpuNs: number; // that the thread used meanwhile; 0 also where it is not known
  lane: number; // of its zones; -1: none
  stack: number[];
}

export interface Kernel {
  family: string;
  kind: string;
  precision: string;
}

// Memory that came between two readings.
export interface Rise {
  from: number;
  to: number;
  lane: number; // whose zones ran meanwhile; -1: not known
  device: number; // -1: the host's, -2: what the program told of
  bytes: number;
}

export interface Timeline {
  startNs: number;
  endNs: number;
  foldedNs: number; // before this moment only totals exist; 0: nothing was folded
  names: string[];
  lanes: Lane[];
  marks: Mark[];
  profile: Profile | null; // of the zones
  gpuProfile: Profile | null; // of kernels and copies
  kernels: Map<number, Kernel>; // by name
  samples: Sample[]; // in order of time
  memory: Rise[];
  shapes: number[][]; // grid x, y, z, block x, y, z, registers of a thread, bytes of shared memory of a block
  details: Map<string, Record<string, unknown>>; // "lane.row.start"
  zones: number;
  merged: boolean;
  cutLanes: number;
  tooDeep: number;
}

interface Header {
  version: number;
  start_ns?: number;
  end_ns: number;
  folded_until_ns?: number;
  names: string[];
  wait_names?: number[]; // of calls that wait for the GPU
  lanes: { kind: string; name: string; note?: string; overlap?: true; main?: boolean; device?: number; too_deep?: number; rows: RowHeader[] }[];
  marks?: [number, number][];
  details?: [number, number, number, Record<string, unknown>][];
  profile?: ProfileHeader;
  gpu_profile?: ProfileHeader;
  traced?: [number, number][];
  kernels?: [number, string, string, string, string?][]; // name, family, kind, precision, short name
  shapes?: number[][];
  stacks?: number[][];
  samples?: [number, number, number, number?, number?][];
  memory?: [number, number, number, number, number][];
  lanes_left_out?: number;
}

interface ProfileHeader {
  bin_ns: number;
  bins: number;
  names: number[];
  at: number;
}

interface RowHeader {
  entries: number;
  merge_ns: number;
  at: number;
  launches_at?: number;
  more_at?: number;
}

class Bytes {
  constructor(
    private data: Uint8Array,
    private at: number,
  ) {}
  varint(): number {
    const { data } = this;
    let b = data[this.at++];
    let v = b & 127;
    if (b < 128) return v;
    let scale = 128;
    do {
      b = data[this.at++];
      v += (b & 127) * scale;
      scale *= 128;
    } while (b >= 128);
    return v;
  }
  signed(): number {
    const v = this.varint();
    return v % 2 ? -(v + 1) / 2 : v / 2;
  }
}

function readRow(body: Uint8Array, h: RowHeader): Row {
  const n = h.entries;
  const start = new Float64Array(n);
  const end = new Float64Array(n);
  const name = new Uint32Array(n);
  const count = new Uint32Array(n).fill(1);
  const busy = new Float64Array(n);
  const mixed = new Uint8Array(n);
  const b = new Bytes(body, h.at);
  for (let i = 0; i < n; i++) start[i] = b.signed(); // distance from the last end
  let last = 0;
  for (let i = 0; i < n; i++) {
    start[i] += last;
    last = end[i] = start[i] + (busy[i] = b.varint());
  }
  let merged = 0;
  for (let i = 0; i < n; i++) {
    const v = b.varint();
    name[i] = v >>> 2;
    mixed[i] = (v >>> 1) & 1;
    if (v & 1) {
      count[i] = 0;
      merged++;
    }
  }
  if (merged) {
    for (let i = 0; i < n; i++) if (!count[i]) count[i] = b.varint();
    for (let i = 0; i < n; i++) if (count[i] > 1) busy[i] -= b.signed();
  }
  const row = new Row(start, end, name, count, busy, mixed, h.merge_ns);
  if (h.more_at !== undefined) row.more = readMore(new Bytes(body, h.more_at), row);
  if (h.launches_at !== undefined) row.launches = readLaunches(new Bytes(body, h.launches_at), row);
  return row;
}

function readMore(b: Bytes, row: Row): Float64Array {
  return row.start.map((_, i) => (row.count[i] > 1 ? 0 : b.varint()));
}

function readLaunches(b: Bytes, row: Row): Launches {
  const lane = new Int32Array(row.size).fill(-2);
  const at = new Float64Array(row.size);
  for (let i = 0; i < row.size; i++) {
    if (row.count[i] > 1) continue;
    lane[i] = b.varint() - 2;
    if (lane[i] > -2) at[i] = row.start[i] - b.signed();
  }
  return { lane, at };
}

function readProfile(body: Uint8Array, startNs: number, h: ProfileHeader | undefined): Profile | null {
  if (!h) return null;
  const b = new Bytes(body, h.at);
  const total: Float64Array[] = [];
  const count: Float64Array[] = [];
  for (let i = 0; i < h.names.length; i++) {
    const t = new Float64Array(h.bins);
    const c = new Float64Array(h.bins);
    for (let bin = -1, left = b.varint(); left > 0; left--) {
      bin += b.varint();
      c[bin] = b.varint();
      t[bin] = b.varint();
    }
    total.push(t);
    count.push(c);
  }
  return { startNs, binNs: h.bin_ns, names: h.names, total, count };
}

const MAGIC = 'SBTL1\n';

export function decodeTimeline(blob: Uint8Array): Timeline {
  const magic = String.fromCharCode(...blob.subarray(0, MAGIC.length));
  if (magic !== MAGIC) throw new Error('the timeline inside this page is not one this page can read');
  const size = new DataView(blob.buffer, blob.byteOffset).getUint32(MAGIC.length, true);
  const from = MAGIC.length + 4;
  const header = JSON.parse(new TextDecoder().decode(blob.subarray(from, from + size))) as Header;
  const body = blob.subarray(from + size);
  const lanes: Lane[] = header.lanes.map((l) => {
    const rows = l.rows.map((r) => readRow(body, r));
    return {
      kind: l.kind,
      name: l.name,
      note: l.note ?? '',
      main: l.main ?? false,
      device: l.device,
      overlap: l.overlap ?? false,
      traced: null,
      rows,
      zones: rows.reduce((sum, r) => sum + r.zones, 0),
      mergeNs: rows.reduce((most, r) => Math.max(most, r.mergeNs), 0),
    };
  });
  if (!lanes.some((l) => l.main)) for (const l of lanes.filter((one) => one.kind === 'thread').slice(0, 1)) l.main = true; // written before lanes said so
  const streams = lanes.filter((l) => l.kind === 'stream');
  const windows = header.traced ? windowsOf(header.traced, streams.flatMap((l) => l.rows)) : null;
  for (const l of lanes) if (l.kind === 'stream' || l.kind === 'wait') l.traced = windows;
  lanes.push(...busyLanes(lanes, windows), ...(lanes.some((l) => l.kind === 'wait') ? [] : waitLanes(lanes, header.wait_names)));
  const details = new Map<string, Record<string, unknown>>();
  for (const k of header.kernels ?? []) if (k[4]) shortNames.set(header.names[k[0]], k[4]);
  for (const [lane, row, start, attrs] of header.details ?? []) details.set(`${lane}.${row}.${start}`, attrs);
  return {
    startNs: header.start_ns ?? 0,
    endNs: Math.max((header.start_ns ?? 0) + 1, header.end_ns),
    foldedNs: header.folded_until_ns ?? 0,
    tooDeep: header.lanes.reduce((sum, l) => sum + (l.too_deep ?? 0), 0),
    names: header.names,
    lanes,
    marks: (header.marks ?? []).map(([at, name]) => ({ at, name: header.names[name] })),
    profile: readProfile(body, header.start_ns ?? 0, header.profile),
    gpuProfile: readProfile(body, header.start_ns ?? 0, header.gpu_profile),
    kernels: new Map(header.kernels?.map(([name, family, kind, precision]) => [name, { family, kind, precision }])),
    shapes: header.shapes ?? [],
    memory: (header.memory ?? []).map(([from, to, lane, device, bytes]) => ({ from, to, lane, device, bytes })),
    samples: (header.samples ?? []).map(([at, stack, ns, cpuNs = 0, lane = -1]) => ({ at, ns, cpuNs, lane, stack: header.stacks![stack] })).sort((a, b) => a.at - b.at),
    details,
    zones: lanes.reduce((sum, l) => sum + (derived(l.kind) ? 0 : l.zones), 0),
    merged: lanes.some((l) => l.mergeNs > 0),
    cutLanes: header.lanes_left_out ?? 0,
  };
}

// One more lane per GPU: when any of its streams worked.
function busyLanes(lanes: Lane[], traced: Lane['traced']): Lane[] {
  const devices = [...new Set(lanes.flatMap((l) => (l.kind === 'stream' ? (l.device ?? 0) : [])))];
  return devices.map((device) => {
    const row = busyOf(lanes.filter((l) => l.kind === 'stream' && (l.device ?? 0) === device).flatMap((l) => l.rows.slice(0, 2)));
    return { kind: 'busy', name: `GPU ${device} busy`, note: '', overlap: false, main: false, traced, device, rows: [row], zones: 0, mergeNs: 0 };
  });
}

// Calls that wait for the GPU, of all threads: where Python stands still.
function waitLanes(lanes: Lane[], names: number[] = []): Lane[] {
  const wanted = new Set(names);
  const found: Row[] = [];
  for (const l of lanes) if (wanted.size && l.kind === 'thread') for (const r of l.rows) if (r.name.some((n) => wanted.has(n))) found.push(r);
  const calls = found.flatMap((r) => [...r.name.keys()].filter((i) => wanted.has(r.name[i])).map((i) => ({ start: r.start[i], end: r.end[i], name: r.name[i], count: r.count[i], busy: r.busy[i] })));
  calls.sort((a, b) => a.start - b.start);
  const apart = calls.filter((c, i) => i === 0 || c.start >= calls[i - 1].end); // inside another one: the same wait
  if (!apart.length) return [];
  const row = new Row(Float64Array.from(apart, (c) => c.start), Float64Array.from(apart, (c) => c.end), Uint32Array.from(apart, (c) => c.name), Uint32Array.from(apart, (c) => c.count), Float64Array.from(apart, (c) => c.busy), new Uint8Array(apart.length), 0);
  return [{ kind: 'wait', name: 'Waits for the GPU', note: '', overlap: false, main: false, traced: null, rows: [row], zones: row.zones, mergeNs: 0 }];
}

// What a lane's entries are called.
export function entriesOf(lane: Lane): string {
  const one = lane.zones === 1;
  if (lane.kind === 'span') return one ? 'GPU span' : 'GPU spans';
  if (lane.kind === 'family') return one ? 'kernel' : 'kernels';
  if (lane.kind === 'wait') return one ? 'wait' : 'waits';
  if (lane.kind === 'stream') return lane.rows.length > 1 ? 'kernels, copies' : one ? 'kernel' : 'kernels';
  return one ? 'zone' : 'zones';
}

// Lanes that show zones of other lanes once more.
export function derived(kind: string): boolean {
  return kind === 'step' || kind === 'block' || kind === 'iteration' || kind === 'generation' || kind === 'busy' || kind === 'family' || kind === 'wait';
}

export function unbase64(text: string): Uint8Array {
  const raw = atob(text);
  const out = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) out[i] = raw.charCodeAt(i);
  return out;
}

export async function gunzip(packed: Uint8Array): Promise<Uint8Array> {
  const stream = new Blob([packed as BlobPart]).stream().pipeThrough(new DecompressionStream('gzip'));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}
