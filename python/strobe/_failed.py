"""A generation that an error ends: what the error says, which line of the program it comes from. The stage it comes from
follows from the recording: each zone that the error leaves has its class."""
from . import _faults
from ._memory import PACKAGE
from ._native import native
from ._packages import is_installed
from ._values import masked

MESSAGE_MOST = 300  # characters
NO_ERRORS = (StopIteration, StopAsyncIteration, GeneratorExit)  # as _strobe/raised.c has them


def tell(error, trace):
    """Attributes of the innermost zone, a generation that the error leaves. Never raises."""
    if error is None or isinstance(error, NO_ERRORS) or not native.recording():
        return
    try:
        native.loops_end(type(error))
        file, line = place_of(trace)
        native.attrs(error_message=in_one_line(str(error)), error_file=file, error_line=line)
    except Exception:
        _faults.count("when a generation failed")


def in_one_line(text):
    """None where there is nothing to say."""
    words = masked(" ".join(text[:4 * MESSAGE_MOST].split()))
    return (words if len(words) <= MESSAGE_MOST else words[:MESSAGE_MOST - 1] + "\u2026") or None


def place_of(trace):
    """The innermost line of the traceback that is the program's own; else of what called it, where it is still on its way."""
    outer, place = trace.tb_frame.f_back if trace is not None else None, (None, None)
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if _is_programs(file):
            place = file, _line_of(trace)
        trace = trace.tb_next
    while place[0] is None and outer is not None:
        file = outer.f_code.co_filename
        if _is_programs(file):
            place = file, outer.f_lineno
        outer = outer.f_back
    return place


def _line_of(trace):
    """The jump back of a loop, at which an interrupt is seen, may have none: None or -1, by the version of CPython."""
    line = trace.tb_lineno
    return line if line and line > 0 else native.line_before(trace.tb_frame.f_code, trace.tb_lasti)


def _is_programs(file):
    return not is_installed(file) and not file.startswith((PACKAGE, "<"))
