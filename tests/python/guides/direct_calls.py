# A loop that measures itself and hands in what it measured.
sizes = {"frames": 3, "blocks": 2}
for block in range(sizes["blocks"]):
    took_ms = 0.0
    for number, noise in enumerate([999.0, 500.0]):
        if profiler is not None:
            profiler.record_diffusion_step(step=number, timestep=noise, block_size=sizes["frames"], computation_time_ms=10.0)
        took_ms += 10.0
    if profiler is not None:
        profiler.record_block_computation(block_index=block, block_size=sizes["frames"], computation_time_ms=took_ms, memory_usage_mb=100.0)
