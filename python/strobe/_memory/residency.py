"""Weights of the program's modules by device and dtype, listed after a generation, outside of its timed part: with them
the report says what memory held. A program without generations has them after calls of its models. Listed again only where that costs less than half a percent of the time, and recorded only where something
changed."""
import os
import sys

from .. import _faults
from .._native import native, own_section
from .._share import Share
from . import moved

ROWS_MOST = 64

_last = None
_share = Share(200)
_set = 0
_by_generations = False


def generation_begins():
    global _by_generations
    _by_generations = True


def has_generations():
    return _by_generations


def after_call():
    """A model's, that lies in no other's. Never raises."""
    if not _by_generations:
        _list()


def after_generation():
    """Never raises."""
    generation_begins()
    _list()


def _list():
    global _last, _set
    torch = sys.modules.get("torch")
    if not _share.allows() or not hasattr(torch, "nn") or not native.recording():
        return
    try:
        from . import out_of_memory
        with _share, own_section("what holds memory"):
            rows = out_of_memory.module_weights(torch)
        moved.listed(rows)
        rows = rows[:ROWS_MOST]  # the largest first; device None: the host
        if rows == _last:
            return
        _last, _set = rows, _set + 1
        for component, size, dtype, device in rows:
            native.event("strobe.resident", at="generation", set=_set, component=component, bytes=size, dtype=dtype, device=device)
    except Exception:
        _faults.count("when modules were listed")


def forget():
    """A new session, or a forked child."""
    global _last, _by_generations
    _last, _by_generations = None, False
    _share.forget()


os.register_at_fork(after_in_child=forget)
