"""Memory that grows with every generation: looked at after each one, outside of it, and searched for once, when five of
them in a row have left more behind. What holds it is named in the recording."""
import gc
import os
import sys

from . import _faults
from ._native import native

GENERATIONS = 5          # in a row
LEAST_BYTES = 4 << 20    # each
OBJECTS_MOST = 3_000_000  # of a larger heap nothing is looked at: it would take too long

_left = []
_searched = False


def after_generation():
    """Never raises."""
    if _searched:
        return
    try:
        _left.append((_device_bytes(), _host_bytes()))
        del _left[:-GENERATIONS]
        if len(_left) == GENERATIONS and (_grows(0) or _grows(1)):
            _found(0 if _grows(0) else 1)
    except Exception:
        _faults.count("looking at the memory after a generation")


def forget():
    """A new session, or a forked child."""
    global _searched
    _left.clear()
    _searched = False


def _device_bytes():
    torch = sys.modules.get("torch")
    cuda = getattr(torch, "cuda", None)
    return cuda.memory_allocated() if cuda is not None and cuda.is_initialized() else 0


def _host_bytes():
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def _grows(which):
    return all(b[which] - a[which] > LEAST_BYTES for a, b in zip(_left, _left[1:]))


# ---- what holds it ----

def _size(value):
    size = getattr(value, "nbytes", None)  # tensors, arrays
    if isinstance(size, int):
        return size
    return len(value) if isinstance(value, (bytes, bytearray)) else 0


def _held(holder):
    """Bytes in a container, by its newest item."""
    count = len(holder)
    if count < GENERATIONS - 1:
        return 0
    last = holder[-1] if isinstance(holder, list) else next(reversed(holder.values()), None)
    return count * _size(last)


def _found(which):
    global _searched
    _searched = True
    grown = _left[-1][which] - _left[0][which]
    facts = {"of": "host" if which else "device", "bytes": grown // (GENERATIONS - 1)}
    holder = _largest_holder(grown // 2)
    if holder is not None:
        facts.update(_describe(holder))
    native.event("memory_grows", **facts)


def _largest_holder(least):
    objects = gc.get_objects()
    if len(objects) > OBJECTS_MOST:
        return None
    best, most = None, least
    for one in objects:
        if type(one) in (list, dict) and len(one) >= GENERATIONS - 1:
            held = _held(one)
            if held > most:
                best, most = one, held
    return best


def _describe(holder):
    name, file = _name_of(holder)
    line, text = _line_of(name, file)
    place = " (%s:%d: %s)" % (os.path.basename(file), line, text) if line else ""
    words = "the %s `%s`%s holds %d objects, %d MB" % (type(holder).__name__, name or "?", place, len(holder), _held(holder) >> 20)
    return {"holder": words, "file": file, "line": line}


def _name_of(holder):
    """A variable of a running function, a module's, or an attribute, with the file it is in."""
    frame = sys._getframe(4)  # past strobe's own
    while frame is not None:
        for name, value in frame.f_locals.items():
            if value is holder:
                return name, frame.f_code.co_filename
        frame = frame.f_back
    for owner in gc.get_referrers(holder):
        if isinstance(owner, dict):
            name = next((key for key, value in owner.items() if value is holder and isinstance(key, str)), None)
            file = owner.get("__file__") or _file_of_instance(owner)
            if name and isinstance(file, str):
                return name, file
    return None, None


def _file_of_instance(attributes):
    for owner in gc.get_referrers(attributes):
        if getattr(owner, "__dict__", None) is attributes:
            return getattr(sys.modules.get(type(owner).__module__), "__file__", None)
    return None


def _line_of(name, file):
    """Where something is put into it; None: not found."""
    if not name or not file:
        return None, None
    import re
    puts = re.compile(r"\b%s\s*(\.(append|extend|insert|add|update|setdefault)\(|\[[^\]]*\]\s*=[^=]|\+=)" % re.escape(name))
    try:
        with open(file, encoding="utf-8", errors="replace") as source:
            for number, line in enumerate(source, 1):
                if puts.search(line):
                    return number, line.split("#")[0].strip()[:120]
    except OSError:
        pass
    return None, None


os.register_at_fork(after_in_child=forget)
