"""torch.compile: compilation is a zone of its own, wherever it strikes."""
from ..._native import ROLE_COMPILE, native
from .. import wrapping
from ..wrapping import guard, wrap


def _on_dynamo(dynamo):
    if wrapping.compiling is wrapping.never_compiling:  # before torch.compiler had the question
        wrapping.compiling = getattr(dynamo, "is_compiling", wrapping.never_compiling)
    skip_code = getattr(getattr(dynamo, "eval_frame", None), "skip_code", None)
    if skip_code is not None:
        wrapping.leave_to_dynamo(skip_code)
    _listen()
    wrap(dynamo, "reset", _resetting)


def _listen():
    try:
        from torch._dynamo import callback
        start, end = callback.on_compile_start, callback.on_compile_end
    except (ImportError, AttributeError):  # before torch 2.3
        return
    if _begin not in getattr(getattr(callback, "callback_handler", None), "start_callbacks", ()):
        start(_begin)
        end(_finish)


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
