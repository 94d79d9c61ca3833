"""A generation that an error ends: what the error says, which line of the program it comes from, in which stage."""
from . import _faults
from ._native import native

MESSAGE_MOST = 300  # characters
NO_ERRORS = (StopIteration, StopAsyncIteration, GeneratorExit)  # as _strobe/raised.c has them


def tell(error, trace):
    """Attributes of the innermost zone, a generation that the error leaves. Never raises."""
    if error is None or isinstance(error, NO_ERRORS) or not native.recording():
        return
    try:
        from ._memory.out_of_memory import place_of
        file, line = place_of(trace)
        native.attrs(error_message=in_one_line(str(error)), error_file=file, error_line=line,
                     error_stage=native.raised_in(error, trace))
    except Exception:
        _faults.count("when a generation failed")


def in_one_line(text):
    """None where there is nothing to say."""
    words = " ".join(text[:4 * MESSAGE_MOST].split())
    return (words if len(words) <= MESSAGE_MOST else words[:MESSAGE_MOST - 1] + "\u2026") or None
