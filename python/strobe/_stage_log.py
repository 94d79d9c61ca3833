"""stage_log: each section prints its line as it ends, in the form that stage logs have:

    [3b] RAFT optical flow (12 iters): 95.32s

STROBE_STAGE_LOG=1, or `stage_log: true` in the configuration: to standard error; any other
text is a file that gets the lines appended. Off, it costs nothing: sections are replaced
only when it is on."""
import contextvars
import functools
import inspect
import os
import sys
import time

_PLAIN = ("frames", "steps", "iters", "tiles", "tokens")
_OFF = ("", "0", "false", "no", "off", "none")
_ON = ("1", "true", "yes", "on", "stderr")
_open = contextvars.ContextVar("strobe_open_sections", default=None)  # the innermost one of this task or thread
_original = None
_file = None


class _Frame:
    __slots__ = ("outer", "name", "code", "attributes", "begin", "depth", "coded_inside")

    def __init__(self, outer, name, code, attributes):
        self.outer, self.name, self.code, self.attributes = outer, name, code, attributes
        self.depth = outer.depth + 1 if outer else 1 if code else 0
        self.coded_inside = False
        self.begin = time.perf_counter()


class LoggedSection:
    """A section that prints its line; everything else is the section's own."""

    def __init__(self, inner, name, code, attributes):
        self._inner, self._name, self._code, self._attributes = inner, name, code, attributes

    def __enter__(self):
        self._inner.__enter__()
        _open.set(_Frame(_open.get(), self._name, self._code, dict(self._attributes)))
        return self

    def __exit__(self, *error):
        frame = _open.get()
        if frame is not None and frame.name == self._name:
            _open.set(frame.outer)
            _say(frame, time.perf_counter() - frame.begin)
        return self._inner.__exit__(*error)

    def set(self, **attributes):
        frame = _open.get()
        if frame is not None and frame.name == self._name:
            frame.attributes.update(attributes)
        return self._inner.set(**attributes)

    def __call__(self, function):
        if inspect.iscoroutinefunction(function):
            @functools.wraps(function)
            async def call(*args, **kwargs):
                with self:
                    return await function(*args, **kwargs)
        else:
            @functools.wraps(function)
            def call(*args, **kwargs):
                with self:
                    return function(*args, **kwargs)
        return call

    def __getattr__(self, name):
        return getattr(self._inner, name)

    def __repr__(self):
        return repr(self._inner)


def _section(name, code=None, **options):
    given = options if code is None else dict(options, code=code)
    attributes = {key: value for key, value in options.items() if key != "gpu"}
    return LoggedSection(_original(name, **given), name, code, attributes)


# ---- lines ----

def _notes(attributes):
    notes = []
    for key, value in attributes.items():
        if isinstance(value, bool) or not isinstance(value, (int, float, str)) or len(str(value)) > 40:
            continue
        notes.append("%s %s" % (value, key) if key in _PLAIN else "%s=%s" % (key, value))
    return " (%s)" % ", ".join(notes[:4]) if notes else ""


def _seconds(seconds):
    """Two decimals; below a tenth, two significant digits."""
    digits, scaled = 2, seconds
    while 0 < scaled < .0995 and digits < 9:
        digits, scaled = digits + 1, scaled * 10
    return "%.*fs" % (digits, seconds)


def _say(frame, seconds):
    around = frame.outer
    while frame.code and around is not None and not around.coded_inside:
        around.coded_inside = True
        around = around.outer
    word = "" if not frame.coded_inside else " TOTAL" if frame.code else " total"
    code = "[%s] " % frame.code if frame.code else ""
    indent = "  " * (frame.depth if frame.code else max(frame.depth - 1, 0))
    line = "%s%s%s%s%s: %s\n" % (indent, code, frame.name, _notes(frame.attributes), word, _seconds(seconds))
    try:
        (_file or sys.stderr).write(line)
    except Exception:  # a closed stream never costs the pipeline anything
        pass


# ---- on and off ----

def switch(value):
    """As STROBE_STAGE_LOG or stage_log say it: a flag, or a file's name."""
    global _original, _file
    text = str(value if value is not None else "").strip()
    if text.lower() in _OFF:
        return
    if text.lower() not in _ON and _file is None:
        try:
            _file = open(os.path.expanduser(text), "a", buffering=1)
        except OSError as error:
            sys.stderr.write("strobe: the stage log cannot be written: %s\n" % error)
    if _original is not None:
        return
    from . import _core
    _original = _core.section
    for name, module in list(sys.modules.items()):
        if name.split(".")[0] == "strobe" and getattr(module, "section", None) is _original:
            module.section = _section


def from_environment():
    switch(os.environ.get("STROBE_STAGE_LOG"))
