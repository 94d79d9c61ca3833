#!/usr/bin/env python3
"""A generation pipeline timed by sections, iterations and memory snapshots, with the names such pipelines already
use: only the import line says strobe. Works with and without a GPU.

    python3 examples/generation.py --enable-profiling --profiling-iterations 3
    strobe report profiling_results
"""
import argparse

import strobe
from strobe.compat import IterationProfiler, MemoryTracker, get_global_stats, profile_section


def work(units):
    return sum(i * i for i in range(20000 * units))


def generate(memory, steps):
    memory.snapshot("worker_start")
    with profile_section("text_encoder_forward"):
        work(3)
    memory.snapshot("after_text_encoding")
    profiler = IterationProfiler("denoising_steps")
    for _ in range(steps):
        with profiler.iteration(), profile_section("transformer_forward"):
            work(1)
    memory.snapshot("during_sampling")
    with profile_section("vae_decode"):
        work(8)
    memory.snapshot("after_vae_decode")
    return profiler


def main():
    parser = strobe.add_arguments(argparse.ArgumentParser(description=__doc__.split("\n\n")[0]))
    parser.add_argument("--steps", type=int, default=8)
    args = parser.parse_args()
    strobe.start_from_arguments(args, name="generation")
    memory = MemoryTracker()
    for _ in strobe.profiled_iterations(args):
        profiler = generate(memory, args.steps)
    get_global_stats().print_summary()
    profiler.print_summary()
    memory.print_summary()


if __name__ == "__main__":
    main()
