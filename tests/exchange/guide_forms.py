"""What profilers print, as the guides show it; and a report by its names."""

SUMMARY = """================================================================================
PROFILING SUMMARY - Top Operations by Total Time
================================================================================
Operation                                          Count      Total       Mean        Min        Max
--------------------------------------------------------------------------------
vae_decode                                            12     45.234s     3.769s     3.102s     4.521s
text_encoder_forward                                   2     12.456s     6.228s     6.100s     6.356s
transformer_forward                                  150      8.234s     0.055s     0.048s     0.072s
image_encoder_forward                                  1      2.103s     2.103s     2.103s     2.103s
================================================================================
"""


MEMORY = """================================================================================
MEMORY USAGE SUMMARY
================================================================================
Label                                          Allocated     Reserved    Max Alloc
--------------------------------------------------------------------------------
worker_start                                      1024.5M     2048.0M     1024.5M
after_text_encoding                               4096.2M     6144.0M     4100.3M
during_sampling                                  12288.4M    16384.0M    14336.2M
after_vae_decode                                  2048.1M     4096.0M    14336.2M
================================================================================
"""


ITERATIONS = """============================================================
ITERATION SUMMARY: denoising_steps
============================================================
Iterations: 25
Total:      0.940s
Mean:       0.038s
Median:     0.037s
Min:        0.030s
Max:        0.050s
Std:        0.002s
Speed:      26.60 it/s
============================================================
"""


DISPLAY = """=== Profiling Metrics (session_abc123) ===
GPU: Memory 8420MB / 24564MB (34.3%), Util 85.2%, Temp 72.1\u00b0C
CPU: 45.3%, Memory 12840MB / 32768MB (39.2%)
"""


AGGREGATION = """=== Aggregation Summary ===
Total reports processed: 8
Ranks: 8

=== GPU Metrics (Aggregated) ===
GPU Memory - Min: 7200.0MB, Max: 9800.0MB, Avg: 8420.0MB
GPU Utilization - Min: 75.2%, Max: 92.1%, Avg: 85.2%
"""


BEFORE = """BEFORE BetterTransformer:
vae_decode          12 ops    45s total    (with SSD offloading)
ssd_read_events               2.1 GB/s     (active)
gpu_memory_peak               8.2 GB       (efficient)
"""


AFTER = """AFTER BetterTransformer:
vae_decode          12 ops    428s total   (blocked offloading)
ssd_read_events               0.03 GB/s    (!!!)
gpu_memory_peak               23.8 GB      (!!!)
sdpa_overhead                 +380s total  (forced GPU residency)
"""



def stages(report):
    return {s["name"]: s for s in report["stage_analysis"]["stages"]}



def readings(report):
    return {r["id"]: r["text"] for r in report.get("readings", [])}



def findings(report):
    return {r["id"]: r for r in report["recommendations"]}
