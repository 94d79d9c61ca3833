"""Sessions: start, stop, and what must happen around them in a Python process:
the end of the interpreter, forks, spawned children."""
import atexit
import os
import sys
import warnings
from _thread import RLock

from . import _config, _display, _faults, _fork_warning, _torch, _tracks
from ._config import ConfigError
from ._core import native
from ._memory import errors
from ._native import loaded

_EIO, _EINVAL, _EFORMAT, _ENOTSUP, _EBUSY, _ENOENT = -2, -3, -4, -5, -6, -7
_lock = RLock()
# Modules that tell something once in a session; those that were not imported have told nothing.
FORGETTING = ("._models.flops", "._models.computed", ".auto.asked", ".auto.modules", ".auto.first_calls", ".auto.vocabulary",
              ".auto.frameworks.diffusers", ".auto.frameworks.transformers")

_children = {}  # environment variables set for spawned processes -> what was there before


def _context(block):
    """contextlib.contextmanager, which is loaded when a block is opened."""
    def opened(*args, **options):
        from contextlib import contextmanager
        return contextmanager(block)(*args, **options)
    opened.__name__, opened.__qualname__, opened.__doc__, opened.__wrapped__ = block.__name__, block.__qualname__, block.__doc__, block
    return opened


def start(name=None, *, config=None, tags=None, output_dir=None, preset=None, max_trace_bytes=None):
    """Opens a session and records from here on (unless STROBE_ENABLED=0).

    config is a YAML file's path or a dict of the `profiling:` keys. A wrong
    configuration raises ConfigError; anything the machine refuses (a full disk,
    a folder that cannot be made) is one warning, and the program runs on
    unrecorded. Starting twice joins the open session.
    """
    if name is not None and not isinstance(name, str):
        raise TypeError("a session's name must be a str, not %r" % (name,))
    if tags is not None and not hasattr(tags, "keys"):
        raise TypeError("tags is a dict such as {'model': 'wan-1.3b'}, not %r" % (tags,))
    settings = {}
    if isinstance(config, dict):
        settings = _config.check(config.get("profiling", config) or {})
        config = None
    if max_trace_bytes is not None:
        size = _config.parse_bytes(max_trace_bytes)
        if size is None:
            raise ConfigError("max_trace_bytes must be a size such as '64 MiB', not %r" % (max_trace_bytes,))
        max_trace_bytes = size
    with _lock:
        code, message = _start(name, config, tags, output_dir, preset, max_trace_bytes, settings)
        if code == _ENOTSUP and config is not None:  # no YAML in the C library here
            settings = _config.read(os.fspath(config))
            code, message = _start(name, None, tags, output_dir, preset, max_trace_bytes, settings)
        if code == 0:
            _tracks.forget()
            try:
                _sample()
            except (OSError, ImportError):  # as above
                _faults.count("when sampling began")
            _let_children_join()
            _apply_stages(settings, config)
            _apply_stage_log(settings, config)
            return
        if code == _EBUSY and native.recording():  # started twice: one session, all tags
            native.tag({str(key): value for key, value in (tags or {}).items()})
            _ask_for_display(settings, config, name)
            return
    if config is not None and code in (_EINVAL, _EFORMAT, _ENOENT) or code == _EINVAL:
        raise ConfigError(message)
    warnings.warn("strobe records nothing: %s" % message, RuntimeWarning, stacklevel=2)


def _start(name, config, tags, output_dir, preset, max_trace_bytes, settings):
    if settings.get("enabled") is False:
        return 0, ""
    all_tags = dict(settings.get("session_tags") or {})
    all_tags.update(tags or {})
    output_dir = output_dir if output_dir is not None else settings.get("output_dir")
    preset = preset if preset is not None else settings.get("preset")
    given = {key: value for key, value in _config.to_environment(settings).items() if key not in os.environ}
    given.pop("STROBE_OUTPUT_DIR", None)
    try:
        with _environment(given):
            return native.start(name, _text(output_dir), _text(config), preset,
                                {str(key): value for key, value in all_tags.items()}, max_trace_bytes or 0)
    except (OSError, ImportError) as error:  # a module could not be read: no descriptor is left
        return _EIO, str(error)


def _sample():
    from . import _sampling
    from ._memory import growth
    growth.forget()
    for name in FORGETTING:
        module = sys.modules.get(__package__ + name)
        if module is not None:
            module.forget()
    _sampling.forget()
    _sampling.start()


def _text(path):
    return None if path is None else os.fspath(path)


@_context
def _environment(values):
    os.environ.update(values)
    try:
        yield
    finally:
        for key in values:
            os.environ.pop(key, None)


def _let_children_join():
    """Spawned workers that import strobe write into the same run folder."""
    if "STROBE_RUN_DIR" in os.environ or not native.recording():
        return
    for key, value in (("STROBE_RUN_DIR", os.path.abspath(native.run_dir())), ("STROBE_ENABLED", "1")):
        _children[key] = os.environ.get(key)
        os.environ[key] = value


def _restore_environment():
    for key, before in _children.items():
        if before is None:
            os.environ.pop(key, None)
        else:
            os.environ[key] = before
    _children.clear()


def _apply_stages(settings, config):
    stages = settings.get("stages")
    if stages is None and config is not None:
        try:
            stages = _config.read(os.fspath(config)).get("stages")
        except ConfigError:
            return
    if stages:
        from .auto.script import stages as wrapped
        wrapped.add_all(stages)


def _apply_stage_log(settings, config):
    wanted = settings.get("stage_log")
    if wanted is None and config is not None and "STROBE_STAGE_LOG" not in os.environ:
        try:
            wanted = _config.read(os.fspath(config)).get("stage_log")
        except ConfigError:
            return
    if wanted:
        from . import _stage_log
        _stage_log.switch(wanted)


def _ask_for_display(settings, config, name):
    """Asks the `strobe run` above for the live display, if the session that was joined is its."""
    if "STROBE_DISPLAY_ASKED" not in os.environ:
        return
    if config is not None:
        try:
            settings = _config.read(os.fspath(config))
        except ConfigError:
            return
    interval_s = _display.wanted(settings)
    if interval_s:
        _display.ask(interval_s, name or os.path.basename(native.run_dir() or ""))


def stop():
    """Ends the session and starts the report in a process of its own. Returns a
    Report: print it, or leave it as a notebook cell's last line."""
    folder = _close()
    from ._report import Report
    return Report(folder) if folder else None


def _close():
    """Returns the folder of the session that was open or the last one; empty: there was none. The report is not loaded: an exception of the program may be on its way."""
    with _lock:
        was_open = native.recording()
        folder = native.run_dir()
        if was_open:
            _restore_environment()
            _display.end()
            _say_missing()
            _stop_sampling()
            code, message = native.stop()
            _run_after(folder)
            if code:
                _warn("strobe: %s" % message)
    return folder


def _warn(words):
    """Never raises: where warnings are errors (python -W error), an exception of the program may still be on its way."""
    try:
        warnings.warn(words, RuntimeWarning, stacklevel=4)
    except RuntimeWarning:
        print(words, file=sys.stderr)


@_context
def session(name=None, **options):
    """with strobe.session("nightly", tags={...}): start() and stop() around a block."""
    start(name, **options)
    try:
        yield
    finally:
        _close()


def tag(**tags):
    """Adds tags to the open session."""
    native.tag(tags)


@_context
def gpu_trace(spec=""):
    """Records kernels and copies inside the block; spec: "", "steps:3", "seconds:5", "slow:1.5"."""
    code, message = native.gpu_trace_start(spec)
    if code:
        warnings.warn("strobe: no GPU trace: %s" % message, RuntimeWarning, stacklevel=3)
    try:
        yield
    finally:
        if not code:
            native.gpu_trace_stop()


@_context
def gpu_counters(spec=""):
    """Samples the GPU's counters inside the block; spec: "", "steps:3", "seconds:5"."""
    code, message = native.gpu_counters_start(spec)
    if code:
        warnings.warn("strobe: no GPU counters: %s" % message, RuntimeWarning, stacklevel=3)
    try:
        yield
    finally:
        if not code:
            native.gpu_counters_stop()


def gpu_trace_keep(why="asked for"):
    """Keeps the last steps' kernels now, where slow moments are watched for (--gpu-trace=slow:1.5); why: shown in the report."""
    native.gpu_trace_keep(str(why))


_after_stop = []


def at_end(call):
    """call(run folder) once, after the open session's end."""
    _after_stop.append(call)


def _run_after(folder):
    """A fault here never keeps a session from closing."""
    while _after_stop:
        try:
            _after_stop.pop()(folder)
        except Exception:
            _faults.count("when the results were copied")


def _stop_sampling():
    """A fault here never keeps a session from closing."""
    try:
        from . import _sampling
        _sampling.stop()
    except Exception:
        pass


def _say_missing():
    """A fault here never keeps a session from closing."""
    for name in ("_memory.history", "_memory.host_history"):
        history = sys.modules.get(__package__ + "." + name)
        if history is not None:
            history.finish()
    _say_no_history()
    flops = sys.modules.get(__package__ + "._models.flops")
    if flops is not None:
        flops.say()
    for say in (_faults.say, _torch.say_untimed):
        try:
            say(native)
        except Exception:
            pass


def _say_no_history():
    """Where CUDA never came up, nothing has looked at what was asked for."""
    if os.environ.get("STROBE_MEMORY_HISTORY", "0") == "0" or __package__ + "._memory.history" in sys.modules:
        return
    try:
        from ._memory import history
        history.say_why_not()
    except Exception:
        pass


def _look_at_the_last_error():
    """An exception that nothing caught and that left no section: memory may have run out. Where it has, even the import
    below can fail: that never keeps a session from closing."""
    error = getattr(sys, "last_value", None)
    if not isinstance(error, (MemoryError, RuntimeError)):
        return
    try:
        from ._memory import out_of_memory
        if out_of_memory.says_so(error) and "STROBE_RUN_DIR" in os.environ:
            native.role_recorded(0)  # opens the session: the program may have recorded nothing
        out_of_memory.raised(error, error.__traceback__)
    except Exception:
        pass


def _at_exit():
    for _ in range(3):
        try:
            return _end()
        except KeyboardInterrupt:  # Ctrl-C once more: the program ends already, and its recording shall be whole
            pass


def _end():
    _stop_sampling()  # the end is strobe's own time, not the program's; and no thread outlives the interpreter
    try:
        _look_at_the_last_error()
        if native.recording():
            _restore_environment()
            _say_missing()
            folder = native.run_dir()
            native.stop()
            if getattr(sys, "last_type", None) is not None and not hasattr(sys, "ps1"):
                # an exception ends it; a launcher may kill it before it has exited
                native.exit_status(1)
            _run_after(folder)
    except Exception:
        pass


def _after_fork():
    global _lock
    _lock = RLock()


if getattr(native, "main_interpreter", True):  # a sub-interpreter's end is not the program's
    atexit.register(_at_exit)
    if loaded:
        errors.watch()
        _fork_warning.install()
    os.register_at_fork(after_in_child=_after_fork)

__all__ = ["ConfigError", "gpu_counters", "gpu_trace", "gpu_trace_keep", "session", "start", "stop", "tag"]
