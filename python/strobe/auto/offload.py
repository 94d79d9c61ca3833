"""Weights that move between CPU and GPU, as stages of their own: offload:<module>
with bytes. By the hooks of accelerate and diffusers, without any kernel trace."""
from .. import _imports
from .._core import ROLE_OFFLOAD
from . import torch_modules
from .wrapping import guard, wrap, wrap_method, zone


def watch():
    _imports.when_imported("accelerate.hooks", _on_accelerate)
    _imports.when_imported("diffusers.hooks.group_offloading", _on_group_offloading)


def _on_accelerate(hooks):
    for class_name, method, module_of in (("CpuOffload", "pre_forward", lambda hook, args: args[0]),
                                          ("UserCpuOffloadHook", "offload", lambda hook, args: hook.model),
                                          ("AlignDevicesHook", "pre_forward", lambda hook, args: args[0]),
                                          ("AlignDevicesHook", "post_forward", lambda hook, args: args[0])):
        cls = getattr(hooks, class_name, None)
        if cls is not None:
            wrap_method(cls, method, _moving(module_of))


def _on_group_offloading(module):
    group = getattr(module, "ModuleGroup", None)
    if group is not None:
        for method in ("onload_", "offload_"):
            wrap(group, method, _moving_group)


def _weights(module):
    """(bytes, places) of a module's own tensors; places tells whether it moved."""
    size, places = 0, []
    for tensor in list(module.parameters()) + list(module.buffers()):
        size += tensor.numel() * tensor.element_size()
        places.append((str(tensor.device), tensor.device.type == "meta"))
    return size, places


def _target_is_elsewhere(hook, module):
    """Whether this call will move anything, as far as can be told beforehand."""
    first = next(module.parameters(), None)
    target = getattr(hook, "execution_device", None)
    if first is None or target is None:
        return first is not None
    return str(first.device).partition(":")[0] != str(target).partition(":")[0]


def _moving(module_of):
    def make(original):
        def method(hook, *args, **kwargs):
            module = guard(module_of, hook, args)
            if module is None or not guard(_target_is_elsewhere, hook, module):
                return original(hook, *args, **kwargs)
            name = torch_modules.component_name(module)
            size = (guard(_weights, module) or (None,))[0]
            with zone("offload:" + name, ROLE_OFFLOAD, bytes=size):
                return original(hook, *args, **kwargs)
        return method
    return make


def _moving_group(original):
    def method(group, *args, **kwargs):
        modules = getattr(group, "modules", None) or ()
        leader = getattr(group, "onload_leader", None) or getattr(group, "offload_leader", None)
        named = modules[0] if modules else leader
        name = torch_modules.component_name(named) if named is not None else "group"
        size = sum((guard(_weights, m) or (0,))[0] for m in modules)
        with zone("offload:" + name, ROLE_OFFLOAD, bytes=size):
            return original(group, *args, **kwargs)
    return method
