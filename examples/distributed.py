#!/usr/bin/env python3
"""Block-wise generation on several ranks, each a session of its own that streams its frames. Without torch: the ranks are
processes of this script, or those of torchrun, Slurm and MPI where it is started by them.

    python3 examples/distributed.py --ranks 4 --profiling_config examples/profiling.yaml --output_folder job
    strobe aggregate --reports_dir job
"""
import argparse
import os
import subprocess
import sys
import time

from strobe.compat import InferixProfiler, ProfilingConfig


SCALE = float(os.environ.get("EXAMPLE_SCALE", "1"))  # smaller for tests


def work(units):
    """Stands for a model on the rank's own device: ranks that share a CPU do not slow each other down."""
    time.sleep(0.04 * units * SCALE)


def denoise(profiler, rank, block, steps, block_size):
    """A loop that hands in what it has measured. On a GPU: torch.cuda.Event pairs, read after the block."""
    block_begin = time.perf_counter()
    for step in range(steps):
        begin = time.perf_counter()
        work(2 + 2 * (rank == 1))  # one rank has more to do than the others
        profiler.record_diffusion_step(step=step, timestep=1000.0 * (steps - step) / steps, block_size=block_size,
                                       computation_time_ms=(time.perf_counter() - begin) * 1e3)
    profiler.record_block_computation(block_index=block, block_size=block_size,
                                      computation_time_ms=(time.perf_counter() - block_begin) * 1e3)


def generate(profiler, rank, blocks, steps, block_size):
    profiler.record_model_parameters("denoiser", 1_300_000_000, "dit")
    with profiler.stage("text_encode"):
        work(2)
    for block in range(blocks):
        denoise(profiler, rank, block, steps, block_size)
        with profiler.stage("vae_decode"):
            work(2)
        profiler.record_streaming_event(batch_size=block_size, encoding_time_ms=1.5, network_latency_ms=0.4, buffer_occupancy=0.8)


def run_rank(args, rank):
    config = ProfilingConfig.from_yaml(args.profiling_config) if args.profiling_config else ProfilingConfig(enabled=True)
    folder = args.output_folder or config.output_dir or "profiling_reports"
    config.output_dir = os.path.join(folder, "rank_%d" % rank)
    profiler = InferixProfiler(config)
    profiler.start_session("self_forcing_%d" % rank, {"rank": rank, "world_size": args.ranks})
    generate(profiler, rank, args.blocks, args.steps, args.block_size)
    profiler.end_session()
    profiler.cleanup()


def launch(args):
    children = []
    for rank in range(args.ranks):
        environment = {**os.environ, "RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(args.ranks)}
        children.append(subprocess.Popen([sys.executable, *sys.argv], env=environment))
    sys.exit(max(child.wait() for child in children))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--blocks", type=int, default=3)
    parser.add_argument("--steps", type=int, default=4)
    parser.add_argument("--block-size", type=int, default=3)
    parser.add_argument("--profiling_config", metavar="FILE")
    parser.add_argument("--output_folder", help="default: the configuration's output_dir, else profiling_reports")
    args = parser.parse_args()
    if "RANK" in os.environ:
        run_rank(args, int(os.environ["RANK"]))
    else:
        launch(args)


if __name__ == "__main__":
    main()
