# Time a part, watch the memory around another, print both.
from diffusers_helper.profiling import (
    MemoryTracker,
    get_global_stats,
    profile_section,
)

memory = MemoryTracker()
with profile_section("upscale"):
    work()
memory.snapshot("empty")
work()
memory.snapshot("model in place")
memory.print_summary()
get_global_stats().print_summary()
