#!/usr/bin/env python3
"""What a section with GPU time costs beyond one without, over a stand-in for the CUDA driver in
which putting an event takes a microsecond, as on a real one: driver calls per zone, and the
nanoseconds of everything else.

    PYTHONPATH=build/python python3 bench/gpu_bench.py
"""
import ctypes
import os
import shutil
import statistics
import tempfile
import time
from contextlib import contextmanager

import rows
import strobe
from strobe._core import native

FAKE = os.path.join(os.path.dirname(os.path.abspath(strobe.__file__)), "..", "..", "tests", "fake", "libfake_cuda.so")
ROUNDS, COUNT, BLOCKS, RECORD_NS = 41, 10, 24, 1000
ZONES = COUNT * (BLOCKS + 1)
CALLS = ("cuEventRecord", "cuCtxGetCurrent", "cuStreamIsCapturing", "cuCtxGetId", "cuStreamGetId")
FIELDS = ("reset", "calls", "advance", "work", "capture", "make_current", "destroy", "fail_record", "limit_events",
          "on_record", "record_takes")


class FakeCuda(ctypes.Structure):
    _fields_ = [(name, ctypes.c_void_p) for name in FIELDS]

    def function(self, name, result, *arguments):
        return ctypes.CFUNCTYPE(result, *arguments)(getattr(self, name))


def fake_driver():
    library = ctypes.CDLL(FAKE)
    library.fake_cuda.restype = ctypes.POINTER(FakeCuda)
    fake = library.fake_cuda().contents
    fake.function("reset", None)()
    fake.function("make_current", None, ctypes.c_void_p, ctypes.c_int)(0x1000, 0)
    fake.function("record_takes", None, ctypes.c_uint64)(RECORD_NS)
    return fake.function("calls", ctypes.c_uint64, ctypes.c_char_p)


launch = bytes(12000).count  # a few microseconds of somebody else's C code


def step(section, gpu):
    """One step of a model of 24 blocks, as a user writes it; work before, in and after the blocks."""
    with section("step", gpu=gpu):
        launch(b"ab")
        for _ in range(BLOCKS):
            with section("block", gpu=gpu):
                launch(b"ab")
        launch(b"ab")


def step_without_sections(section, gpu):
    launch(b"ab")
    for _ in range(BLOCKS):
        launch(b"ab")
    launch(b"ab")


times = {}


@contextmanager
def timer(name, gpu):
    """What people write by hand, for the CPU alone."""
    begin = time.perf_counter()
    try:
        yield
    finally:
        times[name] = times.get(name, 0.0) + time.perf_counter() - begin


def main():
    if not os.path.exists(FAKE):
        rows.head("GPU zones: left out, this build has no tests/fake/libfake_cuda.so")
        return
    os.environ.update(STROBE_CUDA_PATH=FAKE, STROBE_MONITOR="false")
    folder = tempfile.mkdtemp(prefix="strobe-bench-")
    calls = fake_driver()
    strobe.start("bench", output_dir=folder, config={"generate_final_report": False})
    native.stream_install(abs, None)  # as torch's: device number to address, a function of one argument
    cases = {"none": (step_without_sections, None, None), "gpu": (step, strobe.section, True),
             "cpu": (step, strobe.section, False), "timer": (step, timer, None)}
    seen, counted = {name: [] for name in cases}, {c: [] for c in CALLS}
    for _ in range(ROUNDS):
        for name, (run, section, gpu) in cases.items():
            before = {c: calls(c.encode()) for c in CALLS}
            begin = time.perf_counter_ns()
            for _ in range(COUNT):
                run(section, gpu)
            ns = (time.perf_counter_ns() - begin) / ZONES
            if name == "gpu":
                here = {c: (calls(c.encode()) - before[c]) / ZONES for c in CALLS}
                ns -= here["cuEventRecord"] * RECORD_NS
            seen[name].append(ns)
        for c in CALLS:
            counted[c].append(here[c])
        time.sleep(0.25)  # the helper thread's turn: real programs begin thousands of zones a second, not a million
    strobe.stop()
    shutil.rmtree(folder, ignore_errors=True)
    # The quickest of many: other programs only ever add.
    ns = {name: min(values) - min(seen["none"]) for name, values in seen.items()}
    rows.head("A GPU zone in Python, over a stand-in for the driver (steps of 24 blocks back to back)")
    bars = {"cuEventRecord": 1.1, "cuCtxGetId": 0.1, "cuStreamGetId": 0.1}
    for c in CALLS:
        rows.row("%s calls per zone" % c, statistics.median(counted[c]), "", bars.get(c))
    rows.row("section with GPU time, without the driver's", ns["gpu"], "ns")
    rows.row("section with gpu=False", ns["cpu"], "ns")
    rows.row("a contextmanager timer, CPU time only", ns["timer"], "ns")
    rows.row("section with GPU time to that timer", ns["gpu"] / ns["timer"], "x", 1)


if __name__ == "__main__":
    main()
