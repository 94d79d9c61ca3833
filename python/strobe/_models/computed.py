"""What a model's forward computes, seen while its FLOPs are counted on tensors without memory: attention with a mask, weights in
8 bits that every call unpacks, copies that only change a layout. Told once a model, for the rules that have no GPU trace."""
from .._native import native
from . import multiplied

UNPACKED_LEAST = 0.5  # of the weights in 8 bits, and these of all weights
PER_ELEMENT = ("_to_copy", "mul", "add", "sub", "div")  # what weights are unpacked with
CONVOLVED_LEAST = 0.5  # of all FLOPs: below that the layouts of its convolutions are not what a model spends its time on
CAST = frozenset(("conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "linear", "matmul", "__matmul__", "__rmatmul__",
                  "mm", "bmm", "addmm", "baddbmm", "addbmm", "einsum", "scaled_dot_product_attention"))  # what autocast casts the arguments of

_told = set()


def forget():
    """A new session."""
    _told.clear()


def _bytes(tensor):
    return tensor.numel() * tensor.element_size()


class Computed:
    """Of one forward."""

    def __init__(self, torch, model):
        self.torch, self.multiplied = torch, multiplied.Multiplied(torch)
        self.attentions = self.masked = self.unpacked = self.relaid_bytes = self.convolved_bytes = 0
        self.unpacking_bytes = self.scores = self.attention_flops = self.attention_bits = 0
        self.masks_known = True  # that a mask was in an attention's arguments: what it holds decides it in some models
        weights = [*model.parameters(), *model.buffers()]
        self.weights = sum(weight.numel() for weight in weights)
        self.packed = sum(weight.numel() for weight in weights if self._is_packed(weight))
        self.packed_shapes = {weight.shape for weight in weights if self._is_packed(weight)}

    def _is_packed(self, tensor):
        return tensor.dtype in (self.torch.int8, self.torch.uint8)

    def see(self, func, args, kwargs, result):
        """An operation of torch's."""
        self.multiplied.see(func, args, kwargs, result)
        name = func.__name__.split(".")[0] if hasattr(func, "__name__") else ""
        if not isinstance(result, self.torch.Tensor):
            return
        if name in PER_ELEMENT and result.shape in self.packed_shapes and result.is_floating_point():
            self.unpacking_bytes += sum(_bytes(one) for one in (*args, result) if isinstance(one, self.torch.Tensor))
        if name not in ("_to_copy", "clone", "convolution"):
            return
        taken = args[0]
        if name == "_to_copy":
            self.unpacked += taken.numel() if self._is_packed(taken) and result.is_floating_point() else 0
        elif name == "convolution":
            self.convolved_bytes += _bytes(taken)
        elif taken.stride() != result.stride():
            self.relaid_bytes += _bytes(taken)

    def function_mode(self, autocast):
        """Sees torch's attention as it is called: what it is made of depends on the device. Autocast, which tensors without memory know
        nothing of, casts what is multiplied. autocast: the type that the call was cast to, None: none, False: cast nothing."""
        from torch.overrides import TorchFunctionMode
        attention, computed, torch = self.torch.nn.functional.scaled_dot_product_attention, self, self.torch
        is_ours = multiplied.autocast_type(torch) is None  # else the session ends in one

        class Attention(TorchFunctionMode):
            def __torch_function__(self, func, types, args=(), kwargs=None):
                kwargs = kwargs or {}
                if getattr(func, "__name__", None) in CAST:
                    inner = multiplied.autocast_type(torch) if is_ours else None  # one that the forward itself is in
                    dtype = None if autocast is False else inner or autocast
                    if dtype is not None:
                        args, kwargs = computed.cast(args, dtype), {name: computed.cast(value, dtype) for name, value in kwargs.items()}
                if func is not attention:
                    return func(*args, **kwargs)
                query, key, value = (args[i] if len(args) > i else kwargs[name] for i, name in enumerate(("query", "key", "value")))
                computed.attentions += 1
                computed.masked += (args[3] if len(args) > 3 else kwargs.get("attn_mask")) is not None
                computed.see_attention(query, key, value)
                with computed.multiplied.as_in(query):
                    return func(*args, **kwargs)

        return Attention()

    def cast(self, value, dtype):
        if isinstance(value, self.torch.Tensor) and value.is_floating_point() and value.dtype != self.torch.float64:
            return value.to(dtype)
        return type(value)(self.cast(one, dtype) for one in value) if type(value) in (list, tuple) else value

    def see_attention(self, query, key, value):
        """Its scores are what a fused kernel never writes."""
        scores = query.numel() // query.shape[-1] * key.shape[-2]
        self.scores += scores
        self.attention_flops += 2 * scores * (query.shape[-1] + value.shape[-1])
        self.attention_bits = max(self.attention_bits, 8 * query.element_size())

    def convolves(self):
        convolved = self.multiplied.convolved
        return convolved > 0 and convolved >= CONVOLVED_LEAST * self.multiplied.total()

    def facts(self):
        convolves = self.convolved_bytes and self.convolves()
        unpacks = self.packed and self.packed >= UNPACKED_LEAST * self.weights and self.unpacked >= UNPACKED_LEAST * self.packed
        facts = {"attention_count": self.attentions, "masked_count": self.masked if self.masks_known else 0,
                 "attention_scores": self.scores, "attention_flops": float(self.attention_flops), "attention_bits": self.attention_bits}
        if unpacks:
            facts.update(unpacked_ratio=self.unpacked / self.packed, unpacking_bytes=self.unpacking_bytes)
        if convolves:
            facts.update(relaid_ratio=self.relaid_bytes / self.convolved_bytes, relaid_bytes=self.relaid_bytes)
        return {key: value for key, value in facts.items() if value}

    def tell(self, component):
        facts = self.facts()
        if facts and (component, *facts.items()) not in _told and len(_told) < 100:
            _told.add((component, *facts.items()))
            native.event("torch.computed", component=component, **facts)
