"""The watch for slow moments through libstrobe.so with stand-ins for the CUDA driver and CUPTI: what interrupts it, and how much
it may keep.

usage: watch_with_fakes.py BUILD_DIR
"""
import ctypes
import glob
import os
import resource
import signal
import sys
import threading

import wire
from fake_program import BUILD, Program, case, main, names_of, report_of
from standins import S, U64

# A step is slow by what its kernels take, which the test says: no load of the machine makes another one slow.
SLOW = b"slow:100000"
LONG = 30 * 10 ** 9
HELD = 131072


def watched(p, spec=SLOW):
    assert p.strobe.strobe_gpu_trace_start(spec) == 0, p.strobe.strobe_error()
    p.until(lambda: p.cupti.calls(b"cuptiActivityFlushAll") > 0, "its first look")
    return p


def steps(p, prefix, slow=None, count=12):
    for i in range(count):
        p.step(b"%s_%d" % (prefix, i), LONG if i == slow else 1000)


def measured(p, slow):
    """Steps that the caller timed, judged by what it says. None reaches back into strobe's set-up."""
    begun = p.cupti.now()
    p.until(lambda: p.cupti.now() > begun + 5000000, "the time of a step")
    for i in range(12):
        p.strobe.strobe_step_record(b"denoise", None, U64(3000000 if i == slow else 10))


def traced_again(p):
    looks = p.cupti.calls(b"cuptiActivityFlushAll")
    p.until(lambda: p.cupti.calls(b"cuptiActivityFlushAll") > looks, "kernels to be recorded again")


def parts(report):
    return [[part["name"] for part in m.get("parts", []) if part["kind"] == "kernel"] for m in report["slow_moments"]]


def said(report, word):
    return [m["why"] for m in report["not_recorded"] if word in m["what"]]


@case
def a_watch_goes_on_beside_another_profiler_and_after_it():
    p = watched(Program())
    steps(p, b"before")
    p.strobe.strobe_gpu_trace_yield(b"torch.profiler")
    assert p.cupti.calls(b"cuptiUnsubscribe") == 1 and not p.cupti.enabled(10)
    p.kernel(b"not ours")
    measured(p, 8)
    p.strobe.strobe_gpu_trace_resume()
    traced_again(p)
    steps(p, b"after", 8)
    rec = p.stop()
    report = report_of(p.folder + "/last")
    assert [m["judged_by"] for m in report["slow_moments"]] == ["clock", "gpu"], report["slow_moments"]
    assert parts(report) == [[], ["kernel_of_after_8"]], report["slow_moments"]
    assert "not ours" not in names_of(rec, "kernel")
    assert rec.meta["gpu_trace_kernel_count"] == len(names_of(rec, "kernel")), rec.meta


@case
def another_profiler_that_comes_again_and_again_is_said_once():
    p = watched(Program())
    for i in range(5):
        p.strobe.strobe_gpu_trace_yield(b"torch.profiler")
        p.strobe.strobe_gpu_trace_yield(b"torch.profiler")
        p.strobe.strobe_gpu_trace_resume()
        traced_again(p)
        p.strobe.strobe_gpu_trace_resume()
    p.strobe.strobe_gpu_trace_yield(b"torch.profiler")
    p.strobe.strobe_gpu_trace_stop()
    p.until(lambda: p.strobe.strobe_gpu_trace_start(b"") == 0, "the watch's end")
    assert p.cupti.enabled(10)
    p.stop()
    report = report_of(p.folder + "/last")
    assert said(report, "kernels") == ["torch.profiler started and got CUPTI"], report["not_recorded"]


@case
def a_profiler_that_will_not_give_cupti_back_leaves_the_clock():
    p = watched(Program())
    p.strobe.strobe_gpu_trace_yield(b"torch.profiler")
    p.cupti.refuse(b"cuptiSubscribe_v2", 39)
    for i in range(3):
        p.strobe.strobe_gpu_trace_resume()
    p.until(lambda: p.cupti.calls(b"cuptiSubscribe_v2") > 1, "another try")
    measured(p, 8)
    p.stop()
    report = report_of(p.folder + "/last")
    assert [m["judged_by"] for m in report["slow_moments"]] == ["clock"], report["slow_moments"]
    assert len(said(report, "kernels")) == 1, report["not_recorded"]


@case
def without_launches_kernels_do_not_make_a_step_slow():
    os.environ["STROBE_GPU_TRACE_LAUNCHES"] = "0"
    p = watched(Program())
    del os.environ["STROBE_GPU_TRACE_LAUNCHES"]
    steps(p, b"step", 8)
    p.stop()
    assert "slow_moments" not in report_of(p.folder + "/last")


@case
def a_storm_of_requests_is_one_moment_and_a_small_file():
    p = watched(Program())
    steps(p, b"before")
    p.strobe.strobe_step_begin(b"now", None)
    p.kernel(b"kernel_now")
    for i in range(20000):
        p.strobe.strobe_gpu_trace_keep(b"a customer called")
    p.strobe.strobe_step_end()
    steps(p, b"after", 8)
    rec = p.stop()
    report = report_of(p.folder + "/last")
    assert [m["what"] for m in report["slow_moments"]] == ["asked", "step"], report["slow_moments"]
    assert parts(report)[1] == ["kernel_of_after_8"], report["slow_moments"]
    assert "kernel_now" in names_of(rec, "kernel")
    assert os.path.getsize(glob.glob(p.folder + "/*/run.strobe")[0]) < 1 << 20


@case
def memory_that_runs_out_while_the_program_tries_again_is_one_moment():
    p = watched(Program())
    steps(p, b"before")
    p.strobe.strobe_step_begin(b"now", None)
    for i in range(10):
        p.kernel(b"kernel_of_try_%d" % i)
        p.strobe.strobe_gpu_trace_keep(b"out of memory")
        p.until(lambda n=p.cupti.calls(b"cuptiActivityFlushAll"): p.cupti.calls(b"cuptiActivityFlushAll") > n, "a look")
    p.strobe.strobe_step_end()
    rec = p.stop()
    (moment,) = [m for m in report_of(p.folder + "/last")["slow_moments"] if m["what"] == "out_of_memory"]
    assert abs(moment["gpu_work_s"] - 10e-6) < 1e-6, moment
    assert [n for n in names_of(rec, "kernel") if "try" in n] == ["kernel_of_try_%d" % i for i in range(10)], rec.gpu


@case
def a_watch_that_is_full_says_from_when_on():
    p = watched(Program(), SLOW + b",1")
    p.step(b"now")
    p.strobe.strobe_gpu_trace_keep(b"a customer called")
    p.until(lambda: p.cupti.calls(b"cuptiUnsubscribe") == 1, "the watch's end")
    p.stop()
    assert len(said(report_of(p.folder + "/last"), "slow moments from then on")) == 1


def died(program):
    """The folder of a program that ends itself without a word."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        p = Program()
        os.write(write, p.folder.encode())
        program(p)
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    return os.read(read, 4096).decode() + "/last"


@case
def a_kept_moment_survives_a_kill():
    def program(p):
        watched(p)
        steps(p, b"step")
        p.strobe.strobe_step_begin(b"now", None)
        p.kernel(b"kernel_now")
        p.strobe.strobe_gpu_trace_keep(b"out of memory")
        n = p.cupti.calls(b"cuptiActivityFlushAll")
        p.until(lambda: p.cupti.calls(b"cuptiActivityFlushAll") > n + 1, "a look")

    folder = died(program)
    report = report_of(folder)
    (moment,) = report["slow_moments"]
    assert moment["what"] == "out_of_memory" and abs(moment["gpu_work_s"] - 1e-6) < 1e-7, moment
    assert "ended before the watch did" in report["slow_watch"]["words"], report["slow_watch"]


@case
def a_kill_in_the_middle_of_a_keep_leaves_a_readable_run():
    for looks in (0, 1):
        def program(p):
            watched(p)
            steps(p, b"step")
            p.strobe.strobe_step_begin(b"now", None)
            for i in range(3000):
                p.kernel(b"kernel_now")
            n = p.cupti.calls(b"cuptiActivityFlushAll")
            p.strobe.strobe_gpu_trace_keep(b"now")
            p.until(lambda: p.cupti.calls(b"cuptiActivityFlushAll") >= n + looks, "a look")

        report = report_of(died(program))
        assert report["slow_watch"]["slow_ratio"] == 100000, report["slow_watch"]


@case
def a_forked_child_watches_for_nothing_and_the_parent_goes_on():
    p = watched(Program())
    steps(p, b"before")
    child = os.fork()
    if not child:
        p.strobe.strobe_gpu_trace_keep(b"the child")
        p.strobe.strobe_gpu_trace_resume()
        p.strobe.strobe_step_begin(b"child", None)
        p.strobe.strobe_step_end()
        p.strobe.strobe_stop()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    steps(p, b"after", 8)
    p.strobe.strobe_stop()
    report = report_of(glob.glob(p.folder + "/*%d*" % os.getpid())[0] if glob.glob(p.folder + "/*%d*" % os.getpid()) else p.folder + "/last")
    assert [m["what"] for m in report["slow_moments"]] == ["step"], report["slow_moments"]


CUPTI_CALLS = (b"cuptiSubscribe_v2", b"cuptiUnsubscribe", b"cuptiActivityEnable", b"cuptiActivityDisable", b"cuptiActivityFlushAll",
               b"cuptiPmSamplingEnable", b"cuptiPmSamplingStart", b"cuptiPmSamplingStop", b"cuptiPmSamplingDisable",
               b"cuptiPmSamplingDecodeData", b"cuptiProfilerInitialize", b"cuptiProfilerDeInitialize")


@case
def a_forked_child_without_a_gpu_leaves_cupti_alone():
    """A driver that is as ready in the child as its memory says, and a setting that the child inherits."""
    os.environ.update(STROBE_GPU_TRACE="slow:100000", STROBE_GPU_COUNTERS="slow")
    p = Program()
    p.until(lambda: p.cupti.calls(b"cuptiActivityFlushAll") > 0 and p.pm.sampling(0), "the first look")
    steps(p, b"before")
    child = os.fork()
    if not child:
        before = [p.cupti.calls(call) for call in CUPTI_CALLS]
        steps(p, b"child", 8)
        begun = p.cupti.now()
        p.until(lambda: p.cupti.now() - begun > 300 * 10 ** 6, "time for some looks")
        p.strobe.strobe_gpu_trace_keep(b"the child")
        p.strobe.strobe_gpu_trace_start(b"")
        p.strobe.strobe_gpu_counters_start(b"")
        steps(p, b"child", 8)
        p.strobe.strobe_stop()
        after = [p.cupti.calls(call) for call in CUPTI_CALLS]
        print([(c, b, a) for c, b, a in zip(CUPTI_CALLS, before, after) if a != b], flush=True)
        os._exit(before != after)
    assert os.waitpid(child, 0)[1] == 0
    steps(p, b"after", 8)
    p.strobe.strobe_stop()
    own, childs = sorted(wire.load_all(p.folder), key=lambda rec: not rec.gpu)
    assert names_of(own, "kernel") and not any("child" in name for name in names_of(own, "kernel")), own.gpu
    assert {z.name[:5] for z in own.zones} == {"befor", "after", "strob"} and {z.name[:5] for z in childs.zones} == {"child"}
    assert not childs.gpu and not childs.sampled("gpu_pm"), childs.gpu


@case
def threads_that_ask_and_step_at_once_harm_nothing():
    p = watched(Program(), SLOW + b",4")
    keep, begin, end = p.strobe.strobe_gpu_trace_keep, p.strobe.strobe_step_begin, p.strobe.strobe_step_end

    def work():
        for i in range(3000):
            begin(b"step", None)
            keep(b"a thread")
            end()

    threads = [threading.Thread(target=work) for _ in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    p.stop()
    assert 1 <= len(report_of(p.folder + "/last")["slow_moments"]) <= 4


@case
def many_kernels_take_bounded_memory_and_a_bounded_file():
    """Three steps of more kernels than are held: what is kept of each is the ring's, and the rest is counted."""
    os.environ["STROBE_MAX_TRACE_BYTES"] = str(64 << 20)
    p = watched(Program())
    name = b"kernel"
    launch, kernel, now = p.cupti.launch, p.cupti.kernel, p.cupti.now
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for round in range(3):
        steps(p, b"step")
        p.strobe.strobe_step_begin(b"large", None)
        for i in range(200000):
            start = now()
            kernel(launch(), start, start + (LONG if i > 199990 else 1000), name)
        p.strobe.strobe_step_end()
        steps(p, b"step")
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    rec = p.stop()
    report = report_of(p.folder + "/last")
    assert len(report["slow_moments"]) == 3 and report["recording"]["drop_reasons"]["gpu_held"] > 3 * 60000, report["recording"]
    count = len(rec.of("kernel"))
    assert 3 * HELD * 0.9 < count <= 3 * (HELD + 40), count
    assert os.path.getsize(glob.glob(p.folder + "/*/run.strobe")[0]) < count * 56 + (2 << 20)
    assert grown < 100 << 10, grown  # KiB: the ring, CUPTI's buffers that were filled meanwhile, and the recording's pages


def filled(steps_after):
    os.environ["STROBE_MAX_TRACE_BYTES"] = str(1 << 20)
    p = watched(Program())
    steps(p, b"before")
    p.strobe.strobe_step_begin(b"large", None)
    for i in range(60000):
        p.kernel(b"kernel", LONG if i == 59999 else 1000)
    p.strobe.strobe_step_end()
    steps(p, b"after", count=steps_after)
    p.stop()
    report = report_of(p.folder + "/last")
    assert said(report, "kernels after the trace was full"), report["not_recorded"]
    assert [m["what"] for m in report["slow_moments"]] == ["step"], report["slow_moments"]


@case
def a_full_recording_says_so_and_the_program_goes_on():
    filled(12)


@case
def a_recording_that_the_last_step_fills_says_so_too():
    filled(0)


sys.exit(main())
