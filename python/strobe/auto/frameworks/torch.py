"""Plain torch: top-level modules' forwards, backward passes and optimizers, models that move between
devices, the data loader, waiting for other ranks."""
import contextlib
import os
import sys

from ..._models import components
from ..._memory import held, moved
from ..._native import native
from .. import asked, collectives, functional, modules, training, vocabulary, wrapping
from ..vocabulary import hiding_modules, stage
from ..wrapping import guard, wrap

BIG_BYTES = 100 << 20  # a model whose move is worth a zone


def _on_torch(torch):
    compiler = getattr(torch, "compiler", None)
    wrapping.compiling = getattr(compiler, "is_compiling", wrapping.compiling)
    modules.watch(torch.nn.Module)
    guard(training.watch, torch)
    wrap(torch, "set_num_threads", _setting_threads)
    guard(_threads_of_environment)
    for name in ("to", "cuda", "cpu"):
        wrap(torch.nn.Module, name, _moving(torch, name))


# ---- threads, as asked for ----

def _setting_threads(original):
    def set_num_threads(count):
        frame = sys._getframe(1)
        guard(_note_threads, count, frame.f_code.co_filename, frame.f_lineno)
        return original(count)
    return set_num_threads


def _threads_of_environment():
    asked = os.environ.get("OMP_NUM_THREADS", "")
    if asked.isdigit():
        _note_threads(int(asked), None, None)


def _note_threads(count, file, line):
    native.event("torch.set_num_threads", threads=count, cores=len(os.sched_getaffinity(0)), file=file, line=line)


# ---- attention, as asked for ----

def _on_attention(module):
    before = getattr(module, "_cur_sdpa_kernel_backends", None)
    if before is not None:
        wrap(module, "_sdpa_kernel", lambda original: _choosing_attention(original, before))  # sdpa_kernel() itself is known to dynamo


def _choosing_attention(original, before):
    def _sdpa_kernel(backends, *args, **kwargs):
        if not wrapping.compiling():
            guard(asked.attention_is_held_to, backends, before(), modules.name_in_frame)
        return original(backends, *args, **kwargs)
    return _sdpa_kernel


# ---- models that move ----

def _moving(torch, method):
    def make(original):
        def move(self, *args, **kwargs):
            if wrapping.compiling():
                return original(self, *args, **kwargs)
            modules.notice(self)
            zone = guard(_move, torch, self, method, args, kwargs)
            if zone is None:
                return original(self, *args, **kwargs)
            with zone, hiding_modules(), moved.Move(self):  # .cuda() of a model may call .to() of its parts
                return original(self, *args, **kwargs)
        return move
    return make


def _target(torch, method, args, kwargs):
    """The kind of device a call moves to; None: it moves nothing."""
    if method != "to":
        return method
    device = torch._C._nn._parse_to(*args, **kwargs)[0]
    return None if device is None else device.type


def _move(torch, module, method, args, kwargs):
    """The zone of a big model's move: a load onto a device, an offload back from it; no zone of a smaller one, or where it is
    a part of what a model's call does. None: it moves nothing."""
    target = _target(torch, method, args, kwargs)
    if target is None:
        return None
    away = [tensor for tensor in module.parameters() if tensor.device.type != target and tensor.device.type != "meta"]
    size = sum(map(held.size_bytes, away))
    if size < moved.LEAST_BYTES:
        return None
    if size < BIG_BYTES or vocabulary.here.module_depth:
        return contextlib.nullcontext()
    name = components.name(module)
    if target == "cpu":
        return vocabulary.offload(name, size, held.way(away, target))
    return vocabulary.load("load:" + name, lambda: size)


# ---- waiting ----

def _on_distributed(module):
    wrap(module, "init_process_group", _joining(module))
    collectives.watch(module)


def _joining(module):
    def make(original):
        def init_process_group(*args, **kwargs):
            result = original(*args, **kwargs)
            guard(_tell_rank)
            guard(collectives.watch_inside, module)
            return result
        return init_process_group
    return make


def _tell_rank():
    """Processes of torch.multiprocessing have no launcher's environment: their rank is the group's."""
    from torch import distributed
    rank, size = distributed.get_rank(), distributed.get_world_size()
    local = os.environ.get("LOCAL_RANK", "")
    native.rank(rank, int(local) if local.isdigit() else rank, size, str(distributed.get_backend()))


# ---- the data loader ----

def _on_dataloader(module):
    iterator = getattr(module, "_BaseDataLoaderIter", None)
    here_alone = getattr(module, "_SingleProcessDataLoaderIter", None)
    if iterator is None:
        return
    watched = wrap(iterator, "_next_index", _choosing) and here_alone is not None
    wrap(iterator, "__next__", lambda original: _fetching(original, here_alone if watched else None))


def _fetching(original, here_alone):
    def __next__(self):
        if _asks_sampler(self, here_alone):
            with hiding_modules(), _Batch(self):
                return original(self)
        name = "data_loading_end" if guard(_has_ended, self) else "data_loading"
        with hiding_modules(), stage(name):  # what a dataset computes is no forward of a model
            return original(self)
    return __next__


def _asks_sampler(loader, here_alone):
    """Whether its next batch is made in this process, by torch's own way: the sampler is asked first."""
    if here_alone is None or not isinstance(loader, here_alone) or type(loader)._next_data is not here_alone._next_data:
        return False
    return not hasattr(getattr(loader, "_dataset_fetcher", None), "dataset_iter")


class _Batch:
    """with _Batch(loader): the next batch is made in this process. The stage begins when the sampler has
    given the indices of one: its calls are as many as the batches. The program's own len() is never called."""
    __slots__ = ("loader", "zone", "outer")

    def __init__(self, loader):
        self.loader, self.zone, self.outer = loader, None, None

    def __enter__(self):
        self.outer, vocabulary.here.batch = vocabulary.here.batch, self

    def begin(self):
        zone = stage("data_loading")
        zone.__enter__()
        self.zone = zone

    def __exit__(self, kind, error, trace):
        vocabulary.here.batch = self.outer
        if self.zone is not None:
            self.zone.__exit__(kind, error, trace)


def _choosing(original):
    def _next_index(self):
        batch = vocabulary.here.batch
        if batch is None or batch.loader is not self:
            return original(self)
        with stage("data_loading_sampler"):
            index = original(self)
        guard(batch.begin)
        return index
    return _next_index


def _has_ended(loader):
    """Whether it is known, before the call, that a loader has no more batches. Reads torch's own state alone. Of a dataset
    that is an iterator only the call itself tells, if its last batch was whole or others read it."""
    tasks = getattr(loader, "_task_info", None)
    if tasks is None:
        return getattr(getattr(loader, "_dataset_fetcher", None), "ended", False)
    return not any(len(task) == 2 or loader._workers_status[task[0]] for task in tasks.values())  # it is here, or its worker still runs


WAITS_FOR = {
    "torch": _on_torch,
    "torch.distributed.distributed_c10d": _on_distributed,  # before torch.distributed takes the names over from it
    "torch.distributed._functional_collectives": functional.watch,
    "torch.nn.attention": _on_attention,
    "torch.optim.optimizer": training.watch_optimizers,
    "torch.utils.data.dataloader": _on_dataloader,
}
