"""Weights of the program's modules by device and dtype, listed after a generation, outside of its timed part: with them
the report says what memory held. A program without generations has them after the first call of a model that it does not know,
and after a call when memory has come to another level and stays there: a listing stops a step for a tenth of a second. Listed again only where that
costs less than half a percent of the time, and recorded only where something changed."""
import collections
import os
import sys

from .. import _faults
from .._native import native, own_section
from .._share import Share
from . import module_names, moved

ROWS_MOST = 64
STAYS = 20                  # readings, four a second: what all of them exceed is no activation of a step
LEVEL_BYTES = 64 << 20      # and a tenth of what there was, that a level must differ by

_readings = {}              # "device", "host" -> the last STAYS readings since the last listing
_levels = {}                # the lowest and the highest of the first STAYS of them
_is_due = True
_last = None
_share = Share(200)
_set = 0
_by_generations = False


def generation_begins():
    global _by_generations
    _by_generations = True


def has_generations():
    return _by_generations


def first_call(module):
    """A model is called for the first time, which may have come after the last listing."""
    global _is_due
    _is_due = _is_due or not module_names.was_seen(module)


def read(kind, value):
    """What memory of a kind holds now. In the sampler's thread."""
    global _is_due
    readings = _readings.setdefault(kind, collections.deque(maxlen=STAYS))
    readings.append(value)
    if len(readings) < STAYS:
        return
    low, high = min(readings), max(readings)
    was_low, was_high = _levels.setdefault(kind, (low, high))
    least = LEVEL_BYTES + was_high // 10
    if low - was_low >= least or was_high - high >= least:
        _is_due = True


def after_call():
    """A model's, that lies in no other's. Never raises."""
    if _is_due and not _by_generations:
        _list()


def after_generation():
    """Never raises."""
    generation_begins()
    _list()


def _list():
    global _last, _set, _is_due
    torch = sys.modules.get("torch")
    if not _share.allows() or not hasattr(torch, "nn") or not native.recording():
        return
    try:
        from . import out_of_memory
        _is_due = False
        _readings.clear()
        _levels.clear()
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
    global _last, _by_generations, _is_due
    _last, _by_generations, _is_due = None, False, True
    _readings.clear()
    _levels.clear()
    _share.forget()


os.register_at_fork(after_in_child=forget)
