"""Large allocations of the host's memory by line (`strobe run --memory-history=host`): what tensors on the CPU, arrays and
bytes held at the peak, over time and at the end. Seen by a library that `strobe run` preloads (python/_allocations); the
line is the one at which the main thread is when the call that allocated returns. Of other threads the sum is known."""
import os
import sys
import time

from .. import _faults
from .._native import native
from . import PACKAGE

LEAST_BYTES = 1 << 20
LINES_MOST = 200     # that are recorded
LAYERS = 10          # of them over time
MOMENTS_MOST = 240
FRAMES_MOST = 12     # of a stack
SITES_MOST = 4000    # lines that are distinguished
OTHER, UNNAMED, FIRST = 0, 1, 2  # as in allocations.h
_LIBRARIES = tuple("/%s/" % name for name in ("torch", "numpy", "PIL", "imageio", "safetensors", "einops", "triton"))
_PYTHONS, _OWN = os.path.dirname(os.__file__), PACKAGE

_on = False
_sites = {}    # (code, line) -> number
_places = []   # of each number from FIRST on: function, file, line, stack
_moments = []  # (Unix microseconds, bytes of each site)


def from_environment():
    """Under `strobe run`. Never raises."""
    global _on
    if os.environ.get("STROBE_HOST_HISTORY") != "1" or _on:
        return
    try:
        native.role_recorded(0)  # opens the session: the program may record nothing else
        _on = native.allocations_on(LEAST_BYTES, _site)
        if not _on:
            native.missing("allocations of the host", "the library that sees them was not loaded before the program", "")
    except Exception:
        _faults.count("when the host's history was switched on")


def _site():
    """The number of the line that the main thread is at: called between two of its instructions."""
    frame = _own_frame(sys._getframe(1))
    line = _line_of(frame)
    key = frame.f_code, line
    number = _sites.get(key)
    if number is None:
        if len(_places) == SITES_MOST:
            return OTHER
        _places.append((frame.f_code.co_name, frame.f_code.co_filename, line, _stack(frame)))
        number = _sites[key] = FIRST + len(_places) - 1
    return number


def _line_of(frame):
    return frame.f_lineno or native.line_before(frame.f_code, frame.f_lasti)


def _own_frame(innermost):
    """The innermost function that is none of a library's that only computes; where there is none, the innermost."""
    frame = innermost
    while frame is not None:
        file = frame.f_code.co_filename
        if not file.startswith("<") and not any(name in file for name in _LIBRARIES) and not _is_pythons(file):
            return frame
        frame = frame.f_back
    return innermost


def _is_pythons(file):
    return file.startswith(_PYTHONS) and "-packages/" not in file or file.startswith(_OWN)


def _stack(frame):
    """"model.py:12 forward < pipeline.py:80 __call__" """
    parts = []
    while frame is not None and len(parts) < FRAMES_MOST:
        file = frame.f_code.co_filename
        if not file.startswith(_OWN):
            parts.append("%.80s:%d %.60s" % (os.path.basename(file), _line_of(frame), frame.f_code.co_name))
        frame = frame.f_back
    return " < ".join(parts)


def read():
    """A moment. Called four times a second, less often as the run gets longer."""
    if not _on:
        return
    found = native.allocations_read(FIRST + len(_places))
    if found is None:
        return
    _moments.append((time.time_ns() // 1000, [site[0] for site in found[2]]))
    if len(_moments) == 2 * MOMENTS_MOST:  # of two, the one that held more
        _moments[:] = [max(pair, key=lambda moment: sum(moment[1])) for pair in zip(_moments[::2], _moments[1::2])]


def finish():
    """At the session's end, while it is open. Never raises."""
    if not _on:
        return
    try:
        read()
        _tell(*native.allocations_read(FIRST + len(_places)))
    except Exception:
        _faults.count("when the host's history was recorded")
    _moments.clear()


def _tell(peak_us, lost, sites):
    order = sorted((number for number, site in enumerate(sites) if site[0] or site[2]), key=lambda number: -sites[number][2])[:LINES_MOST]
    if not order:
        native.missing("lines that hold the host's memory", "the program asked for 1 MiB or more at once nowhere; smaller objects are not followed", "")
    for number in order:
        native.event("strobe.memory_held", **_facts(number, sites[number]))
    for unix_us, held in _moments:
        facts = {"set": os.getpid(), "device": -1, "unix_us": unix_us, "all": sum(held)}
        facts.update(("line%d" % index, held[number] if number < len(held) else 0) for index, number in enumerate(order[:LAYERS]))
        native.event("strobe.memory_moment", **facts)
    if lost:
        native.missing("%d allocations of the host" % lost, "more than 49152 large blocks were in use at once", "")


def _facts(number, site):
    end_bytes, end_count, peak_bytes, peak_count, last_us = site
    facts = {"set": os.getpid(), "device": -1, "peak_bytes": peak_bytes, "peak_count": peak_count, "end_bytes": end_bytes, "end_count": end_count}
    if last_us:
        facts["allocated_unix_us"] = last_us
    if number < FIRST:
        facts["function"] = "(other threads)" if number == OTHER else "(no line)"
    else:
        facts.update(zip(("function", "file", "line", "stack"), _places[number - FIRST]))
    return facts
