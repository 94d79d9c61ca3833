"""When a device's memory runs out: torch's allocator says so before it raises, also where the program catches the error
and goes on. What was asked for, by which line, and what held the memory then go into the recording."""
import os
import sys

from . import _faults
from ._native import native

TIMES_MOST = 16  # a program that tries smaller and smaller sizes
_times = 0


def watch(torch):
    """Once, when CUDA is up."""
    attach = getattr(torch._C, "_cuda_attach_out_of_memory_observer", None)
    if attach is not None:
        attach(lambda *values: seen(torch, *values))


def seen(torch, device, requested, total, free):
    """Never raises."""
    global _times
    _times += 1
    if _times > TIMES_MOST:
        return
    try:
        _tell(torch, device, requested, total, free)
    except Exception:
        _faults.count("when the memory ran out")


def _tell(torch, device, requested, total, free):
    stats = torch.cuda.memory_stats_as_nested_dict(device)
    allocated, reserved = (stats[key]["all"]["current"] for key in ("allocated_bytes", "reserved_bytes"))
    file, line = _place()
    native.event("out_of_memory", requested_bytes=requested, free_bytes=free, total_bytes=total, allocated_bytes=allocated,
                 reserved_bytes=reserved, device=device, file=file, line=line, retries=stats.get("num_alloc_retries", 0))
    for component, size, dtype in residents(torch, device, total, free, allocated, reserved):
        native.event("strobe.resident", at="out_of_memory", component=component, bytes=size, dtype=dtype, device=device)


def _place():
    """The innermost line outside of torch and strobe."""
    frame, own = sys._getframe(2), os.path.dirname(os.path.abspath(__file__))
    while frame is not None:
        file = frame.f_code.co_filename
        if "/torch/" not in file and not file.startswith(own):
            return file, frame.f_lineno
        frame = frame.f_back
    return None, None


def residents(torch, device, total, free, allocated, reserved):
    """(component, bytes, dtype) that add up to what the device has in use; the rest has names too."""
    weights = _weights(torch, device)
    named = sum(size for _, size, _ in weights)
    rows = [row for row in weights if row[1]]
    rows.append(("activations and other tensors", max(0, allocated - named), None))
    rows.append(("allocator slack", reserved - allocated, None))
    rows.append(("CUDA context, libraries, other processes", max(0, total - free - reserved), None))
    return rows


def _weights(torch, device):
    """Of modules that lie in no other; a parameter that two of them share is counted once."""
    from .auto.modules import component_name
    modules = native.tracked((torch.nn.Module,), sys.maxsize)
    inner = {id(child) for one in modules for child in vars(one).get("_modules", {}).values()}
    seen_already, rows = set(), []
    for module in modules:
        if id(module) in inner:
            continue
        sizes = {}
        for tensor in list(module.parameters()) + list(module.buffers()):
            if tensor.device.type == "cuda" and (tensor.device.index or 0) == device and tensor.data_ptr() not in seen_already:
                seen_already.add(tensor.data_ptr())
                dtype = str(tensor.dtype).replace("torch.", "")
                sizes[dtype] = sizes.get(dtype, 0) + tensor.numel() * tensor.element_size()
        rows += [("weights of %s" % component_name(module), size, dtype) for dtype, size in sizes.items()]
    return sorted(rows, key=lambda row: -row[1])[:32]


def forget():
    global _times
    _times = 0


os.register_at_fork(after_in_child=forget)
