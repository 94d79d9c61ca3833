"""Calls of torch.distributed as zones that say which collective they are: its group, its number in the group, its
bytes. Ranks are matched by these; how long each waited, and for which, follows from all of them (docs/aggregate.md)."""
import sys
import time

from . import dispatched, vocabulary, wrapping
from .wrapping import guard, wrap

ALL = ("all_reduce", "all_gather", "all_gather_into_tensor", "reduce_scatter", "reduce_scatter_tensor", "all_to_all",
       "all_to_all_single", "barrier", "all_gather_object")
ROOTED = {"broadcast": "src", "scatter": "src", "reduce": "dst", "gather": "dst"}
PAIRED = {"send": "dst", "isend": "dst", "recv": "src", "irecv": "src"}
INSIDE = {"_broadcast_coalesced": "broadcast", "_verify_params_across_processes": "all_gather"}  # DDP's, start to end
RUNS_MOST = 8  # of ranks, written out in a group's name; more are a number
WAITING_MOST = 4096  # handles that were not waited for yet

_names = {}  # id of a group -> (the group, its name): one that is gone must not lend its number
_numbers = {}  # name -> the next call's number
_waiting = {}  # id of a work handle -> (the handle, zone name, facts, when it was issued)


def watch(module):
    """module: torch.distributed.distributed_c10d, before torch.distributed takes the names over from it."""
    for name in ALL + tuple(ROOTED) + tuple(PAIRED):
        wrap(module, name, _recorded(module, name))
    work = getattr(module, "Work", None) or getattr(sys.modules.get("torch._C._distributed_c10d"), "Work", None)
    if work is not None:
        wrap(work, "wait", _waited)


def watch_inside(module):
    """A group was made, all of torch is there: what it starts by itself is seen from now on."""
    package = sys.modules["torch.distributed"]
    for name, operation in INSIDE.items():
        wrap(package, name, _of_torch(module, operation))
    dispatched.watch(module, lambda *which: describe(module, *which))


# ---- which collective it is ----

def _members(ranks):
    """"0-3,8" of [0, 1, 2, 3, 8]."""
    runs = []
    for rank in sorted(ranks):
        if runs and rank == runs[-1][1] + 1:
            runs[-1][1] = rank
        else:
            runs.append([rank, rank])
    if len(runs) > RUNS_MOST:
        number = 0
        for rank in sorted(ranks):
            number = (number * 1000003 + rank + 1) & 0xffffffff
        return "%dx%08x" % (len(ranks), number)
    return ",".join("%d" % a if a == b else "%d-%d" % (a, b) for a, b in runs)


def _ranks(module, group):
    known = getattr(module, "get_process_group_ranks", None)
    if known is not None:
        return known(group)
    return list(module._pg_group_ranks[group])


def _describe(module, group):
    name = getattr(group, "group_name", None)
    if name is None:
        name = getattr(module, "_pg_names", {}).get(group, "")
    return "%s:%s:%s" % (module.get_backend(group), _members(_ranks(module, group)), name)


def _group_name(module, group):
    """Members, backend and tag: the same on every rank of it."""
    if group is None:
        group = module._get_default_group()
    known = _names.get(id(group))
    if known is None or known[0] is not group:
        known = _names[id(group)] = (group, _describe(module, group))
    return known[1]


def _next(name):
    number = _numbers.get(name, 0)
    _numbers[name] = number + 1
    return number


def _group_of(module, args, kwargs):
    if "group" in kwargs:
        return kwargs["group"]
    kind = getattr(module, "ProcessGroup", ())
    return next((a for a in args if isinstance(a, kind)), None) if kind else None


def _size(value):
    if isinstance(value, (list, tuple)):
        return sum(map(_size, value))
    return value.numel() * value.element_size() if hasattr(value, "element_size") else 0


def _tensor_facts(value):
    first = value
    while isinstance(first, (list, tuple)) and first:
        first = first[0]
    size = _size(value)
    return {"bytes": size, "dtype": str(first.dtype).rpartition(".")[2]} if size else {}


def _facts(module, name, args, kwargs):
    """What identifies this call, the same on every rank."""
    facts = _tensor_facts(args[0] if args else kwargs.get("tensor"))
    group = _group_name(module, _group_of(module, args, kwargs))
    if name in PAIRED:
        peer = args[1] if len(args) > 1 else kwargs.get(PAIRED[name])
        if not isinstance(peer, int):
            return facts  # from anyone
        here = module.get_rank()
        pair = (here, peer) if PAIRED[name] == "dst" else (peer, here)
        group = "p2p:%s:%d>%d:%s" % (group, pair[0], pair[1], kwargs.get("tag", 0))
    elif name in ROOTED:
        root = args[1] if len(args) > 1 and isinstance(args[1], int) else kwargs.get(ROOTED[name])
        facts["root"] = root if isinstance(root, int) else 0
    facts["group"] = group
    facts["seq"] = _next(group)
    return facts


def describe(module, group, name, tensors, root):
    """The same of a collective whose parts are known; root: its rank in the world, or None."""
    facts = _tensor_facts(tensors)
    facts["group"] = _group_name(module, group)
    facts["seq"] = _next(facts["group"])
    return facts if root is None else dict(facts, root=root)


# ---- recording ----

def _recorded(module, name):
    zone_name = "collective:" + name.replace("isend", "send").replace("irecv", "recv")

    def make(original):
        def call(*args, **kwargs):
            if wrapping.compiling() or dispatched.here.inside:  # send() calls isend(): one exchange, one number
                return original(*args, **kwargs)
            facts = guard(_facts, module, name, args, kwargs) or {}
            if kwargs.get("async_op") or name in ("isend", "irecv"):
                issued = time.monotonic_ns()
                with dispatched.inside:
                    work = original(*args, **kwargs)
                guard(_remember, work, zone_name, facts, issued)
                return work
            with vocabulary.collective(zone_name, facts), dispatched.inside:
                return original(*args, **kwargs)
        return call
    return make


def _of_torch(module, operation):
    """A call of DDP's that starts collectives and waits for them in C++: one zone."""
    def make(original):
        def call(group, tensors, *args, **kwargs):
            root = module.get_global_rank(group, args[1] if len(args) > 1 else 0) if operation == "broadcast" else None
            facts = guard(describe, module, group, operation, tensors, root) or {}
            with vocabulary.collective("collective:" + operation, facts), dispatched.inside:
                return original(group, tensors, *args, **kwargs)
        return call
    return make


def _remember(work, zone_name, facts, issued):
    if work is None:  # this rank is not in the group
        return
    if dispatched.here.of_reducer:  # DDP takes its future and waits after the backward pass
        return dispatched.wait_after_backward(sys.modules["torch"], (work, zone_name, facts, issued))
    if len(_waiting) >= WAITING_MOST:
        _waiting.pop(next(iter(_waiting)))
    _waiting[id(work)] = (work, zone_name, facts, issued)
    return None


def _waited(original):
    def wait(self, *args, **kwargs):
        known = None if wrapping.compiling() else _waiting.pop(id(self), None)
        if known is None or known[0] is not self:
            return original(self, *args, **kwargs)
        with vocabulary.collective(known[1], dict(known[2], hidden_ns=time.monotonic_ns() - known[3])):
            return original(self, *args, **kwargs)
    return wait
