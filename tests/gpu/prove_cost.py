"""What recording costs: interleaved pairs in one process, medians."""
import os
import statistics
import time
from contextlib import contextmanager, nullcontext

from proving import Ratios, bare_events, bare_library, bare_stop, recorded, row

PART_S = 36  # for the forms of one model


class EventTimer:
    """GPU time as it is taken by hand: a pair of torch's events around each section."""

    def __init__(self, torch):
        self.pairs = [[torch.cuda.Event(enable_timing=True) for _ in range(2)] for _ in range(512)]
        self.open, self.count = [], 0

    def __enter__(self):
        self.count += 1
        self.open.append(self.pairs[self.count % len(self.pairs)])
        self.open[-1][0].record()

    def __exit__(self, *error):
        self.open.pop()[1].record()


class Bench(Ratios):
    """Interleaved timings of the same work done in several ways, in one process.

    Every round times the plain work before and after each form; a form's ratio is its time over
    the mean of its two neighbours. Rounds go through the forms forwards and backwards in turn, so
    that none always follows the same other one.
    """

    def __init__(self, torch, model, steps):
        import gc
        gc.collect()
        gc.freeze()
        gc.disable()
        super().__init__()
        self.torch, self.model, self.steps, self.plain = torch, model, steps, []

    def once(self, *around):
        from dit import denoise
        denoise(self.model, 1)
        self.torch.cuda.synchronize()
        t = time.perf_counter()
        denoise(self.model, self.steps, *around)
        self.torch.cuda.synchronize()
        return time.perf_counter() - t

    def rounds(self, forms, count):
        """forms: name -> (context manager around the timing, zones of step and block)."""
        order = list(forms)
        for i in range(count):
            before = self.once()
            for name in order if i % 2 else order[::-1]:
                context, around = forms[name]
                with context():
                    took = self.once(*around)
                after = self.once()
                self.ratios.setdefault(name, []).append(took / ((before + after) / 2))
                self.plain.append(after)
                before = after

    def step_pairs(self, name, step, count, context=None):
        """Finer: a plain step beside a step of the form, hundreds of times, without waiting for
        the GPU (it waits for us). For forms that can change from one step to the next; what context
        does before and after is not timed."""
        import random
        x = self.torch.randn(1, self.model.tokens, 64, device="cuda", dtype=self.torch.bfloat16)
        pair = [self.model, step or self.model]
        ratios = self.ratios.setdefault(name, [])
        for i in range(count + 5):
            first = random.random() < 0.5
            times = [0, 0]
            for which in (first, not first):
                with context() if which and context else nullcontext():
                    t = time.perf_counter()
                    pair[which](x, 0.5)
                    times[which] = time.perf_counter() - t
            if i >= 5:
                ratios.append(times[1] / times[0])
                self.plain.append(times[0] * self.steps)
            if i % 50 == 49:
                self.torch.cuda.synchronize()
                pair[0](x, 0.5)

    def step_ms(self):
        return statistics.median(self.plain) / self.steps * 1e3


def zone_overhead():
    import strobe
    import torch
    from dit import denoise, make, zoned

    def sync():
        @contextmanager
        def c():
            torch.cuda.synchronize()
            yield
            torch.cuda.synchronize()
        return c()

    def bare(calls):
        manager = bare_module.Bare(calls, torch.cuda.current_stream().cuda_stream)
        return lambda name, gpu: manager

    current, capturing, at_end = 1, 2, 8  # bare_events.c
    bare_module = bare_events()
    with recorded("zones") as r, torch.no_grad():
        for label, rich, want in (("250", False, 1.04), ("1000", True, 1.02)):
            model = make(rich=rich)
            denoise(model, 6)
            b, events = Bench(torch, model, 1), EventTimer(torch)
            b.step_pairs("null", None, 10)
            # In turns: no form has the machine's better minute. About as many pairs as the time allows.
            most, few = (300, 50) if not rich else (120, 30)
            scale = min(1, PART_S / (4 * (most + 8 * few) * 2 * b.step_ms() * 1e-3))
            most, few = max(30, int(scale * most)), max(12, int(scale * few))
            for _ in range(4):
                b.step_pairs("gpu", zoned(model, strobe.section, True), most)
                b.step_pairs("null", None, few)
                b.step_pairs("cpu", zoned(model, strobe.section, False), few)
                b.step_pairs("default", zoned(model, strobe.section, None), few)
                b.step_pairs("empty", zoned(model, lambda name, gpu: nullcontext(), None), few)
                b.step_pairs("driver", zoned(model, bare(at_end), None), few)
                b.step_pairs("driver+", zoned(model, bare(at_end | capturing | current), None), few)
                b.step_pairs("driver-", zoned(model, bare(capturing | current), None), few)
                b.step_pairs("events", zoned(model, lambda name, gpu: events, None), few // 3)
            row("null (A/A), %s kernels per step of %.2f ms" % (label, b.step_ms()), b.text("null"), "1.00")
            row("GPU zones on every step and block, %s kernels per step" % label, b.text("gpu"), "<= %.2f x" % want, b.ratio("gpu") <= want)
            row("  default: GPU time where it is cheap", b.text("default"), "")
            row("  CPU time only", b.text("cpu"), "")
            row("  contextlib.nullcontext in their place", b.text("empty"), "")
            row("  one bare event of the driver in their place", b.text("driver"), "")
            row("  and its context and its capture asked for twice / without the event", "%s / %s" % (b.text("driver+"), b.text("driver-")))
            row("  pairs of torch.cuda.Event in their place", b.text("events"), "")
            if not rich:
                b.rounds({"sync": (nullcontext, (sync, sync))}, 6)
                row("  synchronizing timers in their place", b.text("sync"), "")

        x = torch.zeros(64, device="cuda")

        def gpu_section():
            with strobe.section("cost", gpu=True):
                x.add_(1)

        def cpu_section():
            with strobe.section("cost_cpu", gpu=False):
                x.add_(1)

        def each(f, n=100):
            torch.cuda.synchronize()
            t = time.perf_counter()
            for _ in range(n):
                f()
            return (time.perf_counter() - t) / n * 1e6
        forms = (lambda: x.add_(1), gpu_section, cpu_section)
        alone, gpu, cpu = (min(times) for times in zip(*[[each(f) for f in forms] for _ in range(30)]))
        row("one section around one launch adds, with GPU time / without", "%.2f / %.2f us" % (gpu - alone, cpu - alone))
    zones = r.recording.of("zone")
    ends = {zone.start + zone.duration for zone in zones}
    row("  GPU zones that begin with the event of another one's end", "%.0f %%" % (100 * sum(zone.start in ends for zone in zones) / max(1, len(zones))))
    row("GPU zones recorded", len(r.recording.of("zone")), "> 10000", len(r.recording.of("zone")) > 10000)


def trace_overhead():
    import strobe
    import torch
    from dit import denoise, make
    from strobe._core import native
    from torch.profiler import ProfilerActivity, profile
    model = make()
    denoise(model, 6)
    torch.cuda.synchronize()
    bare = bare_library()

    @contextmanager
    def bare_with(flags):
        assert bare.bare_start(flags) == 0
        yield
        bare_stop(bare)

    @contextmanager
    def ours(launches):
        os.environ["STROBE_GPU_TRACE_LAUNCHES"] = launches
        with strobe.gpu_trace():
            yield
            native.gpu_trace_yield("the next measurement")  # back when CUPTI is let go of

    forms = {"null": (nullcontext, ()),
             "bare": (lambda: bare_with(8), ()), "ours": (lambda: ours("0"), ()),
             "bare+": (lambda: bare_with(8 | 2), ()), "ours+": (lambda: ours("1"), ())}
    with recorded("traces", max_trace_bytes="512 MiB"):
        b = Bench(torch, model, 4)
        b.rounds(forms, 60)
    row("null (A/A), kernel trace, step of %.2f ms" % b.step_ms(), b.text("null"), "1.00")
    row("bare CUPTI, kernels", b.text("bare"), "")
    row("strobe GPU trace, kernels", b.text("ours"), "<= 1.10 x", b.ratio("ours") <= 1.10)
    row("bare CUPTI, kernels + launch callbacks", b.text("bare+"), "")
    row("strobe GPU trace with launch attribution", b.text("ours+"), "<= 1.14 x", b.ratio("ours+") <= 1.14)
    for mark, what in (("", "kernels"), ("+", "kernels + launches")):
        q = statistics.median(y / x for x, y in zip(b.ratios["bare" + mark], b.ratios["ours" + mark]))
        row("strobe over bare CUPTI, " + what, "%.3f x" % q, "<= 1.02 x", q <= 1.02)
    b.rounds({"profiler": (lambda: profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]), ())}, 3)
    row("torch.profiler CPU + CUDA", b.text("profiler"), "")
