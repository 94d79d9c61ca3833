"""What strobe needs from torch, taken only when the program itself has imported
torch and initialised CUDA: the current stream's address, and dynamo's promise
to leave sections alone."""
import os
import sys

from . import _faults
from ._imports import when_imported


def watch():
    when_imported("torch._dynamo", _on_dynamo)
    when_imported("torch", _load_what_errors_need)
    if os.environ.get("STROBE_GPU_ZONES", "1") != "0":
        when_imported("torch", _on_torch)
    else:
        from ._native import native
        native.stream_install(None, None)


def _on_dynamo(module):
    from . import _dynamo  # only where something is compiled
    _dynamo.on_dynamo(module)


def _load_what_errors_need(torch):
    # now: an exception of the program may be on its way when they are needed
    from ._memory import holders, out_of_memory  # noqa: F401


def _on_torch(torch):
    lazy_call = getattr(getattr(torch, "cuda", None), "_lazy_call", None)
    raw_stream = getattr(torch._C, "_cuda_getCurrentRawStream", None)
    if lazy_call is None or raw_stream is None or not _has_cuda(torch):
        return
    # Runs now if CUDA is initialised, else when the program initialises it.
    lazy_call(lambda: _on_cuda(torch, raw_stream))


def _has_cuda(torch):
    return getattr(getattr(torch, "version", None), "cuda", None) is not None


def _on_cuda(torch, raw_stream):
    try:
        from ._native import native
        several = getattr(torch._C, "_cuda_getDeviceCount", torch.cuda.device_count)() > 1
        native.stream_install(raw_stream, torch._C._cuda_getDevice if several else None)
        _yield_to_profiler(torch.autograd.profiler, native)
        from ._memory import growth, history, out_of_memory
        growth.watch_ends(torch)
        out_of_memory.watch(torch)
        history.on_cuda(torch)
    except Exception:
        _faults.count("when CUDA came up")


def say_untimed(native):
    """At a session's end: the program uses CUDA, and not through torch."""
    torch = sys.modules.get("torch")
    if os.environ.get("STROBE_GPU_ZONES", "1") == "0" or torch is not None and _has_cuda(torch) or not _cuda_is_used():
        return
    native.missing("GPU time of sections without gpu=True", "the program uses CUDA without torch, which would name the stream",
                   "section(name, gpu=True) takes it on the default stream")


def _cuda_is_used():
    """The driver is in the process and initialised. NVML, which strobe itself asks, loads the driver too."""
    driver = _loaded_driver()
    if driver is None:
        return False
    import ctypes
    try:
        return ctypes.CDLL(driver).cuCtxGetCurrent(ctypes.byref(ctypes.c_void_p())) == 0
    except (OSError, AttributeError):
        return False


def _loaded_driver():
    name = os.path.basename(os.environ.get("STROBE_CUDA_PATH") or "libcuda.so")
    try:
        with open("/proc/self/maps") as maps:
            return next((line.split(None, 5)[5].strip() for line in maps if name in line), None)
    except OSError:
        return None


def _yield_to_profiler(profiler, native):
    """Ends strobe's GPU trace when torch.profiler starts: CUPTI serves one profiler. If it refused torch.profiler
    once, that would see no kernel for the rest of the process. A watch for slow moments gets CUPTI back when it ends."""
    import functools
    prepare, disable = (getattr(profiler, name, None) for name in ("_prepare_profiler", "_disable_profiler"))
    if prepare is None or hasattr(prepare, "__wrapped__"):
        return

    @functools.wraps(prepare)
    def yielding(*args, **kwargs):
        native.gpu_trace_yield("torch.profiler")
        return prepare(*args, **kwargs)

    profiler._prepare_profiler = yielding
    if disable is None:
        return

    @functools.wraps(disable)
    def resuming(*args, **kwargs):
        try:
            return disable(*args, **kwargs)
        finally:
            native.gpu_trace_resume()

    profiler._disable_profiler = resuming
