"""How many floating-point operations a model's call takes. Of every shape a model is called with, the first call leaves
its arguments' shapes; when the session ends, the model's forward (or a VAE's decode or encode) runs once on tensors without
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

from .. import _faults
from .._native import native, own_section
from . import components, copies, kinds, multiplied, operations, quiet, stand_ins
from .computed import Computed
from .copies import Unknown

SHAPES_MOST = 256      # of all models
VALUES_MOST = 8        # whole numbers and words that a shape is called with, each counted by itself; the others share a number
SECONDS_LEAST = 2.0    # of CPU time that counting may take at the end, when what torch needs for it is loaded
SECONDS_MOST = 5.0     # however long the session was
SHARE = 0.02           # of the session
CLOCK_MOST = 2         # times as much by the clock, loading included: a busy machine gives a program little CPU time, and its end waits
DEPTH_MOST = 4         # of lists and dicts in arguments
OUTLINES_MOST = 16     # models, by their outlines
OF_TORCH = "training", "_is_full_backward_hook"  # attributes of every module

_now = time.thread_time
_clock = time.monotonic
_begun = None          # when the first model was called

_shapes = {}           # (kind of the model, what it is called, its method and switches, its autocast, its state, signature) -> Shape
_numbers = itertools.count(1)
_rest = None           # number of the calls that have no shape, as there are too many
_outlines = {}         # kind of a model -> (its outline, the type its inputs are quantised to)
_registered = False
_said = False          # in this session; calls go on in other threads, and keep the numbers of their shapes
_asked = os.environ.get("STROBE_FLOPS", "")
_seconds = float(_asked) if _asked.isdigit() else None  # that counting may take, by the clock; 0: it is off
_off = _seconds == 0
unseen = contextlib.nullcontext  # around the calls of the copies; strobe.auto, which records calls of models, puts its own here


class Shape:
    """Calls of a model that are alike but for whole numbers and words among their arguments and the model's own attributes. Those may decide what
    is computed (a number of frames) or not (a timestep): when the session ends, a few of them are tried."""

    def __init__(self, torch, module, kind, component, method, switches, autocast, state, args, kwargs):
        self.calls, self.kind, self.state = 0, kind, state
        self.device = "cpu" if _is_on_cpu(torch, module, args, kwargs) else None
        tf32 = multiplied.tf32_switches(torch) if self.device is None else (False, False)  # a CPU has none
        self.precision = multiplied.Switches(autocast or multiplied.autocast_around(torch, module), *tf32)
        self.numbers = {}        # of the first ones: values -> number
        self.others = None       # number of all others
        self.least = self.most = None  # values that were seen
        self.method, self.switches = method, switches
        self.outline = _outline_of(torch, kind, module)
        self.name, self.component = type(module).__name__, component
        self.args, self.kwargs, self.reason = (), {}, None
        try:
            self.args, self.kwargs = _without_memory(torch, args), _without_memory(torch, kwargs)
        except Unknown as unknown:
            self.reason = "an argument is a %s" % unknown

    def number_of(self, values):
        """The number of a call with them."""
        self.calls += 1
        if values in self.numbers:
            return self.numbers[values]
        self.least, self.most = min(values, self.least or values), max(values, self.most or values)
        if len(self.numbers) < VALUES_MOST:
            return self.numbers.setdefault(values, next(_numbers))
        self.others = self.others or next(_numbers)
        return self.others

    def tried(self):
        """The values whose operations tell whether any of them matters."""
        return list(dict.fromkeys([*list(self.numbers)[:2], self.least, self.most]))


def _is_on_cpu(torch, module, args, kwargs):
    """Its weights and what it is given are there, and no hook of an offload moves them in the call."""
    if hasattr(module, "_hf_hook") or any(name.endswith("group_offloading") for part in module.modules() for name in _hooks(part)):
        return False
    given = [value for value in (*args, *kwargs.values()) if isinstance(value, torch.Tensor)]
    weights = next(iter(module.parameters()), None)
    held = given if weights is None else [*given, weights]
    return bool(held) and all(tensor.device.type == "cpu" for tensor in held)


def _hooks(part):
    """The names of diffusers' hooks. A pipeline that only names its calls (cache_context) leaves a registry without any."""
    return getattr(getattr(part, "_diffusers_hook", None), "hooks", ())


class _NoTime(Exception):
    """The time for counting is up."""


def forget():
    """A new session, or a forked child."""
    global _begun, _numbers, _rest, _said
    _begun, _rest, _said = None, None, False
    _numbers = itertools.count(1)
    _shapes.clear()
    _outlines.clear()
    kinds.forget()


os.register_at_fork(after_in_child=forget)


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


def _state(module):
    """What a program sets on a model between its calls, or the model counts."""
    return [(name, value) for name, value in vars(module).items() if type(value) in (int, bool, str) and name not in OF_TORCH]


def note(module, args, kwargs, method="forward"):
    """The number of the shape that a model is called with; None: nothing is counted. Models of one kind share it."""
    if _off:
        return None
    component, module = components.name(module), components.inside(module)
    torch = sys.modules["torch"]
    kind = kinds.kind_of(module)
    if kind is None:
        return _number_of_rest()
    switches, state = ((), _state(module)) if method == "forward" else (_switches(module), ())
    values, autocast = [], multiplied.autocast_type(torch)
    names = tuple([(name, type(value)) for name, value in state])
    key = (kind, component, method, switches, autocast, names, _signature(torch, args, values), _signature(torch, kwargs, values))
    values += [value for _, value in state]
    known = _shapes.get(key)
    if known is None:
        if len(_shapes) >= SHAPES_MOST:
            return _number_of_rest()
        _before_torch_ends()
        known = _shapes.setdefault(key, Shape(torch, module, kind, component, method, switches, autocast, [name for name, _ in names], args, kwargs))
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
    raise Unknown(type(value).__name__)


def _outline_of(torch, kind, module):
    known = _outlines.get(kind)
    if known is None and len(_outlines) < OUTLINES_MOST:
        known = _outlines[kind] = copies.outline(torch, module), multiplied.dynamic_type(module)
    return known


# ---- when the session ends ----

def say():
    """Counts what was seen and records it: what was called most often first, as long as there is time. Never raises."""
    global _said
    if _off or _said or not _shapes or not native.recording():
        return
    _said = True
    shapes, rest = sorted(_shapes.values(), key=lambda shape: -shape.calls), _rest
    most = _seconds or min(SECONDS_MOST, max(SECONDS_LEAST, SHARE * (time.monotonic() - _begun)))
    try:
        begin_s, before = time.monotonic(), _highest_bytes()
        with own_section("counting FLOPs"), unseen(), stand_ins.InPlace() as instead, quiet.Quiet(stand_ins.is_alone()):
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


def _flops_of(torch, copy, args, kwargs, until, method="forward", autocast=None):
    computed = Computed(torch, copy)

    def check():
        if _is_up(until):
            raise _NoTime

    with torch.no_grad(), computed.function_mode(autocast), operations.without_memory(torch, check, computed), quiet.Unrecorded(), \
            stand_ins.NoAutocast(torch), stand_ins.UnreadMasks() as masks:
        getattr(copy, method)(*args, **kwargs)
    computed.masks_known = not masks.asked
    return float(computed.multiplied.total()), computed


def _is_up(until):
    return _now() > until[0] or _clock() > until[1]


Counted = collections.namedtuple("Counted", "flops why precision", defaults=(None, None))


def _say_shape(shape, until, instead):
    """Where the values that are tried come to the same, they do not matter; else each of them is counted."""
    counted = {values: _count(shape, values, until, instead) for values in shape.tried()}
    alike = None if len(set(counted.values())) > 1 else next(iter(counted.values()))
    for values, number in list(shape.numbers.items()):  # other threads go on
        _record(number, alike or counted.get(values) or _count(shape, values, until, instead), shape)
    if shape.others is not None:
        _record(shape.others, alike or Counted(None, "its operations depend on a number or word that took more than %d values" % VALUES_MOST), shape)


def _count(shape, values, until, instead):
    if _is_up(until):
        return Counted(None, "no time was left for it")
    torch = sys.modules["torch"]
    module = shape.kind.model()
    outline, dynamic = shape.outline or (None, None)
    if module is None and outline is None:
        return Counted(None, "the model was gone when the session ended")
    if module is not None and shape.outline is None:
        dynamic = multiplied.dynamic_type(module)
    if shape.reason:
        return Counted(None, shape.reason)
    try:
        copy = copies.of(torch, outline if module is None else module)
        _set_up(copy, shape)
        flops, computed = _as_stored(torch, copy, shape, values, until)
    except _NoTime:
        return Counted(None, "no time was left for it")
    except Exception as error:
        if _may_be_theirs(error) and instead.give_way():
            return _count(shape, values, until, instead)
        words = why_not(error, shape.method)
        return Counted(None, words if module is not None else words + "; the model itself was gone when the session ended")
    if shape.method == "forward":
        computed.tell(shape.component)
    unknown = computed.multiplied.uncounted
    return Counted(None, "torch has no count for %s" % unknown) if unknown else Counted(flops, None, shape.precision.of(computed, dynamic))


def _as_stored(torch, copy, shape, values, until):
    """With weights in the type they are stored in; if it cannot multiply those (hooks convert them first), in bf16. Where casting fails it is left
    out: what autocast does inside of an LSTM or a MultiheadAttention is not done here, and the operations are the same."""
    values = iter(values)
    args, kwargs = _with(torch, shape.args, values), _with(torch, shape.kwargs, values)
    copy.__dict__.update(zip(shape.state, values))
    how, failed = (copy, args, kwargs, until, shape.method), None
    for autocast in (shape.precision.autocast, False):
        try:
            return _flops_of(torch, *how, autocast)
        except _NoTime:
            raise
        except Exception as error:
            failed = failed or error
            if not _may_be_theirs(error):
                break
    if not multiplied.widen(torch, copy):
        raise failed
    return _flops_of(torch, *how, shape.precision.autocast)


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


def _may_be_theirs(error):
    """The stand-ins' fault, not the model's: what torch would have loaded takes seconds to load."""
    return not isinstance(error, (copies.Refused, NotImplementedError)) and not any(words in str(error) for words in READS_VALUES)


def why_not(error, method="forward"):
    """Why a forward (a VAE's decode, encode) on shapes alone could not be counted, as a sentence."""
    text = str(error).split("\n")[0]
    if isinstance(error, copies.Refused):
        return text
    lacking = OPERATION.search(text) if isinstance(error, NotImplementedError) else None
    if lacking:
        return "operations are counted on the shapes alone, and torch has none for %s" % lacking[0]
    if any(words in text for words in READS_VALUES):
        return "operations are counted on the shapes alone, and its %s reads values of tensors" % method
    return "its %s fails on the shapes alone (%s: %s)" % (method, type(error).__name__, text[:100])


def _record(number, counted, shape=None):
    about = {} if shape is None else {"model": shape.name, "device": shape.device}
    native.event("strobe.flops_shape", shape=number, **about, **counted._asdict())
