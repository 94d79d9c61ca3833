"""Training loops: each backward pass and each step of an optimizer is a stage, each turn of the loop an iteration. A turn
ends with the optimizer's step and begins where the last one ended; what lies between (data, forwards, several backward
passes) is in it."""
import sys
import threading
import time

from .._native import ROLE_ITERATION, native
from . import wrapping
from .vocabulary import here, hiding_modules, stage
from .wrapping import guard, wrap

TURN = "training_step"


class Optimizing(threading.local):
    """The optimizer's step that the calling thread is in."""
    zone = None     # None: in none
    frame_id = 0    # of torch's own function around the step
    code = None     # that function's: Python reuses the id of a frame that is gone
    going_back = False  # in a backward pass that this thread has begun


_optimizing = Optimizing()
_graph_task = None  # of the calling thread; negative: no backward pass


def watch(torch):
    """Once, when torch is there."""
    global _graph_task
    _graph_task = getattr(torch._C, "_current_graph_task_id", None)
    wrap(torch.autograd, "backward", _going_back)  # Tensor.backward() calls it too
    wrap(torch.autograd, "grad", _going_back)


def watch_optimizers(module):
    """Of every optimizer that is made from torch's own class. torch before 2.0 has no such hooks."""
    before = getattr(module, "register_optimizer_step_pre_hook", None)
    after = getattr(module, "register_optimizer_step_post_hook", None)
    if before is not None and after is not None:
        before(_step_begins)
        after(_step_ends)


def in_backward():
    """Whether a backward pass called the running code: a checkpoint's second forward, a hook of a gradient."""
    return _graph_task is not None and _graph_task() >= 0


def first_call(module):
    """A model is called for the first time: where it is one to be trained, the first turn begins here at the latest."""
    if here.turn_began_s is None and module.training and sys.modules["torch"].is_grad_enabled():
        here.turn_began_s = time.monotonic()


def _going_back(original):
    def backward(*args, **kwargs):
        if wrapping.compiling() or _optimizing.going_back or in_backward():  # torch calls it again for a mode
            return original(*args, **kwargs)
        guard(_begin_backward, sys._getframe(1))
        _optimizing.going_back = True
        try:
            with stage("backward"), hiding_modules():
                return original(*args, **kwargs)
        finally:
            _optimizing.going_back = False
    return backward


def _begin_backward(frame):
    _settle(frame)
    if here.turn_began_s is None:
        here.turn_began_s = time.monotonic()
    here.backward_count += 1


# ---- the optimizer's step: torch calls these two before and after it ----

def _step_begins(optimizer, args, kwargs):
    if not wrapping.compiling() and not in_backward():
        guard(_begin, sys._getframe(1))


def _step_ends(optimizer, args, kwargs):
    if not wrapping.compiling() and _optimizing.zone is not None and _optimizing.frame_id == id(sys._getframe(1)):
        guard(_end)


def _begin(frame):
    if _settle(frame.f_back):
        return  # a class of the program's calls the step of the one it is made from
    zone = stage("optimizer")
    zone.__enter__()
    _optimizing.zone, _optimizing.frame_id, _optimizing.code = zone, id(frame), frame.f_code
    here.end_step = _end_raised


def _end_raised():
    """A generation begins, or a model is called: a step that is still open may have raised."""
    guard(_settle, sys._getframe(1))


def _settle(frame):
    """Whether the frame is inside an optimizer's step. One that raised is ended: torch does not say when."""
    if _optimizing.zone is None:
        return False
    while frame is not None and not (id(frame) == _optimizing.frame_id and frame.f_code is _optimizing.code):
        frame = frame.f_back
    if frame is None:
        _leave()
    return frame is not None


def _leave():
    zone, _optimizing.zone = _optimizing.zone, None
    here.end_step = None
    zone.__exit__(None, None, None)


def _end():
    _leave()
    now_s = time.monotonic()
    if here.turn_began_s is None:
        here.turn_began_s = now_s
    elif here.backward_count:  # a second optimizer's step, after the same backward pass, is in the next turn
        native.duration(TURN, now_s - here.turn_began_s, {"strobe.role": ROLE_ITERATION, "backward_passes": here.backward_count})
        here.turn_began_s, here.backward_count = now_s, 0
