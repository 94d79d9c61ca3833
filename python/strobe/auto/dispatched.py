"""Collectives that no Python call starts, above all those of DDP's reducer. They go through torch's dispatcher: a kernel
above autograd, where c10d has none, sees each and hands it on unchanged."""
import functools
import sys
import threading
import time

from .._native import native
from . import vocabulary, wrapping
from .wrapping import guard, wrap

OPERATIONS = {  # torch's operator -> what torch.distributed calls it
    "allreduce_": "all_reduce", "allreduce_coalesced_": "all_reduce", "broadcast_": "broadcast", "reduce_": "reduce",
    "allgather_": "all_gather", "_allgather_base_": "all_gather_into_tensor", "allgather_coalesced_": "all_gather",
    "allgather_into_tensor_coalesced_": "all_gather_into_tensor", "gather_": "gather", "scatter_": "scatter",
    "reduce_scatter_": "reduce_scatter", "_reduce_scatter_base_": "reduce_scatter_tensor",
    "reduce_scatter_tensor_coalesced_": "reduce_scatter_tensor", "alltoall_": "all_to_all", "alltoall_base_": "all_to_all_single",
}
WITH_ROOT = ("broadcast_", "reduce_", "gather_", "scatter_")
ABOVE = ("AutogradCPU", "AutogradCUDA", "AutogradXPU")
PENDING_MOST = 4096  # collectives that were not waited for yet

_libraries = []  # what torch keeps only as long as someone holds it
_of_backward = {}  # number of a backward pass -> [(work, zone name, facts, when it was issued)]


class Here(threading.local):
    inside = 0  # calls that are recorded already
    of_reducer = 0  # hooks of the program's that reduce a bucket
    at_once = 0  # calls inside which C++ waits for each collective right after it started it


here = Here()


class Inside:
    """What the block starts is a part of the zone that is open."""

    def __enter__(self):
        here.inside += 1

    def __exit__(self, *error):
        here.inside -= 1


inside = Inside()


def watch(module, describe):
    """module: torch.distributed.distributed_c10d. describe(group, name, tensors, root): the facts of a collective."""
    torch = sys.modules["torch"]
    if _libraries or not hasattr(module.ProcessGroup, "unbox") or not hasattr(torch._C, "_after_autograd_keyset"):
        return  # an older torch
    library = torch.library.Library("c10d", "IMPL")
    _libraries.append(library)
    for operator, name in OPERATIONS.items():
        _put_above(torch, library, operator, _starting(torch, module, operator, name, describe))
    wrap(getattr(sys.modules.get("torch._C._distributed_c10d"), "Reducer", object), "_rebuild_buckets", _rebuilding)
    wrap(sys.modules["torch.distributed"], "_register_comm_hook", _registering)


def _put_above(torch, library, operator, make):
    packet = getattr(torch.ops.c10d, operator, None)
    for key in ABOVE if packet is not None else ():
        if not torch._C._dispatch_has_kernel_for_dispatch_key("c10d::" + operator, key):
            guard(lambda: library.impl(operator, make(packet.default), key, with_keyset=True))


def _rebuilding(original):
    def _rebuild_buckets(self):
        here.at_once += 1
        try:
            return original(self)
        finally:
            here.at_once -= 1
    return _rebuild_buckets


def _registering(original):
    def _register_comm_hook(reducer, state, hook):
        @functools.wraps(hook)
        def of_reducer(*args):
            here.of_reducer += 1
            try:
                return hook(*args)
            finally:
                here.of_reducer -= 1
        return original(reducer, state, of_reducer)
    return _register_comm_hook


# ---- started ----

def _starting(torch, module, operator, name, describe):
    zone_name = "collective:" + name
    below = torch._C._after_autograd_keyset

    def make(op):
        def start(keyset, *args, **kwargs):
            if here.inside or wrapping.compiling() or not native.recording():
                return op.redispatch(keyset & below, *args, **kwargs)
            issued = time.monotonic_ns()
            facts = guard(_facts, torch, module, operator, name, args, describe)
            if facts and not _on_host(facts.pop("device")):  # it returns before the transfer: its kernels tell
                with vocabulary.collective(zone_name, facts):
                    return op.redispatch(keyset & below, *args, **kwargs)
            result = op.redispatch(keyset & below, *args, **kwargs)
            if facts:
                guard(_remember, torch, module, zone_name, facts, issued, result)
            return result
        return start
    return make


def _on_host(device):
    return device == "cpu"


def _facts(torch, module, operator, name, args, describe):
    at = next(i for i, a in enumerate(args) if isinstance(a, torch.ScriptObject))
    tensors = args[1] if operator == "gather_" else args[0]  # what torch.distributed's own call has first
    group = module.ProcessGroup.unbox(args[at])
    root = None
    if operator in WITH_ROOT:
        number = next(a for a in args[at + 1:] if isinstance(a, int))
        root = module.get_global_rank(group, number)
    return dict(describe(group, name, tensors, root), device=_first(tensors).device.type)


def _first(value):
    while isinstance(value, (list, tuple)):
        value = value[0]
    return value


def _remember(torch, module, zone_name, facts, issued, result):
    work = result[-1] if isinstance(result, (list, tuple)) else result
    if here.at_once:
        _wait(module.Work.unbox(work), zone_name, facts, issued)
    else:
        wait_after_backward(torch, (module.Work.unbox(work), zone_name, facts, issued))


def wait_after_backward(torch, one):
    """one: (work, zone name, facts, when it was issued)."""
    task = torch._C._current_graph_task_id()
    if task < 0:
        return  # C++ started it and waits for it: it is not known when
    if task not in _of_backward:
        _bound(_of_backward)
        _of_backward[task] = []
        torch.autograd.Variable._execution_engine.queue_callback(lambda: guard(_end_of_backward, task))
    if len(_of_backward[task]) < PENDING_MOST:
        _of_backward[task].append(one)


def _bound(pending):
    if len(pending) >= PENDING_MOST:
        pending.pop(next(iter(pending)))


# ---- the reducer's ----

def _end_of_backward(task):
    """The reducer is about to wait for its buckets, in this order: it then finds them done. What fails, fails there again."""
    for one in _of_backward.pop(task):
        _wait(*one)


def _wait(work, zone_name, facts, issued):
    with vocabulary.collective(zone_name, dict(facts, hidden_ns=time.monotonic_ns() - issued)):
        try:
            work.wait()
        except Exception:
            pass  # the program's own wait raises it
