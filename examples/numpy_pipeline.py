#!/usr/bin/env python3
"""A video inpainting pipeline in numpy alone, with stage codes as pipelines log
them: read, flow, propagate, blend, write. No torch anywhere.

    strobe run -- python3 examples/numpy_pipeline.py
"""
import argparse

import numpy as np
import strobe


def read(frames, size):
    random = np.random.default_rng(0)
    return random.random((frames, size, size, 3), dtype=np.float32)


@strobe.profile("optical flow", code="4a")
def flow(video):
    """Gradients in time and space, frame by frame."""
    result = []
    for i in strobe.iterations(len(video) - 1, "flow_frame"):
        grey = video[i:i + 2].mean(-1)
        gy, gx = np.gradient(grey[0])
        result.append(np.stack([gx, gy]) * (grey[1] - grey[0]))
    return np.array(result)


def propagate(video, mask, rounds=3):
    with strobe.section("propagation", code="4b", frames=len(video)):
        filled = np.where(mask, 0, video)
        for _ in strobe.iterations(rounds, "propagate_round"):
            spread = (np.roll(filled, 1, 1) + np.roll(filled, -1, 1) + np.roll(filled, 1, 2) + np.roll(filled, -1, 2)) / 4
            filled = np.where(mask, spread, filled)
        return filled


def inpaint(frames, size):
    with strobe.generation(frames=frames, width=size, height=size):
        with strobe.section("read", code="1", frames=frames):
            video = read(frames, size)
        mask = np.zeros((1, size, size, 1), dtype=bool)
        mask[:, size // 4:size // 2, size // 4:size // 2] = True
        with strobe.section("inpaint", code="4"):
            moved = flow(video)
            if np.abs(moved).max() < 1e-6:
                strobe.skip("pre-inference", "nothing moves", code="4c")
            else:
                with strobe.section("pre-inference", code="4c"):
                    moved = moved / np.abs(moved).max()
            video = propagate(video, mask)
        with strobe.section("write", code="5", frames=frames, bytes=video.nbytes):
            data = (video * 255).astype(np.uint8).tobytes()
        strobe.frames(frames)
    return data


def main():
    parser = strobe.add_arguments(argparse.ArgumentParser(description=__doc__.split("\n\n")[0]))
    parser.add_argument("--frames", type=int, default=16)
    parser.add_argument("--size", type=int, default=128)
    args = parser.parse_args()
    strobe.start_from_arguments(args, name="numpy_pipeline")
    for _ in range(args.profiling_iterations):
        data = inpaint(args.frames, args.size)
    print("%d frames, %.1f MB" % (args.frames, len(data) / 1e6))
    if strobe.recording() and args.enable_profiling:
        print(strobe.stop())


if __name__ == "__main__":
    main()
