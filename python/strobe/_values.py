"""Any Python value as something an attribute can hold. Never waits for a GPU:
a tensor is described, not read."""
import os

from ._native import native


def plain(value):
    """An int, float or str that stands for value; None: leave it out."""
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, str):
        return str(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value)
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        return _of_array(value)
    if isinstance(value, (list, tuple, set, frozenset, dict)):
        return _of_container(value)
    if hasattr(value, "__index__"):
        return int(value)
    if hasattr(value, "__float__"):
        return float(value)
    return str(value)[:2048]


def masked(text):
    """What an error or a guard says may repeat a credential: those are not recorded."""
    try:
        return native.mask("", text)
    except UnicodeEncodeError:  # a surrogate
        return native.mask("", text.encode("utf-8", "replace").decode())


def _of_array(value):
    on_host = getattr(value, "is_cpu", True)
    if on_host and tuple(value.shape) == ():
        number = value.item()
        return number if isinstance(number, (int, float, str)) else str(number)
    return "%s %s" % (str(value.dtype).replace("torch.", ""), "x".join(str(n) for n in value.shape) or "scalar")


def _of_container(value):
    if len(value) > 64:
        return "%s of %d" % (type(value).__name__, len(value))
    if isinstance(value, dict):
        return ("{%s}" % ", ".join("%s: %s" % (k, plain(v)) for k, v in value.items()))[:2048]
    return ("[%s]" % ", ".join(str(plain(v)) for v in value))[:2048]
