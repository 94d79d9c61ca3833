"""The time spent importing packages, apart from everything else."""
import sys

from ... import _imports
from ..._native import ROLE_IMPORT, section

_open = {}


class _Installed:
    """Packages that are not the standard library's."""
    _standard = frozenset(getattr(sys, "stdlib_module_names", ())) | frozenset(sys.builtin_module_names)

    def __contains__(self, name):
        return not name.startswith("_") and name not in self._standard \
            and name not in ("strobe", "sitecustomize", "usercustomize", "__main__")


def _begin(name):
    one = section("import " + name.partition(".")[0], **{"strobe.role": ROLE_IMPORT})
    one.__enter__()
    _open[name] = one


def _end(name):
    one = _open.pop(name, None)
    if one is not None:
        one.__exit__(None, None, None)


def watch():
    _imports._Finder.watched_roots = _Installed()
    _imports.observe(_begin, _end)
