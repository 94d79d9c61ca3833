#!/usr/bin/env python3
"""A video inpainting pipeline that prints a line per stage, as such pipelines do: a flow model
(ProPainter) before a diffusion model (DiffuEraser). No strobe in it: the lines are enough.

    python3 examples/inpainting.py 2>&1 | tee baseline.log
    strobe report baseline.log
    strobe run --labels -- python3 examples/inpainting.py

The work is matrix products: on the GPU where torch finds one, in plain Python else. With --pretend nothing is
computed, and every stage takes the time that its counts cost.
"""
import argparse
import os
import time

SCALE = float(os.environ.get("EXAMPLE_SCALE", "1"))  # of a unit of work: smaller for tests
# what one unit of each stage costs: (fixed, per unit), in units of work
COSTS = {"3a": (0, 0.02), "3b": (2, 4), "3c": (0, 0.04), "3d": (0, 0.004), "4a": (0, 0.03), "4b": (0, 0.004), "4c": (1, 0.05),
         "4f.1": (0, 0.001), "4f.2": (3, 0.24), "4g.1": (0, 0.003), "4g.2": (0, 0.003), "4g.3": (0, 0.005)}


def torch_with_a_gpu():
    if not os.path.exists("/dev/nvidiactl") and not os.path.exists("/dev/kfd"):
        return None  # importing torch would take longer than the pipeline
    try:
        import torch
    except ImportError:
        return None
    return torch if torch.cuda.is_available() else None


class Clock:
    """The real one, or one that moves only by what is asked of it."""

    def __init__(self, pretend):
        self.pretended = 0.0 if pretend else None

    def now(self):
        return time.perf_counter() if self.pretended is None else self.pretended


class Machine:
    def __init__(self, clock):
        self.clock, self.left = clock, 0.0
        self.torch = None if clock.pretended is not None else torch_with_a_gpu()
        if self.torch:
            self.matrix = self.torch.randn(2048, 2048, device="cuda")
            self.compute()
            self.torch.cuda.synchronize()  # what CUDA loads at first belongs to no stage

    def compute(self):
        """One unit of work: some hundredths of a second."""
        if not self.torch:
            sum(i * i for i in range(int(400000 * SCALE)))
            return
        for _ in range(10):
            self.matrix = self.torch.nn.functional.normalize(self.matrix @ self.matrix)

    def work(self, units):
        if self.clock.pretended is not None:
            self.clock.pretended += units / 10
            return
        self.left += units
        while self.left >= 1:
            self.left -= 1
            self.compute()
        if self.torch:
            self.torch.cuda.synchronize()  # this pipeline times with the wall clock: wait for the GPU


class Pipeline:
    def __init__(self, args):
        self.args, self.clock = args, Clock(args.pretend)
        self.machine = Machine(self.clock)

    def stage(self, code, label, units):
        start = self.clock.now()
        fixed, each = COSTS[code]
        self.machine.work(fixed + each * units)
        print("%s[%s] %s: %.2fs" % ("    " if "." in code else "  ", code, label, self.clock.now() - start), flush=True)

    def propainter(self, frames):
        start = self.clock.now()
        self.stage("3a", "I/O (read video/mask, preprocess)", frames)
        self.stage("3b", "RAFT optical flow (%d iters)" % self.args.raft_iters, self.args.raft_iters)
        self.stage("3c", "Flow completion", frames)
        self.stage("3d", "Video write (%d frames)" % frames, frames)
        print("ProPainter total: %.2fs" % (self.clock.now() - start), flush=True)

    def diffueraser(self, frames):
        start = self.clock.now()
        self.stage("4a", "I/O (read video/mask/priori)", frames)
        self.stage("4b", "Image preprocessing", frames)
        self.stage("4c", "VAE encode (%d frames, batch=%d)" % (frames, self.args.batch), frames)
        print("  [4e] Pre-inference: SKIPPED (keyframe pass disabled)")
        print("  [4f] Main inference: Starting full video pass...")
        inner = self.clock.now()
        self.stage("4f.1", "Add noise to %d frames" % frames, frames)
        self.stage("4f.2", "UNet+BrushNet+VAE pipeline (%d steps, %d frames)" % (self.args.steps, frames), self.args.steps * frames)
        print("  [4f] Main inference TOTAL: %.2fs" % (self.clock.now() - inner))
        print("  [4g] Compositing: Starting...")
        inner = self.clock.now()
        self.stage("4g.1", "Mask blurring (%d frames)" % frames, frames)
        self.stage("4g.2", "Frame blending (%d frames)" % frames, frames)
        self.stage("4g.3", "Video encoding (%d frames)" % frames, frames)
        print("  [4g] Compositing TOTAL: %.2fs" % (self.clock.now() - inner))
        print("DiffuEraser total: %.2fs" % (self.clock.now() - start), flush=True)

    def run(self):
        start = self.clock.now()
        self.propainter(self.args.frames)
        self.diffueraser(self.args.frames)
        total = self.clock.now() - start
        print("TOTAL TIME: %.2fs (%.1f min)" % (total, total / 60), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--frames", type=int, default=120)
    parser.add_argument("--raft-iters", type=int, default=12)
    parser.add_argument("--steps", type=int, default=2)
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--pretend", action="store_true", help="compute nothing; times follow from the counts")
    Pipeline(parser.parse_args()).run()


if __name__ == "__main__":
    main()
