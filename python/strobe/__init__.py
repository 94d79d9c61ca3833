"""strobe: where the time, memory and money of a video pipeline go.

    import strobe
    strobe.start(config="profiling.yaml", tags={"model": "wan-1.3b"})
    with strobe.section("vae_decode", frames=16, code="4c"): ...
    strobe.stop()

A fault in strobe never breaks the program it watches; while nothing records,
every call costs next to nothing.
"""
import os as _os

from ._core import (Loop, Section, Span, attrs, event, frames, frames_dropped, recording, run_dir, section, span,
                    thread_name, version as __version__)
from ._record import (alloc, block_record, blocks, cache, counter, duration, free, gauge, generation, iterations,
                      model, output, skip, snapshot, step_record, steps, streaming)
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


_LATER = {"Report": "_report", "add_arguments": "_arguments", "log_to": "_mlflow", "memory_history": "_memory.history", "profile": "_profile",
          "profiled_iterations": "_arguments", "report": "_report", "start_from_arguments": "_arguments"}


def __getattr__(name):
    """What most programs do not use is loaded when it is first named: so strobe.nn and strobe.compat."""
    from importlib import import_module
    if name in ("nn", "compat"):
        return import_module("." + name, __name__)
    if name in _LATER:
        globals()[name] = found = getattr(import_module("." + _LATER[name], __name__), name)
        return found
    raise AttributeError("module 'strobe' has no attribute %r" % name)


def load_ipython_extension(ipython):
    """`%load_ext strobe`: adds %%strobe."""
    from .notebook import register
    register(ipython)
