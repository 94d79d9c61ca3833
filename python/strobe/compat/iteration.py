"""IterationProfiler: the turns of one loop."""
import contextlib
import time
import weakref

from .. import _arguments
from .._core import ROLE_ITERATION, native
from .tally import Sampled
from .timing import say_warmup, shown

_RULE = 60
profilers = weakref.WeakSet()


class IterationProfiler:
    def __init__(self, name="iterations", enabled=True):
        self.name = name
        self.enabled = enabled
        self._times = Sampled()
        self._begin = None
        profilers.add(self)

    @property
    def iteration_times(self):
        """Seconds per iteration (a uniform sample past the first 20000)."""
        return list(self._times.values)

    def start_iteration(self):
        if not self.enabled:
            return
        if self._begin is not None:
            self.end_iteration()
        native.zone_begin(self.name)
        native.role(ROLE_ITERATION)
        native.attrs(index=self._times.count)
        self._begin = time.perf_counter()

    def end_iteration(self):
        """Seconds of the iteration that ends here; None: none was open."""
        if self._begin is None:
            return None
        seconds = time.perf_counter() - self._begin
        self._begin = None
        native.zone_end(self.name)
        if not _arguments.warming():
            self._times.add(seconds)
        return seconds

    @contextlib.contextmanager
    def iteration(self):
        self.start_iteration()
        try:
            yield self
        finally:
            self.end_iteration()

    def get_stats(self):
        """{count, total, mean, min, max, median, std, iterations_per_second}; {} without iterations."""
        t = self._times
        if not t.count:
            return {}
        return {"count": t.count, "total": t.total, "mean": t.mean, "min": t.min, "max": t.max, "median": t.median,
                "std": t.sample_std, "iterations_per_second": t.count / t.total if t.total > 0 else 0.0}

    def print_summary(self):
        s = self.get_stats()
        if not s:
            print("%s: no iterations recorded." % self.name)
            return
        print("\n" + "=" * _RULE)
        print("ITERATION SUMMARY: %s" % self.name)
        print("=" * _RULE)
        print("Iterations: %d" % s["count"])
        for label in ("total", "mean", "median", "min", "max", "std"):
            print("%-11s %s" % (label.capitalize() + ":", shown(s[label])))
        print("Speed:      %.2f it/s" % s["iterations_per_second"])
        print("=" * _RULE)
        say_warmup()

    def clear(self):
        self._times = Sampled()
        self._begin = None
