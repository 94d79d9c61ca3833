"""Zero-code recording: what `strobe run` adds to an unmodified Python program.
Everything is wrapped by name, when the program itself imports it; classes never
seen before are left alone or handled by what they look like. Results, graphs and
compiled code stay as they are."""
import os

from .. import _faults

_installed = False


def install():
    """Once per process; never raises."""
    global _installed
    if _installed:
        return
    _installed = True
    for step in (_sampling, _stages, _imports, _frameworks, _lines):
        try:
            step()
        except Exception:
            _faults.count("installing the automatic recording")


def _sampling():
    from .. import _sampling
    _sampling.from_environment()
    if "STROBE_HOST_HISTORY" in os.environ:
        from .._memory import host_history
        host_history.from_environment()


def _stages():
    named = os.environ.get("STROBE_STAGES", "")
    if named:
        from .script import stages
        stages.add_all(named, before_the_script=True)


def _imports():
    from .script import importing
    importing.watch()


def _lines():
    from .. import _lines
    _lines.install()


def _frameworks():
    from . import frameworks
    frameworks.watch()
