"""Reads .strobe files for the tests, independently of the C reader: the wire
format's words, nothing of its analysis."""
import collections
import glob
import os
import re
import struct

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BEGIN, END, MARK, SWITCH, ATTR, COUNT, PAD, LONG = range(1, 9)
(REBASE, ATTR64, ATTR_STR, SPAN_OPEN, SPAN, GPU, SCHEMA, SAMPLE, SNAPSHOT, ANCHOR, NAME, META, LOST, EVENT, THREAD,
 TRACK, SKIP, CACHE, STREAM, MODEL, ALLOC, GAUGE, PROCESS, STACK, CODE_FILE, OWNER) = range(1, 27)
HOT, KEEP, DIGEST = 1, 2, 4
NODE, OPEN = 1, 3
LOST_REASONS, LOST_AT, LOST_COMPILED = 16, 904, 12


def _fixed_names():
    with open(os.path.join(ROOT, "src", "format", "wire.h")) as file:
        source = file.read()
    block = source[source.index("#define SB_FIXED_NAMES"):]
    block = block[:block.index("enum sb_fixed_name")]
    return [text for _, text in re.findall(r'X\((\w+), "([^"]*)"\)', block)]


class Zone:
    def __init__(self, name, tid, track, parent):
        self.name, self.tid, self.track, self.parent = name, tid, track, parent
        self.attrs = {}
        self.children = []
        self.closed = False
        self.code = None

    @property
    def path(self):
        return (self.parent.path if self.parent else ()) + (self.name,)


class Digest:
    """What a writer folded: how often each path of zones ended, and which zones were open then."""

    def __init__(self, chunks, names):
        self.folded_seq, = struct.unpack_from("<Q", chunks[0])
        self.counts, self.open, self.names = collections.Counter(), [], names
        paths = {0: ()}
        for index, chunk in enumerate(chunks):
            at = 32 if index == 0 else 0
            kind, words = struct.unpack_from("<II", chunk, at)
            while kind:
                if kind == NODE:
                    self._node(chunk, at + 8, paths)
                elif kind == OPEN:
                    self._open(chunk, at + 8, paths)
                at += 8 * words
                kind, words = struct.unpack_from("<II", chunk, at) if at + 8 <= len(chunk) else (0, 0)

    def _newest(self, stamps):
        valid = [(stamp, slot) for slot, stamp in enumerate(stamps) if 0 < stamp <= self.folded_seq]
        return max(valid)[1] if valid else None

    def _node(self, chunk, at, paths):
        node, parent, name, flags = struct.unpack_from("<4I", chunk, at)
        paths[node] = paths[parent] + (self.names.get(name),)
        slots = [struct.unpack_from("<2Q", chunk, at + 24 + 64 * i) for i in range(2)]
        newest = self._newest([stamp for stamp, _ in slots])
        if newest is not None and not flags & 1:  # those of spans are no zones
            self.counts[paths[node]] += slots[newest][1]

    def _open(self, chunk, at, paths):
        capacity, = struct.unpack_from("<I", chunk, at)
        slots = [struct.unpack_from("<Q2I", chunk, at + 8 + 16 * i) for i in range(2)]
        newest = self._newest([slot[0] for slot in slots])
        if newest is None:
            return
        first = at + 40 + 24 * capacity * newest
        zones = [struct.unpack_from("<2I", chunk, first + 24 * i) for i in range(slots[newest][1])]
        self.open = [(track, paths[node][-1]) for track, node in zones]


class Recording:
    """One file: its zones as trees, its marks, counters, snapshots, records."""

    def __init__(self, path):
        self.path = path
        self.names = dict(enumerate(_fixed_names(), 1))
        self.codes = {}
        self.roots, self.zones = [], []
        self.counters = collections.Counter()
        self.records = collections.defaultdict(list)
        self.unmatched_ends = 0
        with open(path, "rb") as file:
            data = file.read()
        assert data[:8] == b"STROBE\r\n"
        self.version, header_bytes, chunk_bytes = struct.unpack_from("<III", data, 8)
        self.pid, _, self.main_tid = struct.unpack_from("<III", data, 64)
        self.lost = struct.unpack_from("<%dQ" % LOST_REASONS, data, LOST_AT)
        chunks, digests = collections.defaultdict(list), collections.defaultdict(list)
        self.folded = collections.Counter()
        for at in range(header_bytes, len(data) - chunk_bytes + 1, chunk_bytes):
            epoch, writer, tid, stream, _, seq, base = struct.unpack_from("<IIIHHQQ", data, at)
            track, = struct.unpack_from("<I", data, at + 44)
            if epoch and not epoch % 2 and stream == DIGEST:
                digests[writer].append((seq, data[at + 64:at + chunk_bytes]))
            elif epoch and not epoch % 2:
                chunks[stream, writer].append((seq, tid, track, struct.unpack_from(
                    "<%dQ" % ((chunk_bytes - 64) // 8), data, at + 64)))
        for (stream, writer), parts in sorted(chunks.items(), key=lambda item: item[0][0] != KEEP):
            parts.sort()
            digest = None
            if stream == HOT and writer in digests:
                digest = Digest([chunk for _, chunk in sorted(digests[writer])], self.names)
                self.folded += digest.counts
                parts = [part for part in parts if part[0] > digest.folded_seq]
            self._stream(parts, digest)

    def _stream(self, parts, digest):
        stacks = collections.defaultdict(list)
        tid = None
        for track, name in digest.open if digest and parts else ():
            self._begin_named(name, parts[0][1], track, stacks[parts[0][1], track])
        for _, chunk_tid, track, words in parts:
            tid = chunk_tid if tid is None else tid
            i = 0
            while i < len(words) and words[i]:
                word = words[i]
                kind, number, value = word & 15, word >> 4 & 0xFFFFF, word >> 24
                i += 1
                if kind == PAD:
                    break
                if kind == LONG:
                    kind, count = word >> 4 & 255, word >> 12 & 4095
                    payload = words[i:i + count]
                    i += count
                    if kind == OWNER:
                        tid = value
                        stacks.clear()
                        track = 0
                    else:
                        self._record(kind, value, payload, stacks[tid, track])
                elif kind == BEGIN:
                    self._begin(number, tid, track, stacks[tid, track])
                elif kind == END:
                    self._end(number, stacks[tid, track])
                elif kind == SWITCH:
                    track = number
                elif kind == ATTR:
                    signed = value - (1 << 40) if value >> 39 else value
                    self._attr(number, signed, stacks[tid, track])
                elif kind == COUNT:
                    self.counters[self.names.get(number)] += value - (1 << 40) if value >> 39 else value
        for stack in stacks.values():
            for zone in stack:
                zone.closed = False

    def _begin(self, number, tid, track, stack):
        self._begin_named(self.names.get(number, "?%d" % number), tid, track, stack).code = self.codes.get(number)

    def _begin_named(self, name, tid, track, stack):
        zone = Zone(name, tid, track, stack[-1] if stack else None)
        (stack[-1].children if stack else self.roots).append(zone)
        self.zones.append(zone)
        stack.append(zone)
        return zone

    def _end(self, number, stack):
        name = self.names.get(number)
        if number and not any(zone.name == name for zone in stack) or not stack:
            self.unmatched_ends += 1
            return
        while stack:
            zone = stack.pop()
            zone.closed = True
            if not number or zone.name == name:
                return

    def _attr(self, key, value, stack):
        if stack:
            stack[-1].attrs[self.names.get(key)] = value

    def _record(self, kind, aux, payload, stack):
        if kind == NAME:
            sizes, = payload[:1]
            raw = b"".join(struct.pack("<Q", w) for w in payload[1:])
            n, c = sizes & 0xFFFFFFFF, sizes >> 32
            self.names[aux] = raw[:n].decode()
            if c:
                self.codes[aux] = raw[n:n + c].decode()
        elif kind == ATTR64:
            key, kind_of = aux & 0xFFFFF, aux >> 20 & 15
            form = "<d" if kind_of == 2 else "<q"
            self._attr(key, struct.unpack(form, struct.pack("<Q", payload[0]))[0], stack)
        elif kind == ATTR_STR:
            raw = b"".join(struct.pack("<Q", w) for w in payload[1:])
            self._attr(aux & 0xFFFFF, raw[:payload[0]].decode(), stack)
        else:
            self.records[kind].append((aux, payload))

    # -- what tests ask --

    def counts(self):
        """path -> how often, those that were folded included."""
        return collections.Counter(zone.path for zone in self.zones) + self.folded

    def named(self, name):
        return [zone for zone in self.zones if zone.name == name]

    def of(self, kind):
        """[(name, payload)] of the records whose aux is a name."""
        return [(self.names.get(aux & 0xFFFFF), payload) for aux, payload in self.records[kind]]


def read(folder):
    """The recordings of a run folder, the main one first."""
    paths = sorted(glob.glob(os.path.join(folder, "run*.strobe")), key=lambda p: (os.path.basename(p) != "run.strobe", p))
    assert paths, "no recording in %s: %s" % (folder, os.listdir(folder))
    return [Recording(path) for path in paths]
