"""A torch program's top-level modules as zones. A module is top-level when it is
called while no other one is being called. Such classes are found when the program
moves or loads a model, and by its first calls, which go through nn.Module itself;
from then on only the found classes are wrapped: what is inside them costs nothing."""
import os

from .._models import components, flops
from .._memory import caches, growth, residency
from .._native import native
from . import asked, training, wrapping
from .vocabulary import here, hiding_modules, stage
from .wrapping import MARK, guard, transparent

SETTLED = 32  # top-level calls without a new class, after which nn.Module is left alone again

_nn_module = None
_original_call = None
_calm = 0
_known_calls = 0  # of frameworks that are open, in all threads
around_call = None  # (call, name) -> call, while allocations are recorded with their stacks
_called = set()  # ids of models of no framework that have told what they were asked to be
CALLED_MOST = 1000
UNSTEPPED = 3        # calls of one model before any step: the program has a loop of its own
UNSTEPPED_MOST = 64  # calls of all models after which no more are counted

_unstepped = {}      # model's name -> its calls while no step had been seen
_stepping = None     # the model whose calls a trace of steps counts


def watch(nn_module):
    """Once, when torch is there."""
    global _nn_module, _original_call
    _nn_module = nn_module
    flops.unseen = hiding_modules
    _original_call = nn_module.__call__
    _look_for_modules()
    for name in ("eval", "load_state_dict"):
        wrapping.wrap(nn_module, name, _noticing)
    wrapping.wrap(nn_module, "__init__", _constructing)


def notice(module):
    """A model that is moved or loaded will be called: its class is known from here on."""
    if not here.module_depth:
        guard(_found, type(module))


def _noticing(original):
    def method(self, *args, **kwargs):
        if not wrapping.compiling():
            notice(self)
        return original(self, *args, **kwargs)
    return method


def _constructing(original):
    """A new model may be of a new class: look again."""
    def __init__(self, *args, **kwargs):
        if not wrapping.compiling() and not here.module_depth:
            _look_for_modules()
        return original(self, *args, **kwargs)
    return __init__


def _look_for_modules():
    global _calm
    _calm = 0
    if _nn_module.__call__ is _original_call and not _known_calls:
        _nn_module.__call__ = _discovering_call


def _leave_alone():
    if _nn_module.__call__ is _discovering_call:
        _nn_module.__call__ = _original_call


class Known:
    """Inside it a framework calls what it has called before: no new class is looked for, and what is inside a model costs
    nothing."""

    def __enter__(self):
        global _known_calls
        _known_calls += 1
        _leave_alone()

    def __exit__(self, *error):
        global _known_calls
        _known_calls -= 1
        if not _known_calls and _calm < SETTLED and _nn_module.__call__ is _original_call:
            _nn_module.__call__ = _discovering_call


@transparent
def _discovering_call(self, *args, **kwargs):
    if wrapping.compiling() or here.module_depth or training.in_backward():
        return _original_call(self, *args, **kwargs)
    guard(_found, type(self))
    return _record_call(_original_call, self, args, kwargs)


def _is_a_part(cls):
    """nn.Linear and the like: almost always inside another module, so not worth a wrapper."""
    return cls.__module__.startswith("torch.nn.modules.") and not cls.__module__.endswith(".container")


def _found(cls):
    """A class with top-level instances: wrapped itself, by a __call__ of its own."""
    global _calm
    call = vars(cls).get("__call__", _original_call)
    if cls is _nn_module or hasattr(call, MARK) or _is_a_part(cls):
        return
    _calm = 0

    def __call__(self, *args, **kwargs):
        if wrapping.compiling() or here.module_depth:
            return call(self, *args, **kwargs)
        return _record_call(call, self, args, kwargs)
    setattr(__call__, MARK, call)
    cls.__call__ = transparent(__call__)


def _record_call(call, module, args, kwargs):
    global _calm
    if training.in_backward():  # a checkpoint's second forward, on a thread of torch's own
        return call(module, *args, **kwargs)
    _calm += 1
    if _calm == SETTLED:
        _leave_alone()
    here.module_depth += 1
    shape = guard(flops.note, module, args, kwargs)
    if shape is not None:
        call = _noting(call, shape)
    name = guard(components.name, module) or type(module).__name__
    if "past_key_values" in kwargs:
        guard(caches.note, kwargs["past_key_values"], "KV cache of " + name)
    if id(module) not in _called:
        guard(_tell_first, name, module)
    if around_call is not None:
        call = around_call(call, name)
    try:
        if here.activity is not None:
            return here.activity.forward(name, module, call, args, kwargs)
        if here.end_step is not None:
            here.end_step()
        guard(_pass_step, name)
        with stage(name):
            return call(module, *args, **kwargs)
    finally:
        here.module_depth -= 1
        if here.activity is None:
            residency.after_call()


def _pass_step(name):
    """--gpu-trace=steps:N in a loop that marks no steps: calls of the first model that is called again and again are counted for
    it. Where generations are marked steps may come, however many calls are before them; a trace that they have begun is left
    alone, and once a step is marked in this session no call counts as one."""
    global _stepping
    if native.steps_marked():
        return
    if name == _stepping:
        native.step_passes()
    elif _stepping is None and not residency.has_generations() and sum(_unstepped.values()) < UNSTEPPED_MOST and not native.gpu_trace_steps_state():
        _unstepped[name] = _unstepped.get(name, 0) + 1
        if _unstepped[name] == UNSTEPPED:
            _stepping = name
            native.step_passes()


def forget():
    """A new session, or a forked child."""
    global _stepping
    _stepping = None
    _unstepped.clear()
    _called.clear()


os.register_at_fork(after_in_child=forget)


def _tell_first(name, module):
    """Records what was asked of a module at its first call. For the modules of a framework its pipeline does this."""
    if len(_called) >= CALLED_MOST:
        return
    if not _called:
        growth.first_call()
    residency.first_call(module)
    _called.add(id(module))
    training.first_call(module)
    if not components.has_name(module) and not _is_a_part(type(module)):
        asked.tell_versions()
        asked.tell_model(name, module, called=True)


def name_in_frame(frame):
    """The model that is called in a frame of this file; None: it calls none."""
    return frame.f_locals.get("name") if frame.f_code is _record_call.__code__ else None


def _noting(call, shape):
    """The call, after it has told the zone around it which shape it has."""
    def noted(*args, **kwargs):
        native.attrs(flops_shape=shape)
        return call(*args, **kwargs)
    return noted


def watch_calls(module, make):
    """Wraps the calls of a module's class, top-level or not: make(original) as in wrap()."""
    if module is None or _original_call is None:
        return
    cls = type(module)
    if "__call__" in vars(cls):
        wrapping.wrap(cls, "__call__", make)
        return
    call = make(_original_call)
    setattr(call, MARK, _original_call)
    cls.__call__ = transparent(call)
