"""The words in which every framework is recorded: generation, step, forward, stage,
load, offload, frames; and what a thread is doing for a framework. Activities nest (a
pipeline inside a node, generate() inside a pipeline): the innermost is asked."""
import contextlib
import os
import threading
import time

from .. import _failed, _record, _sampling
from .._memory import growth
from . import first_calls
from .phases import Phases, beside
from .._native import (ROLE_COLLECTIVE, ROLE_FORWARD, ROLE_GENERATION, ROLE_LOAD, ROLE_OFFLOAD, ROLE_STEP,
                       native, section)


class Here(threading.local):
    """What the calling thread is in the middle of."""
    module_depth = 0     # calls of torch modules, and of whatever hides them
    activity = None      # the innermost Activity
    denoising = None     # the pipeline call whose step is open
    preparing = False    # inputs, in a processor
    prepared_frames = 0  # by the processor that ran last
    coding = False       # frames of a video
    batch = None         # of a data loader, asked for
    loaded_bytes = 0     # by the loads inside the one that is open
    frames_counted = 0   # since the thread began
    turn_began_s = None  # of a training loop, by the monotonic clock
    backward_count = 0   # passes in that turn
    end_step = None      # ends an optimizer's step that is open, unless the caller is in it


here = Here()


class Activity(Phases):
    """Something a framework does that has parts: a pipeline call, generate(), a node."""

    def forward(self, name, module, call, args, kwargs):
        """Records a top-level module's call. name is the framework's word for the module, or its class."""
        with stage(name):
            return call(module, *args, **kwargs)


@contextlib.contextmanager
def doing(activity):
    """The activity is the thread's innermost inside the block; modules called there are top-level again."""
    outer, depth = here.activity, here.module_depth
    here.activity, here.module_depth = activity, 0
    try:
        yield activity
    finally:
        here.activity, here.module_depth = outer, depth


class Hiding:
    def __enter__(self):
        here.module_depth += 1

    def __exit__(self, *error):
        here.module_depth -= 1


_hiding = Hiding()


def hiding_modules():
    """What is called inside is no forward of a model: a constructor, a dataset."""
    return _hiding


def zone(name, role=None, **attributes):
    """A section with a role. Attributes that are None are left out."""
    if role is not None:
        attributes["strobe.role"] = role
    return section(name, **attributes) if attributes else section(name)


def stage(name, **facts):
    if first_calls.wants(name):
        return beside(here.activity, first_calls.Traced(name, zone(name, **facts)))
    return beside(here.activity, zone(name, **facts))


def generation(name, **facts):
    """One video, one prompt, one request; inside another activity it is a stage of that one's."""
    if here.activity is not None:
        return beside(here.activity, zone(name, **facts))
    return Generation(zone(name, ROLE_GENERATION, **facts))


class Generation:
    """A zone after which the memory that is left is looked at."""

    def __init__(self, inner):
        self.inner = inner

    def __enter__(self):
        if here.end_step is not None:
            here.end_step()
        _sampling.generation_begins()
        return self.inner.__enter__()

    def __exit__(self, kind, error, trace):
        if kind is not None:
            _failed.tell(error, trace)
        result = self.inner.__exit__(kind, error, trace)
        if here.turn_began_s is not None:
            here.turn_began_s = time.monotonic()  # a video that a training loop makes to look at is in no turn
        growth.after_generation()
        return result


def step(name, index, **facts):
    """One step; None where the settings leave steps out. A trace of so many steps counts it all the same."""
    if not native.role_recorded(ROLE_STEP):
        native.step_left_out()
        return None
    return zone(name, ROLE_STEP, step=index, **facts)


def forward(name):
    """One model call inside a step."""
    return zone(name, ROLE_FORWARD)


@contextlib.contextmanager
def load(name, size_of):
    """Weights are loaded. size_of(): its own bytes, asked at the end; what was loaded inside is added."""
    outer, here.loaded_bytes = here.loaded_bytes, 0
    with beside(here.activity, zone(name, ROLE_LOAD)):
        try:
            yield
            size = size_of() or here.loaded_bytes
            if size:
                native.attrs(bytes=size)
            outer += size
        finally:
            here.loaded_bytes = outer


def offload(name, size, facts):
    """Weights move between devices. facts: from, to, dtype."""
    return beside(here.activity, zone("offload:" + name, ROLE_OFFLOAD, bytes=size, **facts))


def collective(name, facts):
    """Waiting for other ranks; facts: which collective of theirs it is."""
    return zone(name, ROLE_COLLECTIVE, **facts)


_outputs = set()  # paths that were named, so that a frame's writer asks once
OUTPUTS_MOST = 1000


def forget():
    """A new session."""
    _outputs.clear()


def output(path):
    """A result is written there; the same path counts once."""
    path = os.fsdecode(os.fspath(path))
    if native.recording() and path not in _outputs and len(_outputs) < OUTPUTS_MOST:
        _outputs.add(path)
        _record.output(path)


def frames(count, **facts):
    """Output frames, counted once, where they leave the generation; facts go to the innermost zone."""
    here.frames_counted += count
    native.frames(count)
    native.attrs(frames=count, **facts)


facts = native.attrs  # of the innermost zone
