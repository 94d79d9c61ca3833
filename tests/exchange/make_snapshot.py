#!/usr/bin/env python3
"""Memory snapshots as torch.cuda.memory._dump_snapshot() writes them, of an allocator that is played here:

    make_snapshot.py FILE [--entries N] [--protocol P] [--ring N] [--seed N] [--bytes N]

--ring keeps the last N entries, as torch does with max_entries. --bytes repeats the history until the file is that large.
The truth is returned by make(): what was allocated when, by which line."""
import argparse
import collections
import itertools
import os
import pickle
import random

FILES = [("/site-packages/torch/nn/modules/linear.py", "forward", 117), ("/site-packages/torch/nn/modules/module.py", "_call_impl", 1532)]


def stacks():
    """Stacks share their frames, and their lists, as torch's do."""
    cpp = [{"name": "c10::cuda::CUDACachingAllocator", "filename": "??", "line": 0}]
    torch = [{"name": name, "filename": file, "line": line} for file, name, line in FILES]
    own = [{"name": "_discovering_call", "filename": "/site-packages/strobe/auto/modules.py", "line": 83}]  # between a module and its parts
    model = [{"name": "forward", "filename": "/app/model.py", "line": 10 + i} for i in range(12)]
    main = [{"name": "<module>", "filename": "/app/main.py", "line": 3}]
    return [cpp + torch + own + [frame] + own + main * 2 for frame in model]  # a frame may come twice: recursion


class Allocator:
    """Plays one device: a list of entries, and what is alive."""

    def __init__(self, seed, base):
        self.random, self.next, self.time = random.Random(seed), base, 1_790_000_000_000_000
        self.stacks, self.live, self.entries, self.segments, self.allocated = stacks(), {}, [], {}, 0
        self.states = []  # allocated after each entry

    def put(self, action, addr, size, frames, **more):
        self.time += self.random.randrange(1, 50)
        self.entries.append({"action": action, "addr": addr, "size": size, "stream": 0, "time_us": self.time, "compile_context": "N/A",
                             "user_metadata": "", "pool_id": (0, 0), "frames": frames, **more})
        self.states.append(self.allocated)

    def alloc(self, size, stack):
        addr, self.next = self.next, self.next + size
        self.segments[addr] = size
        self.put("segment_alloc", addr, size, self.stacks[stack])
        self.live[addr] = (size, stack)
        self.allocated += size
        self.put("alloc", addr, size, self.stacks[stack])

    def free(self, addr):
        size, stack = self.live.pop(addr)
        self.put("free_requested", addr, size, self.stacks[stack])
        self.allocated -= size
        self.put("free_completed", addr, size, self.stacks[stack])
        del self.segments[addr]
        self.put("segment_free", addr, size, self.stacks[stack])

    def run(self, entries):
        while len(self.entries) < entries:
            if self.live and (self.random.random() < 0.48 or len(self.live) > 2000):
                addresses = list(itertools.islice(self.live, 40))
                self.free(self.random.choice(addresses))
            else:
                self.alloc(self.random.randrange(1, 64) << 20, self.random.randrange(12))

    def segments_now(self, device):
        return [{"device": device, "address": addr, "total_size": size, "allocated_size": size, "active_size": size, "requested_size": size,
                 "stream": 0, "segment_type": "large", "segment_pool_id": (0, 0), "is_expandable": False, "frames": self.stacks[0],
                 "blocks": [{"address": addr, "size": size, "requested_size": size, "state": "active_allocated",
                             "frames": self.stacks[self.live[addr][1]]}]} for addr, size in self.segments.items()]


def make(entries=3000, seed=1, ring=None, devices=1, oom=False):
    """The snapshot, and per device the truth: peak bytes, by line then, bytes at the end."""
    snapshot, truth = {"segments": [], "device_traces": []}, []
    for device in range(devices):
        a = Allocator(seed + device, 0x7F0000000000 + (device << 40))
        a.run(entries)
        if oom:
            a.put("oom", 0, 7 << 30, a.stacks[5], device_free=123 << 20)
            del a.entries[-1]["addr"]
        kept = a.entries[-ring:] if ring else a.entries
        truth.append(truth_of(a, len(a.entries) - len(kept)))
        snapshot["segments"] += a.segments_now(device)
        snapshot["device_traces"].append(kept)
    snapshot["allocator_settings"] = {"PYTORCH_CUDA_ALLOC_CONF": "", "max_split_size": -1, "garbage_collection_threshold": 0.0,
                                      "expandable_segments": False}
    snapshot["external_annotations"] = []
    return snapshot, truth


def truth_of(a, first):
    """Replays everything; the peak is looked for among the states that the kept history has seen."""
    states = [a.states[first - 1] if first else 0] + a.states[first:]
    at = max(range(len(states)), key=lambda i: (states[i], -i))
    live, by_line = {}, collections.Counter()
    for entry in a.entries[:first + at]:
        if entry["action"] == "alloc":
            live[entry["addr"]] = (entry["size"], entry["frames"][4]["line"])
        elif entry["action"] == "free_completed":
            del live[entry["addr"]]
    for size, line in live.values():
        by_line[line] += size
    return {"peak": states[at], "by_line": dict(by_line), "end": a.allocated, "alive": len(live)}


def large(path, size, entries=100_000):
    """A history that goes on until the file is so large, written piece by piece: protocol 3 names its memo's numbers, so that
    pieces can be put one behind the other. Returns the number of entries."""
    a, count = Allocator(1, 0x7F0000000000), 0
    with open(path, "wb") as out:
        out.write(b"\x80\x03}(X\x0d\x00\x00\x00device_traces](](" + b"e")
        while out.tell() < size:
            del a.entries[:], a.states[:]
            a.run(entries)
            count += len(a.entries)
            out.write(pickle.dumps(a.entries, 3)[len(b"\x80\x03]q\x00"):-1])
        out.write(b"eX\x08\x00\x00\x00segments]u.")
    return count


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file")
    parser.add_argument("--entries", type=int, default=3000)
    parser.add_argument("--protocol", type=int, default=4)
    parser.add_argument("--ring", type=int)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--devices", type=int, default=1)
    parser.add_argument("--oom", action="store_true")
    parser.add_argument("--bytes", type=int)
    options = parser.parse_args()
    if options.bytes:
        print(large(options.file, options.bytes), "entries")
        return
    snapshot, truth = make(options.entries, options.seed, options.ring, options.devices, options.oom)
    with open(options.file, "wb") as out:
        pickle.dump(snapshot, out, options.protocol)
    print(truth, os.path.getsize(options.file))


if __name__ == "__main__":
    main()
