"""Captures of CUDA graphs on the program's threads while strobe asks things of CUPTI, through libstrobe.so with stand-ins for the CUDA
driver and CUPTI.

usage: captures_with_fakes.py BUILD_DIR
"""
import ctypes
import glob
import os
import shutil
import sys
import tempfile

from fake_program import BUILD, Program, Sampled, case, main, standins

RELAXED = 2  # in any other mode a call may break a capture on another thread
LATE = "libcuda.so.1"


def modes(p, driver, call):
    """In which modes strobe's threads make this call from now on."""
    seen, exchange = [], ctypes.CDLL(driver).cuThreadExchangeStreamCaptureMode

    def look():
        mode = ctypes.c_int(RELAXED)
        exchange(ctypes.byref(mode))
        seen.append(mode.value)
        exchange(ctypes.byref(mode))
    p.hook = ctypes.CFUNCTYPE(None)(look)  # kept as long as it may be called
    p.cupti.on(call, ctypes.cast(p.hook, ctypes.c_void_p))
    return seen


def waits(name):
    """How often the thread of this name has waited."""
    for comm in glob.glob("/proc/self/task/*/comm"):
        if open(comm).read().strip() == name:
            status = open(os.path.dirname(comm) + "/status").read()
            return int(status.split("\nvoluntary_ctxt_switches:")[1].split()[0])
    return 0


def late(kind, thread, call):
    """(the program, the modes of this call) where CUDA's driver comes after strobe's thread."""
    if not os.path.basename(os.environ.get("LD_LIBRARY_PATH", "")).startswith("strobe-late-"):
        folder = tempfile.mkdtemp(prefix="strobe-late-")
        shutil.copy(BUILD + "/tests/fake/libfake_cuda.so", folder + "/" + LATE)
        os.environ["LD_LIBRARY_PATH"] = folder  # which the loader reads when a program begins
        os.execv(sys.executable, [sys.executable, *sys.argv])
    p = kind(before=lambda cupti: os.environ.pop("STROBE_CUDA_PATH"))
    p.until(lambda: waits(thread) > 2, "the thread to look for a driver in vain")
    p.cuda = standins.table(LATE, "fake_cuda", standins.CUDA)
    p.cuda.reset()
    seen = modes(p, LATE, call)
    p.cuda.make_current(0x1000, 0)
    return p, seen


@case
def samples_are_read_without_breaking_a_capture():
    os.environ["STROBE_GPU_COUNTERS"] = "all"
    p, seen = late(Sampled, "strobe-counters", b"cuptiPmSamplingDecodeData")
    p.until(lambda: len(seen) > 2, "some looks")
    p.stop()
    assert set(seen) == {RELAXED}, seen


@case
def a_trace_begins_without_breaking_a_capture():
    os.environ["STROBE_GPU_TRACE"] = "all"
    p, seen = late(Program, "strobe-trace", b"cuptiActivityEnable")
    p.until(lambda: len(seen) > 3, "its begin")
    p.stop()
    assert set(seen) == {RELAXED}, seen


@case
def a_trace_of_steps_begins_without_breaking_a_capture():
    p = Program()
    assert p.strobe.strobe_gpu_trace_start(b"steps:1@0") == 0, p.strobe.strobe_error()
    seen, mine = modes(p, os.environ["STROBE_CUDA_PATH"], b"cuptiActivityEnable"), ctypes.c_int(0)
    p.step(b"step")
    ctypes.CDLL(os.environ["STROBE_CUDA_PATH"]).cuThreadExchangeStreamCaptureMode(ctypes.byref(mine))
    assert seen and set(seen) == {RELAXED} and mine.value == 0, (seen, mine)
    p.stop()


@case
def what_was_held_for_steps_is_given_back_without_breaking_a_capture():
    p = Sampled("steps:1@2")
    for i in range(2):
        p.step(b"step_%d" % i)
    assert p.pm.held() == 3 and not p.pm.sampling(0)
    driver, mine = os.environ["STROBE_CUDA_PATH"], ctypes.c_int(0)
    seen = modes(p, driver, b"cuptiPmSamplingDisable")
    p.strobe.strobe_gpu_counters_stop()
    ctypes.CDLL(driver).cuThreadExchangeStreamCaptureMode(ctypes.byref(mine))
    assert seen == [RELAXED] and mine.value == 0, (seen, mine)  # this thread's is as it was
    p.stop()


sys.exit(main())
