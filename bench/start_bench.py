#!/usr/bin/env python3
"""What a user waits for before and after the program. usage: start_bench.py BUILD"""
import os
import pathlib
import statistics
import subprocess
import sys
import time

import rows

STROBE = pathlib.Path(sys.argv[1]) / "strobe"
ROUNDS = 15
MINUTE_S = 60
CLOCK = "import time; print(time.clock_gettime(time.CLOCK_MONOTONIC))"
# A minute of a generation: sections as a pipeline has them, then the moment it ends.
GENERATION = """
import sys, time, strobe
end = time.monotonic() + float(sys.argv[1])
while time.monotonic() < end:
    with strobe.generation(frames=81):
        for _ in strobe.steps(range(30)):
            with strobe.section("transformer"):
                for _ in range(40):
                    with strobe.section("block"):
                        time.sleep(0.0005)
print(time.clock_gettime(time.CLOCK_MONOTONIC))
"""


def now():
    return time.clock_gettime(time.CLOCK_MONOTONIC)


def wall(*command):
    begin = now()
    subprocess.run([str(c) for c in command], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return now() - begin


def first_instruction(*command):
    begin = now()
    done = subprocess.run([str(c) for c in command], check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    return float(done.stdout.split()[0]) - begin


def pairs(what, of, plain, ours, bar_ms):
    """How much longer ours takes than plain, in turns: the median against the bar, the worst beside it."""
    more = sorted(1e3 * (of(*ours) - of(*plain)) for _ in range(ROUNDS))
    rows.row("%s, median, load %.1f" % (what, os.getloadavg()[0]), statistics.median(more), "ms", bar_ms)
    rows.row("%s, worst" % what, more[-1], "ms")


def after_the_program():
    done = subprocess.run([str(STROBE), "run", "--", sys.executable, "-c", GENERATION, str(MINUTE_S)], check=True,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    ended = now()
    return 1e3 * (ended - float(next(line for line in done.stdout.splitlines() if line.replace(".", "").isdigit())))


def main():
    rows.head("Before and after the program")
    run = (STROBE, "run", "-q", "--")
    pairs("strobe run -- true, over true", wall, ["true"], [*run, "true"], 40)
    python = (sys.executable, "-c", CLOCK)
    pairs("to Python's first instruction, over none", first_instruction, python, [*run, *python], 30)
    pairs("import strobe, over none", wall, [sys.executable, "-c", "pass"], [sys.executable, "-c", "import strobe"], 15)
    heavy = subprocess.run([sys.executable, "-c", "import sys, strobe; print(sum(m in sys.modules for m in ('torch', 'numpy')))"],
                           check=True, stdout=subprocess.PIPE, text=True).stdout
    rows.row("heavy modules that it loads", float(heavy), "", 0)
    waits = sorted(after_the_program() for _ in range(3))
    rows.row("summary and page at the end of a one-minute run, median", waits[1], "ms", 300)
    rows.row("summary and page at the end of a one-minute run, worst", waits[-1], "ms")


if __name__ == "__main__":
    main()
