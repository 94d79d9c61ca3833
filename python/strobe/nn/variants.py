"""The same work done differently: precisions, compiled, quantised, scripted."""
import contextlib

from .._core import event
from .bench import benchmark
from .device import device_of, torch


class Comparison:
    """Named timings; speed-ups are against the first."""

    def __init__(self, timings, failures):
        self.timings = timings
        self.failures = failures

    @property
    def base(self):
        return next(iter(self.timings.values()), None)

    def speedup(self, name):
        return self.base.mean_ms / self.timings[name].mean_ms

    def reading(self, name):
        """What a precision's speed-up says about the model."""
        factor = self.speedup(name)
        if factor < 1.5:
            return "CPU-bound or memory-bound"
        return "good GPU utilisation" if factor <= 2.0 else "excellent tensor-core use"

    def __str__(self):
        width = max((len(name) for name in [*self.timings, *self.failures]), default=4) + 1
        lines = []
        for name, timing in self.timings.items():
            line = "%-*s %9.2f ± %.2f ms" % (width, name + ":", timing.mean_ms, timing.std_ms)
            if timing is not self.base:
                line += "   Speedup: %.2fx" % self.speedup(name)
                if name in ("FP16", "BF16") and timing.on_gpu:
                    line += " (%s)" % self.reading(name)
            lines.append(line)
        lines += ["%-*s failed: %s" % (width, name + ":", why) for name, why in self.failures.items()]
        return "\n".join(lines)


def compare(variants, iterations=20, warmup=5, device=None):
    """variants: {name: callable}. One that fails is a row, not the end."""
    timings, failures = {}, {}
    for name, call in variants.items():
        try:
            timing = timings[name] = benchmark(call, iterations, warmup, name, device)
            event("strobe.variant", variant=name, mean_ms=timing.mean_ms, std_ms=timing.std_ms, min_ms=timing.min_ms,
                  max_ms=timing.max_ms, median_ms=timing.median_ms, count=iterations, warmup_count=warmup)
        except Exception as error:
            failures[name] = "%s: %s" % (type(error).__name__, str(error).splitlines()[0] if str(error) else "")
    return Comparison(timings, failures)


def compare_precision(model, *inputs, iterations=20, warmup=5, variants=None, **kwargs):
    """FP32 against FP16 and BF16 on CUDA, BF16 on the CPU (by autocast); plus your own variants,
    {name: callable or model}."""
    device = device_of(model)
    kinds = {"FP16": torch().float16, "BF16": torch().bfloat16} if device.type == "cuda" else {"BF16": torch().bfloat16}

    def calling(target, dtype=None):
        def call():
            cast = torch().autocast(device.type, dtype=dtype) if dtype is not None else contextlib.nullcontext()
            with torch().no_grad(), cast:
                return target(*inputs, **kwargs)
        return call

    table = {"FP32": calling(model)}
    table.update((name, calling(model, dtype)) for name, dtype in kinds.items())
    table.update((name, calling(other)) for name, other in (variants or {}).items())
    return compare(table, iterations, warmup, device)
