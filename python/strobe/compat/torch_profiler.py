"""PyTorchProfiler: torch's own profiler around a region, as a Chrome trace and a
table of the 20 largest operations."""
import contextlib
import json
import os
import sys

from .. import _file
from .._core import section


class PyTorchProfiler:
    def __init__(self, output_dir="./profiling_results", enabled=True, record_shapes=True, profile_memory=True,
                 with_stack=False):
        self.output_dir = os.fspath(output_dir)
        self.enabled = enabled
        self.record_shapes = record_shapes
        self.profile_memory = profile_memory
        self.with_stack = with_stack
        self.profiler = None

    def _make(self):
        try:
            import torch
        except ImportError:
            print("PyTorchProfiler: torch is not installed, no trace is taken", file=sys.stderr)
            return None
        options = {"record_shapes": self.record_shapes, "profile_memory": self.profile_memory,
                   "with_stack": self.with_stack}
        if torch.autograd.kineto_available():
            kinds = torch.profiler.ProfilerActivity
            activities = [kinds.CPU] + ([kinds.CUDA] if torch.cuda.is_available() else [])
            return torch.profiler.profile(activities=activities, **options)
        return torch.autograd.profiler.profile(use_kineto=False, **options)

    def start(self):
        """Begins to profile, until stop()."""
        if not self.enabled or self.profiler is not None:
            return
        self.profiler = self._make()
        if self.profiler is not None:
            self.profiler.__enter__()

    def stop(self, trace_name="trace"):
        """Ends it, writes the trace and prints the table; returns the trace's path."""
        profiler, self.profiler = self.profiler, None
        if profiler is None:
            return None
        profiler.__exit__(None, None, None)
        return self._export(profiler, trace_name)

    @contextlib.contextmanager
    def profile(self, trace_name="trace"):
        """with profiler.profile("my_trace"): writes <output_dir>/my_trace.json."""
        if not self.enabled:
            yield None
            return
        self.start()
        try:
            with section(trace_name):
                yield self.profiler
        finally:
            self.stop(trace_name)

    def _export(self, profiler, trace_name):
        os.makedirs(self.output_dir, exist_ok=True)
        path = os.path.join(self.output_dir, trace_name + ".json")
        profiler.export_chrome_trace(path)
        _mend(path)
        averages = profiler.key_averages()
        if not len(averages):
            print("PyTorchProfiler: %s recorded no operation" % trace_name)
        else:
            on_gpu = any(getattr(a, "device_time_total", getattr(a, "cuda_time_total", 0)) for a in averages)
            print(averages.table(sort_by="cuda_time_total" if on_gpu else "cpu_time_total", row_limit=20))
        print("Trace: %s" % path)
        return path


def _mend(path):
    """A build without Kineto writes a bare list, which some viewers do not take."""
    with open(path) as file:
        if file.read(1) != "[":
            return
        file.seek(0)
        events = json.load(file)
    _file.replace(path, lambda file: json.dump({"traceEvents": events}, file))
