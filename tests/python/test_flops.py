"""What is kept of a model's call until its operations are counted."""
import gc
import weakref

from strobe import _flops


class Cache:
    """What a model is handed and fills, as transformers' caches are."""


def test_an_argument_that_holds_memory_is_not_kept(torch):
    _flops.forget()
    model, cache = torch.nn.Linear(2, 2), Cache()
    cache.keys = torch.zeros(4)
    left = weakref.ref(cache)
    number = _flops.note(model, (torch.zeros(1, 2), cache), {})
    del cache
    gc.collect()
    shape, = _flops._shapes.values()
    _flops.forget()
    assert number == 1 and left() is None and shape.reason == "an argument is a Cache"


def test_tensors_leave_their_shapes_alone(torch):
    _flops.forget()
    model, tensor = torch.nn.Linear(2, 2), torch.zeros(3, 2)
    assert [_flops.note(model, (tensor,), {"scale": {"by": 2.0}}) for _ in range(2)] == [1, 1]
    shape, = _flops._shapes.values()
    _flops.forget()
    assert shape.args[0].device.type == "meta" and tuple(shape.args[0].shape) == (3, 2) and shape.kwargs == {"scale": {"by": 2.0}}


class Holder(object):
    """A part of a model that is no module: settings, and something that holds memory."""


def test_an_outline_holds_nothing_of_the_model(torch):
    _flops.forget()
    model, holder = torch.nn.Linear(2, 2), Holder()
    holder.heads, holder.cache, model.holder = 4, Cache(), holder
    holder.cache.keys, model.scale = torch.zeros(4), 0.5
    left = [weakref.ref(one) for one in (model, holder, holder.cache, model.weight, holder.cache.keys)]
    _flops.note(model, (torch.zeros(1, 2),), {})
    del model, holder
    gc.collect()
    shape, = _flops._shapes.values()
    _flops.forget()
    _, outline, _ = shape.outline
    assert [one() for one in left] == [None] * 5
    assert outline.weight.device.type == "meta" and outline.scale == 0.5 and outline.holder.heads == 4
