"""What fixing saves, without strobe: python measure.py NAME... ; one line of JSON for each problem.

Each problem runs in a process of its own, forked after the imports and before CUDA: one video to warm up, then planted,
then fixed."""
import json
import os
import sys
import time

import plain  # noqa: F401
import problem

try:
    import gpu  # noqa: F401
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
    planted_s, fixed_s = timed(one.function, False), timed(one.function, True)
    return {"name": one.name, "planted_s": planted_s, "fixed_s": fixed_s, "measured_s": planted_s - fixed_s}


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
