"""When torch's allocator gets no memory and tries again: it gives its whole cache back to the driver, which waits for the
GPU, and asks once more. Where that helps no error tells it. The allocator counts these times; the readings of memory look
at the count, and what held the memory is recorded when it has risen. What the allocator gave back for another reason is
recorded, too: how much it had between two readings is not known without that."""
import os
import sys
import time

from .. import _faults
from .._native import native

RESIDENTS_MOST = 16  # times that what held the memory is listed

_last = {}  # device -> the Counts of the last reading
_listed = 0


class Counts:
    """What torch's statistics of a device say of it, at a reading."""
    __slots__ = ("retries", "errors", "given_back", "allocated", "reserved", "at_ns")

    def __init__(self, stats):
        allocated, reserved = stats["allocated_bytes"]["all"], stats["reserved_bytes"]["all"]
        self.retries, self.errors = stats.get("num_alloc_retries", 0), stats.get("num_ooms", 0)
        self.given_back = reserved.get("freed", 0)
        self.allocated, self.reserved = allocated["current"], reserved["current"]
        self.at_ns = time.monotonic_ns()


def look(device, stats):
    """With each reading: stats as memory_stats_as_nested_dict() has them. Never raises."""
    try:
        now, before = Counts(stats), _last.get(device)
        _last[device] = now
        if before is None:
            return  # what was before strobe looked has no stage
        if now.given_back > before.given_back:
            native.event("strobe.given_back", bytes=now.given_back - before.given_back, device=device)
        # each error is a retry, too: one that did not help
        helped = now.retries - before.retries - max(0, now.errors - before.errors)
        if helped > 0:
            _tell(device, helped, before, now)
    except Exception:
        _faults.count("when the allocator tried again")


def _tell(device, helped, before, now):
    global _listed
    from . import out_of_memory
    torch = sys.modules["torch"]
    free, total = torch.cuda.mem_get_info(device)
    native.event("strobe.alloc_retries", count=helped, device=device, within_ns=now.at_ns - before.at_ns,
                 allocated_bytes=now.allocated, reserved_bytes=now.reserved, before_allocated_bytes=before.allocated,
                 before_reserved_bytes=before.reserved, given_back_bytes=max(0, now.given_back - before.given_back),
                 total_bytes=total, limit_bytes=out_of_memory.limit(torch, device)[1])
    _listed += 1
    if _listed > RESIDENTS_MOST:
        return
    for component, size, dtype in out_of_memory.residents(torch, device, total, free, now.allocated, now.reserved):
        native.event("strobe.resident", at="alloc_retries", set=_listed, component=component, bytes=size, dtype=dtype, device=device)


def forget():
    """A new session, or a forked child."""
    global _listed
    _last.clear()
    _listed = 0


os.register_at_fork(after_in_child=forget)
