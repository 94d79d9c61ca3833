"""SIGUSR2, by which a user asks for a trace, through libstrobe.so with stand-ins for the CUDA driver and CUPTI: from when on it does not
end the program, and whose it is.

usage: signal_with_fakes.py BUILD_DIR
"""
import ctypes
import glob
import os
import signal
import subprocess
import sys

import wire
from fake_program import Program, case, main, names_of

ASKED = ({"STROBE_GPU_COUNTERS": "signal"}, {"STROBE_GPU_COUNTERS": "steps:3@1000"}, {"STROBE_GPU_TRACE": "steps:3@1000"}, {"STROBE_GPU_TRACE": "slow:1.5"})


class Asked(Program):
    """A program whose settings are in the environment, and gone when its session has begun."""

    def __init__(self, settings, before=lambda cupti: None):
        os.environ.update(settings)
        super().__init__(before)
        for name in settings:
            os.environ.pop(name)

    def ask(self):
        os.kill(os.getpid(), signal.SIGUSR2)

    def traced(self):
        self.until(lambda: self.cupti.calls(b"cuptiEnableCallback") > 0, "the trace's begin")


def child(body):
    """The exit status of a forked child that runs this."""
    pid = os.fork()
    if not pid:
        try:
            body()
            os._exit(0)
        except BaseException as e:
            print(repr(e), flush=True)
            os._exit(1)
    return os.waitpid(pid, 0)[1]


@case
def whoever_asks_may_signal_from_the_sessions_start():
    for settings in ASKED:
        def body():
            p = Asked(settings)
            p.ask()
            p.traced()
            if settings.get("STROBE_GPU_COUNTERS") == "signal":
                p.until(lambda: p.pm.sampling(0), "the sampling beside it")
            p.strobe.strobe_stop()
            p.ask()  # a late one does not end it
        assert child(body) == 0, settings


@case
def with_no_option_it_is_taken_with_the_first_step_that_sees_cuda():
    p = Asked({})
    assert signal_is_default()
    p.step(b"denoise")
    p.ask()
    p.traced()
    p.stop()


def signal_is_default():
    for line in open("/proc/self/status"):
        if line.startswith("SigCgt:"):
            return not int(line.split()[1], 16) >> (signal.SIGUSR2 - 1) & 1


@case
def a_cuda_that_the_driver_tells_of_is_enough():
    p = Asked({})
    p.strobe.InitializeInjection()
    p.ask()
    p.traced()
    p.stop()


@case
def what_it_begins_lasts_ten_seconds_also_where_steps_were_waited_for():
    p = Asked({"STROBE_GPU_TRACE": "steps:3@1000", "STROBE_GPU_COUNTERS": "steps:3@1000"})
    p.step(b"before")
    p.ask()
    p.traced()
    p.until(lambda: p.pm.sampling(0), "the sampling beside it")
    for i in range(5):
        p.step(b"step_%d" % i)
    assert p.pm.sampling(0)
    assert p.strobe.strobe_gpu_trace_steps_state() == 0  # the steps' own has not begun
    rec = p.stop()
    assert names_of(rec, "kernel") == ["kernel_of_step_%d" % i for i in range(5)], names_of(rec, "kernel")
    said = dict(rec.missing)
    assert said["kernels of steps:3@1000"] == "SIGUSR2 came before these steps|see docs/gpu.md, 'The kernel trace'", said
    assert said["sampled counters of steps:3@1000"] == "SIGUSR2 came before these steps|see docs/gpu.md, 'Sampled counters'", said


@case
def a_trace_of_seconds_takes_the_place_of_one_that_waits_for_steps():
    p = Asked({"STROBE_GPU_TRACE": "steps:3@1000"})
    assert p.strobe.strobe_gpu_trace_start(b"seconds:100") == 0, p.strobe.strobe_error()
    for i in range(5):
        p.step(b"step_%d" % i)
    rec = p.stop()
    assert names_of(rec, "kernel") == ["kernel_of_step_%d" % i for i in range(5)], names_of(rec, "kernel")
    assert not any("SIGUSR2" in why for _, why in rec.missing), rec.missing


@case
def a_program_that_asks_by_itself_may_be_signalled_too():
    asking = (lambda p: p.strobe.strobe_gpu_counters_start(b"steps:1"), lambda p: p.strobe.strobe_gpu_trace_start(b"steps:1"),
              lambda p: p.strobe.strobe_gpu_counters_stop())  # this asks for nothing: the next step sees CUDA
    for ask in asking:
        def body():
            p = Asked({})
            assert not ask(p)
            for i in range(4):
                p.step(b"step_%d" % i)
            p.until(lambda: not p.pm.sampling(0), "the sampling's end")
            looks = p.cupti.calls(b"cuptiEnableCallback")
            p.ask()
            p.until(lambda: p.cupti.calls(b"cuptiEnableCallback") > looks, "the trace's begin")
            p.strobe.strobe_stop()
        assert child(body) == 0


@case
def a_program_that_asks_may_be_signalled_before_it_uses_cuda():
    p = Asked({}, lambda cupti: os.environ.update(STROBE_CUDA_PATH="/nowhere/libcuda.so.1"))
    assert p.strobe.strobe_gpu_trace_start(b"steps:1") == 0
    p.ask()
    p.strobe.strobe_stop()


@case
def programs_that_are_started_after_the_session_do_not_inherit_it():
    p = Asked(ASKED[0])
    p.strobe.strobe_stop()
    done = subprocess.run(["cat", "/proc/self/status"], capture_output=True, text=True, check=True)
    (ignored,) = [int(line.split()[1], 16) for line in done.stdout.splitlines() if line.startswith("SigIgn:")]
    assert not ignored >> (signal.SIGUSR2 - 1) & 1, hex(ignored)
    p.ask()  # a late one does not end this one


@case
def nothing_listens_again_while_the_session_ends():
    p = Asked({"STROBE_GPU_COUNTERS": "all"})
    p.until(lambda: p.pm.sampling(0), "the sampling")
    seen = []

    def while_it_stops():
        seen.append(p.strobe.InitializeInjection())
        p.strobe.strobe_mark(b"now")
        p.step(b"step")
    hook = ctypes.CFUNCTYPE(None)(while_it_stops)
    p.cupti.on(b"cuptiPmSamplingStop", ctypes.cast(hook, ctypes.c_void_p))
    p.strobe.strobe_stop()
    assert seen == [1] and "strobe-trace" not in threads()


def threads():
    return [open(name).read().strip() for name in glob.glob("/proc/self/task/*/comm")]


@case
def no_trace_begins_while_the_session_ends():
    """Another thread asks for one after the trace's own has ended: nobody would end it."""
    p = Asked({"STROBE_GPU_COUNTERS": "all"})
    p.until(lambda: p.pm.sampling(0), "the sampling")
    seen = []
    hook = ctypes.CFUNCTYPE(None)(lambda: seen.append(p.strobe.strobe_gpu_trace_start(b"")))
    p.cupti.on(b"cuptiPmSamplingStop", ctypes.cast(hook, ctypes.c_void_p))
    p.strobe.strobe_stop()
    assert seen == [-3] and not p.cupti.subscribed() and "strobe-trace" not in threads(), (seen, threads())
    assert p.strobe.strobe_start(None) == 0 and p.strobe.strobe_gpu_trace_start(b"") == 0, p.strobe.strobe_error()
    p.strobe.strobe_stop()


@case
def a_program_without_cuda_keeps_its_signal():
    def body():
        p = Asked({}, lambda cupti: os.environ.update(STROBE_CUDA_PATH="/nowhere/libcuda.so.1"))
        p.step(b"denoise")
        p.ask()
    assert os.WTERMSIG(child(body)) == signal.SIGUSR2


@case
def a_program_without_cuda_that_asked_is_told_why_nothing_was_traced():
    for settings in ASKED[0], ASKED[3]:
        p = Asked(settings, lambda cupti: os.environ.update(STROBE_CUDA_PATH="/nowhere/libcuda.so.1"))
        p.step(b"denoise")
        p.ask()
        p.step(b"denoise")
        said = dict(p.stop().missing)
        assert said["kernels"] == "the program never initialised CUDA|see docs/gpu.md, 'The kernel trace'", said
        assert ("sampled counters" in said) == ("STROBE_GPU_COUNTERS" in settings), said


@case
def the_programs_own_handler_is_left_alone():
    seen = []
    signal.signal(signal.SIGUSR2, lambda *_: seen.append("before"))
    p = Asked(ASKED[0])
    p.ask()
    p.until(lambda: seen, "the program's handler")
    p.strobe.strobe_stop()
    signal.signal(signal.SIGUSR2, signal.SIG_DFL)
    p = Asked(ASKED[0])
    signal.signal(signal.SIGUSR2, lambda *_: seen.append("after"))
    p.ask()
    p.until(lambda: len(seen) == 2, "the program's handler")
    p.strobe.strobe_stop()
    p.ask()
    p.until(lambda: len(seen) == 3, "the program's handler, after the session")


@case
def a_forked_child_is_asked_by_itself():
    p = Asked(ASKED[0])

    def body():
        p.ask()  # before its own recording begins
        p.strobe.strobe_zone_begin(b"child")
        p.ask()
        p.traced()
        p.until(lambda: p.pm.sampling(0), "the sampling beside it")
        p.strobe.strobe_zone_end()
        p.strobe.strobe_stop()
        p.ask()
        (own,) = [r for r in wire.load_all(p.folder) if any(z.name == "child" for z in r.zones)]
        assert own.meta["gpu_counters_begin_ticks"] and not any("SIGUSR2" in why for _, why in own.missing), own.missing
    assert child(body) == 0
    assert p.cupti.calls(b"cuptiEnableCallback") == 0 and not p.pm.sampling(0)
    p.ask()
    p.traced()
    p.stop()


if __name__ == "__main__":
    sys.exit(main())
