"""The time spent importing packages, apart from everything else."""
import sys

from ... import _imports, _own
from ..._native import ROLE_IMPORT, section

_open = {}  # name -> its section, then a None for each time it is imported again meanwhile: cv2 imports itself


class _Installed:
    """Packages that are not the standard library's."""
    _standard = frozenset(getattr(sys, "stdlib_module_names", ())) | frozenset(sys.builtin_module_names)

    def __contains__(self, name):
        return not name.startswith("_") and name not in self._standard \
            and name not in ("strobe", "sitecustomize", "usercustomize", "__main__")


def _begin(name):
    if name in _open:
        _open[name].append(None)
        return
    if _own.runs():
        return
    one = section("import " + name.partition(".")[0], gpu=False, **{"strobe.role": ROLE_IMPORT})
    one.__enter__()
    _open[name] = [one]


def _end(name):
    one = _open[name].pop() if name in _open else None
    if one is not None:
        del _open[name]
        one.__exit__(None, None, None)


def watch():
    _imports._Finder.watched_roots = _Installed()
    _imports.observe(_begin, _end)
