"""What knowing memory costs a launch-bound model: readings, torch's history of allocations, and a snapshot apart.

Hundreds of pairs of single steps, a plain one beside one of the form, switched between them outside of the timing: what the
machine does for longer than a step falls on both. A null of more than +-0.005 leaves every ratio unjudged."""
import glob
import os
import pickle
import statistics
import tempfile
import threading
import time
from contextlib import contextmanager
from functools import partial

from proving import below, recorded, report, row

PAIRS_S = 42        # for all of them
NULL = 0.005        # what a null may be off, and how wide its interval
READINGS_HZ = 4
ENTRIES = 100_000
TIGHT = 2000        # allocations of one timing outside of the model
SHARES = {"null": 6, "bare": 8, "stacks": 3, "torch": 3, "torch less": 3, "reading": 5}


def pinned():
    """This thread on one core; the others, strobe's among them, where they like."""
    core = max(os.sched_getaffinity(0))
    try:
        os.sched_setaffinity(threading.get_native_id(), {core})
    except OSError:
        return "not pinned"
    return "core %d" % core


class Reader:
    """One reading of memory on a thread of its own, asked for at a step's begin, as the sampling thread makes them."""

    def __init__(self, native, read):
        self.native, self.read = native, read
        self.asked, self.done = threading.Semaphore(0), threading.Semaphore(0)
        self.count = self.late = 0
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        while True:
            self.asked.acquire()
            self.native.readings_now()
            self.count += 1
            self.done.release()

    def during(self, step):
        def stepped(*args):
            self.asked.release()
            return step(*args)
        return stepped

    @contextmanager
    def around(self):
        """Not timed: the reading is over before the next step begins."""
        before = self.count
        self.native.readings_install(self.read)
        yield
        self.late += self.count == before
        self.done.acquire()
        self.native.readings_install(None)


class History:
    """torch's history as strobe switches it, and as torch has it, for single steps."""

    def __init__(self, torch, module, model):
        self.torch, self.module, self.model = torch, module, model
        self.record = torch.cuda.memory._record_memory_history

    def step(self, *args):
        return self.module.around_call(self.model, "DiT")(*args)

    @contextmanager
    def asked(self, every):
        """As `strobe run --memory-history` has it, a model's calls through around_call(); stacks in one of so many."""
        calls = self.module._calls["DiT"] = self.module._Calls()
        calls.count, calls.every = 1000, every
        self.module._wanted = ENTRIES
        self.module._stacks(self.torch, True)
        yield
        self.record(None)

    @contextmanager
    def torchs(self, **less):
        self.record("all", context=None, stacks="python", max_entries=ENTRIES, **less)
        yield
        self.record(None)

    def learned_every(self, denoise):
        """One call of how many has stacks, as strobe finds out by itself."""
        self.module._calls.clear()
        self.module._wanted = ENTRIES
        self.module._stacks(self.torch, True)
        for _ in range(3 * self.module.LEARNED):
            denoise(self.step)
        self.record(None)
        return self.module._calls["DiT"].every

    def full_ring_s(self):
        """What an allocation and its free take longer once the ring has been filled, as it is in a long run: the pairs begin with an
        empty one."""
        def tight():
            t = time.perf_counter()
            for _ in range(TIGHT):
                self.torch.empty(64, device="cuda")
            return (time.perf_counter() - t) / TIGHT
        with self.asked(1 << 40):
            self.module._stacks(self.torch, False)
            first = [tight() for _ in range(5)]
            for _ in range(ENTRIES // TIGHT):
                tight()
            return max(0, min(tight() for _ in range(20)) - min(first))


def snapshots(torch, history, denoise, every):
    """Rows of (name, traces, seconds of torch, the same once more, seconds to write) and what the very first one of a process takes."""
    def taken():
        t = time.perf_counter()
        seen = torch.cuda.memory._snapshot()
        return seen, time.perf_counter() - t
    rows = []
    with history.torchs():
        first_s = taken()[1]
    for name, of in (("stacks in 1 of %d calls" % every, every), ("all stacks", 1)):
        with history.asked(of):
            for _ in range(100):
                denoise(history.step)
            torch.cuda.synchronize()
            seen, took_s = taken()
            again_s = taken()[1]
            t = time.perf_counter()
            pickle.dumps(seen)
            rows.append((name, seen["device_traces"], took_s, again_s, time.perf_counter() - t))
            del seen
    return first_s, rows


def pairs(bench, forms):
    """All forms in turn, so that none has the machine's better minute."""
    bench.step_pairs("null", None, 10)
    each_s = 2.2 * bench.step_ms() * 1e-3
    unit = max(1, PAIRS_S / (4 * each_s * sum(SHARES.values())))
    for _ in range(4):
        for name, (step, context) in forms.items():
            bench.step_pairs(name, step, max(8, int(unit * SHARES[name])), context)


def memory_overhead():
    """What reading memory four times a second costs, and torch's history of allocations; a snapshot apart."""
    import torch
    from dit import denoise as steps
    from dit import make
    from prove_cost import Bench
    from strobe import _sampling
    from strobe._memory import history as _history
    from strobe._core import native
    with recorded("memory"), torch.no_grad():
        model = make()
        steps(model, 6)
        native.readings_install(None)  # readings are made where they are measured
        where, bench = pinned(), Bench(torch, model, 1)
        x = torch.randn(1, model.tokens, 64, device="cuda", dtype=torch.bfloat16)
        history, reader = History(torch, _history, model), Reader(native, _sampling._read)
        every = history.learned_every(lambda step: step(x, 0.5))
        forms = {"null": (None, None), "bare": (history.step, partial(history.asked, 1 << 40)), "stacks": (history.step, partial(history.asked, 1)),
                 "torch": (model, history.torchs), "torch less": (model, partial(history.torchs, **_history._less)),
                 "reading": (reader.during(model), reader.around)}
        pairs(bench, forms)
        allocations = -_history._allocations(torch)
        model(x, 0.5)
        allocations += _history._allocations(torch)
        full_s = history.full_ring_s()
        first_s, taken = snapshots(torch, history, lambda step: step(x, 0.5), every)
        native.readings_install(_sampling._read)
    show(bench, every, full_s * allocations, where)
    show_readings(bench, reader)
    row("  the first snapshot of a process, with nothing in it", "%.0f ms" % (first_s * 1e3))
    for name, traces, torch_s, again_s, pickle_s in taken:
        made = [e for trace in traces for e in trace if e["action"] == "alloc"]
        row("  %s: allocations with a stack" % name, "%d of %d" % (sum(bool(e.get("frames")) for e in made), len(made)))
        row("  its snapshot of %d entries, outside of generations: torch / once more / written" % sum(map(len, traces)),
            "%.0f / %.0f / %.0f ms" % (torch_s * 1e3, again_s * 1e3, pickle_s * 1e3))


def quiet(bench):
    return abs(bench.ratio("null") - 1) <= NULL and bench.spread("null") <= NULL


def judged(bench, ratio, spread, bar):
    return below(ratio, spread, bar) if quiet(bench) else None


def show(bench, every, full_s, where):
    plain_s = bench.step_ms() * 1e-3
    full = full_s / plain_s
    ratio = (bench.ratio("bare") * (every - 1) + bench.ratio("stacks")) / every + full
    spread = (bench.spread("bare") * (every - 1) + bench.spread("stacks")) / every
    row("null (A/A), step of %.2f ms, %d pairs, %s" % (bench.step_ms(), len(bench.ratios["null"]), where), bench.text("null"),
        "1.000 +-%.3f" % NULL, True if quiet(bench) else None)
    row("torch's history of allocations, stacks in 1 of %d calls" % every, "%.3f x +-%.3f" % (ratio, spread), "<= 1.05 x", judged(bench, ratio, spread, 1.05))
    row("  calls without stacks / with / a full ring's part", "%s / %s / %.4f" % (bench.text("bare"), bench.text("stacks"), full))
    row("  torch's own, no stacks / and no requests to free", "%s / %s" % (bench.text("torch"), bench.text("torch less")))
    floor = statistics.median(bench.ratios["torch less"])
    row("  ours over torch's own", "%.3f x" % (ratio / (floor + full)))


def show_readings(bench, reader):
    """A reading is one step's; at four a second each second has four of them."""
    reading_s = (bench.ratio("reading") - 1) * bench.step_ms() * 1e-3
    spread_s = bench.spread("reading") * bench.step_ms() * 1e-3
    ratio, spread = 1 + READINGS_HZ * max(0, reading_s), READINGS_HZ * spread_s
    row("a step in which memory is read once, on another thread", bench.text("reading"), "")
    row("memory read four times a second", "%.4f x +-%.4f" % (ratio, spread), "<= 1.005 x", judged(bench, ratio, spread, 1.005))
    row("  readings that were measured, and those that ended after their step", "%d, %d" % (reader.count, reader.late), "> 100, < half",
        reader.count > 100 and reader.late < reader.count / 2)


def memory_by_stage():
    """Blocks of 256, 512 and 128 MB, the first freed in another stage than it came from: by torch's own history."""
    import strobe
    import torch
    torch.cuda.init()
    folder = tempfile.mkdtemp(prefix="strobe-prove-")
    strobe.start("by_stage", output_dir=folder, config={"generate_final_report": False})
    strobe.memory_history()

    def block(mb):
        made = torch.empty(mb << 20, dtype=torch.uint8, device="cuda").fill_(1)
        torch.cuda.synchronize()
        return made

    with strobe.generation():
        with strobe.section("denoise"):
            latents = block(256)
        with strobe.section("vae_decode"):
            frames = block(512)
            del latents
            frames = (frames, block(128))
    strobe.stop()
    pictures = report(glob.glob(os.path.join(folder, "*"))[0]).get("memory_over_time", [])
    exact = [p for p in pictures if p.get("exact") and p.get("device_index") == 0]
    row("memory by stage: from the history", len(exact), "1", len(exact) == 1)
    for where, index, denoise, decode in (("peak", exact[0]["peak_index"], 256, 512), ("end", -1, 0, 640)) if exact else ():
        held = {layer["component"]: layer["held_mb"][index] for layer in exact[0]["layers"]}
        seen = held.get("denoise", 0), held.get("vae_decode", 0)
        row("memory by stage: denoise, vae_decode at the %s" % where, "%.0f, %.0f MB" % seen, "%d, %d MB +- 4" % (denoise, decode),
            abs(seen[0] - denoise) <= 4 and abs(seen[1] - decode) <= 4)
