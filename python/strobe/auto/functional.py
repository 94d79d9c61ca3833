"""Functional collectives, as DTensor and context parallel call them: each gives a tensor that is waited for where it is
used. Recorded from the wait on; what came before is hidden behind other work."""
import time

from . import collectives, dispatched, vocabulary, wrapping
from .._native import native
from .wrapping import guard, wrap

GIVING = {
    "all_reduce": "all_reduce", "broadcast": "broadcast", "all_to_all_single": "all_to_all_single",
    "all_gather_tensor": "all_gather_into_tensor", "all_gather_single": "all_gather_into_tensor",
    "reduce_scatter_tensor": "reduce_scatter_tensor", "reduce_scatter_single": "reduce_scatter_tensor",
    "all_gather_tensor_autograd": "all_gather_into_tensor", "all_gather_single_autograd": "all_gather_into_tensor",
    "reduce_scatter_tensor_autograd": "reduce_scatter_tensor", "reduce_scatter_single_autograd": "reduce_scatter_tensor",
    "all_to_all_single_autograd": "all_to_all_single",
}
PENDING_MOST = 4096  # that were not waited for yet

_given = {}  # address of what was given -> (zone name, facts, when it was issued)


def watch(module):
    """module: torch.distributed._functional_collectives."""
    for name, operation in GIVING.items():
        wrap(module, name, _giving(module, operation))
    wrap(module, "wait_tensor", _waiting)


def _giving(module, operation):
    def make(original):
        import inspect  # torch.distributed has loaded it; a start-up hook must not
        signature = inspect.signature(original)

        def give(*args, **kwargs):
            if wrapping.compiling() or dispatched.here.inside or not native.recording():
                return original(*args, **kwargs)
            issued = time.monotonic_ns()
            with dispatched.inside:
                given = original(*args, **kwargs)
            guard(_keep, module, operation, signature, args, kwargs, issued, given)
            return given
        return give
    return make


def _keep(module, operation, signature, args, kwargs, issued, given):
    known = signature.bind(*args, **kwargs).arguments
    tensor, group = next(iter(known.values())), _group(module, known["group"], known.get("tag", ""))
    root = known["src"] if operation == "broadcast" else None
    facts = collectives.describe(module.c10d, group, operation, tensor, root)
    if len(_given) >= PENDING_MOST:
        _given.pop(next(iter(_given)))
    _given[_address(given)] = ("collective:" + operation, facts, issued)


def _group(module, group, tag):
    if isinstance(group, module.c10d.ProcessGroup):
        return group
    name = module._resolve_group_name(group, tag)
    return module.c10d._resolve_process_group(name)


def _address(tensor):
    return getattr(tensor, "elem", tensor).data_ptr()


def _waiting(original):
    def wait_tensor(tensor):
        known = None
        if _given and not wrapping.compiling() and not dispatched.here.inside:
            known = guard(lambda: _given.pop(_address(tensor), None))
        if known is None:
            return original(tensor)
        zone_name, facts, issued = known
        with vocabulary.collective(zone_name, dict(facts, hidden_ns=time.monotonic_ns() - issued)):
            return original(tensor)
    return wait_tensor
