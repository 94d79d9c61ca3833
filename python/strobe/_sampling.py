"""Python stacks, sampled: `strobe run --sample=100`, or sample_hz in the
configuration. A thread of strobe's own looks at the others a hundred times a
second; functions and lines go into the recording, bounded like everything else."""
import _thread
import os
import sys
import threading
import time

from ._native import native

FUNCTIONS_KEPT = 8192

_hz = 0.0
_functions = {}  # id(code) -> (the code object, kept alive, id of its name in the recording)


def start(hz):
    """Samples from here on, as long as something records; 0 stops it."""
    global _hz
    was, _hz = _hz, min(float(hz or 0), 1000.0)
    if _hz > 0 and not was:
        _thread.start_new_thread(_run, ())


def from_environment():
    """Opens the session that `strobe run` has prepared, on this thread: the program may record nothing else."""
    try:
        hz = float(os.environ.get("STROBE_SAMPLE_HZ") or 0)
    except ValueError:
        return
    if hz > 0:
        native.role_recorded(0)
    start(hz)


def _run():
    own = threading.get_ident()
    while _hz > 0:
        begin = time.monotonic()
        if native.recording():
            try:
                _look(own)
            except Exception:  # at the end of the interpreter anything may be gone
                return
        # Never more than a twentieth of a core, however many threads there are.
        spent = time.monotonic() - begin
        time.sleep(max(1.0 / _hz - spent, spent * 20))


def _look(own):
    native_ids = {thread.ident: thread.native_id for thread in threading.enumerate()}
    for ident, frame in sys._current_frames().items():
        tid = native_ids.get(ident)
        if ident != own and tid:
            native.stack(tid, _frames(frame))


def _frames(frame):
    words = []
    while frame is not None and len(words) < 128:
        words.append(_function(frame.f_code) | (frame.f_lineno or 0) << 32)
        frame = frame.f_back
    return words


def _function(code):
    known = _functions.get(id(code))
    if known is None:
        if len(_functions) >= FUNCTIONS_KEPT:
            return native.function_id("(other)", "")
        name = getattr(code, "co_qualname", code.co_name)
        module = os.path.splitext(os.path.basename(code.co_filename))[0]
        known = _functions[id(code)] = (code, native.function_id("%s.%s" % (module, name), code.co_filename))
    return known[1]


def forget():
    """A new session's file knows no functions yet."""
    _functions.clear()


def _after_fork():
    global _hz
    hz, _hz = _hz, 0.0
    forget()
    start(hz)


os.register_at_fork(after_in_child=_after_fork)
