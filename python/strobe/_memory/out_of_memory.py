"""When memory runs out. A device's: torch's allocator says so before it raises, also where the program catches the error
and goes on. The host's, and a device's that torch does not manage: an exception says so, where it is raised or where it
leaves a section. What was asked for, by which line, and what held the memory then go into the recording."""
import os
import re
import resource
import sys

from .. import _faults
from .._failed import place_of
from .._native import native
from . import PACKAGE, caches, held, module_names

KEPT = "out of memory"  # a watch for slow moments keeps this one by these words
TIMES_MOST = 16  # a program that tries smaller and smaller sizes
PIECES_MOST = 20000  # of fragmentation: the largest is looked for
ERRORS_MOST = 1000  # exceptions of other kinds whose words are read
WORDS = ("out of memory", "can't allocate memory", "cannot allocate memory", "unable to allocate", "bad_alloc")
UNITS = {"bytes": 1, "b": 1, "kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30, "tib": 1 << 40, "pib": 1 << 50, "eib": 1 << 60,
         "kb": 1 << 10, "mb": 1 << 20, "gb": 1 << 30, "tb": 1 << 40}
_times = 0
_errors = 0


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


# ---- an exception is raised, or leaves a section ----

def caught(error):
    """One that was raised: it may have been caught since, or be on its way. Never raises."""
    raised(error, error.__traceback__)


def raised(error, trace):
    """Called by the innermost section first, then by those around it: it counts once. Never raises."""
    global _times, _errors
    try:
        _errors += 1
        if _errors > ERRORS_MOST or not native.recording() or not says_so(error) or "strobe_seen" in vars(error):
            return
        error.strobe_seen = True
        if type(error).__module__.partition(".")[0] == "torch" and _times:
            return  # its allocator has told already
        _times += 1
        if _times <= TIMES_MOST:
            _tell_raised(error, trace)
    except Exception:
        _faults.count("when an exception said that memory ran out")


def says_so(error):
    return isinstance(error, MemoryError) or any(words in str(error).lower() for words in WORDS)


def requested(text):
    """Bytes in the words of torch, numpy, CuPy: "you tried to allocate 4096 bytes", "Unable to allocate 4.00 GiB"."""
    found = re.search(r"allocat\w*:? ([\d.,]*\d) ?([KMGTPE]?i?B|bytes)\b", text, re.IGNORECASE)
    return int(float(found[1].replace(",", "")) * UNITS.get(found[2].lower(), 1)) if found else None


def _tell_raised(error, trace):
    text = str(error)
    native.gpu_trace_keep(KEPT)
    file, line = place_of(trace) if trace is not None else _place(3)
    facts = {"requested_bytes": requested(text), "file": file, "line": line}
    if "cuda" in text.lower() or "hip " in text.lower():
        native.event("out_of_memory", device=0, **facts)
        return
    parts = _host_parts()
    total, used = _host_limit(parts)
    native.event("out_of_memory", free_bytes=max(0, total - used), total_bytes=total, allocated_bytes=sum(parts.values()), **facts)
    torch = sys.modules.get("torch")
    weights = _weights(torch, None) if hasattr(torch, "nn") else []
    parts["other memory of the process"] = max(0, parts["other memory of the process"] - sum(size for _, size, _ in weights))
    for component, size, dtype in weights + [(name, size, None) for name, size in parts.items()]:
        native.event("strobe.resident", at="out_of_memory", component=component, bytes=size, dtype=dtype)


def _status(names):
    found = dict.fromkeys(names, 0)
    with open("/proc/self/status") as status:
        for line in status:
            key, _, value = line.partition(":")
            if key in found:
                found[key] = int(value.split()[0]) << 10
    return found


def _host_parts():
    status = _status(("RssAnon", "RssFile", "RssShmem"))
    return {"other memory of the process": status["RssAnon"], "mapped files": status["RssFile"], "shared memory": status["RssShmem"]}


def _host_limit(parts):
    """(what there is, what of it is used): the process's own limit, else the machine's memory."""
    for limit, name in ((resource.RLIMIT_DATA, "VmData"), (resource.RLIMIT_AS, "VmSize")):
        most = resource.getrlimit(limit)[0]
        if most != resource.RLIM_INFINITY:
            return most, _status((name,))[name]
    total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return total, total - os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


# ---- torch's allocator ----

def _tell(torch, device, requested, total, free):
    stats = torch.cuda.memory_stats_as_nested_dict(device)
    allocated, reserved = (stats[key]["all"]["current"] for key in ("allocated_bytes", "reserved_bytes"))
    file, line = _place()
    whole, most = limit(torch, device)
    total = whole or total  # where there is a limit, torch gives that as the device's
    native.event("out_of_memory", requested_bytes=requested, free_bytes=free, total_bytes=total, allocated_bytes=allocated,
                 reserved_bytes=reserved, device=device, file=file, line=line, retries=stats.get("num_alloc_retries", 0),
                 limit_bytes=most, **_fragments(torch, device, stats))
    native.gpu_trace_keep(KEPT)
    for component, size, dtype in residents(torch, device, total, free, allocated, reserved):
        native.event("strobe.resident", at="out_of_memory", component=component, bytes=size, dtype=dtype, device=device)


def limit(torch, device):
    """(the device's memory, what torch.cuda.set_per_process_memory_fraction() leaves of it); None: all, or this torch does not tell."""
    fraction = getattr(torch.cuda, "get_per_process_memory_fraction", lambda device: 1)(device)
    if fraction >= 1:
        return None, None
    total = torch.cuda.get_device_properties(device).total_memory
    return total, int(fraction * total)


def _fragments(torch, device, stats):
    """Free pieces between blocks in use; the rest of the cache the allocator has given back before it raises."""
    split = stats.get("inactive_split_bytes")
    if not split:
        return {}
    count = stats["inactive_split"]["all"]["current"]
    found = {"fragmented_bytes": split["all"]["current"], "piece_count": count}
    if 0 < count <= PIECES_MOST:
        found["largest_piece_bytes"] = max((block["size"] for segment in torch.cuda.memory_snapshot() if segment["device"] == device
                                            for block in segment["blocks"] if block["state"] == "inactive"), default=0)
    return found


def _place(depth=2):
    """The innermost line outside of torch and strobe."""
    frame, own = sys._getframe(depth), PACKAGE
    while frame is not None:
        file = frame.f_code.co_filename
        if "/torch/" not in file and not file.startswith(own):
            return file, frame.f_lineno
        frame = frame.f_back
    return None, None


def residents(torch, device, total, free, allocated, reserved):
    """(component, bytes, dtype) that add up to what the device has in use; the rest has names too."""
    named_rows = _weights(torch, device) + [(component, size, None) for (component, at), size in caches.sizes().items() if at == device]
    named = sum(size for _, size, _ in named_rows)
    rows = [row for row in named_rows if row[1]]
    rows.append(("activations and other tensors", max(0, allocated - named), None))
    rows.append(("allocator slack", reserved - allocated, None))
    rows.append(("CUDA context, libraries, other processes", max(0, total - free - reserved), None))
    return rows


def _weights(torch, device):
    """(component, bytes, dtype) on a device; None: on the host."""
    return [row[:3] for row in module_weights(torch) if row[3] == device][:32]


def module_weights(torch):
    """(component, bytes, dtype, device), the largest first, of modules that lie in no other; a parameter that two of them
    share is counted once. device None: the host."""
    seen, rows = set(), []
    for module, name in module_names.models(torch):
        for (dtype, at), size in held.by_place(held.weights(module), seen).items():
            rows.append(("weights of %s" % name, size, dtype, None if at == held.HOST else at))
    return sorted(rows, key=lambda row: -row[1])


def forget():
    global _times, _errors
    _times = _errors = 0


os.register_at_fork(after_in_child=forget)
