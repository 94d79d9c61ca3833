"""The script itself: it is not imported, so no event says when it has defined what a
--stage names. Its lines are watched, and only its own, until it has. With
sys.monitoring (CPython 3.12) nothing else costs anything. Before that a trace function
sees every call, so it is off during imports; a script that calls much else before it
has defined its functions is looked at now and then instead."""
import _thread
import atexit
import builtins
import os
import sys
import time

from ..._native import native

CALLS_SEEN = 20000  # by the trace function, imports apart; then the script is looked at now and then
LOOK_EVERY_S = 0.01
_NAMES = ("__main__", "__mp_main__")  # the second: what a spawned worker calls it


def is_main(code, namespace):
    return code.co_name == "<module>" and code.co_filename != "<string>" and namespace.get("__name__") in _NAMES


def stem_of(path):
    """What a script would be called if it were imported."""
    return os.path.splitext(os.path.basename(path))[0]


def watch(look):
    """Calls look(module, stem) after each line of the script until it returns True.
    False: another tracer is installed."""
    monitoring = getattr(sys, "monitoring", None)
    if monitoring is not None:
        return _Monitored(look, monitoring).start()
    if sys.gettrace() is not None:
        return False
    return _Traced(look).start()


def _module_of(namespace):
    module = sys.modules.get(namespace.get("__name__"))
    return module if module is not None and vars(module) is namespace else None


class _Traced:
    def __init__(self, look):
        self.look = look
        self.calls = 0
        self.script = None  # (its module, its stem), once it has begun

    def start(self):
        self.original_import = builtins.__import__
        builtins.__import__ = self.untraced_import
        sys.settrace(self.on_call)
        atexit.register(self.stop)
        return True

    def stop(self):
        if sys.gettrace() == self.on_call:  # another tracer may have replaced it
            sys.settrace(None)
        if builtins.__import__ == self.untraced_import:
            builtins.__import__ = self.original_import
        atexit.unregister(self.stop)

    def untraced_import(self, *args, **kwargs):
        """An import runs at full speed: nothing in it is the script's."""
        if sys.gettrace() != self.on_call:  # inside another one, or another thread
            return self.original_import(*args, **kwargs)
        sys.settrace(None)
        try:
            return self.original_import(*args, **kwargs)
        finally:
            if builtins.__import__ == self.untraced_import and sys.gettrace() is None:
                sys.settrace(self.on_call)

    def on_call(self, frame, event, argument):
        self.calls += 1
        if self.calls > CALLS_SEEN:
            self.stop()
            if self.script is not None:
                native.sampler_starting(True)
                try:
                    _thread.start_new_thread(self.look_now_and_then, ())
                finally:
                    native.sampler_starting(False)
        elif is_main(frame.f_code, frame.f_globals):
            return self.on_line
        return None

    def on_line(self, frame, event, argument):
        module = _module_of(frame.f_globals)
        self.script = module, stem_of(frame.f_code.co_filename)
        if event == "return" or module is None or self.look(*self.script):
            self.stop()
            return None
        return self.on_line

    def look_now_and_then(self):
        while not self.look(*self.script):
            time.sleep(LOOK_EVERY_S)


class _Monitored:
    def __init__(self, look, monitoring):
        self.look = look
        self.monitoring = monitoring
        self.tool = None
        self.code = None
        self.module = None

    def start(self):
        for tool in (4, 3):  # the numbers that are not reserved
            if self.monitoring.get_tool(tool) is None:
                self.tool = tool
                break
        else:
            return False
        events = self.monitoring.events
        self.monitoring.use_tool_id(self.tool, "strobe")
        self.monitoring.register_callback(self.tool, events.PY_START, self.on_start)
        self.monitoring.register_callback(self.tool, events.LINE, self.on_line)
        self.monitoring.set_events(self.tool, events.PY_START)
        atexit.register(self.stop)  # the interpreter's last code runs without its modules
        return True

    def on_start(self, code, offset):
        namespace = sys._getframe(1).f_globals
        if not is_main(code, namespace):
            return self.monitoring.DISABLE
        self.module = _module_of(namespace)
        if self.module is None:
            self.stop()
            return None
        self.code = code
        self.monitoring.set_events(self.tool, 0)
        self.monitoring.set_local_events(self.tool, code, self.monitoring.events.LINE)
        return None

    def on_line(self, code, line):
        if self.look(self.module, stem_of(code.co_filename)):
            self.stop()

    def stop(self):
        if self.tool is None:
            return
        if self.code is not None:
            self.monitoring.set_local_events(self.tool, self.code, 0)
        self.monitoring.set_events(self.tool, 0)
        for event in (self.monitoring.events.PY_START, self.monitoring.events.LINE):
            self.monitoring.register_callback(self.tool, event, None)
        self.monitoring.free_tool_id(self.tool)
        self.tool = None
        atexit.unregister(self.stop)
