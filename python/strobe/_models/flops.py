"""How many floating-point operations a model's call takes. Of every shape a model is called with, the first call leaves
its arguments' shapes; when the session ends, torch's own counter runs the model's forward (or a VAE's decode or encode) once on tensors without
memory (the meta device), in a copy of the model that has no weights and no hooks. The live model is never called.
Of a model that is gone by then an outline is there, made at its first call: its settings alone, which hold no memory of it."""
import atexit
import collections
import contextlib
import itertools
import os
import re
import sys
import time
import types

from .. import _faults
from .._native import native, own_section
from . import components, kinds, multiplied, operations, stand_ins
from .components import uncompiled
from .computed import Computed

SHAPES_MOST = 256      # of all models
VALUES_MOST = 8        # whole numbers and words that a shape is called with, each counted by itself; the others share a number
SECONDS_LEAST = 2.0    # of CPU time that counting may take at the end, when what torch needs for it is loaded
SECONDS_MOST = 5.0     # however long the session was
SHARE = 0.02           # of the session
CLOCK_MOST = 2         # times as much by the clock, loading included: a busy machine gives a program little CPU time, and its end waits
DEPTH_MOST = 4         # of lists and dicts in arguments
OUTLINES_MOST = 16     # models, by their outlines
ITEMS_MOST = 1000      # of a list in a model's settings

_now = time.thread_time
_clock = time.monotonic
_begun = None          # when the first model was called

_shapes = {}           # (kind of the model, what it is called, its method and switches, signature) -> Shape
_numbers = itertools.count(1)
_rest = None           # number of the calls that have no shape, as there are too many
_outlines = {}         # kind of a model -> (its outline, its precision)
_registered = False
_asked = os.environ.get("STROBE_FLOPS", "")
_seconds = float(_asked) if _asked.isdigit() else None  # that counting may take, by the clock; 0: it is off
_off = _seconds == 0
unseen = contextlib.nullcontext  # around the calls of the copies; strobe.auto, which records calls of models, puts its own here


class Shape:
    """Calls of a model that are alike but for whole numbers and words among their arguments. Those may decide what is computed
    (a number of frames) or not (a timestep): when the session ends, a few of them are tried."""

    def __init__(self, torch, kind, component, method, switches, args, kwargs):
        module = kind.model()
        self.calls, self.kind = 0, kind
        self.numbers = {}        # of the first ones: values -> number
        self.others = None       # number of all others
        self.least = self.most = None  # values that were seen
        self.method, self.switches = method, switches
        self.outline = _outline_of(torch, kind, module)
        self.name, self.component = type(module).__name__, component
        self.args, self.kwargs, self.reason = (), {}, None
        self.device = "cpu" if _is_on_cpu(torch, module, args, kwargs) else None
        try:
            self.args, self.kwargs = _without_memory(torch, args), _without_memory(torch, kwargs)
        except _Unknown as unknown:
            self.reason = "an argument is a %s" % unknown

    def number_of(self, values):
        """The number of a call with them."""
        self.calls += 1
        if values in self.numbers:
            return self.numbers[values]
        self.least, self.most = min(values, self.least or values), max(values, self.most or values)
        if len(self.numbers) < VALUES_MOST:
            self.numbers[values] = next(_numbers)
            return self.numbers[values]
        self.others = self.others or next(_numbers)
        return self.others

    def tried(self):
        """The values whose operations tell whether any of them matters."""
        return list(dict.fromkeys([*list(self.numbers)[:2], self.least, self.most]))


def _is_on_cpu(torch, module, args, kwargs):
    """Its weights and what it is given are there, and no hook of an offload moves them in the call."""
    if hasattr(module, "_hf_hook") or hasattr(module, "_diffusers_hook"):
        return False
    given = [value for value in (*args, *kwargs.values()) if isinstance(value, torch.Tensor)]
    weights = next(iter(module.parameters()), None)
    held = given if weights is None else [*given, weights]
    return bool(held) and all(tensor.device.type == "cpu" for tensor in held)


class _NoTime(Exception):
    """The time for counting is up."""


class _Unknown(Exception):
    """An argument that cannot be copied without its memory; keeping it would keep what it holds (a cache, say) alive."""


def forget():
    """A new session, or a forked child."""
    global _begun, _numbers, _rest
    _begun = _rest = None
    _numbers = itertools.count(1)
    _shapes.clear()
    _outlines.clear()
    kinds.forget()


# ---- while the program runs ----

def _signature(torch, value, values, depth=0):
    """values gets the whole numbers and words in it, in order."""
    if isinstance(value, torch.Tensor):
        return tuple(value.shape), value.dtype, value.device.type
    if isinstance(value, bool):
        return value
    if isinstance(value, (int, str)):
        values.append(value)
    elif depth < DEPTH_MOST and isinstance(value, (list, tuple)):
        return tuple([_signature(torch, item, values, depth + 1) for item in value])
    elif depth < DEPTH_MOST and isinstance(value, dict):
        return tuple([(str(key), _signature(torch, item, values, depth + 1)) for key, item in value.items()])
    return type(value)


def _with(torch, value, values, depth=0):
    """The arguments, with other whole numbers and words (an iterator) in place of theirs."""
    if isinstance(value, (int, str)) and not isinstance(value, bool):
        return next(values)
    if depth < DEPTH_MOST and isinstance(value, (list, tuple)):
        return type(value)([_with(torch, item, values, depth + 1) for item in value])
    if depth < DEPTH_MOST and isinstance(value, dict):
        return {key: _with(torch, item, values, depth + 1) for key, item in value.items()}
    return value


def _switches(module):
    """What a program sets on a VAE between its calls: tiling, slicing and their sizes."""
    return tuple([(name, value) for name, value in vars(module).items()
                  if not name.startswith("_") and isinstance(value, (bool, int, float))])


def note(module, args, kwargs, method="forward"):
    """The number of the shape that a model is called with; None: nothing is counted. Models of one kind share it."""
    if _off:
        return None
    module = uncompiled(module)
    torch = sys.modules["torch"]
    kind, component = kinds.kind_of(module), components.name(module)
    if kind is None:
        return _number_of_rest()
    switches = () if method == "forward" else _switches(module)
    values = []
    key = (kind, component, method, switches, _signature(torch, args, values), _signature(torch, kwargs, values))
    known = _shapes.get(key)
    if known is None:
        if len(_shapes) >= SHAPES_MOST:
            return _number_of_rest()
        _before_torch_ends()
        known = _shapes[key] = Shape(torch, kind, component, method, switches, args, kwargs)
    return known.number_of(tuple(values))


def _number_of_rest():
    global _rest
    _rest = _rest or next(_numbers)
    return _rest


def _before_torch_ends():
    """At exit torch takes its meta kernels down; what was registered after it was imported comes first."""
    global _registered, _begun
    if _begun is None:
        _begun = time.monotonic()
    if not _registered:
        _registered = True
        atexit.register(say)


def _without_memory(torch, value, depth=0):
    if isinstance(value, torch.Tensor):
        return torch.empty_strided(value.shape, value.stride(), dtype=value.dtype, device="meta") \
            if type(value) in (torch.Tensor, torch.nn.Parameter) else torch.empty(value.shape, dtype=value.dtype, device="meta")
    if depth < DEPTH_MOST and type(value) in (list, tuple):
        return type(value)(_without_memory(torch, item, depth + 1) for item in value)
    if depth < DEPTH_MOST and type(value) is dict:
        return {key: _without_memory(torch, item, depth + 1) for key, item in value.items()}
    if isinstance(value, (bool, int, float, complex, str, type(None), torch.dtype, torch.device, torch.Size)):
        return value
    if isinstance(value, torch.Generator):
        return None  # what random numbers are drawn changes nothing
    raise _Unknown(type(value).__name__)


# ---- outlines: models that may be gone at the end ----

def _outline_of(torch, kind, module):
    known = _outlines.get(kind)
    if known is None and len(_outlines) < OUTLINES_MOST:
        known = _outlines[kind] = _outline(torch, module), Precision(torch, module)
    return known


def _outline(torch, module):
    try:
        return _skeleton(torch, module, {}, lambda value: _setting(torch, value))
    except Exception:
        return None


def _setting(torch, value, depth=0):
    """What a model's settings are made of, copied; _Unknown: something else, which may hold memory."""
    if isinstance(value, (bool, int, float, complex, str, type(None), torch.dtype, torch.device, torch.Size, type)):
        return value
    if isinstance(value, (types.FunctionType, types.BuiltinFunctionType)) and not getattr(value, "__closure__", None):
        return value
    if isinstance(value, torch.Tensor):
        return _weight(torch, value)
    if depth < DEPTH_MOST and type(value) in (list, tuple, set) and len(value) <= ITEMS_MOST:
        return type(value)(_setting(torch, item, depth + 1) for item in value)
    if depth < DEPTH_MOST and isinstance(value, dict) and len(value) <= ITEMS_MOST:
        settings = {key: _setting(torch, item, depth + 1) for key, item in value.items()}
        return settings if type(value) is dict else _filled(value, settings)
    if depth < DEPTH_MOST and hasattr(value, "__dict__") and not isinstance(value, (types.ModuleType, torch.nn.Module)):
        return _object(torch, value, depth)
    raise _Unknown(type(value).__name__)


def _filled(value, settings):
    """A dict of another kind: OrderedDict, a framework's own. Its attributes are its keys."""
    copy, kind = type(value).__new__(type(value)), collections.OrderedDict if isinstance(value, collections.OrderedDict) else dict
    for key, item in settings.items():
        kind.__setitem__(copy, key, item)  # one that is frozen has a __setitem__ of its own
    if hasattr(value, "__dict__"):
        vars(copy).update((key, item) for key, item in settings.items() if key in vars(value))
    return copy


def _object(torch, value, depth):
    """An attention processor, a configuration: by its own attributes."""
    copy = object.__new__(type(value))
    for name, item in vars(value).items():
        try:
            copy.__dict__[name] = _setting(torch, item, depth + 1)
        except _Unknown:
            continue  # who asks for it says so
    return copy


# ---- when the session ends ----

def say():
    """Counts what was seen and records it: what was called most often first, as long as there is time. Never raises."""
    if _off or not _shapes or not native.recording():
        return
    shapes, rest = sorted(_shapes.values(), key=lambda shape: -shape.calls), _rest
    most = _seconds or min(SECONDS_MOST, max(SECONDS_LEAST, SHARE * (time.monotonic() - _begun)))
    forget()
    try:
        begin_s, before = time.monotonic(), _highest_bytes()
        with own_section("counting FLOPs"), unseen(), stand_ins.InPlace() as instead:
            by_clock = _clock() + (_seconds or CLOCK_MOST * most)
            _load(sys.modules["torch"])
            until = _now() + most, by_clock
            for shape in shapes:
                _say_shape(shape, until, instead)
            if rest is not None:
                _record(rest, Counted(None, "there are more than %d shapes or %d kinds of models" % (SHAPES_MOST, kinds.KINDS_MOST)))
        native.event("strobe.own_memory", before_bytes=before, after_bytes=_highest_bytes(), duration_s=time.monotonic() - begin_s)
    except Exception:
        _faults.count("counting FLOPs")


def _highest_bytes():
    """Of the process's resident memory, until now."""
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) << 10 for line in status if line.startswith("VmHWM:"))


def _load(torch):
    """torch loads what it needs with the first tensor without memory."""
    try:
        _flops_of(torch, torch.nn.Linear(2, 2, device="meta"), (torch.empty(1, 2, device="meta"),), {}, (float("inf"), float("inf")))
    except Exception:
        pass  # each model says it


def _flops_of(torch, copy, args, kwargs, until, method="forward"):
    from torch.utils.flop_counter import FlopCounterMode
    computed = Computed(torch, copy)
    counter = FlopCounterMode(display=False, custom_mapping=computed.multiplied.own)

    def check():
        if _is_up(until):
            raise _NoTime

    with torch.no_grad(), computed.attention_mode(), operations.without_memory(torch, check, computed), counter, stand_ins.UnreadMasks() as masks:
        getattr(copy, method)(*args, **kwargs)
    computed.masks_known = not masks.asked
    computed.take_flops(counter.get_flop_counts().get("Global", {}))
    return float(counter.get_total_flops()), computed


def _is_up(until):
    return _now() > until[0] or _clock() > until[1]


Counted = collections.namedtuple("Counted", "flops why precision", defaults=(None, None))


def _say_shape(shape, until, instead):
    """Where the values that are tried come to the same, they do not matter; else each of them is counted."""
    counted = {values: _count(shape, values, until, instead) for values in shape.tried()}
    alike = None if len(set(counted.values())) > 1 else next(iter(counted.values()))
    for values, number in shape.numbers.items():
        _record(number, alike or counted.get(values) or _count(shape, values, until, instead), shape)
    if shape.others is not None:
        _record(shape.others, alike or Counted(None, "its operations depend on a number or word that took more than %d values" % VALUES_MOST), shape)


def _count(shape, values, until, instead):
    if _is_up(until):
        return Counted(None, "no time was left for it")
    torch = sys.modules["torch"]
    module = shape.kind.model()
    outline, precision = shape.outline or (None, None)
    if module is None and outline is None:
        return Counted(None, "the model was gone when the session ended")
    if module is not None and precision is None:
        precision = Precision(torch, module)
    if shape.reason:
        return Counted(None, shape.reason)
    try:
        copy = outline if module is None else _skeleton(torch, module, {}, _own_list)
        _set_up(copy, shape)
        flops, computed = _as_stored(torch, copy, shape, values, until)
    except _NoTime:
        return Counted(None, "no time was left for it")
    except Exception as error:
        if instead.give_way():
            return _count(shape, values, until, instead)
        words = why_not(error, shape.method)
        return Counted(None, words if module is not None else words + "; the model itself was gone when the session ended")
    if shape.method == "forward":
        computed.tell(shape.component)
    unknown = computed.multiplied.uncounted
    return Counted(None, "torch has no count for %s" % unknown) if unknown else Counted(flops, None, precision.of(computed))


def _as_stored(torch, copy, shape, values, until):
    """With weights in the type they are stored in; if it cannot multiply those (hooks convert them first), in bf16."""
    values = iter(values)
    args, kwargs = _with(torch, shape.args, values), _with(torch, shape.kwargs, values)
    try:
        return _flops_of(torch, copy, args, kwargs, until, shape.method)
    except _NoTime:
        raise
    except Exception:
        if not multiplied.widen(torch, copy):
            raise
    return _flops_of(torch, copy, args, kwargs, until, shape.method)


def _set_up(copy, shape):
    """As it was when it was called. Tiles are not blended: row by row it takes seconds, and no operation that counts."""
    copy.__dict__.update(shape.switches)
    for name in BLENDS:
        if shape.method != "forward" and hasattr(type(copy), name):
            copy.__dict__[name] = _second_tile


def _second_tile(_, tile, extent):
    return tile


BLENDS = "blend_v", "blend_h", "blend_t"
READS_VALUES = ("meta tensor", "meta device", "on meta", "data-dependent", "data-independent", "local_scalar_dense")  # in torch's words
OPERATION = re.compile(r"\w+::[\w.]+")  # aten::nonzero, torchvision::nms


def why_not(error, method="forward"):
    """Why a forward (a VAE's decode, encode) on shapes alone could not be counted, as a sentence."""
    text = str(error).split("\n")[0]
    lacking = OPERATION.search(text) if isinstance(error, NotImplementedError) else None
    if lacking:
        return "operations are counted on the shapes alone, and torch has none for %s" % lacking[0]
    if any(words in text for words in READS_VALUES):
        return "operations are counted on the shapes alone, and its %s reads values of tensors" % method
    return "its %s fails on the shapes alone (%s: %s)" % (method, type(error).__name__, text[:100])


def _record(number, counted, shape=None):
    about = {} if shape is None else {"model": shape.name, "device": shape.device}
    native.event("strobe.flops_shape", shape=number, **about, **counted._asdict())


def _own_list(value):
    """A VAE's decode fills lists of its model: of the live one they are left alone."""
    return value.copy() if type(value) in (list, dict, set) else value


def _skeleton(torch, module, made, setting):
    """The same module with the same settings, without weights, hooks and what others put in front of its forward.
    setting(value): what its copy has in place of an attribute; _Unknown: it has none."""
    if id(module) in made:
        return made[id(module)]
    copy = object.__new__(type(module))
    made[id(module)] = copy
    own = dict(module.__dict__)
    for name in list(own):
        if name.endswith("_hooks") or name.endswith("_hooks_with_kwargs") or name.endswith("_hooks_always_called"):
            own[name] = type(own[name])()
    for name in ("forward", "decode", "encode", "_old_forward", "_hf_hook", "_diffusers_hook", "_compiled_call_impl"):
        own.pop(name, None)
    own["_compiled_call_impl"] = None
    for group in ("_parameters", "_buffers"):
        own[group] = {name: _weight(torch, tensor) for name, tensor in module.__dict__[group].items()}
    own["_modules"] = {name: child if child is None else _skeleton(torch, child, made, setting)
                       for name, child in module.__dict__["_modules"].items()}
    for name, value in own.items():
        if isinstance(value, torch.Tensor):
            own[name] = _weight(torch, value)
        elif name not in ("_parameters", "_buffers", "_modules"):
            try:
                own[name] = setting(value)
            except _Unknown:
                continue  # the forward that asks for it says so
        copy.__dict__[name] = own[name]
    return copy


def _weight(torch, tensor):
    if tensor is None:
        return None
    shape, dtype = multiplied.stored_as(torch, tensor)
    meta = torch.empty(shape, dtype=dtype, device="meta")
    return torch.nn.Parameter(meta, requires_grad=False) if isinstance(tensor, torch.nn.Parameter) else meta


class Precision:
    """What a model multiplies in: as its forward does on the shapes, but for what only the program's switches tell."""

    def __init__(self, torch, module):
        self.dynamic = multiplied.dynamic_type(module)
        self.autocast = multiplied.autocast_type(torch)
        self.tf32, self.convolves_in_tf32 = multiplied.tf32_switches(torch)

    def of(self, computed):
        most = computed.multiplied.most()
        if most is not None and self.dynamic:
            return self.dynamic
        if most != "fp32":
            return most
        if self.autocast:
            return self.autocast
        return "tf32" if (self.convolves_in_tf32 if computed.convolves() else self.tf32) else "fp32"
