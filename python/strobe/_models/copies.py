"""Copies of a model that its operations are counted in: the same modules with the same settings, without weights, hooks and what others put in front of
its forward. Made of a model that lives, or kept as an outline of one that may be gone. What a copy's forward changes is the copy's own."""
import collections
import functools
import types
import weakref

from . import components, multiplied

DEPTH_MOST = 4         # of lists, dicts and objects in a model's settings
ITEMS_MOST = 1000      # of a list
OBJECTS_MOST = 20000   # of one model: more is no setting, and the end of a program waits
VALUES_MOST = 4096     # of a tensor in a list that is kept with its values: a forward may read sizes from it
LISTS = (list, dict, set, tuple, collections.OrderedDict, collections.defaultdict, collections.deque)
SHARED = ("logging", "threading", "multiprocessing", "asyncio", "concurrent", "torch.distributed")  # packages whose objects stay what they are
IN_FRONT = "forward", "decode", "encode", "_old_forward", "_hf_hook", "_diffusers_hook", "_compiled_call_impl"


class Refused(Exception):
    """A model, or an operation in its forward, that no copy of one rank can be counted by: why, in words."""


class Unknown(Exception):
    """What cannot be copied without its memory; keeping it would keep what it holds (a cache, say) alive."""


def skeleton(torch, module, made, setting):
    """made: of each module that was copied already, by its id. setting(value): what its copy has in place of an attribute; Unknown: it has none."""
    if id(module) in made:
        return made[id(module)]
    inner = components.uncompiled(module)
    if inner is not module:
        return skeleton(torch, inner, made, setting)
    copy = object.__new__(type(module))
    made[id(module)] = copy
    own = dict(module.__dict__)
    for name in list(own):
        if name.endswith("_hooks") or name.endswith("_hooks_with_kwargs") or name.endswith("_hooks_always_called"):
            own[name] = type(own[name])()
    for name in IN_FRONT:
        own.pop(name, None)
    own["_compiled_call_impl"] = functools.partial(_forward, weakref.ref(copy))
    for group in ("_parameters", "_buffers"):
        own[group] = {name: weight(torch, tensor) for name, tensor in module.__dict__[group].items()}
    own["_modules"] = {name: child if child is None else skeleton(torch, child, made, setting)
                       for name, child in module.__dict__["_modules"].items()}
    for name, value in own.items():
        if isinstance(value, torch.Tensor):
            own[name] = weight(torch, value)
        elif name not in ("_parameters", "_buffers", "_modules", "_compiled_call_impl"):
            try:
                own[name] = setting(value)
            except Unknown:
                continue  # the forward that asks for it says so
        copy.__dict__[name] = own[name]
    return copy


def _forward(copy, *args, **kwargs):
    """In place of a module's call, which runs hooks that the program has for all modules."""
    return copy().forward(*args, **kwargs)


def weight(torch, tensor):
    if tensor is None:
        return None
    shape, dtype = multiplied.stored_as(torch, tensor)
    meta = torch.empty(shape, dtype=dtype, device="meta")
    return torch.nn.Parameter(meta, requires_grad=False) if isinstance(tensor, torch.nn.Parameter) else meta


def refuse_shared(module):
    """A model of which each rank computes a part, or whose weights come together in ways of its own."""
    limit = any(base.__name__ == "FSDPModule" for part in module.modules() for base in type(part).__mro__)  # brings them together again
    for part in module.modules():
        if type(part).__name__ == "FullyShardedDataParallel":
            raise Refused("its weights are spread over ranks (FullyShardedDataParallel)")
        if vars(part).get("_parallel_config") is not None:
            raise Refused("its work is shared between ranks (%s)" % type(vars(part)["_parallel_config"]).__name__)
        for tensor in part.parameters(recurse=False):
            if sum(one.is_shard() for one in getattr(tensor, "placements", ())) > limit:
                raise Refused("its weights are shared between ranks (%s)" % type(tensor).__name__)


# ---- of a model that lives ----

def of(torch, module):
    refuse_shared(module)
    made = {}
    return skeleton(torch, module, made, Own(torch, made))


class Own:
    """What a copy has in place of the model's attributes. Lists and objects are copied, as deep as they are: a forward that fills a cache, or calls
    a part of the model that lies in a list, shall reach the copy's. What cannot be copied is the model's own."""

    def __init__(self, torch, made):
        self.torch, self.made = torch, made
        self.seen = {}  # id -> (what is copied, its copy)

    def __call__(self, value, depth=0):
        kind = type(value)
        if kind in (bool, int, float, str, type(None)) or depth > 2 * DEPTH_MOST or len(self.seen) > OBJECTS_MOST:
            return value
        if issubclass(kind, self.torch.nn.Module):  # not a weakref.proxy of one
            return skeleton(self.torch, value, self.made, self)
        known = self.seen.get(id(value))
        if known is None:
            known = self.seen[id(value)] = value, value  # of what holds itself
            known = self.seen[id(value)] = value, self._copied(value, kind, depth + 1)
        return known[1]

    def _copied(self, value, kind, depth):
        if isinstance(value, self.torch.Tensor):
            return self._tensor(value, kind)
        if kind in LISTS:
            return self._list(value, kind, depth)
        if kind is types.MethodType:
            return types.MethodType(value.__func__, self(value.__self__, depth))
        if kind is functools.partial:
            return functools.partial(self(value.func, depth), *[self(one, depth) for one in value.args],
                                     **{name: self(one, depth) for name, one in value.keywords.items()})
        if kind is types.FunctionType:
            return self._function(value, depth)
        return self._object(value, kind, depth)

    def _tensor(self, value, kind):
        if kind is self.torch.Tensor and value.device.type == "cpu" and value.numel() <= VALUES_MOST:
            return value.detach().clone()
        return weight(self.torch, value)

    def _list(self, value, kind, depth):
        if len(value) > ITEMS_MOST:
            return value if kind is tuple else value.copy()
        if kind is tuple:
            return tuple([self(one, depth) for one in value])
        copy = value.copy()  # at once: another thread may change it
        if isinstance(copy, dict):
            copy.update([(key, self(one, depth)) for key, one in list(copy.items())])
            return copy
        items = [self(one, depth) for one in copy]
        copy.clear()
        (copy.update if kind is set else copy.extend)(items)
        return copy

    def _function(self, value, depth):
        """One that keeps the model, or a part of it, calls the copy's."""
        kept = [cell.cell_contents for cell in value.__closure__ or () if cell != types.CellType()]
        if not any(isinstance(getattr(one, "__self__", one), self.torch.nn.Module) for one in kept):
            return value
        cells = tuple(types.CellType(self(cell.cell_contents, depth)) if cell != types.CellType() else cell for cell in value.__closure__)
        copy = types.FunctionType(value.__code__, value.__globals__, value.__name__, value.__defaults__, cells)
        copy.__kwdefaults__ = value.__kwdefaults__
        return copy

    def _object(self, value, kind, depth):
        """By its own attributes: an attention processor that counts its calls. One that has none, is freed in a way of its own, or that others
        know by what it is, stays."""
        has_slots = any(vars(base).get("__slots__") for base in kind.__mro__)  # abc.ABC and Generic say that they have none
        if not getattr(value, "__dict__", None) or has_slots or isinstance(value, (type, types.ModuleType, dict)) or hasattr(kind, "__del__") \
                or hasattr(kind, "__members__") or kind.__module__.startswith(SHARED):
            return value
        try:
            copy = object.__new__(kind)
        except TypeError:  # more than Python sees
            return value
        self.seen[id(value)] = value, copy
        for name, one in list(vars(value).items()):
            copy.__dict__[name] = self(one, depth)
        return copy


# ---- of one that may be gone ----

def outline(torch, module):
    """None: there cannot be one."""
    try:
        refuse_shared(module)
        return skeleton(torch, module, {}, lambda value: setting(torch, value))
    except Exception:
        return None


def setting(torch, value, depth=0):
    """What a model's settings are made of, copied; Unknown: something else, which may hold memory."""
    if isinstance(value, (bool, int, float, complex, str, type(None), torch.dtype, torch.device, torch.Size, type)):
        return value
    if isinstance(value, (types.FunctionType, types.BuiltinFunctionType)) and not getattr(value, "__closure__", None):
        return value
    if isinstance(value, torch.Tensor):
        return weight(torch, value)
    if depth < DEPTH_MOST and type(value) in (list, tuple, set) and len(value) <= ITEMS_MOST:
        return type(value)(setting(torch, item, depth + 1) for item in value)
    if depth < DEPTH_MOST and isinstance(value, dict) and len(value) <= ITEMS_MOST:
        settings = {key: setting(torch, item, depth + 1) for key, item in value.items()}
        return settings if type(value) is dict else _filled(value, settings)
    if depth < DEPTH_MOST and hasattr(value, "__dict__") and not isinstance(value, (types.ModuleType, torch.nn.Module)):
        return _object(torch, value, depth)
    raise Unknown(type(value).__name__)


def _filled(value, settings):
    """A dict of another kind: OrderedDict, a framework's own. Its attributes are its keys."""
    copy, kind = type(value).__new__(type(value)), collections.OrderedDict if isinstance(value, collections.OrderedDict) else dict
    for key, item in settings.items():
        kind.__setitem__(copy, key, item)  # one that is frozen has a __setitem__ of its own
    if hasattr(value, "__dict__"):
        vars(copy).update((key, item) for key, item in settings.items() if key in vars(value))
    return copy


def _object(torch, value, depth):
    """An attention processor, a configuration: by its own attributes."""
    copy = object.__new__(type(value))
    for name, item in vars(value).items():
        try:
            copy.__dict__[name] = setting(torch, item, depth + 1)
        except Unknown:
            continue  # who asks for it says so
    return copy
