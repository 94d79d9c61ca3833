"""The recording calls that have keywords and defaults in Python."""
import math
import os
import sys

from . import _failed, _faults, _sampling
from ._memory import held
from ._core import ROLE_BLOCK, ROLE_GENERATION, ROLE_ITERATION, ROLE_STEP, native

_NAN = math.nan
_CACHE_KINDS = {"hit": 1, "hits": 1, "miss": 2, "misses": 2, "evict": 3, "eviction": 3, "evictions": 3}


def steps(timesteps, name="denoise", *, block_size=None, guidance_scale=None, start=0, gpu=None, **attributes):
    """Each turn of the loop is one diffusion step: for t in strobe.steps(timesteps): ...; timesteps may be a count."""
    if isinstance(timesteps, int):
        timesteps = range(timesteps)
    return native.loop(timesteps, ROLE_STEP, name, start, block_size, guidance_scale, gpu, attributes)


def iterations(items, name="iteration", *, start=0, gpu=None, **attributes):
    """Each turn of the loop is one iteration; items may be a count."""
    if isinstance(items, int):
        items = range(items)
    return native.loop(items, ROLE_ITERATION, name, start, None, None, gpu, attributes)


def blocks(items, name="block", *, frames=None, start=0, gpu=None, **attributes):
    """Each turn of the loop is one block of an autoregressive video; frames is its size."""
    if isinstance(items, int):
        items = range(items)
    return native.loop(items, ROLE_BLOCK, name, start, frames, None, gpu, attributes)


class generation:
    """One video, one prompt, one request: with strobe.generation(frames=81, width=832, height=480)."""
    _growth = None

    def __init__(self, name="generation", *, frames=None, width=None, height=None, **attributes):
        known = {"strobe.role": ROLE_GENERATION, "frames": frames, "width": width, "height": height}
        self._zone = native.section(name, **known, **attributes)

    def __enter__(self):
        self._growth = _load_growth()  # here: nothing is loaded while an exception of the program is on its way
        _sampling.generation_begins()
        self._zone.__enter__()
        return self

    def __exit__(self, kind, error, trace):
        if kind is not None:
            _failed.tell(error, trace)
        result = self._zone.__exit__(kind, error, trace)
        if self._growth is not None:
            self._growth.after_generation()
        return result

    def set(self, **attributes):
        """Adds facts that are known only later: the prompt, the number of frames."""
        self._zone.set(**attributes)


def _load_growth():
    """The module, which `import strobe` does not load; None: it could not be loaded."""
    try:
        from ._memory import growth
        return growth
    except Exception:
        _faults.count("looking at the memory after a generation")
        return None


def step_record(step, *, seconds, timestep=_NAN, block_size=0, guidance_scale=None, name="denoise"):
    """A step whose duration the caller has measured."""
    scale = _NAN if guidance_scale is None else float(guidance_scale)
    native.step_record(name, int(step), float(timestep), int(block_size), scale, float(seconds))


def block_record(index, *, frames, seconds, memory_bytes=-1, name="block"):
    """A block whose duration the caller has measured."""
    native.block_record(name, int(index), int(frames), float(seconds), int(memory_bytes))


def duration(name, seconds, **attributes):
    """A duration the caller has measured, ending now."""
    native.duration(name, float(seconds), attributes)


def snapshot(label, device=None):
    """Memory at this moment: the allocator's on a CUDA device in use, else the process's."""
    if not native.recording():
        return
    found = _cuda_memory(device)
    native.snapshot(label, *(found if found else _host_memory()))


def _cuda_memory(device):
    torch = sys.modules.get("torch")
    try:
        if torch is None or not torch.cuda.is_initialized():
            return None
        index = torch.cuda.current_device() if device is None else torch.device(device).index or 0
        return (index, torch.cuda.memory_allocated(index), torch.cuda.memory_reserved(index),
                torch.cuda.max_memory_allocated(index))
    except Exception:
        return None


def _host_memory():
    values = {}
    try:
        with open("/proc/self/status") as status:
            for line in status:
                key, _, rest = line.partition(":")
                if key in ("VmRSS", "VmHWM"):
                    values[key] = int(rest.split()[0]) * 1024
    except (OSError, ValueError):
        pass
    return -1, values.get("VmRSS", -1), -1, values.get("VmHWM", -1)


def output(path, *, width=0, height=0, pixel_format=""):
    """The program writes a result there: a video, a picture, a folder of pictures. `strobe diff` compares it with
    another run's. Raw samples need their size and pixel_format ("rgb24", "yuv420p", ...). Returns path."""
    name = os.fsdecode(os.fspath(path))
    if native.recording() and "\0" not in name:
        native.output(name.encode("utf-8", "replace").decode(), int(width), int(height), pixel_format)
    return path


def alloc(size_bytes, allocator="default", context=None):
    """An allocation that strobe cannot see by itself."""
    native.memory(allocator, abs(int(size_bytes)), context)


def free(size_bytes, allocator="default", context=None):
    """What alloc() reported, given back."""
    native.memory(allocator, -abs(int(size_bytes)), context)


def counter(name, delta=1):
    """Adds to a counter."""
    native.counter_add(name, int(delta))


def gauge(name, value):
    """Sets a value that goes up and down: a queue's length, a buffer's fill."""
    native.counter_set(name, float(value))


def cache(name, kind, count=1, *, size_bytes=None, score=None, threshold=None, frame=None, chunk=None):
    """A cache was asked: kind is "hit", "miss" or "evict"."""
    if kind not in _CACHE_KINDS:
        raise ValueError('a cache event is a "hit", a "miss" or an "evict", not %r' % (kind,))
    native.cache_event(name, _CACHE_KINDS[kind], int(count), -1 if size_bytes is None else int(size_bytes),
                       *(_NAN if value is None else float(value) for value in (score, threshold, frame)),
                       -1 if chunk is None else int(chunk))


def streaming(frames, *, encode_ms=None, network_ms=None, buffer_ratio=None):
    """A batch of frames has been sent; buffer_ratio is the buffer's occupancy, 0 to 1."""
    native.stream_batch(int(frames), *(_NAN if value is None else float(value)
                                       for value in (encode_ms, network_ms, buffer_ratio)))


def model(name, parameters=None, type="", size_bytes=None):
    """A model in use. Give the torch module, or its parameter count."""
    if hasattr(parameters, "parameters"):
        tensors = list(parameters.parameters())
        type = type or parameters.__class__.__name__
        size_bytes = sum(map(held.size_bytes, tensors)) if size_bytes is None else size_bytes
        parameters = sum(t.numel() for t in tensors)
    native.model(name, int(parameters or 0), type, -1 if size_bytes is None else int(size_bytes))


def skip(name, reason="", *, code=None):
    """A stage that was not run, and why."""
    native.skip(name, code, reason)


