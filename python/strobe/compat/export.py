"""export_profiling_report: everything the simple profilers know, as one JSON."""
import datetime
import os

from . import iteration, memory
from .timing import get_global_stats


def export_profiling_report(path, timing_stats=None, memory_tracker=None, iteration_profilers=None):
    """Writes {timestamp, timing_stats, memory_snapshots, iteration_stats} and returns it.
    What is not given is taken from every tracker and profiler of the process."""
    trackers = [memory_tracker] if memory_tracker is not None else list(memory.trackers)
    if iteration_profilers is None:
        iteration_profilers = list(iteration.profilers)
    elif isinstance(iteration_profilers, dict):
        iteration_profilers = list(iteration_profilers.values())
    elif isinstance(iteration_profilers, iteration.IterationProfiler):
        iteration_profilers = [iteration_profilers]
    report = {
        "timestamp": datetime.datetime.now().isoformat(),
        "timing_stats": (timing_stats or get_global_stats()).get_all_stats(),
        "memory_snapshots": sorted((s for t in trackers for s in t.snapshots), key=lambda s: s["timestamp"]),
        "iteration_stats": {p.name: p.get_stats() for p in iteration_profilers if p.get_stats()},
    }
    folder = os.path.dirname(os.fspath(path))
    if folder:
        os.makedirs(folder, exist_ok=True)
    memory.write_json(path, report)
    return report
