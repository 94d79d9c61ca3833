"""MemoryTracker: labelled snapshots of the CUDA allocator, or of the process
where there is no CUDA."""
import collections
import json
import os
import sys
import time
import weakref

from .. import _file, _record
from .._core import native

_RULE = 82
_MB = 1024.0 * 1024.0
KEPT = 10000
trackers = weakref.WeakSet()


def _torch_with_gpu():
    """torch, if it can use a GPU. Never initialises CUDA."""
    torch = sys.modules.get("torch")
    if torch is None or getattr(torch.version, "cuda", None) is None:
        return None
    if torch.cuda.is_initialized() or os.path.exists("/dev/nvidiactl") or os.path.exists("/dev/dxg"):
        return torch
    return None


class MemoryTracker:
    def __init__(self, enabled=True, device="cuda"):
        self.enabled = enabled
        self.device = device
        self.snapshots = collections.deque(maxlen=KEPT)
        trackers.add(self)

    def snapshot(self, label):
        """{label, timestamp, allocated_mb, reserved_mb, max_allocated_mb, device}."""
        if not self.enabled:
            return {}
        device, allocated, reserved, peak = self._read()
        native.snapshot(label, device, allocated, reserved, peak)
        taken = {"label": label, "timestamp": time.time(), "allocated_mb": allocated / _MB,
                 "reserved_mb": (allocated if reserved < 0 else reserved) / _MB, "max_allocated_mb": peak / _MB,
                 "device": "cpu" if device < 0 else "cuda:%d" % device}
        self.snapshots.append(taken)
        return taken

    def _read(self):
        if str(self.device).startswith("cuda"):
            torch = _torch_with_gpu()
            if torch is not None:
                _, _, index = str(self.device).partition(":")
                found = _record._cuda_memory(self.device if index else None)
                return found or (int(index or 0), 0, 0, 0)  # CUDA not in use yet: it holds nothing
        return _record._host_memory()

    def print_summary(self):
        if not self.snapshots:
            print("No memory snapshots recorded.")
            return
        print("\n" + "=" * _RULE)
        print("MEMORY USAGE SUMMARY" + ("" if self._on_gpu() else " (process memory: no CUDA device in use)"))
        print("=" * _RULE)
        print("%-45s %11s %12s %11s" % ("Label", "Allocated", "Reserved", "Max Alloc"))
        print("-" * _RULE)
        for s in self.snapshots:
            print("%-45s %10.1fM %11.1fM %10.1fM" %
                  (s["label"][:44], s["allocated_mb"], s["reserved_mb"], s["max_allocated_mb"]))
        print("=" * _RULE)

    def _on_gpu(self):
        return any(s["device"] != "cpu" for s in self.snapshots)

    def export_json(self, path):
        folder = os.path.dirname(os.fspath(path))
        if folder:
            os.makedirs(folder, exist_ok=True)
        write_json(path, list(self.snapshots))

    def clear(self):
        """Forgets the snapshots and resets the allocator's peak."""
        self.snapshots.clear()
        torch = sys.modules.get("torch")
        if self.enabled and torch is not None and torch.cuda.is_initialized():
            torch.cuda.reset_peak_memory_stats()


def write_json(path, data):
    """A reader never sees half a file."""
    _file.replace(path, lambda file: json.dump(data, file, indent=2, default=str))
