"""What is kept of a model's call until its operations are counted."""
import gc
import types
import weakref

from strobe._models import flops


class Cache:
    """What a model is handed and fills, as transformers' caches are."""


def test_an_argument_that_holds_memory_is_not_kept(torch):
    flops.forget()
    model, cache = torch.nn.Linear(2, 2), Cache()
    cache.keys = torch.zeros(4)
    left = weakref.ref(cache)
    number = flops.note(model, (torch.zeros(1, 2), cache), {})
    del cache
    gc.collect()
    shape, = flops._shapes.values()
    flops.forget()
    assert number == 1 and left() is None and shape.reason == "an argument is a Cache"


def test_tensors_leave_their_shapes_alone(torch):
    flops.forget()
    model, tensor = torch.nn.Linear(2, 2), torch.zeros(3, 2)
    assert [flops.note(model, (tensor,), {"scale": {"by": 2.0}}) for _ in range(2)] == [1, 1]
    shape, = flops._shapes.values()
    flops.forget()
    assert shape.args[0].device.type == "meta" and tuple(shape.args[0].shape) == (3, 2) and shape.kwargs == {"scale": {"by": 2.0}}


def test_a_call_says_when_its_model_is_on_the_cpu(torch):
    flops.forget()
    model, offloaded, elsewhere = torch.nn.Linear(2, 2), torch.nn.Linear(2, 3), torch.nn.Linear(2, 4, device="meta")
    offloaded._hf_hook = object()  # moves weights and arguments in the call
    grouped = torch.nn.Sequential(torch.nn.Linear(2, 5))
    grouped[0]._diffusers_hook = types.SimpleNamespace(hooks={"group_offloading": object()})
    for module in (model, offloaded, elsewhere, grouped):
        flops.note(module, (torch.zeros(1, 2),), {})
    flops.note(model, (torch.zeros(1, 2, device="meta"),), {})
    devices = [shape.device for shape in flops._shapes.values()]
    flops.forget()
    assert devices == ["cpu", None, None, None, None]


def test_a_registry_without_hooks_moves_no_model(torch):
    """diffusers makes one where a pipeline names its calls (cache_context): each transformer has one."""
    flops.forget()
    named = torch.nn.Linear(2, 6)
    named._diffusers_hook = types.SimpleNamespace(hooks={})
    flops.note(named, (torch.zeros(1, 2),), {})
    shape, = flops._shapes.values()
    flops.forget()
    assert shape.device == "cpu"


def test_a_model_on_the_cpu_multiplies_nothing_as_tf32(torch, monkeypatch):
    flops.forget()
    monkeypatch.setattr(flops.multiplied, "tf32_switches", lambda torch: (True, True))
    on_cpu, elsewhere = torch.nn.Linear(2, 2), torch.nn.Linear(2, 4, device="meta")
    for module in (on_cpu, elsewhere):
        flops.note(module, (torch.zeros(1, 2),), {})
    switches = [(shape.precision.tf32, shape.precision.convolves_in_tf32) for shape in flops._shapes.values()]
    flops.forget()
    assert switches == [(False, False), (True, True)]


class Holder(object):
    """A part of a model that is no module: settings, and something that holds memory."""


def test_an_outline_holds_nothing_of_the_model(torch):
    flops.forget()
    model, holder = torch.nn.Linear(2, 2), Holder()
    holder.heads, holder.cache, model.holder = 4, Cache(), holder
    holder.cache.keys, model.scale = torch.zeros(4), 0.5
    left = [weakref.ref(one) for one in (model, holder, holder.cache, model.weight, holder.cache.keys)]
    flops.note(model, (torch.zeros(1, 2),), {})
    del model, holder
    gc.collect()
    shape, = flops._shapes.values()
    flops.forget()
    outline, _ = shape.outline
    assert [one() for one in left] == [None] * 5
    assert outline.weight.device.type == "meta" and outline.scale == 0.5 and outline.holder.heads == 4


class Settings(dict):
    """As a framework's configuration: what the model is made with."""


def made(torch, width, more=False, **settings):
    model = torch.nn.Sequential(torch.nn.Linear(width, 2), *([torch.nn.ReLU()] if more else []))
    model.config = Settings(width=width, _name="made at %d" % id(model), **settings)
    return model


def test_models_of_one_kind_are_outlined_and_counted_once(torch, monkeypatch):
    outlined = []
    monkeypatch.setattr(flops.copies, "outline", lambda torch, module: outlined.append(module))
    flops.forget()
    numbers = [flops.note(made(torch, 2), (torch.zeros(1, 2),), {}) for _ in range(20)]
    other = [flops.note(one, (torch.zeros(1, 2),), {}) for one in (made(torch, 2, more=True), made(torch, 2, heads=4), made(torch, 2).half())]
    plain = [flops.note(torch.nn.Linear(2, width), (torch.zeros(1, 2),), {}) for width in (2, 2, 3, 2)]
    count = len(flops._shapes)
    flops.forget()
    assert numbers == [1] * 20 and other == [2, 3, 4] and plain == [5, 5, 6, 5]
    assert count == len(outlined) == 6


def test_layers_whose_weights_are_buffers_are_of_a_kind_with_their_equals_alone(torch):
    def layer(dtype):
        made = torch.nn.Module()
        made.register_buffer("weight", torch.zeros(2, 2, dtype=dtype))
        return made
    flops.forget()
    numbers = [flops.note(layer(dtype), (torch.zeros(1, 2),), {}) for dtype in (torch.int8, torch.bfloat16, torch.int8)]
    flops.forget()
    assert numbers == [1, 2, 1]


def test_a_model_of_a_kind_with_one_that_is_gone_is_counted_itself(torch):
    flops.forget()
    flops.note(made(torch, 2), (torch.zeros(1, 2),), {})
    living = made(torch, 2)
    gc.collect()
    flops.note(living, (torch.zeros(1, 2),), {})
    shape, = flops._shapes.values()
    flops.forget()
    assert shape.kind.model() is living and shape.calls == 2


def test_models_that_are_all_unlike_are_not_remembered_for_ever(torch):
    from strobe._models import kinds
    flops.forget()
    for number in range(3 * kinds.KINDS_MOST):
        model = torch.nn.ReLU()
        model.number = number
        last = flops.note(model, (torch.zeros(1),), {})
    counts = len(kinds._kinds), len(kinds._of), len(flops._shapes)
    flops.forget()
    assert counts[0] == counts[2] == kinds.KINDS_MOST and counts[1] <= 1 and last == kinds.KINDS_MOST + 1  # one number for the others


# ---- whole numbers and words among the arguments ----

def told(torch, monkeypatch, calls, model):
    """What is recorded at the end of each call of the model, given a list of (args, kwargs)."""
    counted, tried = {}, []

    def flops_of(torch, copy, args, kwargs, until, method="forward", autocast=None):
        tried.append(args)
        copy.ran.clear()
        copy(*args, **kwargs)
        return float(sum(copy.ran)), flops.Computed(torch, copy)
    monkeypatch.setattr(flops, "_flops_of", flops_of)
    monkeypatch.setattr(flops, "_record", lambda number, result, shape=None: counted.__setitem__(number, result))
    flops.forget()
    numbers = [flops.note(model, args, kwargs) for args, kwargs in calls]
    shapes = list(flops._shapes.values())
    for shape in shapes:
        flops._say_shape(shape, (float("inf"), float("inf")), None)
    flops.forget()
    return [counted[number] for number in numbers], len(tried), numbers


def repeating(torch):
    class Repeating(torch.nn.Module):
        """As often as it is told; a timestep changes nothing."""

        def __init__(self):
            super().__init__()
            self.layer, self.ran = torch.nn.Linear(4, 4, bias=False), []

        def forward(self, x, timestep=None, times=1, kind="plain"):
            for _ in range(times + (kind == "twice")):
                x = self.layer(x)
                self.ran.append(ONE)
            return x if timestep is None else x + timestep
    return Repeating()


ONE = 2 * 4 * 4  # operations of a layer with one row


def test_a_number_that_decides_how_much_is_computed_is_of_the_shape(torch, monkeypatch):
    model, x = repeating(torch), torch.zeros(1, 4)
    results, _, numbers = told(torch, monkeypatch, [((x,), {"times": times}) for times in (1, 10, 1, 3, 10)], model)
    assert [result.flops for result in results] == [ONE, 10 * ONE, ONE, 3 * ONE, 10 * ONE]
    assert numbers == [1, 2, 1, 3, 2]
    results, _, _ = told(torch, monkeypatch, [((x,), {"kind": kind}) for kind in ("plain", "twice")], model)
    assert [result.flops for result in results] == [ONE, 2 * ONE]


def test_timesteps_are_one_shape_and_tried_a_few_times(torch, monkeypatch):
    model, x = repeating(torch), torch.zeros(1, 4)
    for step in (1, 1.5):  # whole numbers, and others
        results, tried, numbers = told(torch, monkeypatch, [((x, 999 - 20 * step * at), {}) for at in range(50)], model)
        assert {result.flops for result in results} == {ONE} and tried <= 4
        assert len(set(numbers)) == (flops.VALUES_MOST + 1 if step == 1 else 1)


def test_a_number_with_many_values_that_matters_is_told(torch, monkeypatch):
    model, x = repeating(torch), torch.zeros(1, 4)
    results, _, _ = told(torch, monkeypatch, [((x, None, times), {}) for times in range(1, 51)], model)
    first = [result.flops for result in results[:flops.VALUES_MOST]]
    assert first == [times * ONE for times in range(1, flops.VALUES_MOST + 1)]
    assert {result.flops for result in results[flops.VALUES_MOST:]} == {None}
    assert results[-1].why == "its operations depend on a number or word that took more than 8 values"


def test_a_timestep_beside_a_number_of_frames(torch, monkeypatch):
    """Each is counted by itself as far as it goes: the rest is not guessed."""
    model, x = repeating(torch), torch.zeros(1, 4)
    calls = [((x, 999 - step), {"times": times}) for step in range(4) for times in (1, 2)]
    results, _, _ = told(torch, monkeypatch, calls, model)
    assert [result.flops for result in results] == [ONE, 2 * ONE] * 4


def test_calls_of_too_many_shapes_share_a_number_that_is_told(torch, monkeypatch):
    events = []
    monkeypatch.setattr(flops, "SHAPES_MOST", 3)
    monkeypatch.setattr(flops.native, "event", lambda name, **facts: events.append(facts) if name == "strobe.flops_shape" else None, raising=False)
    monkeypatch.setattr(flops.native, "recording", lambda: True, raising=False)
    flops.forget()
    model = torch.nn.Linear(2, 2)
    numbers = [flops.note(model, (torch.zeros(rows, 2),), {}) for rows in range(1, 7)]
    flops.say()
    assert numbers == [1, 2, 3, 4, 4, 4]
    assert [event["shape"] for event in events] == [1, 2, 3, 4]
    assert events[-1]["flops"] is None and events[-1]["why"].startswith("there are more than 3 shapes")


def test_why_a_model_could_not_be_counted_is_a_sentence():
    def words(error):
        return flops.why_not(error)
    alone = "operations are counted on the shapes alone, and "
    assert words(RuntimeError("Tensor.item() cannot be called on meta tensors")) == alone + "its forward reads values of tensors"
    assert words(NotImplementedError("Could not run 'aten::nonzero' with arguments from the 'Meta' backend.\nmore")) == \
        alone + "torch has none for aten::nonzero"
    assert words(NotImplementedError("torchvision::nms: attempted to run this operator with Meta tensors")) == \
        alone + "torch has none for torchvision::nms"
    assert words(NotImplementedError("Cannot copy out of meta tensor; no data!")) == alone + "its forward reads values of tensors"
    assert words(TypeError("no such\nthing")) == "its forward fails on the shapes alone (TypeError: no such)"


def vae_of(torch):
    class Vae(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.decoder, self.use_tiling, self.kept = torch.nn.Conv2d(4, 3, 3), False, []

        def decode(self, latents, generator=None):
            raise RuntimeError("no copy")

        def blend_h(self, one, other, extent):
            raise RuntimeError("row by row")
    return Vae()


def test_a_vae_decode_is_counted_in_a_copy_with_the_switches_it_had(torch, monkeypatch):
    ran = []

    def flops_of(torch, copy, args, kwargs, until, method="forward", autocast=None):
        ran.append((copy, args, kwargs, method))
        return 1.0, flops.Computed(torch, copy)
    monkeypatch.setattr(flops, "_flops_of", flops_of)
    monkeypatch.setattr(flops, "_record", lambda number, counted, shape: None)
    flops.forget()
    vae, latents = vae_of(torch), torch.zeros(1, 4, 8, 8)
    whole = flops.note(vae, (latents,), {"generator": torch.Generator()}, "decode")
    vae.use_tiling = True
    tiled = [flops.note(vae, (latents,), {}, "decode") for _ in range(2)]
    vae.use_tiling = False
    vae.decode = lambda latents: None  # what is put in front of it is not what is counted
    for shape in flops._shapes.values():
        flops._say_shape(shape, (float("inf"), float("inf")), None)
    flops.forget()
    assert whole == 1 and tiled == [2, 2] and [method for *_, method in ran] == ["decode", "decode"]
    (plain, args, kwargs, _), (in_tiles, *_) = ran
    assert args[0].device.type == "meta" and kwargs == {"generator": None}
    assert (plain.use_tiling, in_tiles.use_tiling) == (False, True)
    assert "decode" not in vars(plain) and plain.kept is not vae.kept and plain.decoder.weight.device.type == "meta"
    assert in_tiles.blend_h("one", "other", 1) == "other"


def test_models_that_differ_in_a_function_are_of_two_kinds(torch):
    def made(function):
        model = torch.nn.Linear(2, 2)
        model.how = function
        return model
    flops.forget()
    numbers = [flops.note(made(how), (torch.zeros(1, 2),), {}) for how in (len, lambda x: x, lambda x: x + x, made(len).forward)]
    flops.forget()
    assert numbers == [1, 2, 3, 4]


class Wide:
    """Stands for a tensor on a GPU: to print it waits."""

    def __repr__(self):
        raise AssertionError("was read")


def test_what_tuples_hold_is_not_read(torch):
    model = torch.nn.Linear(2, 2)
    model.table = Wide(), Wide()
    flops.forget()
    assert flops.note(model, (torch.zeros(1, 2),), {}) == 1
    flops.forget()


# ---- calls while others count, or end ----

def test_calls_while_operations_are_counted_keep_the_numbers_of_their_shapes(torch, monkeypatch):
    """Another thread's, until the recording ends: they had the numbers of other models."""
    later, counted = [], {}
    first, second = torch.nn.Linear(2, 2), torch.nn.Linear(2, 3)

    def record(number, result, shape=None):
        counted[number] = shape.name if shape else None
        later.append([flops.note(second, (torch.zeros(1, 2),), {}), flops.note(torch.nn.Linear(2, 5), (torch.zeros(1, 2),), {})])
    monkeypatch.setattr(flops, "_count", lambda *args: flops.Counted(1.0))
    monkeypatch.setattr(flops, "_record", record)
    monkeypatch.setattr(flops.native, "recording", lambda: True, raising=False)
    monkeypatch.setattr(flops.native, "event", lambda name, **facts: None, raising=False)
    flops.forget()
    numbers = [flops.note(model, (torch.zeros(1, 2),), {}) for model in (first, second)]
    flops.say()
    flops.say()  # at exit, once more
    flops.forget()
    assert numbers == [1, 2] and sorted(counted) == [1, 2]
    assert {known for known, _ in later} == {2} and not {new for _, new in later} & {1, 2}


def test_a_forked_child_counts_what_it_calls_itself(torch):
    import os
    flops.forget()
    flops.note(torch.nn.Linear(2, 2), (torch.zeros(1, 2),), {})
    child = os.fork()
    if not child:
        os._exit(len(flops._shapes))
    flops.forget()
    assert os.waitpid(child, 0)[1] == 0
