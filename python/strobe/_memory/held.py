"""What a tensor holds. A quantised weight (torchao's, or any other wrapper of tensors) says the dtype and the size it stands
for; its parts say what lies in memory."""


def parts(tensor):
    """The plain tensors it is made of; most are their own only part."""
    if not hasattr(type(tensor), "__tensor_flatten__"):
        return [tensor]
    try:
        inner = [getattr(tensor, name) for name in tensor.__tensor_flatten__()[0]]
        return [part for one in inner if one is not None for part in parts(one)] or [tensor]
    except Exception:  # a wrapper that is not ready to be taken apart
        return [tensor]


def size_bytes(tensor):
    return sum(part.numel() * part.element_size() for part in parts(tensor))


def dtype_name(tensor):
    """Of the part that takes most: "int8" of weights that are quantised to it."""
    largest = max(parts(tensor), key=lambda part: part.numel() * part.element_size())
    return str(largest.dtype).replace("torch.", "")


def is_wrapped(tensor):
    return len(parts(tensor)) > 1
