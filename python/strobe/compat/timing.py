"""profile_section, profile_function and the table behind them."""
import contextlib
import functools
import inspect
import threading
import time

from .. import _arguments
from .._core import section
from .tally import Tallies

_RULE = 105


def shown(seconds):
    """"45.234s"; what would be 0.000s or little more, in the unit in which it has digits."""
    if seconds >= 0.01 or seconds <= 0:
        return "%.3fs" % seconds
    return "%.3fms" % (seconds * 1e3) if seconds >= 1e-5 else "%.3fus" % (seconds * 1e6)


def say_warmup():
    count = _arguments.warmed_count
    if count:
        print("(not counted: %d warm-up iteration%s)" % (count, "" if count == 1 else "s"))


class TimingStats:
    """Durations by name."""

    def __init__(self):
        self._lock = threading.Lock()
        self._tallies = Tallies()

    def record(self, name, seconds):
        with self._lock:
            self._tallies.add(name, seconds)

    def get_stats(self, name):
        """{count, total, mean, min, max, last} in seconds; {} for an unknown name."""
        with self._lock:
            return self._stats(self._tallies.get(name))

    @staticmethod
    def _stats(tally):
        if tally is None:
            return {}
        return {"count": tally.count, "total": tally.total, "mean": tally.mean, "min": tally.min, "max": tally.max,
                "last": tally.last}

    def get_all_stats(self):
        with self._lock:
            return {name: self._stats(tally) for name, tally in self._tallies.items()}

    def clear(self):
        with self._lock:
            self._tallies.clear()

    def print_summary(self, top_n=20):
        """The top_n names by total time."""
        stats = sorted(self.get_all_stats().items(), key=lambda item: -item[1]["total"])
        if not stats:
            print("No timing recorded.")
            return
        print("\n" + "=" * _RULE)
        print("PROFILING SUMMARY - Top Operations by Total Time")
        print("=" * _RULE)
        print("%-50s %8s %11s %10s %10s %10s" % ("Operation", "Count", "Total", "Mean", "Min", "Max"))
        print("-" * _RULE)
        for name, s in stats[:top_n]:
            print("%-50s %8d %11s %10s %10s %10s" %
                  (name[:48], s["count"], *(shown(s[key]) for key in ("total", "mean", "min", "max"))))
        if len(stats) > top_n:
            rest = stats[top_n:]
            print("%-50s %8d %11s" % ("(%d more)" % len(rest), sum(s["count"] for _, s in rest),
                                      shown(sum(s["total"] for _, s in rest))))
        print("=" * _RULE)
        say_warmup()


_global_stats = TimingStats()


def get_global_stats():
    """The process's TimingStats, where profile_section and profile_function record."""
    return _global_stats


class profile_section(contextlib.ContextDecorator):
    """with profile_section("vae_decode"): timed on exceptions too."""

    def __init__(self, name, enabled=True):
        self.name = name
        self.enabled = enabled

    def _recreate_cm(self):
        return type(self)(self.name, self.enabled)

    def __enter__(self):
        if self.enabled:
            self._section = section(self.name)
            self._section.__enter__()
            self._begin = time.perf_counter()
        return self

    def __exit__(self, kind, error, trace):
        if self.enabled:
            seconds = time.perf_counter() - self._begin
            self._section.__exit__(kind, error, trace)
            if not _arguments.warming():
                _global_stats.record(self.name, seconds)
        return None


def profile_function(name=None):
    """Times every call of a function; the default name is module.function."""
    if callable(name):
        return profile_function()(name)

    def decorate(function):
        label = name or "%s.%s" % (function.__module__, function.__name__)
        if inspect.iscoroutinefunction(function):
            @functools.wraps(function)
            async def call(*args, **kwargs):
                with profile_section(label):
                    return await function(*args, **kwargs)
        else:
            @functools.wraps(function)
            def call(*args, **kwargs):
                with profile_section(label):
                    return function(*args, **kwargs)
        return call
    return decorate
