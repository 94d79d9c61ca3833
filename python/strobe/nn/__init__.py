"""A torch model seen from inside: its header, its layers, its memory, its variants.

    header = strobe.nn.describe(model)
    print(strobe.nn.profile_layers(model, x))
    print(strobe.nn.memory_profile(model, x))
    print(strobe.nn.compare({"FP32": lambda: model(x), "compiled": lambda: fast(x)}))

Works on CPU-only torch. GPU times are taken with events that are read when they
are ready: nothing here synchronizes the device while it measures.
"""
from .bench import Timing, benchmark
from .header import ModelHeader, count_flops, describe
from .layers import LayerReport, layers, profile_layers
from .memory import MemoryReport, memory_profile, snapshot_section
from .oom import oom_report
from .variants import Comparison, compare, compare_precision

__all__ = ["Comparison", "LayerReport", "MemoryReport", "ModelHeader", "Timing", "benchmark", "compare",
           "compare_precision", "count_flops", "describe", "layers", "memory_profile", "oom_report", "profile_layers",
           "snapshot_section"]
