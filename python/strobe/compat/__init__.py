"""The names existing pipelines already use: change the import line, nothing else.

    from strobe.compat import profile_section, MemoryTracker, get_global_stats
    from strobe.compat import profile_session, add_profiling_event

Everything also goes into the strobe recording when one is open. What these names
keep themselves (for their own tables) is small and bounded.
"""
from .cache import CacheEventRecorder
from .config import ProfilingConfig
from .decorators import (add_profiling_event, profile_block_computation, profile_diffusion_step, profile_layer,
                         profile_method, profile_model_parameters, profile_session, profile_streaming)
from .diffusion import DiffusionAnalyzer
from .export import export_profiling_report
from .iteration import IterationProfiler
from .memory import MemoryTracker
from .profiler import InferixProfiler, create_profiler_from_config, get_profiling_summary
from .timing import TimingStats, get_global_stats, profile_function, profile_section
from .torch_profiler import PyTorchProfiler

__all__ = [
    "CacheEventRecorder", "DiffusionAnalyzer", "InferixProfiler", "IterationProfiler", "MemoryTracker",
    "ProfilingConfig", "PyTorchProfiler", "TimingStats", "add_profiling_event", "create_profiler_from_config",
    "export_profiling_report", "get_global_stats", "get_profiling_summary", "profile_block_computation",
    "profile_diffusion_step", "profile_function", "profile_layer", "profile_method", "profile_model_parameters",
    "profile_section", "profile_session", "profile_streaming",
]
