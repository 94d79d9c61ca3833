"""Weights that move between CPU and GPU, as stages of their own: offload:<module>
with bytes. By the hooks of accelerate and diffusers, without any kernel trace."""
from ..._models import components
from ..._memory import held
from .. import vocabulary, wrapping
from ..wrapping import guard, wrap, wrap_method


def _on_accelerate(hooks):
    for class_name, method, module_of, moves in (
            ("CpuOffload", "pre_forward", lambda hook, args: args[0], _is_elsewhere),
            ("AlignDevicesHook", "pre_forward", lambda hook, args: args[0], _is_elsewhere),
            ("UserCpuOffloadHook", "offload", lambda hook, args: hook.model, _is_on_a_device)):
        cls = getattr(hooks, class_name, None)
        if cls is not None:
            wrap_method(cls, method, _moving(module_of, moves))


def _on_group_offloading(module):
    group = getattr(module, "ModuleGroup", None)
    if group is not None:
        for method in ("onload_", "offload_"):
            wrap(group, method, _moving_group)


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


def _is_on_a_device(hook, tensors):
    return any(tensor.device.type != "cpu" for tensor in tensors)


def _moved(hook, args, module_of, moves):
    """(name, bytes) of what this call is going to move; None: nothing."""
    module = module_of(hook, args)
    tensors = _own_tensors(hook, module)
    return (components.name(module), _bytes(tensors)) if moves(hook, tensors) else None


def _moving(module_of, moves):
    def make(original):
        def method(hook, *args, **kwargs):
            moved = None if wrapping.compiling() else guard(_moved, hook, args, module_of, moves)
            if moved is None:
                return original(hook, *args, **kwargs)
            with vocabulary.offload(*moved):
                return original(hook, *args, **kwargs)
        return method
    return make


def _group_bytes(group, members):
    """Of its modules and of the loose tensors; some are named as both, and move once."""
    tensors = list(getattr(group, "parameters", None) or ()) + list(getattr(group, "buffers", None) or ())
    for module in members:
        tensors += _own_tensors(None, module)
    return _bytes({id(tensor): tensor for tensor in tensors}.values())


def _moving_group(original):
    def method(group, *args, **kwargs):
        if wrapping.compiling():
            return original(group, *args, **kwargs)
        members = getattr(group, "modules", None) or ()
        leader = getattr(group, "onload_leader", None) or getattr(group, "offload_leader", None)
        named = members[0] if members else leader
        name = components.name(named) if named is not None else "group"
        size = guard(_group_bytes, group, members)
        with vocabulary.offload(name, size):
            return original(group, *args, **kwargs)
    return method


WAITS_FOR = {"accelerate.hooks": _on_accelerate, "diffusers.hooks.group_offloading": _on_group_offloading}
