"""How long one call takes: warm-up, then iterations."""
import statistics

from .._core import native
from .. import _record
from .device import Stopwatch, cpu_ms, gpu_ms, torch


class Timing:
    """Milliseconds of each iteration: on the device where there is one, else wall."""

    def __init__(self, name, values, wall, on_gpu):
        self.name, self.values_ms, self.wall_ms, self.on_gpu = name, values, wall, on_gpu

    mean_ms = property(lambda self: statistics.fmean(self.values_ms))
    median_ms = property(lambda self: statistics.median(self.values_ms))
    min_ms = property(lambda self: min(self.values_ms))
    max_ms = property(lambda self: max(self.values_ms))

    @property
    def std_ms(self):
        """Of the sample (n - 1)."""
        return statistics.stdev(self.values_ms) if len(self.values_ms) > 1 else 0.0

    @property
    def clips_per_second(self):
        return 1e3 / self.mean_ms if self.mean_ms > 0 else 0.0

    def __str__(self):
        rows = [("Mean", self.mean_ms), ("Median", self.median_ms), ("Std", self.std_ms), ("Min", self.min_ms),
                ("Max", self.max_ms)]
        lines = ["  %-8s %8.2f ms" % (label + ":", value) for label, value in rows]
        return "\n".join(lines + ["  %-8s %8.2f clips/s" % ("Rate:", self.clips_per_second)])


def benchmark(call, iterations=50, warmup=5, name="benchmark", device=None):
    """Times call() after `warmup` calls. Each iteration is also a zone in the recording."""
    if iterations < 1:
        raise ValueError("at least one iteration is needed, not %r" % iterations)
    watch = Stopwatch(device or torch().device("cuda" if torch().cuda.is_initialized() else "cpu"))
    for _ in range(warmup):
        with native.section(name + " warm-up", **{"strobe.role": 10}):
            call()
    marks = []
    for _ in _record.iterations(iterations, name):
        begin = watch.mark()
        call()
        marks.append((begin, watch.mark()))
    wall = [cpu_ms(*pair) for pair in marks]
    values = [gpu_ms(*pair) for pair in marks] if watch.gpu else wall
    return Timing(name, values, wall, watch.gpu)
