"""What a model's forward computes, seen while its FLOPs are counted on tensors without memory: attention with a mask, weights in
8 bits that every call unpacks, copies that only change a layout. Told once a model, for the rules that have no GPU trace."""
from .._native import native

UNPACKED_LEAST = 0.5  # of the weights in 8 bits, and these of all weights
CONVOLVED_LEAST = 0.5  # of all FLOPs: below that the layouts of its convolutions are not what a model spends its time on

_told = set()


class Computed:
    """Of one forward."""

    def __init__(self, torch, model):
        self.torch = torch
        self.attentions = self.masked = self.unpacked = self.relaid_bytes = self.convolved_bytes = 0
        self.convolved_flops = self.flops = 0
        self.masks_known = True  # that a mask was in an attention's arguments: what it holds decides it in some models
        weights = [*model.parameters(), *model.buffers()]
        self.weights = sum(weight.numel() for weight in weights)
        self.packed = sum(weight.numel() for weight in weights if self._is_packed(weight))

    def _is_packed(self, tensor):
        return tensor.dtype in (self.torch.int8, self.torch.uint8)

    def see(self, func, args, result):
        """An operation of torch's."""
        name = func.__name__.split(".")[0] if hasattr(func, "__name__") else ""
        if name not in ("_to_copy", "clone", "convolution") or not isinstance(result, self.torch.Tensor):
            return
        taken = args[0]
        if name == "_to_copy":
            self.unpacked += taken.numel() if self._is_packed(taken) and result.is_floating_point() else 0
        elif name == "convolution":
            self.convolved_bytes += taken.numel() * taken.element_size()
        elif taken.stride() != result.stride():
            self.relaid_bytes += taken.numel() * taken.element_size()

    def attention_mode(self):
        """Sees torch's attention as it is called: what it is made of depends on the device."""
        from torch.overrides import TorchFunctionMode
        attention, computed = self.torch.nn.functional.scaled_dot_product_attention, self

        class Attention(TorchFunctionMode):
            def __torch_function__(self, func, types, args=(), kwargs=None):
                kwargs = kwargs or {}
                if func is attention:
                    computed.attentions += 1
                    computed.masked += (args[3] if len(args) > 3 else kwargs.get("attn_mask")) is not None
                return func(*args, **kwargs)

        return Attention()

    def take_flops(self, counts):
        """Of each operator, as torch counted them."""
        self.flops = sum(counts.values())
        self.convolved_flops = sum(flops for operator, flops in counts.items() if "convolution" in str(operator))

    def convolves(self):
        return self.convolved_flops > 0 and self.convolved_flops >= CONVOLVED_LEAST * self.flops

    def facts(self):
        convolves = self.convolved_bytes and self.convolves()
        unpacks = self.packed >= UNPACKED_LEAST * self.weights and self.unpacked >= UNPACKED_LEAST * self.packed
        facts = {"attention_count": self.attentions, "masked_count": self.masked if self.masks_known else 0,
                 "unpacked_ratio": self.unpacked / self.packed if self.packed and unpacks else 0,
                 "relaid_ratio": self.relaid_bytes / self.convolved_bytes if convolves else 0}
        return {key: value for key, value in facts.items() if value}

    def tell(self, component):
        facts = self.facts()
        if facts and (component, *facts.items()) not in _told and len(_told) < 100:
            _told.add((component, *facts.items()))
            native.event("torch.computed", component=component, **facts)
