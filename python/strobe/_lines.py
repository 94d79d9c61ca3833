"""`@profile` as line_profiler gives it (kernprof's built-in name, and `from line_profiler import profile`), under
`strobe run`: each decorated function is a stage, and its lines are timed while that is cheap enough: calls begin to be
timed up to LINES_MOST line events of a function, and are timed to their end. The table is printed when the program
ends, lies in the run folder (line_profile.txt) and is in the report."""
import sys
import time

LINES_MOST = 200000
LINES_MOST_TO_THE_END = 50 * LINES_MOST  # a call that goes on for ever
REPORTED_MOST = 2000  # lines of all functions together
TEXT_MOST = 160
_RULE = "Line #      Hits         Time  Per Hit   % Time  Line Contents"


class _Function:
    """What is known of one function's lines: times in ns."""

    def __init__(self, function):
        self.function, self.code = function, function.__code__
        self.hits, self.times, self.calls, self.timed_calls, self.events = {}, {}, 0, 0, 0

    def is_full(self):
        return self.events >= LINES_MOST

    def is_spent(self):
        return self.events >= LINES_MOST_TO_THE_END

    def tracer(self, done):
        """For sys.settrace(): the lines of one call, or of a generator until it yields. done(): there were enough."""
        at = [None, time.perf_counter_ns()]

        def trace_line(frame, event, arg):
            now = time.perf_counter_ns()
            if at[0] is not None:
                self.times[at[0]] = self.times.get(at[0], 0) + now - at[1]
            at[0] = None
            if event == "line":
                if self.is_spent():
                    done()
                    return None
                at[0] = frame.f_lineno
                self.hits[at[0]] = self.hits.get(at[0], 0) + 1
                self.events += 1
            at[1] = time.perf_counter_ns()
            return trace_line
        return trace_line

    def how_much(self):
        """What the table says of a function that was timed in part."""
        if self.timed_calls < self.calls:
            return ["Lines of the first %d of %d calls" % (self.timed_calls, self.calls)]
        return ["Of the first %d lines that ran" % self.events] if self.is_spent() else []

    def source(self):
        """{line number: text}"""
        import inspect
        try:
            lines, first = inspect.getsourcelines(self.code)
        except (OSError, TypeError):
            first = self.code.co_firstlineno
            lines = [""] * (max(self.hits, default=first) - first + 1)
        return dict(enumerate(lines, first))

    def table(self):
        total = sum(self.times.values())
        out = ["Total time: %g s" % (total / 1e9), *self.how_much(), "File: %s" % self.code.co_filename,
               "Function: %s at line %d" % (self.function.__qualname__, self.code.co_firstlineno), "", _RULE, "=" * len(_RULE)]
        for number, text in self.source().items():
            hits, ns = self.hits.get(number), self.times.get(number, 0)
            figures = "%9d %12.1f %8.1f %8.1f" % (hits, ns / 1e3, ns / 1e3 / hits, 100.0 * ns / total if total else 0.0) if hits else " " * 40
            out.append("%6d %s  %s" % (number, figures, text.rstrip("\n")))
        return "\n".join(out) + "\n"


class _Awaited:
    """A coroutine that is timed from one wait to the next."""

    def __init__(self, profile, kept, coroutine):
        self.resumed = profile._resumed(kept, coroutine)

    def __await__(self):
        return self.resumed


class LineProfile:
    """The name `profile`: a decorator, with the methods that line_profiler's users call."""

    def __init__(self):
        self._functions, self._by_code = [], {}
        self._trace = self._trace_call  # one object: it is compared
        self._resuming = None  # the frame of a generator or coroutine whose lines are timed to its end

    def __call__(self, function=None):
        import functools
        import inspect
        from ._core import section
        if isinstance(function, (staticmethod, classmethod)):
            return type(function)(self(function.__func__))
        inner = inspect.unwrap(function) if callable(function) else None
        if not inspect.isfunction(inner):
            return function
        kept, stage = self._keep(inner), section(inner.__qualname__)

        if inspect.isasyncgenfunction(inner):
            return stage(function)  # its lines are timed where a decorated function runs it
        if inspect.isgeneratorfunction(inner):
            @functools.wraps(function)
            def generator(*args, **kwargs):
                return (yield from self._resumed(kept, function(*args, **kwargs)))
            return stage(generator)
        if inspect.iscoroutinefunction(inner):
            @functools.wraps(function)
            async def coroutine(*args, **kwargs):
                return await _Awaited(self, kept, function(*args, **kwargs))
            return stage(coroutine)

        @functools.wraps(function)
        def call(*args, **kwargs):
            with stage:
                began = self._begin(kept, new=True)
                try:
                    return function(*args, **kwargs)
                finally:
                    self._end(began)
        return call

    def _keep(self, function):
        kept = self._by_code.get(function.__code__)
        if kept is None:
            if not self._functions:
                import atexit
                atexit.register(self._at_exit)
            kept = self._by_code[function.__code__] = _Function(function)
            self._functions.append(kept)
        return kept

    # ---- while a decorated function runs ----

    def _trace_call(self, frame, event, arg):
        """sys.settrace()'s function: decorated functions have their lines timed, also where another one calls them."""
        kept = self._by_code.get(frame.f_code)
        if kept is None or (kept.is_spent() if frame is self._resuming else kept.is_full()):
            return None
        return kept.tracer(self._stop_when_all_are_spent)

    def _stop_when_all_are_spent(self):
        if sys.gettrace() is self._trace and all(kept.is_spent() for kept in self._functions):
            sys.settrace(None)

    def _begin(self, kept, new, frame=None):
        """Whether tracing begins here: not where a caller has begun it, nor under a debugger."""
        tracer = sys.gettrace()
        timed = not (kept.is_full() if new else kept.is_spent()) and (tracer is None or tracer is self._trace)
        if timed and frame is not None:
            self._resuming = frame
        kept.calls += new
        kept.timed_calls += new and timed
        if not timed or tracer is not None:
            return False
        sys.settrace(self._trace)
        return True

    def _end(self, began):
        if began and sys.gettrace() is self._trace:
            sys.settrace(None)

    def _resumed(self, kept, suspended):
        """Runs a generator or coroutine from one suspension to the next, timed; between them others run."""
        resume, given, new = suspended.send, None, True
        frame = getattr(suspended, "gi_frame", None) or getattr(suspended, "cr_frame", None)
        timed = not kept.is_full()
        try:
            while True:
                began, new = self._begin(kept, new, frame) if timed or new else False, False
                try:
                    item = resume(given)
                except StopIteration as end:
                    return end.value
                finally:
                    self._end(began)
                try:
                    resume, given = suspended.send, (yield item)
                except GeneratorExit:
                    raise
                except BaseException as error:
                    resume, given = suspended.throw, error
        finally:
            suspended.close()

    # ---- the table ----

    def record(self, native):
        """Into the recording, for every report of the run: an event per function and per line that ran."""
        left = REPORTED_MOST
        for f in self._functions:
            if not f.hits:
                continue
            source = f.source()
            native.event("strobe.line_function", function=f.function.__qualname__[:TEXT_MOST], file=f.code.co_filename,
                         line=f.code.co_firstlineno, calls=f.calls, timed_calls=f.timed_calls, total_ns=sum(f.times.values()))
            for number in sorted(f.hits)[:left]:
                native.event("strobe.line", line=number, hits=f.hits[number], time_ns=f.times.get(number, 0),
                             text=source.get(number, "").strip()[:TEXT_MOST])
                left -= 1

    def text(self):
        tables = [f.table() for f in self._functions if f.hits]
        return "Timer unit: 1e-06 s\n\n" + "\n".join(tables) if tables else ""

    def print_stats(self, stream=None, **options):
        (stream or sys.stdout).write(self.text())

    def show(self):
        self.print_stats()

    def add_function(self, function):
        """Taken for kernprof's sake; a function that is not decorated is not timed by line."""

    add_callable = add_function
    enable = disable = enable_by_count = disable_by_count = lambda self, *args, **kwargs: None

    def _at_exit(self):
        """The table beside the recording, and for the user to see, as `kernprof -l -v` prints it."""
        import os
        from . import _file
        from ._core import native
        text = self.text()
        folder = native.run_dir() if text else None
        if not text:
            return
        self.record(native)
        try:
            if folder and os.path.isdir(folder):
                with open(os.path.join(folder, "line_profile.txt"), "a", opener=_file.no_link) as file:
                    file.write(text)
            sys.stderr.write(text)
        except (OSError, ValueError):
            pass


def _take_the_name_of(module):
    """`from line_profiler import profile` does nothing unless it is asked to (LINE_PROFILE=1, --line-profile): then it stays."""
    import os
    asked = os.environ.get("LINE_PROFILE", "").lower() not in ("", "0", "off", "false", "no")
    if not asked and not {"--line-profile", "--line_profile"} & set(sys.argv):
        import builtins
        if isinstance(builtins.profile, LineProfile):
            module.profile = builtins.profile


def install():
    """Makes `profile` a built-in name, unless something else has that name."""
    import builtins
    if not hasattr(builtins, "profile"):
        from . import _imports
        builtins.profile = LineProfile()
        _imports.when_imported("line_profiler", _take_the_name_of)
