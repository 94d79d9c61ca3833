"""Python stacks, sampled, and garbage collections: on by default, 20 looks a second.
sample_hz in the configuration (`strobe run --sample=100`) sets the rate, 0 switches it
off. The work is done in C (_strobe/sampler.c): no Python code of strobe's runs inside
the program's."""
import _thread
import gc
import os
import sys

from ._native import loaded, native

_forked = False  # this process was forked and has no sampler yet


def start():
    """Samples while a session records that asks for it. Does nothing if a sampler runs already."""
    global _forked
    _forked = False
    if loaded and native.main_interpreter and native.sampler_claim():
        import threading  # noqa: F401 - here: the thread that imports it first is its main thread for good
        native.readings_install(_read)
        try:
            native.sampler_starting(True)
            _thread.start_new_thread(native.sampler_run, ())
        finally:
            native.sampler_starting(False)
        if native.garbage_seen not in gc.callbacks:
            gc.callbacks.append(native.garbage_seen)


def _read(host, files):
    from ._memory import growth
    growth.read(host, files)


def stop():
    """Ends it and writes what was seen; the session is still open."""
    if loaded:
        native.sampler_stop()


def forget():
    """A new session's file knows no functions yet."""
    if loaded:
        native.sampler_forget(False)


def from_environment():
    """Under `strobe run`. Stacks that were asked for open the session here, on this thread: the program
    may record nothing else. Else the sampler opens it when the program has run for a moment."""
    asked = os.environ.get("STROBE_SAMPLE_HZ")
    if asked in ("0", "none"):
        return
    if asked:
        native.role_recorded(0)
    elif loaded and not _is_helper():
        native.sampler_opens()
    start()


def _is_helper():
    """True in a process that multiprocessing starts for itself. Its workers are sampled."""
    return any(word.startswith("from multiprocessing") for word in getattr(sys, "orig_argv", ()))


def ensure():
    """A forked child begins to be sampled with its first generation: most only load data."""
    if _forked:
        start()


def generation_begins():
    """Reads the peak of the process so far: what rises above it is the generation's own peak."""
    ensure()
    residency = sys.modules.get(__package__ + "._memory.residency")
    if residency is not None:
        residency.generation_begins()
    growth = sys.modules.get(__package__ + "._memory.growth")
    if growth is not None:
        growth.generation_begins()
    if loaded:
        native.readings_host()


def _after_fork():
    global _forked
    if loaded:
        native.sampler_forget(True)
        _forked = True
        if os.environ.get("STROBE_SAMPLE_HZ") and native.recording():
            start()


if loaded and native.main_interpreter:
    os.register_at_fork(after_in_child=_after_fork)
