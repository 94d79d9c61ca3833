"""Calls back when a module is looked for, and when it has been imported, without
importing it. A finder at the front of sys.meta_path that finds nothing itself; it
only looks when one of the watched names comes by."""
import sys
from _imp import acquire_lock, release_lock
from _thread import _local

from ._own import own_work

_looked_for = {}  # package -> callbacks
_waiting = {}  # module name -> callbacks
_observers = []  # (begin, end) around every import of a watched package
_busy = _local()


def when_looked_for(package, callback):
    """callback() once, before the package is imported, or now if it is there already. Whatever it raises is swallowed."""
    if package in sys.modules:
        _quietly(callback)
        return
    _looked_for.setdefault(package, []).append(callback)
    install()


def when_imported(name, callback):
    """callback(module), now if it is there already. Whatever it raises is swallowed."""
    module = sys.modules.get(name)
    if module is not None and not _is_initialising(module):
        _quietly(callback, module)
        return
    _waiting.setdefault(name, []).append(callback)
    install()


def observe(begin, end):
    """begin(name) and end(name) around the import of each watched package, and of its modules where they come alone: packages
    such as transformers import most of themselves when a name is asked for."""
    _observers.append((begin, end))
    install()


def install():
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)


def _is_initialising(module):
    spec = getattr(module, "__spec__", None)
    return bool(getattr(spec, "_initializing", False))


def _quietly(function, *args):
    try:
        function(*args)
    except Exception:
        from . import _faults
        _faults.count("after import")


def _call_without_the_lock(callbacks):
    """importlib holds the lock of all imports while it asks a finder. What a callback imports may be in the hands of another thread,
    which waits for that lock: neither would ever go on."""
    held = 0
    try:
        while True:
            release_lock()
            held += 1
    except RuntimeError:
        pass  # it is not this thread's any more
    try:
        with own_work():
            for callback in callbacks:
                _quietly(callback)
    finally:
        for _ in range(held):
            acquire_lock()


def _is_observed(name):
    if not _observers:
        return False
    root, dot, _ = name.partition(".")
    return not (dot and getattr(_busy, "observed", 0)) and root in _Finder.watched_roots


class _Finder:
    watched_roots = frozenset()

    def find_spec(self, name, path=None, target=None):
        callbacks = _looked_for.pop(name, None)
        if callbacks:
            _call_without_the_lock(callbacks)
        if name not in _waiting and not _is_observed(name):
            return None
        if getattr(_busy, "name", None) == name:
            return None
        _busy.name = name
        try:
            return self._wrap(name, path, target)
        except Exception:
            return None
        finally:
            _busy.name = None

    def _wrap(self, name, path, target):
        for finder in sys.meta_path:
            find = getattr(finder, "find_spec", None)
            if finder is self or find is None:
                continue
            spec = find(name, path, target)
            if spec is not None:
                if spec.loader is not None and hasattr(spec.loader, "exec_module"):
                    spec.loader = _Loader(spec.loader)
                return spec
        return None


class _Loader:
    """The real loader, then the callbacks. Everything else is the real one's."""

    def __init__(self, real):
        self._strobe_real = real

    def __getattr__(self, name):
        return getattr(self._strobe_real, name)

    def create_module(self, spec):
        create = getattr(self._strobe_real, "create_module", None)
        return create(spec) if create else None

    def exec_module(self, module):
        name = module.__name__
        # Resources, pickles and repr want the real loader.
        try:
            module.__spec__.loader = self._strobe_real
            module.__loader__ = self._strobe_real
        except Exception:
            pass
        observed = _observers[:] if _is_observed(name) else []
        for begin, _ in observed:
            _quietly(begin, name)
        _busy.observed = getattr(_busy, "observed", 0) + bool(observed)
        try:
            self._strobe_real.exec_module(module)
        finally:
            _busy.observed -= bool(observed)
            for _, end in reversed(observed):
                _quietly(end, name)
        with own_work():
            for callback in _waiting.pop(name, ()):
                _quietly(callback, sys.modules.get(name, module))


_finder = _Finder()
