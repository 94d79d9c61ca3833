"""What a tensor holds. A quantised weight (torchao's, or any other wrapper of tensors) says the dtype and the size it stands
for; its parts say what lies in memory. And what the weights of a model hold, on which side."""

HOST = -1  # beside the numbers of GPUs

_flattens = {}     # class of tensors -> whether they are made of others: asked of thousands
_dtype_names = {}  # dtype -> its name


def parts(tensor):
    """The plain tensors it is made of; most are their own only part."""
    cls = type(tensor)
    if cls not in _flattens:
        _flattens[cls] = hasattr(cls, "__tensor_flatten__")
    if not _flattens[cls]:
        return [tensor]
    try:
        inner = [getattr(tensor, name) for name in tensor.__tensor_flatten__()[0]]
        return [part for one in inner if one is not None for part in parts(one)] or [tensor]
    except Exception:  # a wrapper that is not ready to be taken apart
        return [tensor]


def _bytes(part):
    return part.numel() * part.element_size()


def size_bytes(tensor):
    return sum(map(_bytes, parts(tensor)))


def dtype_name(tensor):
    """Of the part that takes most: "int8" of weights that are quantised to it."""
    inner = parts(tensor)
    dtype = inner[0].dtype if len(inner) == 1 else max(inner, key=_bytes).dtype
    if dtype not in _dtype_names:
        _dtype_names[dtype] = str(dtype).replace("torch.", "")
    return _dtype_names[dtype]


def is_wrapped(tensor):
    return len(parts(tensor)) > 1


def place(tensor):
    """The number of a GPU, or HOST; None: neither."""
    kind = tensor.device.type
    return HOST if kind == "cpu" else tensor.device.index or 0 if kind == "cuda" else None


def _address(tensor):
    if type(tensor).__name__ == "FakeTensor":  # torch would warn the program
        return id(tensor)
    try:
        return tensor.data_ptr() or id(tensor)
    except RuntimeError:  # some quantized weights have none of their own
        return id(tensor)


def by_place(tensors, seen=None):
    """(dtype, place) -> bytes. What two of them share counts once, and not at all where it was seen before."""
    seen, found = set() if seen is None else seen, {}
    for tensor in tensors:
        at, address = place(tensor), _address(parts(tensor)[0])
        if at is not None and address not in seen:
            seen.add(address)
            key = dtype_name(tensor), at
            found[key] = found.get(key, 0) + size_bytes(tensor)
    return {key: size for key, size in found.items() if size}


def way(tensors, target):
    """Where tensors come from and go to, and their dtype: what a zone of their move says. target: a device, or an
    accelerator's number; None: not known."""
    largest = max(tensors, key=size_bytes)
    to = "cuda:%d" % target if isinstance(target, int) else target and str(target)
    return {"from": str(largest.device), "to": to, "dtype": dtype_name(largest)}


def weights(module):
    """A model's parameters and buffers, and what hooks keep of them on the host."""
    yield from module.parameters()
    yield from module.buffers()
    yield from _kept(module)


def _kept(module):
    """By accelerate's sequential offload for parts that are empty meanwhile, by diffusers' groups that copy on a stream."""
    seen = set()
    for part in module.modules():
        hook, registry = vars(part).get("_hf_hook"), vars(part).get("_diffusers_hook")
        for one in getattr(hook, "hooks", (hook,)):
            yield from _in_memory(getattr(one, "weights_map", None), seen)
        for one in getattr(registry, "hooks", {}).values():
            yield from _in_memory(getattr(getattr(one, "group", None), "cpu_param_dict", None), seen)


def _in_memory(kept, seen):
    """The tensors of a map; of one that reads files as well, what lies in memory."""
    source = getattr(kept, "dataset", kept)
    source = getattr(source, "state_dict", source)
    if not isinstance(source, dict) or id(source) in seen:
        return
    seen.add(id(source))
    yield from (one for one in source.values() if hasattr(one, "data_ptr"))
