"""With --gpu-trace=steps:N the first call of every other stage is traced too, once the steps are done: so that the
text encoder and the VAE are seen."""
import os

from .._native import native

SPEC = "seconds:2"  # at most
RUNNING, OVER = 1, 2  # the trace of the steps

_traced = set()


def wants(name):
    """True if this call of the stage is to be traced. Every later call costs a lookup."""
    if name in _traced:
        return False
    state = native.gpu_trace_steps_state()
    if state == RUNNING:
        _traced.add(name)
    return state == OVER


def forget():
    """A new session, or a forked child."""
    _traced.clear()


os.register_at_fork(after_in_child=forget)


class Traced:
    """A stage inside a trace of its own."""

    def __init__(self, name, inner):
        _traced.add(name)
        self.inner = inner
        self.started = False

    def __enter__(self):
        self.started = native.gpu_trace_start(SPEC)[0] == 0
        return self.inner.__enter__()

    def __exit__(self, kind, error, trace):
        result = self.inner.__exit__(kind, error, trace)
        if self.started:
            native.gpu_trace_stop()
        return result
