"""What dynamo (torch.compile) makes of strobe's calls: nothing. Inside compiled code
they are inert: no graph break, no recompile, and each section that was taken out is
counted once for each time it is compiled. The functions below stand in for the
extension's while dynamo traces; they never run otherwise, so they only have to be
plain enough for it to follow."""
import contextlib
import sys
import warnings

from . import _faults

QUIET = ("attrs", "event", "frames", "frames_dropped", "counter_add", "counter_set", "cache_event", "stream_batch",
         "snapshot", "memory", "model", "output", "skip", "duration", "step_record", "step_passes", "step_left_out", "block_record", "zone_begin", "zone_end",
         "role", "role_end", "gpu_trace_keep", "thread_name", "tag", "lost_compiled")


def _is_compiling():
    return False


def _comptime(function):
    """Stands in for dynamo's comptime, which calls a function while it compiles."""


def _count_inert():
    try:
        from ._native import native
        native.lost_compiled(1)
    except Exception:
        _faults.count("counting a section in compiled code")


class Inert:
    """A section, span or generation in compiled code."""

    def __enter__(self):
        return self

    def __exit__(self, kind=None, error=None, trace=None):
        return None

    def set(self, **attributes):
        pass

    def end(self, **attributes):
        pass


def inert_section(name, **options):
    # A lambda without a closure: what comptime takes in every torch since 2.0.
    _comptime(lambda context: _count_inert())
    return Inert()


def inert_again(one):
    _comptime(lambda context: _count_inert())
    return Inert()


def inert_span(name):
    return Inert()


def inert_loop(items, *rest):
    return items


def not_recording():
    return False


def _nothing():
    def inert(*args, **attributes):
        return None
    return inert


def on_dynamo(dynamo):
    """Called when the program has imported torch._dynamo."""
    global _comptime, _is_compiling
    torch = sys.modules["torch"]
    compiler = getattr(torch, "compiler", None)
    _is_compiling = getattr(compiler, "is_compiling", None) or getattr(dynamo, "is_compiling", _is_compiling)
    try:
        from torch._dynamo.comptime import comptime as _comptime
        counted = True
    except Exception:
        counted = False
    substitute = getattr(compiler, "substitute_in_graph", None)
    if substitute is None:  # before torch 2.5
        _look_first()
    elif not _substitute_all(substitute):
        counted = False
        _look_first()
    if not counted:
        warnings.warn("strobe: torch %s compiles in a way strobe does not know: sections inside compiled code are "
                      "not recorded, nor counted" % getattr(torch, "__version__", "?"), RuntimeWarning, stacklevel=2)


def _stand_ins(native):
    yield native.section, inert_section
    yield native.again, inert_again
    yield native.span, inert_span
    yield native.loop, inert_loop
    yield native.recording, not_recording
    for name in QUIET:
        yield getattr(native, name), _nothing()


def _substitute_all(substitute):
    """False: this dynamo takes no stand-ins. Nothing of the program has been compiled yet."""
    from ._native import native
    try:
        for original, stand_in in _stand_ins(native):
            substitute(original, skip_signature_check=True)(stand_in)
    except Exception:
        _faults.count("telling dynamo to leave sections alone")
        return False
    return True


# ---- before torch 2.5: strobe.section looks by itself whether dynamo traces ----

def _look_first():
    """Replaces the extension's functions, throughout the package, by ones that first
    ask whether dynamo compiles. Each section then costs a Python call: only where needed."""
    from ._native import native
    package = __name__.rpartition(".")[0]
    instead = {id(native.section): looking_section, id(native.event): looking_event,
               id(native.frames): looking_frames, id(native.attrs): looking_attrs}
    for name, module in list(sys.modules.items()):
        if module is native or not (name == package or name.startswith(package + ".")) or module is None:
            continue
        for key, value in list(vars(module).items()):
            if id(value) in instead and not name.endswith("._dynamo"):
                setattr(module, key, instead[id(value)])


def looking_section(name, /, **options):
    if _is_compiling():
        _comptime(lambda context: _count_inert())
        return contextlib.nullcontext()
    return _native().section(name, **options)


def looking_event(name, /, **attributes):
    if not _is_compiling():
        _native().event(name, **attributes)


def looking_frames(count, /):
    if not _is_compiling():
        _native().frames(count)


def looking_attrs(**attributes):
    if not _is_compiling():
        _native().attrs(**attributes)


def _native():
    from ._native import native
    return native
