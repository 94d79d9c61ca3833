"""diffusers' functions that write the frames of a pipeline into a file: export."""
from ..frames import frames_of
from ..vocabulary import output, stage
from ..wrapping import guard, wrap


def _on_export(module):
    for name in ("export_to_video", "export_to_gif"):
        wrap(module, name, _exporting)


def _exporting(original):
    def export(*args, **kwargs):
        made = args[0] if args else kwargs.get("video_frames", kwargs.get("image"))
        count, height, width = guard(frames_of, made) or (0, None, None)
        with stage("export", frames=count or None, width=width, height=height):
            path = original(*args, **kwargs)
        guard(_written, path)
        return path
    return export


def _written(path):
    if path:
        output(path)


WAITS_FOR = {"diffusers.utils.export_utils": _on_export}
