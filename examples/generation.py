#!/usr/bin/env python3
"""A generation pipeline timed by sections, iterations and memory snapshots, with the names such pipelines already
use: only the import line says strobe. Works with and without a GPU.

    python3 examples/generation.py --enable-profiling --profiling-iterations 3
    strobe report profiling_results
"""
import argparse
import os
import time

import strobe
from strobe.compat import IterationProfiler, MemoryTracker, get_global_stats, profile_section


SCALE = float(os.environ.get("EXAMPLE_SCALE", "1"))  # smaller for tests


def work(units):
    """Stands for a model on a device, which the program waits for: load on the CPU does not change it."""
    time.sleep(0.02 * units * SCALE)


def generate(memory, profiler, steps):
    memory.snapshot("worker_start")
    with profile_section("text_encoder_forward"):
        work(3)
    memory.snapshot("after_text_encoding")
    for _ in range(steps):
        with profiler.iteration(), profile_section("transformer_forward"):
            work(4)
    memory.snapshot("during_sampling")
    with profile_section("vae_decode"):
        work(8)
    memory.snapshot("after_vae_decode")


def main():
    parser = strobe.add_arguments(argparse.ArgumentParser(description=__doc__.split("\n\n")[0]))
    parser.add_argument("--steps", type=int, default=8)
    args = parser.parse_args()
    strobe.start_from_arguments(args, name="generation")
    memory, profiler = MemoryTracker(), IterationProfiler("denoising_steps")
    for _ in strobe.profiled_iterations(args):
        generate(memory, profiler, args.steps)
    get_global_stats().print_summary()
    profiler.print_summary()
    memory.print_summary()


if __name__ == "__main__":
    main()
