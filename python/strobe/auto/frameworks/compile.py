"""torch.compile: compilation is a zone of its own, wherever it strikes."""
import sys

from ..._native import ROLE_COMPILE, native
from ..._values import masked
from .. import first_calls, phases, training, vocabulary, wrapping
from ..wrapping import guard, transparent, wrap

CALLED_BY_WRAPPERS = (first_calls, phases, training, vocabulary, wrapping)


def _on_dynamo(dynamo):
    if wrapping.compiling is wrapping.never_compiling:  # before torch.compiler had the question
        wrapping.compiling = getattr(dynamo, "is_compiling", wrapping.never_compiling)
    skip_code = getattr(getattr(dynamo, "eval_frame", None), "skip_code", None)
    if skip_code is not None:
        wrapping.leave_to_dynamo(skip_code)
        for module in CALLED_BY_WRAPPERS:
            guard(_stay_out, module)
    _listen()
    convert = sys.modules.get("torch._dynamo.convert_frame")
    if convert is not None:
        wrap(convert, "get_and_maybe_log_recompilation_reasons", _recompiling)
    wrap(dynamo, "reset", _resetting)


def _stay_out(module):
    """What dynamo meets behind a graph break it would compile: the program's functions, and ours that a wrapper calls."""
    for value in vars(module).values():
        for function in (value, *vars(value).values()) if isinstance(value, type) else (value,):
            if getattr(function, "__module__", None) == module.__name__:
                transparent(getattr(function, "__wrapped__", function))


def _listen():
    try:
        from torch._dynamo import callback
        start, end = callback.on_compile_start, callback.on_compile_end
    except (ImportError, AttributeError):  # before torch 2.3
        return
    if _begin not in getattr(getattr(callback, "callback_handler", None), "start_callbacks", ()):
        start(_begin)
        end(_finish)


def _recompiling(original):
    """Dynamo asks which guard failed before it compiles a frame again."""
    def reasons_of(*args, **kwargs):
        reasons = original(*args, **kwargs)
        guard(_note_reason, reasons, args)
        return reasons
    return reasons_of


def _note_reason(reasons, args):
    code = getattr(args[1], "f_code", None) if len(args) > 1 else None
    if reasons and code is not None:
        reason = str(reasons[0]).strip().split("\n")[0]
        native.event("torch.recompile", reason=masked(reason)[:300], function=code.co_name, file=code.co_filename,
                     line=code.co_firstlineno)


def _resetting(original):
    """torch._dynamo.reset() forgets who listens."""
    def reset(*args, **kwargs):
        result = original(*args, **kwargs)
        guard(_listen)
        return result
    return reset


def _begin(*args):
    guard(_compile_begins)


def _finish(*args):
    guard(native.zone_end, "torch.compile")


def _compile_begins():
    native.zone_begin("torch.compile")
    native.role(ROLE_COMPILE)


WAITS_FOR = {"torch._dynamo": _on_dynamo}
