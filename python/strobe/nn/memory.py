"""What one call of a model needs in memory; and snapshots around sections."""
import contextlib
import resource

from .. import _record
from .._core import section
from .device import device_of, torch

_MB = 1048576.0


class MemoryReport:
    """Bytes. Reserved and fragmentation exist on CUDA only; None elsewhere."""

    def __init__(self, **values):
        self.__dict__.update(values)

    @property
    def overhead_bytes(self):
        return self.peak_bytes - self.before_bytes

    @property
    def fragmentation_ratio(self):
        if not self.reserved_bytes:
            return None
        return 1.0 - self.after_bytes / self.reserved_bytes

    def as_dict(self):
        keys = ("before", "after", "peak", "overhead", "parameters", "input", "output", "reserved")
        found = {key + "_mb": getattr(self, key + "_bytes") for key in keys}
        return {key: value / _MB for key, value in found.items() if value is not None}

    def __str__(self):
        rows = [("Memory before:", self.before_bytes), ("Memory after:", self.after_bytes),
                ("Peak memory:", self.peak_bytes), ("Overhead:", self.overhead_bytes),
                ("Parameters:", self.parameters_bytes), ("Input:", self.input_bytes), ("Output:", self.output_bytes),
                ("Reserved:", self.reserved_bytes)]
        lines = ["Memory of one call (%s):" % self.where]
        lines += ["  %-16s %10.1f MB" % (label, value / _MB) for label, value in rows if value is not None]
        if self.fragmentation_ratio is not None:
            lines.append("  %-16s %10.1f %%" % ("Fragmentation:", 100.0 * self.fragmentation_ratio))
        return "\n".join(lines)


def _bytes_of(value):
    if torch().is_tensor(value):
        return value.numel() * value.element_size()
    if isinstance(value, dict):
        return sum(_bytes_of(v) for v in value.values())
    if isinstance(value, (list, tuple)):
        return sum(_bytes_of(v) for v in value)
    return sum(_bytes_of(v) for v in vars(value).values()) if hasattr(value, "__dict__") else 0


def memory_profile(model, *inputs, **kwargs):
    """Runs the model once and tells what it needed."""
    device = device_of(model)
    on_gpu = device.type == "cuda"
    cuda = torch().cuda
    if on_gpu:
        cuda.reset_peak_memory_stats(device)
    before = cuda.memory_allocated(device) if on_gpu else _resident()
    _record.snapshot("before " + type(model).__name__)
    with torch().no_grad():
        output = model(*inputs, **kwargs)
    _record.snapshot("after " + type(model).__name__)
    after = cuda.memory_allocated(device) if on_gpu else _resident()
    peak = cuda.max_memory_allocated(device) if on_gpu else max(after, _peak_resident())
    tensors = list(model.parameters()) + list(model.buffers())
    return MemoryReport(before_bytes=before, after_bytes=after, peak_bytes=peak,
                        parameters_bytes=sum(t.numel() * t.element_size() for t in tensors),
                        input_bytes=_bytes_of(inputs) + _bytes_of(kwargs), output_bytes=_bytes_of(output),
                        reserved_bytes=cuda.memory_reserved(device) if on_gpu else None,
                        where=str(device) if on_gpu else "process; no CUDA device in use")


def _resident():
    return max(0, _record._host_memory()[1])


def _peak_resident():
    """Since the process began: an upper bound for one call."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


@contextlib.contextmanager
def snapshot_section(name, **attributes):
    """A section with a memory snapshot before and after it."""
    _record.snapshot("before " + name)
    try:
        with section(name, **attributes) as zone:
            yield zone
    finally:
        _record.snapshot("after " + name)
