"""How many frames, and of which size, an array or a list of images holds; where they are in what a pipeline returns."""
from .wrapping import shape_of


def _size_of(image):
    """(height, width) of a PIL image or an array; (None, None): not known."""
    size = getattr(image, "size", None)
    if isinstance(size, tuple) and len(size) == 2:  # PIL: width first
        return size[1], size[0]
    shape = shape_of(image)
    if len(shape) != 3:
        return None, None
    return (shape[0], shape[1]) if shape[2] in (1, 3, 4) else (shape[1], shape[2])


def _of_array(shape):
    """4 dimensions are a video; 5 are a batch of them. Channels come last, or before height and width."""
    height, width = (shape[-3], shape[-2]) if shape[-1] in (1, 3, 4) else (shape[-2], shape[-1])
    return shape[0] * (shape[1] if len(shape) == 5 else 1), height, width


def videos_of(frames):
    """How many videos a pipeline made: a batch of them, or one."""
    shape = shape_of(frames)
    if len(shape) in (4, 5):
        return shape[0] if len(shape) == 5 else 1
    several = isinstance(frames, (list, tuple)) and len(frames) and (
        isinstance(frames[0], (list, tuple)) or len(shape_of(frames[0])) == 4)
    return len(frames) if several else 1


def frames_of(frames):
    """(frames, height, width) of [batch][frame] images, [frame] images, or an array of 4 or 5 dimensions."""
    shape = shape_of(frames)
    if len(shape) in (4, 5):
        return _of_array(shape)
    if not isinstance(frames, (list, tuple)) or not len(frames):
        return 0, None, None
    if isinstance(frames[0], (list, tuple)) or len(shape_of(frames[0])) == 4:
        height, width = _size_of(frames[0][0]) if len(frames[0]) else (None, None)
        return sum(len(video) for video in frames), height, width
    return (len(frames), *_size_of(frames[0]))


# ---- in what a pipeline of diffusers returns ----

def _named(result, *names):
    values = getattr(result, "values", None)  # a modular pipeline's whole state
    found = result if isinstance(result, dict) else values if isinstance(values, dict) else {}
    if not found:
        return getattr(result, names[0], None)
    return next((found[name] for name in names if name in found), None)


def frames_in(result, is_video):
    """None: it returns none."""
    if isinstance(result, tuple):  # return_dict=False
        return result[0] if result and (is_video or len(shape_of(result[0])) == 5) else None
    if len(shape_of(result)) == 5:  # a modular pipeline that was asked for its videos
        return result
    return _named(result, "frames", "videos")


def images_in(result, is_video):
    """The images of one that makes no video; None: it returns none."""
    if isinstance(result, tuple):
        return result[0] if result and not is_video else None
    return _named(result, "images")
