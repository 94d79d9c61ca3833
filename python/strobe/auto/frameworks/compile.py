"""torch.compile: compilation is a zone of its own, wherever it strikes."""
from ..._native import ROLE_COMPILE, native
from .. import wrapping
from ..wrapping import guard


def _on_dynamo(dynamo):
    if wrapping.compiling is wrapping.never_compiling:  # before torch.compiler had the question
        wrapping.compiling = getattr(dynamo, "is_compiling", wrapping.never_compiling)
    try:
        from torch._dynamo import callback
        start, end = callback.on_compile_start, callback.on_compile_end
    except (ImportError, AttributeError):  # before torch 2.3
        return

    @start
    def _begin(*args):
        guard(_compile_begins)

    @end
    def _finish(*args):
        guard(native.zone_end, "torch.compile")


def _compile_begins():
    native.zone_begin("torch.compile")
    native.role(ROLE_COMPILE)


WAITS_FOR = {"torch._dynamo": _on_dynamo}
