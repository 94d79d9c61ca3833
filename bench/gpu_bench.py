#!/usr/bin/env python3
"""What a section with GPU time costs beyond one without, over a stand-in for the CUDA driver:
driver calls per zone, and nanoseconds of everything but the driver.

    PYTHONPATH=build/python python3 bench/gpu_bench.py
"""
import ctypes
import os
import shutil
import statistics
import tempfile
import time

import rows
import strobe
from strobe._core import native

FAKE = os.path.join(os.path.dirname(os.path.abspath(strobe.__file__)), "..", "..", "tests", "fake", "libfake_cuda.so")
ROUNDS, COUNT, BLOCKS = 41, 20, 24
CALLS = ("cuEventRecord", "cuCtxGetCurrent", "cuStreamIsCapturing", "cuCtxGetId", "cuStreamGetId")


class FakeCuda(ctypes.Structure):
    _fields_ = [(name, ctypes.c_void_p) for name in ("reset", "calls", "advance", "work", "capture", "make_current")]

    def function(self, name, result, *arguments):
        return ctypes.CFUNCTYPE(result, *arguments)(getattr(self, name))


def fake_driver():
    library = ctypes.CDLL(FAKE)
    library.fake_cuda.restype = ctypes.POINTER(FakeCuda)
    fake = library.fake_cuda().contents
    fake.function("reset", None)()
    fake.function("make_current", None, ctypes.c_void_p, ctypes.c_int)(0x1000, 0)
    return fake.function("calls", ctypes.c_uint64, ctypes.c_char_p)


def step(section, gpu):
    """The zones of one step of a model of 24 blocks, as a user writes them."""
    with section("step", gpu=gpu):
        for _ in range(BLOCKS):
            with section("block", gpu=gpu):
                pass


def plain_step(section, gpu):
    with section("step"):
        for _ in range(BLOCKS):
            with section("block"):
                pass


class Nothing:
    def __enter__(self):
        return self

    def __exit__(self, *error):
        return None


def main():
    if not os.path.exists(FAKE):
        rows.head("GPU zones: left out, this build has no tests/fake/libfake_cuda.so")
        return
    os.environ.update(STROBE_CUDA_PATH=FAKE, STROBE_MONITOR="false")
    folder = tempfile.mkdtemp(prefix="strobe-bench-")
    nothing = Nothing()
    calls = fake_driver()
    strobe.start("bench", output_dir=folder, config={"generate_final_report": False})
    native.stream_install(abs, None)  # as torch's: device number to address, a function of one argument
    cases = {"gpu": (step, strobe.section, True), "cpu": (step, strobe.section, False),
             "cpu, no keyword": (plain_step, strobe.section, None),
             "bare": (step, lambda name, gpu: nothing, None)}
    seen, counted = {name: [] for name in cases}, {}
    for i in range(ROUNDS):
        for name, (run, section, gpu) in cases.items():
            before = {c: calls(c.encode()) for c in CALLS}
            begin = time.perf_counter_ns()
            for _ in range(COUNT):
                run(section, gpu)
            seen[name].append((time.perf_counter_ns() - begin) / (COUNT * (BLOCKS + 1)))
            if name == "gpu":
                time.sleep(0.03)  # the pool refills
            if name == "gpu" and i:
                for c in CALLS:
                    counted.setdefault(c, []).append((calls(c.encode()) - before[c]) / (COUNT * (BLOCKS + 1)))
    strobe.stop()
    shutil.rmtree(folder, ignore_errors=True)
    ns = {name: statistics.median(values) for name, values in seen.items()}
    rows.head("A GPU zone in Python, over a stand-in for the driver (a step of 24 blocks)")
    for c in CALLS:
        rows.row("%s calls per zone" % c, statistics.median(counted[c]), "")
    for name in cases:
        rows.row("section, %s" % name, ns[name], "ns")
    rows.row("section with GPU time over one without", ns["gpu"] / ns["cpu"], "x")


if __name__ == "__main__":
    main()
