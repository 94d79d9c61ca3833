"""The extension (_native), told what of the package it asks back: plain values, the
running task's track, torch's streams."""
from . import _native, _torch, _tracks, _values
from ._native import *  # noqa: F401,F403
from ._native import (ROLE_BLOCK, ROLE_COLLECTIVE, ROLE_COMPILE, ROLE_FORWARD, ROLE_GENERATION, ROLE_IMPORT,  # noqa: F401
                      ROLE_ITERATION, ROLE_LAYER, ROLE_LOAD, ROLE_OFFLOAD, ROLE_STAGE, ROLE_STEP, ROLE_WARMUP, native)

if _native.loaded:
    native.install(_values.plain, _tracks.track_of)
    _torch.watch()
