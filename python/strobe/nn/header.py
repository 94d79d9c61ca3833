"""What a model is: parameters, types, size, device."""
import collections
import contextlib
import sys

from .. import _record
from .._memory import held
from .._own import own_work
from ..compat.diffusion import count_text
from .device import device_of, torch


class ModelHeader:
    def __init__(self, name, model):
        self.name = name
        self.type = type(model).__name__
        self.device = device_of(model)
        self.gpu = None
        if self.device.type == "cuda":
            self.gpu = torch().cuda.get_device_name(self.device)
        self.parameter_count = self.trainable_count = self.lora_count = self.size_bytes = 0
        self.dtypes = collections.Counter()
        self._count(model)

    def _count(self, model):
        for key, tensor in list(model.named_parameters()) + list(model.named_buffers()):
            is_parameter = isinstance(tensor, torch().nn.Parameter)
            count = tensor.numel()
            # bitsandbytes packs two 4-bit values into a byte and keeps the shape aside
            quantised = getattr(tensor, "quant_state", None)
            if quantised is not None and getattr(quantised, "shape", None) is not None:
                count = 1
                for n in quantised.shape:
                    count *= n
            self.size_bytes += held.size_bytes(tensor)
            if not is_parameter:
                continue
            self.parameter_count += count
            self.trainable_count += count if tensor.requires_grad else 0
            self.lora_count += count if "lora_" in key else 0
            self.dtypes[_dtype_name(tensor, quantised)] += count
        for module in model.modules():  # torch's own dynamic quantisation keeps its weights in a method
            if "quantized" in type(module).__module__ and callable(getattr(module, "weight", None)):
                with contextlib.suppress(Exception):
                    weight = module.weight()
                    self.parameter_count += weight.numel()
                    self.size_bytes += weight.numel() * weight.element_size()
                    self.dtypes[str(weight.dtype).replace("torch.", "")] += weight.numel()

    @property
    def size_mb(self):
        return self.size_bytes / 1048576.0

    def __str__(self):
        kinds = ", ".join("%s %s" % (name, count_text(n)) for name, n in self.dtypes.most_common())
        lines = ["Using device: %s" % self.device]
        lines += ["GPU: %s" % self.gpu] if self.gpu else []
        lines += ["Model: %s" % self.type,
                  "Total parameters: {:,} ({})".format(self.parameter_count, count_text(self.parameter_count)),
                  "Model size: %.1f MB (%s)" % (self.size_mb, kinds or "no parameters")]
        lines += ["LoRA parameters: {:,}".format(self.lora_count)] if self.lora_count else []
        return "\n".join(lines)


def _dtype_name(tensor, quantised):
    if quantised is not None:
        return str(getattr(quantised, "quant_type", "4bit"))
    return held.dtype_name(tensor)


def describe(model, name=None):
    """The model's header, which also goes into the recording."""
    header = ModelHeader(name or type(model).__name__, model)
    _record.model(header.name, header.parameter_count, header.type, header.size_bytes)
    return header


def count_flops(model, *inputs, **kwargs):
    """Floating-point operations of one call; None where torch cannot count them (before 2.1)."""
    try:
        with own_work():
            from torch.utils.flop_counter import FlopCounterMode
    except ImportError:
        return None
    with FlopCounterMode(display=False) as counter, sys.modules["torch"].no_grad():
        model(*inputs, **kwargs)
    return counter.get_total_flops()
