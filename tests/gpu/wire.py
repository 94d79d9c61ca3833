"""Reads a .strobe file with Python alone: what prove.py judges the recorder by shares
no code with the tool that reports it. Follows docs/format.md; knows zones and GPU records."""
import glob
import os
import re
import struct
from collections import namedtuple

Gpu = namedtuple("Gpu", "name kind device flags start duration launch stream tid bytes")
Zone = namedtuple("Zone", "name tid begin end")
KINDS = {1: "zone", 2: "kernel", 3: "h2d", 4: "d2h", 5: "d2d", 6: "copy", 7: "memset", 8: "sync"}
HEADER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "src", "format", "wire.h")


def fixed_names():
    """Names that need no NAME record: numbered from 1 in the order of the header's list."""
    with open(HEADER) as f:
        text = f.read()
    listed = text[text.index("#define SB_FIXED_NAMES"):text.index("enum sb_fixed_name")]
    return {i + 1: name for i, name in enumerate(re.findall(r'X\(\w+, "([^"]*)"\)', listed))}


class Recording:
    def __init__(self, path):
        with open(path, "rb") as f:
            self.data = f.read()
        (magic, self.version, self.header_bytes, self.chunk_bytes, self.clock_kind, self.hz) = struct.unpack_from(
            "<8sIIIIQ", self.data, 0)
        assert magic == b"STROBE\r\n", path
        self.names, self.gpu, self.zones, self.missing, self.meta = fixed_names(), [], [], [], {}
        self.schemas, self.samples = {}, []
        self.metas = []  # every one, in order: some keys come once for each trace
        self.stream_bytes = {1: 0, 2: 0, 3: 0, 4: 0}
        self.lost = {}
        chunks = []
        for at in range(self.header_bytes, len(self.data) - self.chunk_bytes + 1, self.chunk_bytes):
            epoch, writer, tid, stream, _, seq, base = struct.unpack_from("<IIIHHQQ", self.data, at)
            if epoch and not epoch & 1 and stream in (1, 2, 3):
                chunks.append((stream, writer, seq, at, tid, base))
        stacks = {}
        for stream, writer, seq, at, tid, base in sorted(chunks):
            self._chunk(at, stream, tid, base, stacks.setdefault(writer, []))
        self.gpu = [g._replace(name=self.names.get(g.name, str(g.name))) for g in self.gpu]
        self.zones = [z._replace(name=self.names.get(z.name, str(z.name))) for z in self.zones]
        self.metas = [(self.names.get(k, k), v) for k, v in self.metas]
        self.meta = dict(self.metas)
        self.missing = [(self.names.get(k, k), v) for k, v in self.missing]

    def _chunk(self, start, stream, tid, base, stack):
        words = struct.unpack_from("<%dQ" % ((self.chunk_bytes - 64) // 8), self.data, start + 64)
        i = 0
        while i < len(words) and words[i]:
            w = words[i]
            kind, ident, value = w & 15, w >> 4 & 0xfffff, w >> 24
            if kind == 7:
                break
            if kind == 8:
                count = w >> 12 & 4095
                self._long(w >> 4 & 255, value, words[i + 1:i + 1 + count])
                if w >> 4 & 255 == 1:
                    base = words[i + 1]
                self.stream_bytes[stream] += 8 * (1 + count)
                i += 1 + count
                continue
            if kind == 1:
                stack.append((ident, base + value))
            elif kind == 2:
                while stack:
                    name, begin = stack.pop()
                    self.zones.append(Zone(name, tid, begin, base + value))
                    if not ident or name == ident:
                        break
            self.stream_bytes[stream] += 8
            i += 1

    def _long(self, kind, aux, p):
        if kind == 6:
            self.gpu.append(Gpu(aux & 0xfffff, KINDS.get(aux >> 20 & 15), aux >> 24 & 255, aux >> 32 & 255, p[0], p[1],
                                p[2], p[3] >> 32, p[3] & 0xffffffff, p[4] if len(p) > 4 else 0))
        elif kind == 7:
            self.schemas[aux] = (p[0], p[1] - 1, p[3:])
        elif kind == 8:
            self.samples.append((aux, p[0], struct.unpack("<%dd" % (len(p) - 1), struct.pack("<%dQ" % (len(p) - 1), *p[1:]))))
        elif kind == 11:
            size = p[0] & 0xffffffff
            self.names[aux] = struct.pack("<%dQ" % (len(p) - 1), *p[1:])[:size].decode(errors="replace")
        elif kind == 12:
            key, vtype, scope = aux & 0xfffff, aux >> 20 & 15, aux >> 24
            if vtype == 3:
                value = struct.pack("<%dQ" % (len(p) - 1), *p[1:])[:p[0]].decode(errors="replace")
            else:
                value = struct.unpack("<q", struct.pack("<Q", p[0]))[0]
            if scope == 5:
                self.missing.append((key, value))
            else:
                self.metas.append((key, value))

    def sampled(self, source):
        """(device, ticks, {column: value}) of every sample of a source, in the order of time."""
        out = []
        for schema, ticks, values in self.samples:
            name, device, columns = self.schemas[schema]
            if self.names.get(name) == source:
                out.append((device, ticks, {self.names.get(c): v for c, v in zip(columns, values)}))
        return sorted(out, key=lambda s: s[1])

    def s(self, ticks):
        return ticks / self.hz

    def of(self, *kinds):
        return [g for g in self.gpu if g.kind in kinds]


def load_all(folder):
    """Every recording below a folder, each once: `last` is a link to one of them."""
    files = {os.path.realpath(f) for f in glob.glob(os.path.join(folder, "**", "*.strobe"), recursive=True)}
    assert files, "no .strobe file in %s" % folder
    return [Recording(f) for f in sorted(files)]


def load(folder):
    """The recording that has the most GPU records."""
    return max(load_all(folder), key=lambda r: (len(r.gpu), len(r.zones)))


def busy(spans):
    total, end = 0, None
    for a, b in sorted(spans):
        if end is None or a > end:
            total, end = total + b - a, b
        elif b > end:
            total, end = total + b - end, b
    return total
