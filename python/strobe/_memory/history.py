"""torch's own history of allocations, for the peak by line: switched on where it is asked for (`strobe run --memory-history`,
strobe.memory_history()). After a generation whose peak is the highest so far a snapshot is taken, outside its timed part; at
the session's end the strobe command takes the highest one apart (docs/memory.md), and the file is thrown away.

A stack takes longer than the allocation. Where a model allocates so often that stacks would cost more than a few percent,
most of its calls have none: their blocks are known by their sizes, from the calls that have."""
import os
import sys
import time

from .. import _faults, _file
from .._native import native, own_section

ENTRIES = 100_000
RISEN = 1.01     # a peak is worth another snapshot
CONVERT_S = 300  # at most
STACK_S = 4e-6   # what one takes at least
SLOW_STACK_S = 20e-6  # and at most
SHARE = 0.01     # of a model's time that stacks may take
MB = 1 << 20
LEARNED = 6      # calls after which a model's rate is known

# A block is free when its free is completed; the request before it says nothing more. Not written, it costs half and leaves room in
# the ring. torch 2.10 and newer can.
_less = {"skip_actions": ["free_requested"]}
_wanted = 0
_keep = False
_on = False
_best = 0
_path = None


def memory_history(entries=ENTRIES, keep=False):
    """Turns torch's allocator history on, with Python stacks and at most so many entries. The report then says which lines
    held the memory at its peak. keep=True leaves the snapshot, memory.pickle, in the run folder."""
    global _wanted, _keep
    _wanted, _keep = int(entries), bool(keep)
    torch = sys.modules.get("torch")
    cuda = getattr(torch, "cuda", None)
    if cuda is not None and cuda.is_initialized():
        _start(torch)


def on_cuda(torch):
    """CUDA comes up; torch says that it is initialised only after this. Never raises."""
    global _wanted, _keep
    asked = os.environ.get("STROBE_MEMORY_HISTORY", "")
    try:
        if asked.isdigit() and int(asked):
            _wanted, _keep = int(asked), os.environ.get("STROBE_MEMORY_HISTORY_KEEP") == "1"
        if _wanted:
            _start(torch)
    except Exception:
        _faults.count("when the memory history was switched on")


def _start(torch):
    global _on
    _stacks(torch, True)
    _on = True
    modules = sys.modules.get("strobe.auto.modules")
    if modules is not None:
        modules.around_call = around_call


def _stacks(torch, wanted):
    record, context = torch.cuda.memory._record_memory_history, "alloc" if wanted else None
    try:
        record("all", context=context, stacks="python", max_entries=_wanted, **_less)
    except TypeError:
        if not _less:
            raise
        _less.clear()
        record("all", context=context, stacks="python", max_entries=_wanted)


# ---- models that allocate often ----

class _Calls:
    """Of one model: how many, and how often stacks are taken, once that is known. Its first calls have stacks; where these
    may cost too much, as many have none: the difference is what they take on this machine."""

    def __init__(self):
        self.count, self.every, self.bare = 0, 1, False
        self.begin_s = self.allocations = self.with_stacks_s = None

    def learn(self, torch):
        if self.count == 2 or self.count == LEARNED + 1 and self.bare:
            self.begin_s, self.allocations = time.perf_counter(), _allocations(torch)
        elif self.count == LEARNED:
            self._judge_stacks(torch)
        elif self.count == 2 * LEARNED - 1 and self.bare:
            self._judge_difference(torch)

    def _judge_stacks(self, torch):
        self.with_stacks_s, made = self._since(torch)
        self.bare = _every(made * SLOW_STACK_S, self.with_stacks_s) > 1

    def _judge_difference(self, torch):
        without_s, made = self._since(torch)
        stacks_s = min(max(self.with_stacks_s - without_s, made * STACK_S), made * SLOW_STACK_S)
        self.every, self.bare = _every(stacks_s, without_s), False

    def _since(self, torch):
        return time.perf_counter() - self.begin_s, _allocations(torch) - self.allocations


def _every(stacks_s, took_s):
    """Stacks in one of how many calls, so that they take no more than their share."""
    return max(1, -int(-stacks_s // (SHARE * max(took_s, 1e-6))))


_calls = {}


def _allocations(torch):
    return torch.cuda.memory_stats_as_nested_dict(torch.cuda.current_device())["allocation"]["all"]["allocated"]


def around_call(call, name):
    """A top-level model is called: the call itself, or one that takes no stacks. Never raises."""
    try:
        torch, calls = sys.modules["torch"], _calls.setdefault(name, _Calls())
        calls.count += 1
        if calls.count < 2 * LEARNED:
            calls.learn(torch)
        if not calls.bare and calls.count % calls.every == 0:
            return call
        _stacks(torch, False)
    except Exception:
        _faults.count("when stacks of allocations were left out")
        return call

    def without_stacks(*args, **kwargs):
        try:
            return call(*args, **kwargs)
        finally:
            _stacks(torch, True)
    return without_stacks


def after_generation():
    """Outside of its timed part. Never raises."""
    if not _on or not native.recording():
        return
    try:
        _take(sys.modules["torch"])
    except Exception:
        _faults.count("when a memory snapshot was taken")


def _take(torch):
    import pickle
    global _best, _path
    peak = max(torch.cuda.max_memory_allocated(index) for index in range(torch.cuda.device_count()))
    if peak < _best * RISEN:
        return
    _best = peak
    with own_section("memory snapshot"):
        path = os.path.join(native.run_dir(), "memory.%d.pickle" % os.getpid())
        with open(path, "wb", opener=_file.no_link) as out:
            pickle.dump(torch.cuda.memory._snapshot(), out)
    _path = path


def finish():
    """At the session's end, while it is open: the lines of the highest peak go into it. Never raises."""
    global _path, _best
    path, _path, _best = _path, None, 0
    if path is None:
        say_why_not()
        return
    try:
        for name, facts in _found(path):
            native.event(name, **facts)
        if _keep:
            os.replace(path, os.path.join(os.path.dirname(path), "memory.pickle"))
    except Exception:
        _faults.count("when the memory snapshot was read")
    finally:
        if os.path.exists(path):
            os.unlink(path)


def _has_others():
    """Recordings of other processes, beside that of `strobe run` itself: one of them may have what this one has not."""
    return sum(name.startswith("run.") and name.endswith(".strobe") and name != "run.strobe"
               for _, _, names in os.walk(native.run_dir()) for name in names) > 1


def say_why_not():
    """It was asked for, and no snapshot was taken. Never raises."""
    asked = os.environ.get("STROBE_MEMORY_HISTORY", "")
    if not _wanted and not (asked.isdigit() and int(asked)) or _has_others():
        return
    if _on:
        why = "a snapshot is taken after a generation, and there was none: put strobe.generation() around what is one"
    elif "torch" in sys.modules:
        why = "torch keeps a history of a GPU's memory, and the program used no GPU: --memory-history=host is about the host's"
    else:
        why = "torch keeps the history, and the program did not load it: --memory-history=host is about the host's memory"
    native.missing("who held memory at the peak", why, "")


def _found(path):
    """(name, facts) of events: lines that held memory at the peak, and what the largest of them held over time."""
    import json
    import subprocess

    from .. import _tool
    tool = _tool.path()
    if tool is None:
        native.missing("who held memory at the peak", "the strobe command is not installed, which reads the snapshot", "")
        return
    report = json.loads(_converted(subprocess, tool, path))
    begin_us = _unix_us(report["session_info"]["start_time"])
    lines, pictures = report["memory"].get("lines", []), report.get("memory_over_time", [])
    for device in sorted({row["device_index"] for row in lines}):
        yield from _held(device, lines, pictures, begin_us)
    for picture in pictures:
        if picture.get("exact"):
            yield from _held_by_stage(picture)
        if picture.get("by_line") or picture.get("exact"):
            yield from _moments(picture, begin_us)
    for segment in report.get("memory_segments", []):
        yield "strobe.memory_segment", _segment(segment)


def _converted(subprocess, tool, path):
    """The report of the snapshot, with the stages of this process so far; without them where its recording cannot be read."""
    def said(*words):
        return subprocess.run([tool, *words], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=CONVERT_S).stdout
    import tempfile
    own = os.path.join(os.path.dirname(path), "run.%d.strobe" % os.getpid())
    if not os.path.exists(own):
        own = os.path.join(os.path.dirname(path), "run.strobe")
    with tempfile.TemporaryDirectory(prefix="strobe-memory-") as folder:
        said("import", path, "--stages", own, "-q", "-o", folder)
        return said("report", folder if os.listdir(folder) else path, "--format", "json")


def _held(device, lines, pictures, begin_us):
    """Lines of a device; those that are layers of its picture come first, in their order: the moments count them."""
    layers = [layer["component"] for picture in pictures if picture.get("by_line") and picture["device_index"] == device
              for layer in reversed(picture["layers"][1:])]
    rows = [row for row in lines if row["device_index"] == device]
    order = {name: number for number, name in reversed(list(enumerate(layers)))}
    for row in sorted(rows, key=lambda row: order.get(_layer_name(row), len(layers))):
        yield "strobe.memory_held", _facts(row, begin_us)


def _layer_name(row):
    """As the report calls a line's layer."""
    if "file" not in row:
        return row.get("function", "(allocated before the history)")
    return "%s:%d %s" % (os.path.basename(row["file"]), row["line"], row.get("function", ""))


def _held_by_stage(picture):
    for layer in reversed(picture["layers"][1:]):
        held = layer["held_mb"]
        yield "strobe.memory_held", {"set": os.getpid(), "device": picture["device_index"], "by_stage": 1, "function": layer["component"],
                                     "peak_bytes": int(held[picture["peak_index"]] * MB), "end_bytes": int(held[-1] * MB)}


def _unix_us(text):
    import datetime
    return round(datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp() * 1e6)


def _facts(row, begin_us):
    facts = {"set": os.getpid(), "device": row["device_index"]}
    for key in ("peak", "end"):
        facts[key + "_bytes"] = int(row[key + "_mb"] * MB)
        facts[key + "_count"] = row[key + "_count"]
    facts.update((key, row[key]) for key in ("function", "file", "line", "stack") if key in row)
    if row.get("by_size"):
        facts["by_size"] = 1
    if "allocated_s" in row:
        facts["allocated_unix_us"] = begin_us + round(row["allocated_s"] * 1e6)
    return facts


def _segment(row):
    parts = " ".join("%d:%d" % (size, round(1000 * used)) for size, used in zip(row["part_bytes"], row["used_ratio"]))
    facts = {"set": os.getpid(), "device": row["device_index"], "bytes": int(row["segment_bytes"]), "parts": parts}
    facts.update((key, int(row[key])) for key in ("free_bytes", "free_count", "largest_free_bytes"))
    return facts


def _moments(picture, begin_us):
    """The largest line is the last layer, all other lines are the first one."""
    held = [layer["held_mb"] for layer in reversed(picture["layers"])]
    for index, t_s in enumerate(picture["t_s"]):
        facts = {"set": os.getpid(), "device": picture["device_index"], "unix_us": begin_us + round(t_s * 1e6),
                 "all": int(sum(layer[index] for layer in held) * MB)}
        if picture.get("by_stage"):
            facts["by_stage"] = 1
        facts.update(("line%d" % number, int(layer[index] * MB)) for number, layer in enumerate(held[:-1]))
        yield "strobe.memory_moment", facts


def forget():
    """A forked child: the snapshot is its parent's."""
    global _path, _best
    _path, _best = None, 0


os.register_at_fork(after_in_child=forget)
