"""A small video pipeline without a framework, the same for every profiler: many calls of a tiny function,
one call into C that holds the GIL, and waiting, as for a decoder. Its own timers say what is true.

usage: pipeline.py STEPS [TRUTH.json]
"""
import contextlib
import json
import os
import sys
import time

BLOCKS, CALLS, ADDED, FRAMES = 12, 1500, 30000, 12
TRUTH = {}
marked = contextlib.nullcontext
if os.environ.get("PEER") == "torch":
    import torch.profiler
    marked = torch.profiler.record_function


def tiny(x):
    return (x * 5 + 1) & 0xFFFF


def attention():
    x = 1
    for _ in range(CALLS):
        x = tiny(x)
    return x


def mlp():
    return sum(range(ADDED))


def vae_decode():
    for _ in range(FRAMES):
        time.sleep(0.005)


def timed(stage):
    begin = time.perf_counter()
    with marked(stage.__name__):
        stage()
    TRUTH[stage.__name__] = TRUTH.get(stage.__name__, 0) + time.perf_counter() - begin


def denoise(steps):
    for _ in range(steps):
        for _ in range(BLOCKS):
            timed(attention)
            timed(mlp)


def generate(steps):
    denoise(steps)
    timed(vae_decode)


def main():
    begin = time.perf_counter()
    with marked("generate"):
        generate(int(sys.argv[1]))
    TRUTH["generate"] = time.perf_counter() - begin
    if len(sys.argv) > 2:
        with open(sys.argv[2], "w") as out:
            json.dump(TRUTH, out)


def main_in_torch_profiler():
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profiler:
        main()
    profiler.export_chrome_trace(os.environ["PEER_OUT"])


if __name__ == "__main__":
    main_in_torch_profiler() if os.environ.get("PEER") == "torch" else main()
