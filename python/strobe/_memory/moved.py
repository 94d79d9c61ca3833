"""Weights that move between the host and GPUs, by offloading or by the program's own .to(). After a move the recording says
how much of the model's weights lies on which side. Moves of whole modules are recorded at once; modules that are brought one
by one (sequential offload, groups) are added up by model and recorded with the readings of memory: an event per movement
would be thousands in each step."""
import os
import sys
import threading
import time
import weakref

from .. import _faults
from .._native import native
from . import held, module_names

LEAST_BYTES = 1 << 20  # of a move, and of a change that is recorded with a reading
TOLD_MOST = 32         # moves a second that are recorded at once; others with the next reading
MODELS_MOST = 64
BROUGHT_MOST = 16384   # parts at a time

_models = {}   # component -> Model
_brought = {}  # id of what brought them -> (component, {(dtype, place): bytes})
_here = threading.local()
_moving = 0    # whole modules, in all threads
_second = [0, 0]  # which one, and the moves recorded in it


class Model:
    """Where one's weights lie, apart from what is brought part by part; and what of it is recorded."""

    def __init__(self, whole):
        self.whole, self.told, self.is_stale = weakref.ref(whole), None, False
        self.rows = {}

    def look(self, component):
        whole = self.whole()
        self.is_stale = False
        self.rows = {} if whole is None else _less(held.by_place(held.weights(whole)), _brought_of(component))


def _add(rows, more, sign=1):
    for key, size in more.items():
        rows[key] = rows.get(key, 0) + sign * size


def _less(rows, less):
    _add(rows, less, -1)
    return rows


def _brought_of(component):
    found = {}
    for of, rows in list(_brought.values()):
        if of == component:
            _add(found, rows)
    return found


def _known(module):
    """(component, its Model); None: not known now. A model's first time records where it lies so far."""
    owner = module_names.owner(sys.modules["torch"], module)
    if owner is None:
        return None
    component = "weights of " + owner[1]
    model = _models.get(component)
    if model is None or model.whole() is not owner[0]:
        _leave_name(owner[0], component)
        if len(_models) >= MODELS_MOST:
            return None
        model = _models[component] = Model(owner[0])
        model.look(component)
        _tell(component, model)
    return component, model


def _leave_name(whole, component):
    """The model that had the name is gone, and the one that gets it may have had another: a class, before a framework named it."""
    for name, model in list(_models.items()):
        is_renamed = model.whole() is whole
        if not is_renamed and name != component:
            continue
        _tell(name, model, gone=True)
        del _models[name]
        for mover, (of, rows) in list(_brought.items()):
            if is_renamed and of == name:
                _brought[mover] = component, rows


def _tell(component, model, took_ns=None, gone=False):
    now, told = {} if gone else dict(model.rows), model.told or {}
    if not gone:
        _add(now, _brought_of(component))
    for key in {**told, **now}:
        size, before = max(0, now.get(key, 0)), told.get(key, 0)
        if size == before or (took_ns is None and size and before and abs(size - before) < LEAST_BYTES):
            continue
        native.event("strobe.resident", at="move", component=component, bytes=size, before_bytes=None if model.told is None else before,
                     dtype=key[0], device=key[1], took_ns=took_ns)
        told[key] = size
    model.told = told


def _is_allowed():
    second = int(time.monotonic())
    if second != _second[0]:
        _second[:] = second, 0
    _second[1] += 1
    return _second[1] <= TOLD_MOST


# ---- whole modules ----

class Move:
    """with Move(module): it goes elsewhere, as a whole. Moves inside it are parts of it."""
    __slots__ = ("module", "known", "before", "is_told", "began_ns")

    def __init__(self, module):
        self.module, self.known = module, None

    def __enter__(self):
        global _moving
        _here.depth = getattr(_here, "depth", 0) + 1
        _moving += 1
        if _here.depth == 1 and native.recording():
            _guard(self._begin)

    def _begin(self):
        known = _known(self.module)
        if known is None:
            return
        self.is_told = _is_allowed()
        if self.is_told:
            _read()
        self.before = None if known[1].whole() is self.module else held.by_place(held.weights(self.module))
        self.known, self.began_ns = known, time.monotonic_ns()

    def __exit__(self, *error):
        global _moving
        if self.known is not None:
            _guard(self._end)
        _here.depth -= 1
        _moving -= 1

    def _end(self):
        took_ns = time.monotonic_ns() - self.began_ns
        component, model = self.known
        if self.before is None:
            model.look(component)
        else:
            _add(_less(model.rows, self.before), held.by_place(held.weights(self.module)))
        if self.is_told:
            _tell(component, model, took_ns)
            _read()


def _read():
    from . import growth
    growth.read_here()


# ---- parts that are brought and given back ----

class Part:
    """with Part(module): a part of a model moves; brought() or gave_back() says it then. Where the model lies so far is
    recorded, once."""
    __slots__ = ("module",)

    def __init__(self, module):
        self.module = module

    def __enter__(self):
        _here.depth = getattr(_here, "depth", 0) + 1
        if self.module is not None and native.recording():
            _guard(_known, self.module)

    def __exit__(self, *error):
        _here.depth -= 1


def brought(mover, module, rows):
    """A part of a model has come: rows are the bytes that are more now at a (dtype, place), or less. Never raises."""
    if native.recording():
        _guard(_note_brought, mover, module, rows)


def _note_brought(mover, module, rows):
    known = _known(module)
    if known is not None and len(_brought) < BROUGHT_MOST:
        _brought[id(mover)] = known[0], rows  # after _known(): it looks at the model as it was


def gave_back(mover):
    """What it brought is gone again. False: it had brought nothing."""
    return _brought.pop(id(mover), None) is not None


def look_again(module):
    """Of a part that goes and did not come, as groups do when they are made: its model is looked at with the next reading.
    Never raises."""
    if native.recording():
        _guard(_note_stale, module)


def _note_stale(module):
    known = _known(module)
    if known is not None:
        known[1].is_stale = True


# ---- with readings of memory, and with lists of all models ----

def read():
    """Records what has changed since the last time. Never raises."""
    if _models and not _moving:
        _guard(_read_models)


def _read_models():
    for component, model in list(_models.items()):
        if model.whole() is None:
            _tell(component, model, gone=True)
            del _models[component]
            continue
        if model.is_stale:
            model.look(component)
        _tell(component, model)


def listed(rows):
    """All models' weights as they lie now: (component, bytes, dtype, device), device None for the host. Never raises."""
    if _models and not _moving:
        _guard(_note_listed, rows)


def _note_listed(rows):
    for whole in [model.whole() for model in _models.values()]:
        if whole is not None:
            _known(whole)  # it may have another name now
    for component, model in _models.items():
        model.rows = _less({(dtype, held.HOST if at is None else at): size for name, size, dtype, at in rows if name == component},
                           _brought_of(component))
    _read_models()


def _guard(function, *args):
    try:
        function(*args)
    except Exception:
        _faults.count("where weights move")


def forget():
    """A new session, or a forked child."""
    global _moving
    _models.clear()
    _brought.clear()
    module_names.forget()
    _moving, _second[:] = 0, (0, 0)


os.register_at_fork(after_in_child=forget)
