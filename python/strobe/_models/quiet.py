"""What a copy's forward must not do to the program: print, record, and draw from the random numbers of Python and numpy. Those of torch
are kept where its operations are seen (operations.py)."""
import sys
from _thread import get_ident

from .._native import native


class Muted:
    """sys.stdout or sys.stderr, without what one thread writes."""

    def __init__(self, stream):
        self.stream, self.thread = stream, get_ident()

    def write(self, text):
        return len(text) if get_ident() == self.thread else self.stream.write(text)

    def writelines(self, lines):
        for line in lines:
            self.write(line)

    def __getattr__(self, name):
        return getattr(self.stream, name)


class Unrecorded:
    """A with-statement: sections, frames and events of the program's own."""

    def __enter__(self):
        native.mute(True)

    def __exit__(self, *error):
        native.mute(False)


class Quiet:
    """A with-statement. alone: no other thread draws random numbers meanwhile."""

    def __init__(self, alone):
        self.alone = alone

    def __enter__(self):
        self.states = list(_random_states()) if self.alone else []
        self.muted = {name: Muted(getattr(sys, name)) for name in ("stdout", "stderr") if getattr(sys, name) is not None}
        for name, muted in self.muted.items():
            setattr(sys, name, muted)

    def __exit__(self, *error):
        for name, muted in self.muted.items():
            muted.thread = None  # who has it by now keeps it
            if getattr(sys, name) is muted:
                setattr(sys, name, muted.stream)
        for put, state in self.states:
            put(state)


def _random_states():
    for name, get, put in ("random", "getstate", "setstate"), ("numpy.random", "get_state", "set_state"):
        module = sys.modules.get(name)
        if hasattr(module, put):
            yield getattr(module, put), getattr(module, get)()
