# Memory at named moments, as a file.
from diffusers_helper.profiling import MemoryTracker

memory = MemoryTracker()
for moment in ("start", "loaded", "sampled"):
    work()
    memory.snapshot(moment)
memory.print_summary()
memory.export_json("memory_log.json")
