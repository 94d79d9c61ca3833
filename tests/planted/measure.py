"""What fixing saves, without strobe: python measure.py NAME... ; one line of JSON for each problem.

Each problem runs in a process of its own, forked after the imports and before CUDA: one video to warm up, then planted and
fixed in turns, ROUNDS times. The medians count: one run alone differs from the next by more than some problems cost."""
import json
import os
import statistics
import sys
import time

import plain  # noqa: F401
import problem

ROUNDS = int(os.environ.get("STROBE_MEASURE_ROUNDS", "3"))

try:
    import gpu  # noqa: F401
    import kernels  # noqa: F401
    import video
except ImportError:
    video = None


def timed(function, fixed):
    begin = time.perf_counter()
    function(fixed)
    return time.perf_counter() - begin


def measure(one):
    if video is not None and one.needs:
        video.VIDEOS_MOST = 1
        one.function(True)
        video.VIDEOS_MOST = 1000
    both = [(timed(one.function, False), timed(one.function, True)) for _ in range(ROUNDS)]
    planted_s, fixed_s = (statistics.median(took) for took in zip(*both))
    return {"name": one.name, "planted_s": planted_s, "fixed_s": fixed_s, "measured_s": planted_s - fixed_s, "all": both}


def main():
    for name in sys.argv[1:]:
        child = os.fork()
        if not child:
            try:
                print(json.dumps(measure(problem.TABLE[name])), flush=True)
            except Exception as error:
                print(json.dumps({"name": name, "failed": str(error)[:300]}), flush=True)
            os._exit(0)
        os.waitpid(child, 0)


if __name__ == "__main__":
    main()
