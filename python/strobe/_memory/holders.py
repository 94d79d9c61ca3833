"""What holds memory that grows: the container with the most in it, by its name and the line that puts things in."""
import functools
import gc
import itertools
import os
import re
import sys
import types
from collections import Counter, deque

from .._native import native
from . import owners
from .owners import CACHE

OBJECTS_MOST = 3_000_000  # of a larger heap nothing is looked at: it would take too long
ITEMS_LEAST = 4
_CONTAINERS = (list, dict, deque, set, CACHE)
_LIGHT = (str, int, float, bool, type(None), type, types.BuiltinFunctionType, types.ModuleType)
_array_kinds = {}  # a class -> which arrays its instances are ("torch", "numpy") or None, within one search


def largest(least_bytes, on_device=False):
    """The container that holds more than this of a device's or of the host's memory, judged by its newest items; None: there
    is none."""
    return _most(functools.partial(_held, on_device), least_bytes)


def of_files(least_count):
    """The container that holds more open files than this."""
    return _most(_files, least_count)


def of_kind(is_one, least_count):
    """The container that holds more things than this for which is_one(thing) is true."""
    return _most(lambda holder, least: len(holder) if all(map(is_one, _newest(holder))) else 0, least_count)


def _most(held, least):
    objects = native.tracked(_CONTAINERS, OBJECTS_MOST)
    if objects is None:
        return None
    _array_kinds.clear()
    best, most = None, least
    for one in itertools.chain(_let_go(objects), variables()):
        if type(one) in _CONTAINERS and one is not objects:
            try:
                kept = _kept(one)
                size = held(kept, most) if len(kept) >= ITEMS_LEAST else 0
            except RuntimeError:  # another thread changes it meanwhile
                continue
            if size > most:
                best, most = one, size
    return best


def _let_go(objects):
    """The newest first: what the program frees meanwhile stays until it was looked at, and no longer."""
    objects.reverse()
    while objects:
        yield objects.pop()


def _kept(holder):
    """Of a functools.lru_cache its results: a dictionary, or a ring where it is bounded."""
    if type(holder) is not CACHE:
        return holder
    entries = [one for one in gc.get_referents(holder) if not isinstance(one, type)]
    if holder.cache_info().maxsize is None:
        return next((one for one in entries if type(one) is dict and one is not vars(holder)), ())
    # a key, a result, a key, ...
    return entries[1:2 * holder.cache_info().currsize:2]


def variables():
    """Of all running functions: the collector does not know a dictionary of plain bytes."""
    for frame in list(sys._current_frames().values()):
        while frame is not None:
            yield from owners.values_of(frame)[0]
            frame = frame.f_back


def _newest(holder):
    """A few items, the newest last."""
    if isinstance(holder, dict):
        return list(itertools.islice(reversed(holder.values()), ITEMS_LEAST))[::-1]
    if isinstance(holder, set):
        return list(itertools.islice(holder, ITEMS_LEAST))
    return [holder[i] for i in range(-ITEMS_LEAST, 0)]


def _held(on_device, holder, least=0):
    """Bytes, where the newest items are alike: what piles up is of one kind, a function's variables are not. 0 as soon as one
    item shows that it cannot be more than least: most containers hold nothing of size."""
    newest = next(reversed(holder.values())) if isinstance(holder, dict) else next(iter(holder)) if isinstance(holder, set) else holder[-1]
    if len(holder) * _size(newest, on_device, 2) <= least:
        return 0
    items = _newest(holder)
    if len({type(item) for item in items}) > 1:
        return 0
    sizes = [_size(item, on_device, 2) for item in items]
    return len(holder) * min(sizes) if min(sizes) * 4 >= max(sizes) else 0


def _files(holder, least=0):
    return len(holder) if all(_keeps_file(item) for item in _newest(holder)) else 0


def _keeps_file(item):
    """Itself, or as an attribute: a reader of videos, an array that is mapped."""
    kind = type(item)
    return _is_file(kind) or kind not in _CONTAINERS and any(_is_file(type(value)) for value in attributes(item))


def _is_file(kind):
    """By its class: to ask a lazy module for an attribute imports it."""
    return not issubclass(kind, type) and (kind.__module__ in ("tempfile", "mmap") or any("fileno" in vars(base) for base in kind.__mro__))


def _size(value, on_device, depth):
    """Bytes of a device's or of the host's memory, as far as can be seen without running code of the program's."""
    kind = type(value)
    if kind in _LIGHT or kind is types.FunctionType and value.__closure__ is None and value.__defaults__ is None:
        return 0
    if kind in (bytes, bytearray):
        return 0 if on_device else len(value)
    array = _array_kind(kind)
    if array:
        return value.nbytes if (array == "torch" and value.device.type != "cpu") == on_device else 0
    if depth == 0:
        return 0
    return sum(_size(inner, on_device, depth - 1) for inner in _inside(value, kind))


def _array_kind(kind):
    if kind not in _array_kinds:
        arrays = {"torch": getattr(sys.modules.get("torch"), "Tensor", None), "numpy": getattr(sys.modules.get("numpy"), "ndarray", None)}
        _array_kinds[kind] = next((name for name, array in arrays.items() if array in kind.__mro__), None)
    return _array_kinds[kind]


def _inside(value, kind):
    if kind in (list, tuple, deque):
        return list(value)[-64:]
    if kind is dict:
        return list(value.values())[-64:]
    if kind is types.FunctionType:
        return [_content(cell) for cell in value.__closure__ or ()] + list(value.__defaults__ or ())
    if kind is functools.partial:
        return value.args + tuple(value.keywords.values())
    if kind is types.MethodType:
        return [value.__self__]
    if isinstance(value, (type, types.ModuleType)):
        return ()
    return attributes(value)


def attributes(value):
    try:
        return list(object.__getattribute__(value, "__dict__").values())[-64:]
    except (AttributeError, TypeError):
        return ()


def _content(cell):
    try:
        return cell.cell_contents
    except ValueError:
        return None


# ---- in words ----

def describe(holder, kind="host"):
    """kind: "device", "host", "files" or "graphs". The line is the program's own, also where a library's object holds it."""
    own = above = None
    for one, name in owners.names(holder):
        own = name if one is holder else own
        if name is None or name.file is None:
            continue
        if above is None or not owners.is_library(name.file):
            above = one, name
        if not owners.is_library(name.file):
            break
    of, kept = "", _kept(holder)
    file = line = text = None
    if above is not None:
        file = above[1].file
        line, text = own.put_in(above[1]) if own and own.file is None else above[1].put()
        if above[0] is not holder:
            of = " %s the %s `%s`" % ("of" if own else "in", type(above[0]).__name__, above[1].text)
    said = _said_where(kept)
    if said and not line:
        file, line, text = said
    place = " (%s)" % owners.place(file, line, text) if line else ""
    what = "%s `%s`" % ("cache of" if own and own.line else type(holder).__name__, own.text) if own else type(holder).__name__
    words = "the %s%s%s held %d %s when it was found" % (what, of, place, len(kept), _things(kept, kind))
    return {"holder": words, "file": file, "line": line}


def _things(kept, kind):
    if kind == "graphs":
        return "tensors, each with the graph that made it,"
    return "open files" if kind == "files" else "objects, %d MB" % (_held(kind == "device", kept) >> 20)


def _said_where(kept):
    """Of records of a log: the line of the program that wrote the newest one."""
    newest = _newest(kept)[-1] if len(kept) >= ITEMS_LEAST else None
    if "logging" not in sys.modules or not isinstance(newest, sys.modules["logging"].LogRecord) or not os.path.exists(newest.pathname):
        return None
    return newest.pathname, newest.lineno, owners.line_text(newest.pathname, newest.lineno)


def open_files():
    """The kind of file that is open most often: "/data/frames/*.png"; None: nothing stands out."""
    seen = Counter()
    for number in os.listdir("/proc/self/fd"):
        try:
            target = os.readlink("/proc/self/fd/" + number)
        except OSError:
            continue
        folder, name = os.path.split(target)
        seen[folder + "/*" + os.path.splitext(name)[1] if folder else re.sub(r"\[.*", "", target)] += 1
    (kind, count), = seen.most_common(1) or [(None, 0)]
    return kind if count >= 8 else None
