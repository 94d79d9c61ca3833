"""Caches of models: keys and values of attention, outputs of blocks that later steps take again. Who holds one is noted when
a model is called with it or a framework installs it, without holding it; its size is recorded with the readings of memory."""
import sys
import types
import weakref

from .. import _faults
from .._native import native
from . import held

HOLDERS_MOST = 256
ITEMS_MOST = 20000   # of all caches, in one reading
DEPTH_MOST = 6
CHANGE_LEAST = 1 << 20

_holders = {}  # id -> (weak reference, component)
_told = {}     # (component, device) -> bytes


def note(holder, component):
    """A cache, or what holds one. Called before a model runs: cheap from the second time on."""
    known = _holders.get(id(holder))
    if known is not None and known[0]() is holder:
        return
    if holder is None or len(_holders) >= HOLDERS_MOST:
        return
    key = id(holder)
    try:
        _holders[key] = (weakref.ref(holder, lambda _: _holders.pop(key, None)), component)
    except TypeError:
        pass  # a tuple of tensors: it is gone with the call


def read():
    """Records what changed since the last time. Never raises."""
    if not _holders and not _told:
        return
    try:
        now = sizes()
        for key in list(_told):
            now.setdefault(key, 0)
        for (component, device), size in now.items():
            before = _told.get((component, device), 0)
            if abs(size - before) >= CHANGE_LEAST or (before and not size):
                _told[component, device] = size
                native.event("strobe.resident", at="cache", component=component, bytes=size, device=device)
    except Exception:
        _faults.count("reading caches")


def sizes():
    """(component, device) -> bytes; device None: the host."""
    torch, found, seen, left = sys.modules.get("torch"), {}, set(), [ITEMS_MOST]
    if not hasattr(torch, "Tensor"):
        return found
    for reference, component in list(_holders.values()):
        for tensor in _tensors(torch, reference(), seen, left, 0):
            if tensor.device.type in ("cuda", "cpu"):
                key = component, None if tensor.device.type == "cpu" else tensor.device.index or 0
                found[key] = found.get(key, 0) + held.size_bytes(tensor)
    return found


def _tensors(torch, value, seen, left, depth):
    if value is None or id(value) in seen or depth > DEPTH_MOST or left[0] <= 0:
        return
    left[0] -= 1
    if isinstance(value, torch.Tensor):
        seen.add(id(value))
        yield value
        return
    if isinstance(value, (torch.nn.Module, type, types.ModuleType, types.FunctionType, types.MethodType, str, bytes, int, float)):
        return
    seen.add(id(value))
    if isinstance(value, dict):
        inside = list(value.values())
    elif isinstance(value, (list, tuple)):
        inside = list(value)
    else:
        inside = list(vars(value).values()) if hasattr(value, "__dict__") else []
    for one in inside:
        yield from _tensors(torch, one, seen, left, depth + 1)


def forget():
    """A new session, or a forked child: caches that are still there are recorded again."""
    _told.clear()
