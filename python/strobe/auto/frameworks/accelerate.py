"""Weights that move between CPU and GPU, as stages of their own: offload:<module>
with bytes, where they come from and go to. By the hooks of accelerate and diffusers, without any kernel trace."""
import itertools
import weakref

from ..._models import components
from ..._memory import held, moved
from .. import vocabulary, wrapping
from ..vocabulary import hiding_modules
from ..wrapping import guard, wrap, wrap_method


# ---- accelerate's hooks ----

def _on_accelerate(hooks):
    for class_name, method, make in (("CpuOffload", "pre_forward", _bringing_model), ("UserCpuOffloadHook", "offload", _giving_back_model),
                                     ("AlignDevicesHook", "pre_forward", _bringing_part), ("AlignDevicesHook", "post_forward", _giving_back_part)):
        cls = getattr(hooks, class_name, None)
        if cls is not None:
            wrap_method(cls, method, make)


def _own_tensors(hook, module):
    """What the hook moves: a sequential offload moves each module's own tensors only, and may leave buffers alone."""
    whole = getattr(hook, "place_submodules", True)
    buffers = module.buffers(recurse=whole) if getattr(hook, "offload_buffers", True) else ()
    return list(module.parameters(recurse=whole)) + list(buffers)


def _bytes(tensors):
    return sum(map(held.size_bytes, tensors))


def _is_elsewhere(hook, tensors):
    """Whether the hook will bring anything to the device it computes on."""
    device = getattr(hook, "execution_device", None)
    if device is None or not getattr(hook, "offload", True):  # an AlignDevicesHook may move inputs only
        return False
    if isinstance(device, int):  # the number of an accelerator
        return any(tensor.device.type in ("cpu", "meta") for tensor in tensors)
    target = str(device).partition(":")[0]
    return any(tensor.device.type != target for tensor in tensors)


def _is_on_a_device(tensors):
    return any(tensor.device.type != "cpu" for tensor in tensors)


def _bringing_zone(hook, module):
    """The zone of what a hook is going to bring; None: nothing."""
    tensors = _own_tensors(hook, module)
    return _zone(module, tensors, hook.execution_device) if _is_elsewhere(hook, tensors) else None


def _giving_back_zone(hook):
    tensors = _own_tensors(hook, hook.model)
    return _zone(hook.model, tensors, "cpu") if _is_on_a_device(tensors) else None


def _zone(module, tensors, target):
    return vocabulary.offload(components.name(module), _bytes(tensors), held.way(tensors, target))


def _bringing_model(original):
    def pre_forward(hook, module, *args, **kwargs):
        zone = None if wrapping.compiling() else guard(_bringing_zone, hook, module)
        if zone is None:
            return original(hook, module, *args, **kwargs)
        with zone, hiding_modules():  # it calls the module's .to()
            return original(hook, module, *args, **kwargs)
    return pre_forward


def _giving_back_model(original):
    def offload(hook, *args, **kwargs):
        zone = None if wrapping.compiling() else guard(_giving_back_zone, hook)
        if zone is None:
            return original(hook, *args, **kwargs)
        with zone, hiding_modules():
            return original(hook, *args, **kwargs)
    return offload


def _bringing_part(original):
    def pre_forward(hook, module, *args, **kwargs):
        zone = None if wrapping.compiling() else guard(_bringing_zone, hook, module)
        if zone is None:
            return original(hook, module, *args, **kwargs)
        with zone, moved.Part(module):
            result = original(hook, module, *args, **kwargs)
        guard(_note_part, hook, module)
        return result
    return pre_forward


def _note_part(hook, module):
    """The host keeps what it has: it is more memory on the device alone."""
    rows = held.by_place(_own_tensors(hook, module))
    on_device = {key: size for key, size in rows.items() if key[1] != held.HOST}
    if on_device:
        moved.brought(hook, module, on_device)


def _giving_back_part(original):
    def post_forward(hook, module, *args, **kwargs):
        result = original(hook, module, *args, **kwargs)
        if not wrapping.compiling() and getattr(hook, "offload", False):
            moved.gave_back(hook)
        return result
    return post_forward


# ---- diffusers' groups ----

def _on_group_offloading(module):
    group = getattr(module, "ModuleGroup", None)
    if group is not None:
        wrap(group, "onload_", _bringing_group)
        wrap(group, "offload_", _giving_back_group)


class _Group:
    """What a group holds: the same each time that it is moved."""

    def __init__(self, group):
        members = list(getattr(group, "modules", None) or ())
        module = members[0] if members else getattr(group, "onload_leader", None) or getattr(group, "offload_leader", None)
        self.module = weakref.ref(module) if module is not None else lambda: None
        self.name = components.name(module) if module is not None else "group"
        tensors = list(getattr(group, "parameters", None) or ()) + list(getattr(group, "buffers", None) or ())
        for member in members:
            tensors += _own_tensors(None, member)
        tensors = list({id(tensor): tensor for tensor in tensors}.values())  # some are named as both, and move once
        self.size = _bytes(tensors)
        self.by_dtype = {}
        for tensor in tensors:
            dtype = held.dtype_name(tensor)
            self.by_dtype[dtype] = self.by_dtype.get(dtype, 0) + held.size_bytes(tensor)


def _first_tensor(group):
    """No reference to it is kept: torch would not swap a tensor that has one."""
    inner = (one.parameters() for one in getattr(group, "modules", None) or ())
    loose = getattr(group, "parameters", None) or (), getattr(group, "buffers", None) or ()
    return next(itertools.chain(*inner, *loose), None)


_groups = weakref.WeakKeyDictionary()


def _known_group(group):
    known = _groups.get(group)
    if known is None:
        known = _groups[group] = _Group(group)
    return known


def _group_zone(group, target):
    known, first = _known_group(group), _first_tensor(group)
    return vocabulary.offload(known.name, known.size, {} if first is None else held.way([first], target))


def _bringing_group(original):
    def onload_(group, *args, **kwargs):
        zone = None if wrapping.compiling() else guard(_group_zone, group, getattr(group, "onload_device", None))
        if zone is None:
            return original(group, *args, **kwargs)
        with zone, moved.Part(_known_group(group).module()):
            result = original(group, *args, **kwargs)
        guard(_note_group, group)
        return result
    return onload_


def _note_group(group):
    """The host keeps copies of its own for a stream; what came from a file it has none of."""
    known, first = _known_group(group), _first_tensor(group)
    at, module = held.place(first) if first is not None else None, known.module()
    if at is None or at == held.HOST or module is None:
        return
    rows = {(dtype, at): size for dtype, size in known.by_dtype.items()}
    if not getattr(group, "cpu_param_dict", None) and not getattr(group, "offload_to_disk_path", None):
        rows.update({(dtype, held.HOST): -size for dtype, size in known.by_dtype.items()})
    moved.brought(group, module, rows)


def _giving_back_group(original):
    def offload_(group, *args, **kwargs):
        zone = None if wrapping.compiling() else guard(_group_zone, group, getattr(group, "offload_device", None))
        if zone is None:
            return original(group, *args, **kwargs)
        with zone, moved.Part(_known_group(group).module()):
            result = original(group, *args, **kwargs)
        guard(_note_group_back, group)
        return result
    return offload_


def _note_group_back(group):
    module = _known_group(group).module()
    if not moved.gave_back(group) and module is not None:
        moved.look_again(module)


WAITS_FOR = {"accelerate.hooks": _on_accelerate, "diffusers.hooks.group_offloading": _on_group_offloading}
