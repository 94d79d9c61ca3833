"""Replacing a function by one that records around it, once, by name."""
import functools

from .. import _faults

MARK = "_strobe_original"


def never_compiling():
    return False


# True while dynamo traces: then nothing may be recorded. Torch's own function when torch
# is there: dynamo knows that one and folds it away. Asked before anything else is touched.
compiling = never_compiling


# Frames of these codes are not compiled when dynamo meets them first: compilation begins behind them, where it
# would begin without strobe, so hooks outside the graph stay outside. Inside a graph they are followed like any other.
_codes = set()
_skip_code = None


def leave_to_dynamo(skip_code):
    """dynamo is there: skip_code(code) keeps it from beginning with a frame of that code."""
    global _skip_code
    _skip_code = skip_code
    for code in _codes:
        guard(skip_code, code)


def transparent(function):
    """Marks a function that stands in the way of one of torch's; returns it."""
    code = getattr(function, "__code__", None)
    if code is not None and code not in _codes:
        _codes.add(code)
        if _skip_code is not None:
            guard(_skip_code, code)
    return function


def is_wrapped(function, mark=MARK):
    return hasattr(function, mark)


def wrap(owner, name, make, mark=MARK):
    """owner.name = make(original), keeping static and class methods what they are.
    Nothing happens when there is no such attribute or it has that mark already."""
    raw = vars(owner).get(name) if isinstance(owner, type) else getattr(owner, name, None)
    if raw is None:
        return False
    kind = type(raw) if isinstance(raw, (staticmethod, classmethod)) else None
    original = raw.__func__ if kind else raw
    if not callable(original) or is_wrapped(original, mark):
        return False
    replacement = transparent(make(original))
    try:
        functools.update_wrapper(replacement, original)
        setattr(replacement, mark, original)
        setattr(owner, name, kind(replacement) if kind else replacement)
    except (AttributeError, TypeError):  # a built-in type
        return False
    return True


def wrap_method(cls, name, make):
    """Wraps a method where cls inherits it from, so that each class is wrapped once."""
    for base in cls.__mro__:
        if name in vars(base):
            return wrap(base, name, make)
    return False


def guard(function, *args):
    """function(*args), or None and a counted fault."""
    try:
        return function(*args)
    except Exception:
        _faults.count("in the automatic recording")
        return None


def shape_of(value):
    return tuple(getattr(value, "shape", ()) or ())
