"""`@profile` as line_profiler's kernprof gives it, under `strobe run`: each decorated function
is a stage, and its lines are timed while that is cheap enough: the first LINES_MOST line events
of a function. The table is printed when the program ends and lies in the run folder
(line_profile.txt)."""
import sys
import time

LINES_MOST = 200000
_RULE = "Line #      Hits         Time  Per Hit   % Time  Line Contents"


class _Function:
    """What is known of one function's lines: times in ns."""

    def __init__(self, function):
        self.function, self.code = function, function.__code__
        self.hits, self.times, self.calls, self.timed_calls, self.events = {}, {}, 0, 0, 0

    def trace_call(self, frame, event, arg):
        """sys.settrace()'s function: lines of this function alone."""
        if frame.f_code is not self.code:
            return None
        at = [None, time.perf_counter_ns()]

        def trace_line(frame, event, arg):
            now = time.perf_counter_ns()
            if at[0] is not None:
                self.times[at[0]] = self.times.get(at[0], 0) + now - at[1]
            at[0] = None
            if event == "line":
                at[0] = frame.f_lineno
                self.hits[at[0]] = self.hits.get(at[0], 0) + 1
                self.events += 1
            at[1] = time.perf_counter_ns()
            return trace_line
        return trace_line

    def call(self, args, kwargs):
        self.calls += 1
        if self.events >= LINES_MOST or sys.gettrace() is not None:  # enough, or a debugger's
            return self.function(*args, **kwargs)
        self.timed_calls += 1
        sys.settrace(self.trace_call)
        try:
            return self.function(*args, **kwargs)
        finally:
            sys.settrace(None)

    def table(self):
        import inspect
        total = sum(self.times.values())
        out = ["Total time: %g s" % (total / 1e9), "File: %s" % self.code.co_filename,
               "Function: %s at line %d" % (self.function.__qualname__, self.code.co_firstlineno), ""]
        if self.timed_calls < self.calls:
            out[1:1] = ["Lines of the first %d of %d calls" % (self.timed_calls, self.calls)]
        out += [_RULE, "=" * len(_RULE)]
        try:
            lines, first = inspect.getsourcelines(self.code)
        except (OSError, TypeError):
            lines, first = [""] * (max(self.hits, default=self.code.co_firstlineno) - self.code.co_firstlineno + 1), self.code.co_firstlineno
        for number, text in enumerate(lines, first):
            hits, ns = self.hits.get(number), self.times.get(number, 0)
            figures = "%9d %12.1f %8.1f %8.1f" % (hits, ns / 1e3, ns / 1e3 / hits, 100.0 * ns / total if total else 0.0) if hits else " " * 40
            out.append("%6d %s  %s" % (number, figures, text.rstrip("\n")))
        return "\n".join(out) + "\n"


class LineProfile:
    """builtins.profile: a decorator, with the names that kernprof's users call."""

    def __init__(self):
        self._functions = []

    def __call__(self, function):
        import functools
        import inspect
        from ._core import section
        inner = inspect.unwrap(function) if callable(function) else None
        if not inspect.isfunction(inner):
            return function
        stage = section(inner.__qualname__)
        if inspect.iscoroutinefunction(inner) or inspect.isgeneratorfunction(inner) or inspect.isasyncgenfunction(inner):
            return stage(function)  # suspended between lines: a stage, without its lines
        kept = _Function(inner)
        if not self._functions:
            import atexit
            atexit.register(self._at_exit)
        self._functions.append(kept)

        @functools.wraps(function)
        def call(*args, **kwargs):
            with stage:
                return kept.call(args, kwargs)
        return call

    def text(self):
        tables = [f.table() for f in self._functions if f.hits]
        return "Timer unit: 1e-06 s\n\n" + "\n".join(tables) if tables else ""

    def print_stats(self, stream=None, **options):
        (stream or sys.stdout).write(self.text())

    def add_function(self, function):
        """Taken for kernprof's sake; a function that is not decorated is not timed by line."""

    enable = disable = enable_by_count = disable_by_count = lambda self, *args, **kwargs: None

    def _at_exit(self):
        """The table beside the recording, and for the user to see, as `kernprof -l -v` prints it."""
        import os
        from ._core import native
        text = self.text()
        folder = native.run_dir() if text else None
        if not text:
            return
        try:
            if folder and os.path.isdir(folder):
                with open(os.path.join(folder, "line_profile.txt"), "a") as file:
                    file.write(text)
            sys.stderr.write(text)
        except (OSError, ValueError):
            pass


def install():
    """As a built-in name, unless something else has it."""
    import builtins
    if not hasattr(builtins, "profile"):
        builtins.profile = LineProfile()
