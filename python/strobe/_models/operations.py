"""The operations of a forward on tensors without memory (the meta device): what torch does with each, once."""
import itertools

from .copies import Refused

KEY_ITEMS_MOST = 64    # of a list in an operation's arguments
KNOWN_MOST = 20000     # operations with shapes of their own


OTHERS = "c10d", "_c10d_functional", "_c10d_functional_autograd", "symm_mem"  # namespaces of operations that other ranks wait for, or are waited for


class _NoKey(Exception):
    """An operation with an argument that two calls of it cannot be compared by."""


def _key(torch, value, depth=0):
    """Equal where an operation makes tensors of the same shape of it."""
    kind = type(value)
    if kind is torch.Tensor or kind is torch.nn.Parameter:
        if value.device.type != "meta":
            raise _NoKey
        return kind, value.shape, value.stride(), value.dtype
    if kind in (list, tuple) and depth < 2 and len(value) <= KEY_ITEMS_MOST:
        return kind, *[_key(torch, item, depth + 1) for item in value]
    if value is None or kind in (int, float, bool, str, torch.dtype, torch.device, torch.layout, torch.memory_format):
        return kind, value
    raise _NoKey


class _Results:
    """What operations made of shapes: a video's decoder computes the same once for each few frames, and torch takes 0.3 ms to say
    what shape comes out of each."""

    def __init__(self, torch):
        self._torch, self._made, self._plain, self._made_of_others = torch, {}, {}, {}

    def _is_plain(self, func):
        """It makes new tensors of its arguments, and neither changes nor returns them."""
        known = self._plain.get(func)
        if known is None:
            schema = getattr(func, "_schema", None)  # none: an operator of operators (flex attention)
            known = self._plain[func] = schema is not None and not schema.is_mutable and bool(schema.returns) and all(
                part.alias_info is None for part in itertools.chain(schema.arguments, schema.returns)) and all(
                str(made.type) == "Tensor" for made in schema.returns)
        return known

    def is_made_of_others(self, func):
        known = self._made_of_others.get(func)
        if known is None:
            known = self._made_of_others[func] = hasattr(func, "decompose") and func.has_kernel_for_dispatch_key(
                self._torch._C.DispatchKey.CompositeImplicitAutograd)
        return known

    def of(self, func, args, kwargs):
        torch = self._torch
        try:
            key = (func, _key(torch, args), *[(name, _key(torch, value)) for name, value in kwargs.items()]) if self._is_plain(func) else None
        except _NoKey:
            key = None
        if key is None:
            return func(*args, **kwargs)
        known = self._made.get(key)
        if known is not None:
            alone, shapes = known
            made = [torch.empty_strided(size, stride, dtype=dtype, device="meta") for size, stride, dtype in shapes]
            return made[0] if alone else tuple(made)
        result = func(*args, **kwargs)
        alone = isinstance(result, torch.Tensor)
        made = (result,) if alone else result
        if len(self._made) < KNOWN_MOST and all(type(one) is torch.Tensor and one.device.type == "meta" for one in made):
            self._made[key] = alone, [(one.shape, one.stride(), one.dtype) for one in made]
        return result


def _tensors(torch, values, found):
    for value in values:
        if isinstance(value, torch.Tensor):
            found.append(value)
        elif isinstance(value, (list, tuple)):
            _tensors(torch, value, found)
    return found


def without_memory(torch, check, computed):
    """A mode for a forward on the meta device. Positions and masks that a forward makes itself stay real: some models take sizes
    from them. check is called before each operation, computed is shown each."""
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils._pytree import tree_map
    results, random = _Results(torch), getattr(getattr(torch, "Tag", None), "nondeterministic_seeded", None)

    class WithoutMemory(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            check()
            kwargs = dict(kwargs or {})
            if results.is_made_of_others(func) and not computed.multiplied.has_formula(func):
                with self:  # as it is in a model's own inference_mode
                    return func.decompose(*args, **kwargs)
            tensors = _tensors(torch, kwargs.values(), _tensors(torch, args, []))
            if any(tensor.device.type not in ("cpu", "meta") for tensor in tensors):  # of the program's own: a table that all calls share
                args, kwargs = tree_map(self._off_device, (args, kwargs))
                tensors = _tensors(torch, kwargs.values(), _tensors(torch, args, []))
            real = [tensor for tensor in tensors if tensor.device.type != "meta"]
            if getattr(func, "namespace", None) in OTHERS and (real or func.namespace == "c10d"):
                raise Refused("its forward talks to other processes (%s)" % func.__name__.split(".")[0])
            if len(real) == len(tensors) and kwargs.get("device") is not None:
                kwargs = self._kept(func, args, kwargs, tensors)
            elif not real and kwargs.get("device") is not None:
                kwargs["device"] = "meta"  # what was made of an argument has no memory on the device of positions either
            elif real and len(real) < len(tensors):
                args, kwargs = tree_map(self._to_meta, (args, kwargs))
            result = results.of(func, args, kwargs) if tensors and not real else self._done(func, args, kwargs)
            computed.see(func, args, kwargs, result)
            return result

        @staticmethod
        def _done(func, args, kwargs):
            """Random numbers that are really drawn are none of the program's."""
            if random is None or random not in getattr(func, "tags", ()):
                return func(*args, **kwargs)
            generator = kwargs.get("generator") or torch.default_generator
            state = generator.get_state()
            try:
                return func(*args, **kwargs)
            finally:
                generator.set_state(state)

        @staticmethod
        def _off_device(value):
            return value.to("meta") if isinstance(value, torch.Tensor) and value.device.type not in ("cpu", "meta") else value

        @staticmethod
        def _to_meta(value):
            return value.to("meta") if isinstance(value, torch.Tensor) and value.dim() else value

        @staticmethod
        def _kept(func, args, kwargs, tensors):
            if torch.device(kwargs["device"]).type == "cpu":
                return kwargs
            kwargs = dict(kwargs, device="meta")
            whole = all(not tensor.is_floating_point() for tensor in tensors) if tensors else \
                not func(*args, **kwargs).is_floating_point()
            return dict(kwargs, device="cpu") if whole else kwargs

    return WithoutMemory()
