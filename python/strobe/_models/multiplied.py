"""What a model multiplies while its operations are counted: how much in which type, by torch's own formulas and for products that
those leave out, and operators without any."""
import collections
import contextlib
import functools
import types

NAMES = {"torch.bfloat16": "bf16", "torch.float16": "fp16", "torch.float32": "fp32", "torch.float64": "fp64", "torch.int8": "int8"}
PRODUCTS = frozenset(("mm", "bmm", "addmm", "gemm", "gemv", "matmul", "linear", "attention", "attn", "sdpa", "conv", "conv1d", "conv2d", "conv3d", "convolution", "trilinear", "cdist"))
FIRST_IS_ADDED = ("addmm", "baddbmm", "addmv")
WRAPPERS_MOST = 8  # around a forward
DYNAMIC_LEAST = 0.5  # of the weights: their inputs are quantised too, call by call


def type_name(dtype):
    """None: nothing that a GPU has a rate for."""
    name = str(dtype)
    return "fp8" if name.startswith("torch.float8") else "fp4" if name.startswith("torch.float4") else NAMES.get(name)


def _rows_by_columns(first, *more, out_val=None, **named):
    return 2 * first.numel() * out_val.shape[-1]


def _packed_product(first, second, *more, out_val=None, **named):
    """Of fp4 two numbers are one item."""
    return _rows_by_columns(first, out_val=out_val) * (2 if str(first.dtype).endswith("_x2") else 1)


def _groups(first, second, *more, **named):
    count = first.shape[0] if first.dim() == second.dim() == 3 else 1
    return 2 * count * first.shape[-2] * first.shape[-1] * second.shape[-1]


def _each_once(first, *more, out_val=None, **named):
    return 2 * first.numel()


def _second_once(added, first, *more, out_val=None, **named):
    return 2 * first.numel()


def _flash(query, key, value, *more, out_val=None, **named):
    """Sequences of one length: batch, length, heads, width of a head."""
    batch, length, heads, width = query.shape
    return 2 * batch * heads * length * key.shape[1] * (width + value.shape[-1])


FORMULAS = {"aten._scaled_mm": _packed_product, "aten._scaled_mm_v2": _packed_product, "aten._int_mm": _rows_by_columns,
            "aten._weight_int8pack_mm": _rows_by_columns, "aten._weight_int4pack_mm": _rows_by_columns, "aten._grouped_mm": _groups,
            "aten._scaled_grouped_mm": _groups, "aten.mv": _each_once, "aten.addmv": _second_once, "aten.dot": _each_once,
            "flash_attn._flash_attn_forward": _flash, "flash_attn_3._flash_attn_forward": _flash}


def _operator(torch, path):
    namespace, name = path.split(".")
    return getattr(getattr(torch.ops, namespace), name, None)


def formulas(torch):
    found = {_operator(torch, path): formula for path, formula in FORMULAS.items()}
    found.pop(None, None)
    return found


class Multiplied:
    """Of one forward."""

    def __init__(self, torch):
        self.torch = torch
        self.flops = {}         # name of a type -> operations
        self.convolved = 0      # of them in convolutions
        self.uncounted = None   # an operator that multiplies and has no formula
        self.named = {}         # operator -> whether its name says that it multiplies
        self.inside = None      # the type of an attention's arguments, while its parts are seen

    @contextlib.contextmanager
    def as_in(self, tensor):
        """Without memory attention is made of products in float32, whatever a GPU multiplies."""
        self.inside = type_name(tensor.dtype)
        try:
            yield
        finally:
            self.inside = None

    @functools.cached_property
    def formulas(self):
        from torch.utils.flop_counter import flop_registry
        return {**flop_registry, **formulas(self.torch)}

    def has_formula(self, func):
        return getattr(func, "_overloadpacket", func) in self.formulas

    def see(self, func, args, kwargs, result):
        operator = getattr(func, "_overloadpacket", func)  # an operator of operators (flex attention) has none
        formula = self.formulas.get(operator)
        if formula is None:
            if self.uncounted is None and self._multiplies(func, operator):
                self.uncounted = str(operator).replace(".", "::")
            return
        name = self.inside or type_name(args[operator.__name__ in FIRST_IS_ADDED].dtype)
        count = formula(*args, **kwargs, out_val=result)
        self.flops[name] = self.flops.get(name, 0) + count
        self.convolved += count if "convolution" in operator.__name__ else 0

    def _multiplies(self, func, operator):
        """By its name: norms, rotary positions and casts of a library's own are not what takes the time."""
        known = self.named.get(operator)
        if known is None:
            words = getattr(func, "__name__", "").split(".")[0].lower().split("_")
            known = self.named[operator] = not PRODUCTS.isdisjoint(words)
        return known

    def total(self):
        return sum(self.flops.values())

    def most(self):
        """The type that most is multiplied in; None: nothing was seen."""
        return max(self.flops, key=self.flops.get) if self.flops else None


def dynamic_type(module):
    """What most weights are quantised to, where their inputs are quantised to the same in each call (torchao); None: they are not."""
    from .._memory import held
    sizes, whole = {}, 0
    for parameter in module.parameters():
        whole += parameter.numel()
        if getattr(parameter, "act_quant_kwargs", None) is not None or type(parameter).__name__ == "LinearActivationQuantizedTensor":
            name = type_name("torch." + held.dtype_name(parameter))
            sizes[name] = sizes.get(name, 0) + parameter.numel()
    most = max(sizes, key=sizes.get) if sizes else None
    return most if most and sizes[most] >= DYNAMIC_LEAST * whole else None


class Switches(collections.namedtuple("Switches", "autocast tf32 convolves_in_tf32")):
    """What the program has set when it calls a model."""

    def of(self, computed, dynamic):
        """What a model multiplies in: as its forward does on the shapes, but for what only the program's switches tell."""
        most = computed.multiplied.most()
        if most is not None and dynamic:
            return dynamic
        if most != "fp32":
            return most
        if self.autocast:
            return type_name(self.autocast)
        return "tf32" if (self.convolves_in_tf32 if computed.convolves() else self.tf32) else "fp32"


def autocast_type(torch):
    """What the program's autocast on a GPU casts products to; None: it is off."""
    if not torch.is_autocast_enabled():
        return None
    newer = getattr(torch, "get_autocast_dtype", None)  # the older one warns where there is a newer one
    return newer("cuda") if newer else torch.get_autocast_gpu_dtype()


def autocast_around(torch, module):
    """The same of a forward that was put into an autocast of its own, as accelerate does (mixed_precision); None: it was not."""
    function = vars(module).get("forward")
    for _ in range(WRAPPERS_MOST):
        function = getattr(function, "__func__", function)
        for cell in getattr(function, "__closure__", None) or ():
            around = cell.cell_contents if cell != types.CellType() else None
            if isinstance(around, torch.autocast) and around._enabled and around.device == "cuda":
                return around.fast_dtype
        function = getattr(function, "__wrapped__", None)
    return None


def tf32_switches(torch):
    """Whether float32 is multiplied as TF32: (in products, in convolutions)."""
    backends = torch.backends
    return _is_tf32(backends.cuda.matmul, backends.cuda.matmul), _is_tf32(getattr(backends.cudnn, "conv", None), backends.cudnn)


def _is_tf32(newer, older):
    """From torch 2.9 on fp32_precision tells, whichever of both the program set; reading the older switch then raises."""
    try:
        precision = newer.fp32_precision
    except (AttributeError, AssertionError):  # torch 1's switches raise the latter
        return older.allow_tf32
    return precision == "tf32"


def stored_as(torch, tensor):
    """(shape, type) of the matrix that a quantised weight stands for: bytes that know their shape (GGUF), or its own."""
    shape = getattr(tensor, "quant_shape", None)
    return (shape, torch.bfloat16) if shape is not None else (tensor.shape, tensor.dtype)


def widen(torch, copy):
    """Weights that are stored in fp8 become bf16, in a model without memory: they are converted before they are multiplied. Whether there were any."""
    found = False
    for module in copy.modules():
        for group in (module._parameters, module._buffers):
            for name, tensor in group.items():
                if tensor is not None and tensor.element_size() == 1 and tensor.dtype.is_floating_point:
                    group[name], found = _same_kind(torch, tensor), True
    return found


def _same_kind(torch, tensor):
    meta = torch.empty(tensor.shape, dtype=torch.bfloat16, device="meta")
    return torch.nn.Parameter(meta, requires_grad=False) if isinstance(tensor, torch.nn.Parameter) else meta
