"""Errors that say that memory ran out are seen where they are raised: the program may catch them inside of its section. What
sees them is C (_strobe/memory_errors.c); out_of_memory.py tells of them."""
import sys

from .. import _faults
from .._native import native


def watch():
    """Once, where Python tells of errors. Never raises."""
    monitoring = getattr(sys, "monitoring", None)  # CPython 3.12
    try:
        if monitoring is not None:
            _watch_raised(monitoring)
    except Exception:
        _faults.count("when errors were to be watched")


def _watch_raised(monitoring):
    tool = next((one for one in (3, 4) if monitoring.get_tool(one) is None), None)  # the numbers that are not reserved
    if tool is None:
        return
    monitoring.use_tool_id(tool, "strobe: memory that runs out")
    monitoring.register_callback(tool, monitoring.events.RAISE, native.memory_error_raised)
    monitoring.set_events(tool, monitoring.events.RAISE)
