"""Time spent waiting for others: the data loader, and the other ranks."""
from .. import _imports
from .._core import ROLE_COLLECTIVE
from . import wrapping
from .wrapping import here, wrap, zone

COLLECTIVES = ("all_reduce", "reduce", "broadcast", "all_gather", "all_gather_into_tensor", "reduce_scatter",
               "reduce_scatter_tensor", "all_to_all", "all_to_all_single", "gather", "scatter", "barrier", "send", "recv")


def watch():
    # Before torch.distributed takes the names over from it.
    _imports.when_imported("torch.distributed.distributed_c10d", _on_distributed)
    _imports.when_imported("torch.utils.data.dataloader", _on_dataloader)


def _on_distributed(module):
    for name in COLLECTIVES:
        wrap(module, name, _collective(name))


def _collective(name):
    def make(original):
        def collective(*args, **kwargs):
            if wrapping.compiling():
                return original(*args, **kwargs)
            with zone("collective:" + name, ROLE_COLLECTIVE):
                return original(*args, **kwargs)
        return collective
    return make


def _on_dataloader(module):
    iterator = getattr(module, "_BaseDataLoaderIter", None)
    if iterator is not None:
        wrap(iterator, "__next__", _fetching)


def _fetching(original):
    def __next__(self):
        here.module_depth += 1  # what a dataset computes is no forward of a model
        try:
            with zone("data_loading"):
                return original(self)
        finally:
            here.module_depth -= 1
    return __next__
