"""Whether the calling thread works for strobe itself: what is imported meanwhile is no stage of the program. A leaf: it
imports nothing else of the package."""
from _thread import _local


class _Depth(_local):
    depth = 0


_here = _Depth()


def runs():
    return _here.depth > 0


class own_work:
    """with own_work(): ..., around the section where one is given."""
    __slots__ = ("_section",)

    def __init__(self, section=None):
        self._section = section

    def __enter__(self):
        _here.depth += 1
        if self._section is not None:
            self._section.__enter__()
        return self

    def __exit__(self, *error):
        _here.depth -= 1
        if self._section is not None:
            self._section.__exit__(*error)
