"""When memory runs out: what held it, written before the program dies."""
import contextlib
import os
import sys

from .. import _file, _record
from .._core import native
from .._failed import in_one_line
from .._memory import out_of_memory
from .device import torch


def is_out_of_memory(error):
    return out_of_memory.says_so(error) or type(error).__name__ == "OutOfMemoryError"


@contextlib.contextmanager
def oom_report(path=None, file=None):
    """Around a pipeline: an out-of-memory error passes through, after a report has
    gone to stderr (or file), to `path` and into the recording."""
    try:
        yield
    except BaseException as error:
        if is_out_of_memory(error):
            with contextlib.suppress(Exception):
                _tell(error, path, file or sys.stderr)
        raise


def _tell(error, path, file):
    _record.snapshot("out of memory")
    if "strobe_seen" not in vars(error):  # else it is in the recording already, with what held the memory
        error.strobe_seen = True
        native.event("out_of_memory", message=in_one_line(str(error)) or type(error).__name__,
                     requested_bytes=requested(error))
    text = describe(error)
    print(text, file=file)
    path = path or (os.path.join(native.run_dir(), "oom_report.txt") if native.recording() else None)
    if path:
        _file.replace(path, lambda out: out.write(text + "\n"))


def requested(error):
    """Bytes, of the words of torch, numpy, CuPy: "Tried to allocate 20.00 MiB"; None: it does not say."""
    return out_of_memory.requested(str(error))


def describe(error, count=10):
    """The error, the allocator's state and the largest tensors that are alive."""
    lines = ["== strobe: out of memory ==", str(error).splitlines()[0] if str(error) else type(error).__name__]
    if "torch" not in sys.modules:
        return "\n".join(lines)
    cuda = torch().cuda
    if cuda.is_initialized():
        stats = cuda.memory_stats()
        allocated, reserved = stats.get("allocated_bytes.all.current", 0), stats.get("reserved_bytes.all.current", 0)
        lines.append("allocated %.1f MB (peak %.1f), reserved %.1f MB, inactive splits %.1f MB" % tuple(
            n / 1048576.0 for n in (allocated, stats.get("allocated_bytes.all.peak", 0), reserved,
                                    stats.get("inactive_split_bytes.all.current", 0))))
        if reserved and allocated < 0.8 * reserved:
            lines.append("%.0f %% of what is reserved is not in use: fragmentation; try "
                         "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True" % (100.0 * (1 - allocated / reserved)))
    lines.append("largest tensors alive:")
    for size, tensor in _largest(count):
        lines.append("  %10.1f MB  %s %s on %s" % (size / 1048576.0, str(tensor.dtype).replace("torch.", ""),
                                                 "x".join(map(str, tensor.shape)), tensor.device))
    return "\n".join(lines)


def _largest(count):
    seen, found = set(), []
    for thing in native.tracked((torch().Tensor,), sys.maxsize):
        try:
            if thing.data_ptr() not in seen:
                seen.add(thing.data_ptr())
                found.append((thing.numel() * thing.element_size(), thing))
        except Exception:
            continue
    return sorted(found, key=lambda pair: -pair[0])[:count]
