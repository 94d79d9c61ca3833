"""What the program calls a thing: a variable of a function or a module, what a closure or a cache keeps, an attribute of an object
or a class; and the line that puts something into it. What lies inside other things has the nearest name above it."""
import functools
import inspect
import os
import re
import sys
import threading
import types

from .._native import native
from .._packages import is_installed
from . import PACKAGE

CACHE = type(functools.lru_cache(len))
LOOKS_MOST = 6  # at all objects, for one thing
FUNCTIONS_MOST = 3_000_000
_ASKING = {"locals", "vars", "eval", "exec", "dir", "_getframe", "currentframe", "f_locals"}
_NO_OWNERS = (types.FrameType, types.ModuleType, types.CellType, types.FunctionType, types.BuiltinFunctionType, type)


class Name:
    """file: where it is the program's, None of a dictionary's key; code: the function whose variable it is, or the class whose
    attribute; line: where it is made, of what nothing is put into by name."""

    def __init__(self, text, file, code=None, line=None):
        self.text, self.file, self.code, self.line = text, file, code, line

    def put(self):
        """The line that puts something into it, and its text; (None, None): not found."""
        if self.line:
            return self.line, line_text(self.file, self.line)
        return _line_of(self.text, self.file, self.code)

    def put_in(self, above):
        """Of a dictionary's key, in the program that has what is above it: best where that is named, too."""
        before = r"\b%s\b.*(?:\.|\[[\"'])" % re.escape(above.text)
        found = _line_of(self.text, above.file, above.code, before, r"(?:[\"']\])?")
        return found if found[0] else _line_of(self.text, above.file, above.code, r"(?:\.|\[[\"'])", r"(?:[\"']\])?")


def is_library(file):
    return is_installed(file) or file.startswith((os.path.dirname(os.__file__), "<frozen"))


def names(thing):
    """(owner, Name or None): the thing itself first, then what it lies in, the nearest first."""
    level, seen = [thing], {id(thing)}
    for _ in range(LOOKS_MOST):
        if not level:
            return
        one = level.pop(0)
        owners = [owner for owner in native.owners(one) if owner is not level]
        yield one, _of_cache(one) if type(one) is CACHE else _of_frames(one) or _of_owners(one, owners)
        inside = [owner for owner in owners if id(owner) not in seen and not isinstance(owner, _NO_OWNERS) and not _is_module(owner)]
        seen.update(map(id, inside))
        level += inside
        del owners, inside


def name_of(thing):
    """None: it has none."""
    return next(names(thing))[1]


def variable_of(thing):
    """What the program calls it: a variable, or an attribute; None: it has no name."""
    name = name_of(thing)
    return name.text if name is not None and name.text != "self" else None


def _is_module(owner):
    return type(owner) is dict and "__name__" in owner and "__loader__" in owner


def _of_frames(thing):
    """A variable of a running function: the outermost one that has it owns it."""
    found = None
    for frame in list(sys._current_frames().values()):
        while frame is not None:
            if not frame.f_code.co_filename.startswith(PACKAGE):
                values, variables = values_of(frame)
                name = next((name for name, value in zip(variables, values) if value is thing), None)
                found = Name(name, frame.f_code.co_filename, frame.f_code) if name else found
            frame = frame.f_back
    return found


def values_of(frame):
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


def _of_owners(thing, owners):
    key = None
    for owner in owners:
        name = _of_cell(owner) if type(owner) is types.CellType else _of_cache(owner) if type(owner) is CACHE else _in(owner, thing)
        if name is not None and isinstance(name.file, str):
            return name
        key = key or name
    return key


def _of_cell(cell):
    """A variable that a closure keeps: of the functions that have it, one that puts something into it."""
    found = None
    for function in native.tracked((types.FunctionType,), FUNCTIONS_MOST) or ():
        for text, one in zip(function.__code__.co_freevars, function.__closure__ or ()):
            if one is cell:
                found = Name(text, function.__code__.co_filename, function.__code__)
                first, last = _lines_of(function.__code__)
                if first <= (found.put()[0] or 0) <= last:
                    return found
    return found


def _of_cache(cache):
    code = getattr(getattr(cache, "__wrapped__", None), "__code__", None)
    return Name(code.co_name, code.co_filename, code, code.co_firstlineno) if code is not None else None


def _in(owner, thing):
    """A module's variable, or an attribute: an instance may have no dictionary yet."""
    attributes = owner if isinstance(owner, dict) else getattr(owner, "__dict__", None)
    if not isinstance(attributes, (dict, types.MappingProxyType)):
        return None
    text = next((key for key, value in list(attributes.items()) if value is thing and isinstance(key, str)), None)
    if text is None:
        return None
    if attributes is not owner:
        return _attribute(text, owner if isinstance(owner, type) else type(owner))
    if attributes.get("__file__"):
        return Name(text, attributes["__file__"])
    above = native.owners(attributes)
    of = next((one for one in above if not isinstance(one, threading.local) and getattr(one, "__dict__", None) is attributes), None)
    if of is None:  # a class shows no dictionary of its own
        of = next((one for one in above if isinstance(one, type) and vars(one).get(text) is thing), None)
    return Name(text, None) if of is None else _attribute(text, of if isinstance(of, type) else type(of))


def _attribute(text, cls):
    return Name(text, getattr(sys.modules.get(cls.__module__), "__file__", None), cls)


# ---- lines ----

def place(file, line, text):
    return "%s:%d: %s" % (os.path.basename(file), line, text)


def _source(file):
    """The lines of a file; of a program that came through a pipe (python /dev/stdin) there are none, and its input is its own."""
    return open(file if os.path.isfile(file) else os.devnull, encoding="utf-8", errors="replace")


def line_text(file, number):
    try:
        with _source(file) as source:
            return next((_said(line) for at, line in enumerate(source, 1) if at == number), None)
    except OSError:
        return None


def _said(line):
    return line.split("#")[0].strip()[:120]


def _line_of(name, file, code, before=None, after=""):
    """Where something is put into it, best in the function whose variable it is, or the class."""
    if not file:
        return None, None
    if before is None:
        before = r"\." if isinstance(code, type) else r"\b"
    puts = re.compile(r"%s%s%s\s*(\.(append|appendleft|extend|insert|add|update|setdefault|put|put_nowait)\(|\[[^\]]*\]\s*=[^=]|\+=|=[^=].*%s\s*\+)"
                      % (before, re.escape(name), after, before + re.escape(name)))
    first, last = _lines_of_class(code) if isinstance(code, type) else _lines_of(code) if code is not None else (1, 1 << 30)
    found = (None, None)
    try:
        with _source(file) as source:
            for number, line in enumerate(source, 1):
                if puts.search(_said(line)) and (found[0] is None or not first <= found[0] <= last):
                    found = number, _said(line)
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
