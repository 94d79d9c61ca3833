"""Python 3.12 and later warn of a fork in a process that has threads, and count strobe's among them. strobe's own
are safe to fork beside, so a program without threads of its own gets no warning; one with threads gets it as before."""
import os
import sys

_NAMES = {"strobe-helper", "strobe-sampler", "strobe-stacks", "strobe-gpu", "strobe-trace", "strobe-counters"}


def _name(thread):
    try:
        with open("/proc/self/task/%s/comm" % thread) as file:
            return file.read().rstrip("\n")
    except OSError:
        return ""  # it has ended, or cannot be told: it counts as the program's


class _OnlyStrobes:
    """Stands in for the pattern of a warning filter."""

    @staticmethod
    def match(text):
        if " is multi-threaded, use of " not in text:
            return None
        try:
            return sum(_name(thread) not in _NAMES for thread in os.listdir("/proc/self/task")) <= 1 or None
        except OSError:
            return None


_FILTER = ("ignore", _OnlyStrobes(), DeprecationWarning, None, 0)


def _before_fork():
    """Makes this filter the first again, whatever the program has added since."""
    try:
        import warnings
        if not warnings.filters or warnings.filters[0] is not _FILTER:
            warnings._add_filter(*_FILTER, append=False)
    except Exception:
        pass


def install():
    if sys.version_info >= (3, 12):
        os.register_at_fork(before=_before_fork)
