"""Which track the running task records on. Called only when a thread's context
has changed since its last zone. Tracks are reused when their task is gone, so
that a service's millionth request does not need a millionth track."""
import os
import sys
from _thread import allocate_lock
from _weakref import ref

_lock = allocate_lock()
_tracks = {}  # id of the task -> (weak reference, track)
_free = []
_count = 0


def _running_task():
    asyncio = sys.modules.get("asyncio")
    if asyncio is not None:
        try:
            return asyncio.current_task()
        except RuntimeError:  # no loop runs in this thread
            pass
    trio = sys.modules.get("trio")
    if trio is not None:
        try:
            return trio.lowlevel.current_task()
        except (RuntimeError, AttributeError):
            pass
    return None


def track_of():
    """The running task's track; 0: no task runs, the thread itself."""
    task = _running_task()
    if task is None:
        return 0
    known = _tracks.get(id(task))
    if known is not None and known[0]() is task:
        return known[1]
    return _take(task)


def _take(task):
    global _count
    key = id(task)

    def gone(reference):
        entry = _tracks.get(key)
        if entry is not None and entry[0] is reference:
            del _tracks[key]
            _free.append(entry[1])

    with _lock:
        if _free:
            track = _free.pop()
        else:
            from ._native import native
            _count += 1
            track = native.track_new("task %d" % _count)
        _tracks[key] = (ref(task, gone), track)
    return track


def forget():
    """In a forked child and for a new session: tracks are named anew."""
    global _count
    from ._native import native
    _tracks.clear()
    _free.clear()
    _count = 0
    native.track_forget()


def _after_fork():
    global _lock
    _lock = allocate_lock()
    forget()


os.register_at_fork(after_in_child=_after_fork)
