"""Video in and out: OpenCV, PyAV, torchcodec, decord, imageio, moviepy, an ffmpeg child process. Reading frames is
video_decode, writing them video_encode, with their number and size."""
import functools
import os

from ..._native import native
from .. import wrapping
from ..frames import frames_of
from ..vocabulary import here, output, stage
from ..wrapping import guard, shape_of, wrap

DECODE, ENCODE = "video_decode", "video_encode"
PROGRAMS = ("ffmpeg", "ffprobe")


def _pixels(value):
    """The array or tensor in what a reader returns: itself, or a batch's data, or the frame of (ok, frame)."""
    if isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], bool):
        return value[1] if value[0] else None
    data = getattr(value, "data", None)
    return data if shape_of(data) and not isinstance(data, memoryview) else value


def _facts(value):
    """frames, width, height, and whether the frames are on a device: decoded there by its hardware."""
    value = _pixels(value)
    if value is None:
        return {}
    count, height, width = frames_of(value if len(shape_of(value)) in (4, 5) else [value])
    if hasattr(value, "width") and hasattr(value, "height"):  # PyAV's frame
        height, width = value.height, value.width
    on_device = getattr(value, "is_cuda", None)
    return {"frames": count, "width": width, "height": height, "hardware": None if on_device is None else int(on_device)}


def _say(value):
    native.attrs(**_facts(value))


def _coding(name, given=None, written=None):
    """make() for a method that returns frames, or takes them: given is the place of that argument, written where they
    go."""
    def make(original):
        def call(self, *args, **kwargs):
            if wrapping.compiling() or here.coding:  # one library on top of another
                return original(self, *args, **kwargs)
            here.coding = True
            try:
                with stage(name):
                    result = original(self, *args, **kwargs)
                    guard(_say, result if given is None else given(self, args, kwargs))
                    if written is not None:
                        guard(_named, written(self, args, kwargs))
                    return result
            finally:
                here.coding = False
        return call
    return make


def _named(path):
    if isinstance(path, (str, bytes, os.PathLike)) and path and not str(path).startswith("<"):
        output(path)


def _of_container(self, args, kwargs):
    return getattr(getattr(self, "container", None), "name", None)


def _of_writer(self, args, kwargs):
    return getattr(self, "filename", None)


def _of_request(self, args, kwargs):
    request = getattr(self, "request", None) or getattr(self, "_request", None)
    return getattr(request, "filename", None) or getattr(request, "raw_uri", None)


def _iterating(original):
    """A generator of frames: a zone for each, where it is made."""
    def call(self, *args, **kwargs):
        return _Frames(original(self, *args, **kwargs))
    return call


class _Frames:
    """The generator, and a zone around each frame. Everything else is the generator's own."""

    def __init__(self, source):
        self._source = source

    def __iter__(self):
        return self

    def __next__(self):
        if here.coding:
            return next(self._source)
        here.coding = True
        try:
            with stage(DECODE):
                frame = next(self._source)
                guard(_say, frame)
                return frame
        finally:
            here.coding = False

    def __getattr__(self, name):
        return getattr(self._source, name)


def _first(self, args, kwargs):
    return args[0] if args else next(iter(kwargs.values()), None)


def _own_frames(self, args, kwargs):
    return getattr(self, "_frames", None)


def _none(self, args, kwargs):
    return None


_read, _write, _write_own = _coding(DECODE), _coding(ENCODE, _first), _coding(ENCODE, _own_frames)
_grab = _coding(DECODE, _none)  # decodes a frame that retrieve() hands out, or nothing does
_write_stream, _write_request = _coding(ENCODE, _first, _of_container), _coding(ENCODE, _first, _of_request)
_write_named = _coding(ENCODE, _first, _of_writer)
_write_file = _coding(ENCODE, _own_frames, _first)


def _indexing(original):
    """A `for` over a reader without __iter__ asks for one frame more than there are: that is no call and no error."""
    reading = _read(original)

    def call(self, key):
        return (original if guard(_is_past_the_last, self, key) else reading)(self, key)
    return call


def _is_past_the_last(reader, key):
    return isinstance(key, int) and key >= len(reader)


def _opening(original):
    """A writer that gets its file when it is made."""
    def call(self, *args, **kwargs):
        result = original(self, *args, **kwargs)
        guard(_named, kwargs.get("filename", args[0] if args else None))
        return result
    return call


# Module waited for -> (class, method, how). A class may be nested: Format.Reader.
METHODS = {
    "cv2": (("VideoCapture", "read", _read), ("VideoCapture", "grab", _grab), ("VideoCapture", "retrieve", _read),
            ("VideoWriter", "write", _write),
            ("VideoWriter", "__init__", _opening), ("VideoWriter", "open", _opening)),
    "av": (("container.InputContainer", "decode", _iterating), ("VideoStream", "decode", _read),
           ("VideoStream", "encode", _write_stream)),
    "torchcodec.decoders._video_decoder": (("VideoDecoder", "__getitem__", _indexing),) + tuple(
        ("VideoDecoder", method, _read) for method in (
            "get_frame_at", "get_frames_at", "get_frames_in_range", "get_frame_played_at",
            "get_frames_played_at", "get_frames_played_in_range", "get_all_frames")),
    "torchcodec.encoders._video_encoder": (
        ("VideoEncoder", "to_file", _write_file), ("VideoEncoder", "to_tensor", _write_own),
        ("VideoEncoder", "to_file_like", _write_own)),
    "decord.video_reader": (("VideoReader", "__getitem__", _indexing), ("VideoReader", "next", _read),
                            ("VideoReader", "get_batch", _read)),
    "moviepy.video.io.ffmpeg_reader": (("FFMPEG_VideoReader", "read_frame", _read),),
    "moviepy.video.io.ffmpeg_writer": (("FFMPEG_VideoWriter", "write_frame", _write_named),),
    "imageio.core.format": (("Format.Reader", "get_data", _read), ("Format.Reader", "get_next_data", _read),
                            ("Format.Reader", "iter_data", _iterating), ("Format.Writer", "append_data", _write_request)),
    "imageio.plugins.pyav": (("PyAVPlugin", "read", _read), ("PyAVPlugin", "iter", _iterating),
                             ("PyAVPlugin", "write", _write_request), ("PyAVPlugin", "write_frame", _write_request)),
}


def _wrap_all(rows, module):
    for path, method, how in rows:
        owner = module
        for name in path.split("."):
            owner = getattr(owner, name, None)
        if owner is not None:
            wrap(owner, method, how)


# ---- ffmpeg as a child process ----

def _on_subprocess(module):
    wrap(module.Popen, "__init__", _starting)
    for name in ("wait", "poll"):
        wrap(module.Popen, name, _waiting)


def _program_of(args, kwargs):
    command = args[0] if args else kwargs.get("args")
    first = command.split()[0] if isinstance(command, str) else command[0]
    return os.path.basename(os.fspath(first))


def _result_of(command):
    """What ffmpeg writes: its last argument, unless that is a pipe, a stream or nothing ("-f null -")."""
    last = command.split()[-1] if isinstance(command, str) else os.fspath(command[-1])
    words = command.split() if isinstance(command, str) else [str(word) for word in command]
    if last.startswith("-") or "://" in last or last.startswith("pipe:") or "null" in words or "-i" not in words[:-2]:
        return None
    return last


def _begin(process, args, kwargs):
    program = _program_of(args, kwargs)
    known = next((name for name in PROGRAMS if program == name or program.startswith(name + "-")), None)
    if known is not None:
        process._strobe_span = native.span(known)
    if known == "ffmpeg":
        _named(_result_of(args[0] if args else kwargs.get("args")))


def _starting(original):
    def __init__(self, *args, **kwargs):
        original(self, *args, **kwargs)
        guard(_begin, self, args, kwargs)
    return __init__


def _end(process):
    span = vars(process).pop("_strobe_span", None)
    if span is not None:
        span.end(exit=process.returncode)


def _waiting(original):
    def wait(self, *args, **kwargs):
        result = original(self, *args, **kwargs)
        if self.returncode is not None and "_strobe_span" in vars(self):
            guard(_end, self)
        return result
    return wait


WAITS_FOR = {module: functools.partial(_wrap_all, rows) for module, rows in METHODS.items()}
WAITS_FOR["subprocess"] = _on_subprocess
