"""What holds memory that grows: the container with the most in it, by its name and the line that puts things in."""
import functools
import inspect
import itertools
import os
import re
import sys
import types
from collections import Counter, deque

from .._native import native
from .._packages import is_installed
from . import PACKAGE

OBJECTS_MOST = 3_000_000  # of a larger heap nothing is looked at: it would take too long
ITEMS_LEAST = 4
_CONTAINERS = (list, dict, deque, set)
_LIGHT = (str, int, float, bool, type(None), type, types.BuiltinFunctionType, types.ModuleType)
_array_kinds = {}  # a class -> which arrays its instances are ("torch", "numpy") or None, within one search
_ASKING = {"locals", "vars", "eval", "exec", "dir", "_getframe", "currentframe", "f_locals"}


def largest(least_bytes, on_device=False):
    """The container that holds more than this of a device's or of the host's memory, judged by its newest items; None: there
    is none."""
    return _most(functools.partial(_held, on_device), least_bytes)


def of_files(least_count):
    """The container that holds more open files than this."""
    return _most(_files, least_count)


def _most(held, least):
    objects = native.tracked(_CONTAINERS, OBJECTS_MOST)
    if objects is None:
        return None
    _array_kinds.clear()
    best, most = None, least
    for one in itertools.chain(objects, _variables()):
        if type(one) in _CONTAINERS and len(one) >= ITEMS_LEAST and one is not objects:
            try:
                size = held(one, most)
            except RuntimeError:  # another thread changes it meanwhile
                continue
            if size > most:
                best, most = one, size
    return best


def _variables():
    """Of all running functions: the collector does not know a dictionary of plain bytes."""
    for frame in list(sys._current_frames().values()):
        while frame is not None:
            yield from _values(frame)[0]
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
    return len(holder) if all(_is_file(type(item)) for item in _newest(holder)) else 0


def _is_file(kind):
    """By its class: to ask a lazy module for an attribute imports it."""
    return not issubclass(kind, type) and (any("fileno" in vars(base) for base in kind.__mro__) or kind.__module__ == "tempfile")


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
    """kind: "device", "host" or "files"."""
    name, file, code, instance = _name_of(holder)
    of = ""
    if instance is not None and _is_library(file):  # a queue: who puts things into it is the program's
        outer = _name_of(instance)
        if outer[0]:
            of = " of the %s `%s`" % (type(instance).__name__, outer[0])
            line, text = _line_of(*outer[:3], attribute=outer[3] is not None)
            file = outer[1]
    if not of:
        line, text = _line_of(name, file, code, attribute=instance is not None)
    place = " (%s:%d: %s)" % (os.path.basename(file), line, text) if line else ""
    words = "the %s `%s`%s%s held %d %s when it was found" % (type(holder).__name__, name or "?", of, place, len(holder),
                                         "open files" if kind == "files" else "objects, %d MB" % (_held(kind == "device", holder) >> 20))
    return {"holder": words, "file": file, "line": line}


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


def _is_library(file):
    return is_installed(file) or file.startswith(os.path.dirname(os.__file__))


def _name_of(holder):
    """A variable of a running function, a module's, or an attribute: its name, the file, the function's code or the
    instance's class, and the instance."""
    own = PACKAGE
    found = None
    for frame in list(sys._current_frames().values()):
        while frame is not None:  # the outermost function that has it owns it
            name = None if frame.f_code.co_filename.startswith(own) else _variable(frame, holder)
            found = (name, frame.f_code.co_filename, frame.f_code, None) if name else found
            frame = frame.f_back
    if found:
        return found
    for owner in native.owners(holder):
        name, file, instance = _name_in(owner, holder)
        if name and isinstance(file, str):
            return name, file, None if instance is None else type(instance), instance
    return None, None, None, None


def variable_of(thing):
    """What the program calls it: a variable, or an attribute; None: it has no name."""
    name = _name_of(thing)[0]
    return name if name != "self" else None


def _variable(frame, holder):
    values, names = _values(frame)
    return next((name for name, value in zip(names, values) if value is holder), None)


def _values(frame):
    """A frame's variables and their names. Python 3.12 and older make a dictionary of a function's variables, which stays
    with the frame and would keep alive what the program frees: it is emptied again, unless another one has it.
    Where the function asks for that dictionary itself, it is left alone."""
    if not _ASKING.isdisjoint(frame.f_code.co_names):
        return [], []
    variables = frame.f_locals
    values, names = list(variables.values()), list(variables)
    if type(variables) is dict and frame.f_code.co_flags & inspect.CO_OPTIMIZED and sys.getrefcount(variables) <= 3:
        variables.clear()  # the frame's, this function's and getrefcount's references
    return values, names


def _name_in(owner, holder):
    """As a module's variable, or as an attribute: an instance may have no dictionary yet. (name, file, instance)"""
    attributes = owner if isinstance(owner, dict) else getattr(owner, "__dict__", None)
    if not isinstance(attributes, dict):
        return None, None, None
    name = next((key for key, value in list(attributes.items()) if value is holder and isinstance(key, str)), None)
    if attributes is not owner:
        return name, _file_of(owner), owner
    if attributes.get("__file__"):
        return name, attributes["__file__"], None
    instance = next((one for one in native.owners(attributes) if getattr(one, "__dict__", None) is attributes), None)
    return name, _file_of(instance), instance


def _file_of(instance):
    return getattr(sys.modules.get(type(instance).__module__), "__file__", None)


def _line_of(name, file, code, attribute=False):
    """Where something is put into it, best in the function whose variable it is, or the class; None: not found."""
    if not name or not file:
        return None, None
    puts = re.compile(r"%s%s\s*(\.(append|appendleft|extend|insert|add|update|setdefault|put|put_nowait)\(|\[[^\]]*\]\s*=[^=]|\+=)"
                      % (r"\." if attribute else r"\b", re.escape(name)))
    first, last = _lines_of_class(code) if isinstance(code, type) else _lines_of(code) if code is not None else (1, 1 << 30)
    found = (None, None)
    try:
        with open(file, encoding="utf-8", errors="replace") as source:
            for number, line in enumerate(source, 1):
                if puts.search(line) and (found[0] is None or not first <= found[0] <= last):
                    found = number, line.split("#")[0].strip()[:120]
    except OSError:
        pass
    return found


def _lines_of_class(cls):
    """The first and the last line of its methods."""
    ranges = [_lines_of(one.__code__) for one in vars(cls).values() if isinstance(one, types.FunctionType)]
    return (min(first for first, _ in ranges), max(last for _, last in ranges)) if ranges else (1, 1 << 30)


def _lines_of(code):
    """The first and the last line of a function, with those inside it."""
    last = max((line for _, _, line in code.co_lines() if line), default=code.co_firstlineno) if hasattr(code, "co_lines") else 1 << 30
    inner = [_lines_of(constant)[1] for constant in code.co_consts if isinstance(constant, types.CodeType)]
    return code.co_firstlineno, max([last] + inner)
