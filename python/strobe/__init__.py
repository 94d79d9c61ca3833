"""strobe: where the time, memory and money of a video pipeline go.

    import strobe
    strobe.start(config="profiling.yaml", tags={"model": "wan-1.3b"})
    with strobe.section("vae_decode", frames=16, code="4c"): ...
    strobe.stop()

A fault in strobe never breaks the program it watches; while nothing records,
every call costs next to nothing.
"""
import importlib as _importlib
import os as _os

from ._core import (Loop, Section, Span, attrs, event, frames, frames_dropped, recording, run_dir, section, span,
                    thread_name, version as __version__)
from ._arguments import add_arguments, profiled_iterations, start_from_arguments
from ._history import memory_history
from ._profile import profile
from ._record import (alloc, block_record, blocks, cache, counter, duration, free, gauge, generation, iterations,
                      model, output, skip, snapshot, step_record, steps, streaming)
from ._mlflow import log_to
from ._report import Report, report
from ._session import ConfigError, gpu_counters, gpu_trace, gpu_trace_keep, session, start, stop, tag

__all__ = [
    "ConfigError", "Loop", "Report", "Section", "Span", "add_arguments", "alloc", "attrs", "block_record", "blocks",
    "cache", "counter", "duration", "event", "frames", "frames_dropped", "free", "gauge", "generation", "gpu_counters", "gpu_trace",
    "gpu_trace_keep",
    "iterations", "log_to", "memory_history", "model", "output", "profile", "profiled_iterations", "recording", "report", "run_dir", "section", "session",
    "skip", "snapshot", "span", "start", "start_from_arguments", "step_record", "steps", "stop", "streaming", "tag",
    "thread_name",
]


if _os.environ.get("STROBE_STAGE_LOG"):
    from . import _stage_log
    _stage_log.from_environment()


def __getattr__(name):
    """strobe.nn and strobe.compat are loaded when they are first named."""
    if name in ("nn", "compat"):
        return _importlib.import_module("." + name, __name__)
    raise AttributeError("module 'strobe' has no attribute %r" % name)


def load_ipython_extension(ipython):
    """`%load_ext strobe`: adds %%strobe."""
    from .notebook import register
    register(ipython)
