"""Whole sessions through libstrobe.so with stand-ins for the CUDA driver and CUPTI: the
threads, the file and the report, where there is no GPU.

usage: session_with_fakes.py BUILD_DIR
"""
import ctypes
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile

import wire
from fake_program import BUILD, NS, Program, case, main, names_of, report_of
from standins import P, U64


@case
def zones_are_resolved_while_the_program_runs():
    p = Program()
    for _ in range(10):
        p.zone(b"denoise", 20)
    p.strobe.strobe_gpu_zone_begin(b"unfinished", P(0x20))
    rec = p.stop()
    assert names_of(rec, "zone") == ["denoise"] * 10, names_of(rec, "zone")
    assert all(abs(rec.s(g.duration) - 0.02) < 1e-6 for g in rec.of("zone"))
    for g in rec.of("zone"):
        inside = [z for z in rec.zones if z.name == "denoise" and z.begin <= g.launch <= z.end]
        assert len(inside) == 1
    for name in (b"cuInit", b"cuCtxCreate_v2", b"cuCtxSynchronize", b"cuStreamSynchronize", b"cuEventSynchronize"):
        assert p.cuda.calls(name) == 0, name
    done = subprocess.run([BUILD + "/strobe", "report", p.folder + "/last", "--format", "json"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    stages = {s["name"]: s for s in json.loads(done.stdout)["stage_analysis"]["stages"]}
    assert abs(stages["denoise"]["gpu_span_s"] - 0.2) < 1e-6, stages["denoise"]
    assert "gpu_busy_s" not in stages["denoise"]


@case
def trace_records_kernels_and_lets_go():
    p = Program()
    assert p.strobe.strobe_gpu_trace_start(b"") == 0, p.strobe.strobe_error()
    assert p.strobe.strobe_gpu_trace_start(b"") == -6  # EBUSY
    p.zone(b"denoise", 5)
    p.strobe.strobe_gpu_trace_stop()
    p.until(lambda: p.cupti.calls(b"cuptiUnsubscribe") == 1, "the trace's end")
    p.kernel(b"later")
    rec = p.stop()
    assert names_of(rec, "kernel") == ["kernel_of_denoise"], rec.gpu
    assert rec.meta["gpu_trace_kernel_count"] == 1
    assert rec.meta["gpu_trace_begin_ticks"] < rec.meta["gpu_trace_end_ticks"]


class Request(ctypes.Structure):
    """How the driver's calls get theirs: where to put it, bytes; of cuMemCreate what it is, too."""
    _fields_ = [("out", P), ("bytes", ctypes.c_size_t), ("more", P)]


ALLOCATE, CREATE, OUT_OF_MEMORY, MB = 243, 549, 2, 1 << 20


@case
def memory_that_the_driver_refuses_is_told_while_a_trace_runs():
    p = Program()
    p.cuda.memory(300 * MB, 1000 * MB)
    request = Request(None, 700 * MB, None)
    refuse = lambda: p.cupti.driver_call(ALLOCATE, ctypes.byref(request), OUT_OF_MEMORY)
    refuse()  # before the trace: strobe has not subscribed to CUPTI yet
    assert p.strobe.strobe_gpu_trace_start(b"") == 0, p.strobe.strobe_error()
    p.strobe.strobe_zone_begin(b"decode")
    p.cupti.driver_call(ALLOCATE, ctypes.byref(request), 0)
    refuse()
    p.cupti.driver_call(CREATE, ctypes.byref(Request(None, 900 * MB, ctypes.cast((ctypes.c_int * 4)(1, 0, 3, 0), P))), OUT_OF_MEMORY)  # of the host
    p.cupti.driver_call(CREATE, ctypes.byref(Request(None, 800 * MB, ctypes.cast((ctypes.c_int * 4)(1, 0, 1, 0), P))), OUT_OF_MEMORY)
    p.strobe.strobe_zone_end()
    p.strobe.strobe_gpu_trace_stop()
    p.until(lambda: p.cupti.calls(b"cuptiUnsubscribe") == 1, "the trace's end")
    refuse()
    p.stop()
    report = report_of(p.folder + "/last")
    found = report["out_of_memory"]
    assert (found["count"], found["stage"], found["device_index"]) == (2, "decode", 0), found
    assert (found["requested_bytes"], found["free_bytes"], found["total_bytes"]) == (800 * MB, 300 * MB, 1000 * MB), found
    assert found["residents"] == [{"component": "all processes and the driver", "bytes": 700 * MB}], found
    assert report["recommendations"][0]["id"] == "out_of_memory", report["recommendations"]
    assert p.cuda.calls(b"cuMemGetInfo_v2") == 2


@case
def how_a_kernel_was_launched_comes_back_from_its_name():
    p = Program()
    assert p.strobe.strobe_gpu_trace_start(b"") == 0, p.strobe.strobe_error()
    p.cupti.shape(164308, 12)
    p.cupti.sized(4, 384, 168)
    for _ in range(3):
        p.zone(b"denoise", 5)
    p.strobe.strobe_gpu_trace_stop()
    p.stop()
    out = p.folder + "/trace.json"
    done = subprocess.run([BUILD + "/strobe", "export", p.folder + "/last", "--to", "chrome", "-o", out], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    kernels = [e["args"] for e in json.load(open(out))["traceEvents"] if e.get("cat") == "kernel"]
    assert [(k["grid"], k["block"], k["registers per thread"], k["shared memory"]) for k in kernels] == \
        [([4, 12, 1], [384, 1, 1], 168, 164308)] * 3, kernels


@case
def the_report_says_when_it_traced():
    p = Program()
    assert p.strobe.strobe_gpu_trace_start(b"") == 0
    p.zone(b"denoise", 5)
    rec = p.stop()
    traces = report_of(p.folder + "/last")["gpu_trace"]["traces"]
    traced_s = rec.s(rec.meta["gpu_trace_end_ticks"] - rec.meta["gpu_trace_begin_ticks"])
    assert len(traces) == 1 and abs(traces[0]["duration_s"] - traced_s) < 1e-4, (traces, traced_s)


def traced_and_killed(kernel, ended):
    """What the report of a killed program says is missing of its kernels."""
    child = os.fork()
    if not child:
        p = Program()
        assert p.strobe.strobe_gpu_trace_start(b"") == 0
        if kernel:
            p.kernel(b"first")
        p.until(lambda: p.cupti.calls(b"cuptiActivityFlushAll") > 1, "the first look")
        if ended:
            p.strobe.strobe_gpu_trace_stop()
            p.until(lambda: p.cupti.calls(b"cuptiUnsubscribe") == 1, "the trace's end")
        print(p.folder, file=open(told, "w"))
        os.kill(os.getpid(), signal.SIGKILL)
    assert os.waitpid(child, 0)[1] == signal.SIGKILL
    report = report_of(open(told).read().strip() + "/last")
    return [m for m in report["not_recorded"] if "last kernels" in m["what"]], report.get("gpu_trace")


told = tempfile.mktemp(prefix="strobe-fakes-")


@case
def a_trace_that_a_kill_cut_short_says_from_when_on():
    for kernel in (False, True):
        missing, trace = traced_and_killed(kernel, ended=False)
        assert len(missing) == 1 and "killed during its GPU trace" in missing[0]["why"], missing
        assert bool(trace) == kernel, trace
    assert traced_and_killed(True, ended=True)[0] == []


@case
def a_run_ends_where_its_stop_was_called():
    p = Program()
    assert p.strobe.strobe_gpu_trace_start(b"") == 0
    p.zone(b"denoise", 5)
    p.stop()  # ends the trace, which takes its time
    report = report_of(p.folder + "/last")
    trace = report["gpu_trace"]["traces"][0]
    assert trace["t_s"] + trace["duration_s"] > report["session_info"]["duration_s"], (trace, report["session_info"])


@case
def the_setting_is_kept_under_strobe_run():
    p = Program()
    subprocess.run([BUILD + "/strobe", "run", "-o", p.folder + "/run", "--gpu-trace=steps:3@10", "--", "true"], check=True,
                   capture_output=True)
    assert report_of(p.folder + "/run/last")["system"]["settings"]["gpu_trace"] == "steps:3@10"


@case
def a_library_that_was_named_is_named_when_it_fails():
    os.environ.update(STROBE_CUDA_PATH="/nowhere/libcuda.so", STROBE_CUPTI_PATH="/nowhere/libcupti.so")
    done = subprocess.run([BUILD + "/strobe", "doctor", "--json"], capture_output=True, text=True)
    said = {c["name"]: c["detail"] for c in json.loads(done.stdout)["checks"]}
    assert "STROBE_CUDA_PATH names /nowhere/libcuda.so" in said["CUDA driver"], said
    assert "STROBE_CUPTI_PATH names /nowhere/libcupti.so" in said["CUPTI"], said
    p = Program()
    os.environ["STROBE_CUPTI_PATH"] = "/nowhere/libcupti.so"
    assert p.strobe.strobe_gpu_trace_start(b"") < 0
    assert b"STROBE_CUPTI_PATH names '/nowhere/libcupti.so'" in p.strobe.strobe_error(), p.strobe.strobe_error()
    p.stop()


@case
def steps_are_counted_after_the_warm_up():
    p = Program()
    assert p.strobe.strobe_gpu_trace_start(b"steps:2") == 0
    for i in range(5):
        p.step(b"step_%d" % i)
    p.until(lambda: p.cupti.calls(b"cuptiUnsubscribe") == 1, "the trace's end")
    rec = p.stop()
    assert names_of(rec, "kernel") == ["kernel_of_step_1", "kernel_of_step_2"], names_of(rec, "kernel")


@case
def steps_are_counted_whichever_way_the_role_is_set():
    def by_attribute(p, name):
        p.strobe.strobe_zone_begin(name)
        p.strobe.strobe_attr_int(b"strobe.role", ctypes.c_int64(3))
        p.kernel(b"kernel_of_" + name)
        p.strobe.strobe_zone_end()

    def measured(p, name):
        p.kernel(b"kernel_of_" + name)
        p.strobe.strobe_step_record(name, None, U64(1000))

    for step, traced in ((by_attribute, (1, 2)), (measured, (2, 3))):
        p = Program()
        assert p.strobe.strobe_gpu_trace_start(b"steps:2") == 0
        for i in range(5):
            step(p, b"step_%d" % i)
        p.until(lambda: p.cupti.calls(b"cuptiUnsubscribe") == 1, "the trace's end")
        rec = p.stop()
        assert names_of(rec, "kernel") == ["kernel_of_step_%d" % i for i in traced], names_of(rec, "kernel")


# A step is slow by what its kernels take, which the test says: no load of the machine makes another one slow.
SLOW = b"slow:100000"
LONG = 30 * 1000 * NS


@case
def a_slow_step_is_kept_beside_a_normal_one():
    p = Program()
    assert p.strobe.strobe_gpu_trace_start(SLOW) == 0, p.strobe.strobe_error()
    assert p.strobe.strobe_gpu_trace_start(b"") == -6  # it runs
    for i in range(12):
        p.step(b"step_%d" % i, LONG if i == 8 else 1000)
    rec = p.stop()
    assert names_of(rec, "kernel") == ["kernel_of_step_7", "kernel_of_step_8"], names_of(rec, "kernel")
    assert p.cupti.calls(b"cuptiUnsubscribe") == 1
    report = report_of(p.folder + "/last")
    (moment,) = report["slow_moments"]
    assert (moment["what"], moment["judged_by"]) == ("step", "gpu"), moment
    assert abs(moment["gpu_work_s"] - 30) < 0.1 and moment["normal_gpu_work_s"] < 0.1, moment
    assert moment["parts"][0]["name"] == "kernel_of_step_8" and "kernel_of_step_8" in moment["words"], moment
    assert moment["words"].endswith(", 1 instead of 0"), moment
    assert len(report["gpu_trace"]["traces"]) == 1, report["gpu_trace"]["traces"]
    assert report["gpu_trace"]["slow_moments_only"] is True, report["gpu_trace"]
    text = subprocess.run([BUILD + "/strobe", "report", p.folder + "/last"], capture_output=True, text=True).stdout
    assert "Slow moments that were caught\n  slow step: at " in text, text
    assert "around slow moments only: shares are of these" in text and "Kernels by family, around slow moments " in text, text
    text = subprocess.run([BUILD + "/strobe", "report", "--format", "md", p.folder + "/last"], capture_output=True, text=True).stdout
    assert "- Around slow moments only: shares" in text and "- Kernels by family, around slow moments: " in text, text


@case
def a_healthy_run_keeps_no_kernels():
    p = Program()
    assert p.strobe.strobe_gpu_trace_start(SLOW) == 0
    for i in range(40):
        p.step(b"step_%d" % i)
    rec = p.stop()
    assert names_of(rec, "kernel") == [] and "slow_moment" not in rec.meta, rec.meta
    report = report_of(p.folder + "/last")
    assert "slow_moments" not in report and "gpu_trace" not in report
    watch = report["slow_watch"]
    assert (watch["step_count"], watch["judged_step_count"], watch["slow_count"]) == (40, 35, 0), watch
    text = subprocess.run([BUILD + "/strobe", "report", p.folder + "/last"], capture_output=True, text=True).stdout
    assert "Slow moments\n  watched for what takes more than 100000 times its peers: 35 of 40 steps judged, none was slow\n" in text, text
    assert not any("kernels" in m["what"] for m in report["not_recorded"]), report["not_recorded"]


@case
def a_watch_that_could_judge_nothing_says_why():
    for steps, said in ((0, "no step and no generation was seen"), (3, "3 steps and 0 generations are too few to judge any")):
        p = Program()
        assert p.strobe.strobe_gpu_trace_start(SLOW) == 0
        for i in range(steps):
            p.step(b"step_%d" % i)
        p.stop()
        watch = report_of(p.folder + "/last")["slow_watch"]
        assert watch["step_count"] == steps and watch["judged_step_count"] == 0 and said in watch["words"], watch


@case
def the_worst_moments_are_kept_not_the_first_ones():
    p = Program()
    assert p.strobe.strobe_gpu_trace_start(SLOW + b",2") == 0
    takes = {7: LONG, 15: 2 * LONG, 23: LONG // 2, 31: LONG + LONG // 2}
    for i in range(40):
        p.step(b"step_%d" % i, takes.get(i, 1000))
    p.until(lambda: p.cupti.calls(b"cuptiActivityFlushAll") > 2, "a look")
    assert p.cupti.calls(b"cuptiUnsubscribe") == 0  # worse ones may come
    rec = p.stop()
    report = report_of(p.folder + "/last")
    assert [m["parts"][0]["name"] for m in report["slow_moments"]] == ["kernel_of_step_15", "kernel_of_step_31"], report["slow_moments"]
    watch = report["slow_watch"]
    assert (watch["slow_count"], watch["displaced_count"], watch["unkept_count"]) == (2, 1, 1), watch
    assert watch["words"].endswith("2 slow ones were kept, 1 gave way to a slower one, 1 more, no slower, was not kept"), watch
    assert "kernel_of_step_23" not in names_of(rec, "kernel"), names_of(rec, "kernel")


@case
def steps_slow_in_a_row_are_one_moment():
    p = Program()
    assert p.strobe.strobe_gpu_trace_start(SLOW) == 0
    takes = {8: LONG, 9: 2 * LONG, 10: LONG, 11: 9 * LONG}
    for i in range(14):
        p.step(b"step_%d" % i, takes.get(i, 1000))
    rec = p.stop()
    (moment,) = report_of(p.folder + "/last")["slow_moments"]
    assert moment["parts"][0]["name"] == "kernel_of_step_11" and abs(moment["gpu_work_s"] - 270) < 0.1, moment
    row = moment["row"]
    assert row["count"] == 4 and row["t_s"] < moment["t_s"] and row["words"].startswith("4 steps in a row (slowest "), row
    assert names_of(rec, "kernel") == ["kernel_of_step_%d" % i for i in (11, 7, 8)], names_of(rec, "kernel")
    text = subprocess.run([BUILD + "/strobe", "report", p.folder + "/last"], capture_output=True, text=True).stdout
    assert "Slow moments that were caught\n  slow: 4 steps in a row (slowest " in text, text


@case
def the_watch_ends_when_nothing_more_can_be_kept():
    p = Program()
    assert p.strobe.strobe_gpu_trace_start(SLOW + b",1") == 0
    p.until(lambda: p.cupti.calls(b"cuptiActivityFlushAll") > 0, "its first look")
    p.step(b"now")
    p.strobe.strobe_gpu_trace_keep(b"a customer called")
    p.until(lambda: p.cupti.calls(b"cuptiUnsubscribe") == 1, "the watch's end")
    p.stop()


@case
def asking_keeps_what_runs():
    for ask in (lambda p: p.strobe.strobe_gpu_trace_keep(b"a customer called"), lambda p: os.kill(os.getpid(), signal.SIGUSR2)):
        os.environ["STROBE_GPU_TRACE"] = SLOW.decode()  # from the session's begin on: the signal is heard
        p = Program()
        del os.environ["STROBE_GPU_TRACE"]
        p.until(lambda: p.cupti.calls(b"cuptiActivityFlushAll") > 0, "its first look")
        p.step(b"before")
        p.strobe.strobe_step_begin(b"now", None)
        p.kernel(b"kernel_now")
        ask(p)
        p.strobe.strobe_step_end()
        rec = p.stop()
        (moment,) = report_of(p.folder + "/last")["slow_moments"]
        assert moment["what"] == "asked" and moment["why"] in ("a customer called", "SIGUSR2"), moment
        assert names_of(rec, "kernel") == ["kernel_now", "kernel_of_before"], names_of(rec, "kernel")


@case
def without_cupti_the_slow_one_is_told_all_the_same():
    p = Program(lambda cupti: cupti.refuse(b"cuptiSubscribe_v2", 39))
    assert p.strobe.strobe_gpu_trace_start(SLOW) == 0
    for i in range(12):  # measured by the caller: the clock has no say
        p.strobe.strobe_step_record(b"denoise", None, U64(LONG * 1000000 if i == 8 else 1000))
    rec = p.stop()
    assert any(what == "kernels" for what, _ in rec.missing), rec.missing
    (moment,) = report_of(p.folder + "/last")["slow_moments"]
    assert (moment["what"], moment["judged_by"]) == ("step", "clock") and "gpu_work_s" not in moment, moment
    assert report_of(p.folder + "/last")["slow_watch"]["words"].endswith("7 of 12 steps judged, 1 slow one was kept")


@case
def signal_begins_and_ends_a_trace():
    p = Program()
    assert signal.getsignal(signal.SIGUSR2) == signal.SIG_DFL
    p.zone(b"first", 1)  # the program uses CUDA: from here on strobe listens
    os.kill(os.getpid(), signal.SIGUSR2)
    p.until(lambda: p.cupti.calls(b"cuptiEnableCallback") > 0, "the trace's begin")
    p.until(lambda: p.cupti.calls(b"cuptiActivityFlushAll") > 0, "its first look")
    p.zone(b"traced", 1)
    os.kill(os.getpid(), signal.SIGUSR2)
    p.until(lambda: p.cupti.calls(b"cuptiUnsubscribe") == 1, "the trace's end")
    rec = p.stop()
    assert names_of(rec, "kernel") == ["kernel_of_traced"], names_of(rec, "kernel")
    os.kill(os.getpid(), signal.SIGUSR2)  # a late one does not kill


@case
def another_profiler_gets_cupti():
    p = Program()
    assert p.strobe.strobe_gpu_trace_start(b"") == 0
    p.zone(b"ours", 1)
    p.strobe.strobe_gpu_trace_yield(b"torch.profiler")
    assert p.cupti.calls(b"cuptiUnsubscribe") == 1
    rec = p.stop()
    assert names_of(rec, "kernel") == ["kernel_of_ours"]
    assert any("torch.profiler" in why for _, why in rec.missing), rec.missing


@case
def refusals_are_said_and_harmless():
    p = Program()
    p.cupti.refuse(b"cuptiSubscribe_v2", 39)
    assert p.strobe.strobe_gpu_trace_start(b"") == -6
    assert b"somebody else" in p.strobe.strobe_error()
    assert p.strobe.strobe_gpu_trace_start(b"hours:3") == -3
    p.zone(b"denoise", 1)
    rec = p.stop()
    assert names_of(rec, "zone") == ["denoise"]
    said = [(what, why) for what, why in rec.missing if what.startswith("kernels")]
    assert [what for what, _ in said] == ["kernels"] and "somebody else" in said[0][1], said


@case
def a_missing_permission_is_said_with_the_way_to_it():
    os.environ["STROBE_GPU_TRACE"] = "all"
    try:
        p = Program(lambda cupti: cupti.refuse(b"cuptiActivityEnable", 35))
    finally:
        del os.environ["STROBE_GPU_TRACE"]
    p.zone(b"denoise", 1)
    said = [(what, why) for what, why in p.stop().missing if what.startswith("kernels")]
    assert [what for what, _ in said] == ["kernels"], said
    assert "no permission" in said[0][1] and "RestrictProfilingToAdminUsers=0" in said[0][1], said


@case
def forked_child_records_its_own_gpu_zones():
    p = Program()
    p.zone(b"parent", 1)
    child = os.fork()
    if not child:
        p.cuda.reset()
        p.cuda.make_current(0x2000, 0)
        p.zone(b"child", 3)
        p.strobe.strobe_stop()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    p.zone(b"parent", 1)
    p.strobe.strobe_stop()
    recordings = wire.load_all(p.folder)
    assert sorted(names_of(r, "zone") for r in recordings) == [["child"], ["parent", "parent"]]


@case
def sessions_follow_each_other():
    p = Program()
    p.zone(b"one", 1)
    p.stop()
    assert p.strobe.strobe_start(None) == 0
    assert p.strobe.strobe_gpu_trace_start(b"") == 0
    p.zone(b"two", 1)
    p.strobe.strobe_stop()
    found = sorted(names_of(r, "zone", "kernel") for r in wire.load_all(p.folder))
    assert found == [["kernel_of_two", "two"], ["one"]], found


@case
def zones_of_a_second_session_are_resolved_while_it_runs():
    p = Program()
    p.zone(b"one", 1)
    p.stop()
    assert p.strobe.strobe_start(None) == 0
    before = p.cuda.calls(b"cuEventElapsedTime")
    p.zone(b"two", 1)
    p.until(lambda: p.cuda.calls(b"cuEventElapsedTime") > before, "somebody to look at the events")
    p.strobe.strobe_stop()


@case
def signal_works_in_every_session_and_never_takes_the_programs_place():
    p = Program()
    p.zone(b"first", 1)
    p.stop()
    assert p.strobe.strobe_start(None) == 0
    p.zone(b"second", 1)
    os.kill(os.getpid(), signal.SIGUSR2)
    p.until(lambda: p.cupti.calls(b"cuptiEnableCallback") > 0, "the second session's trace")
    p.strobe.strobe_stop()
    seen = []
    signal.signal(signal.SIGUSR2, lambda *_: seen.append(1))
    assert p.strobe.strobe_start(None) == 0
    p.zone(b"third", 1)
    os.kill(os.getpid(), signal.SIGUSR2)
    p.until(lambda: seen, "the program's own handler")
    p.strobe.strobe_stop()


@case
def two_copies_of_the_library_time_the_same_stream():
    p = Program()
    shutil.copy(BUILD + "/libstrobe.so", p.folder + "/libcopy.so")
    copy = ctypes.CDLL(p.folder + "/libcopy.so")
    for _ in range(5):
        p.zone(b"ours", 2)
        copy.strobe_gpu_zone_begin(b"theirs", P(0x20))
        p.cuda.work(0x20, 7 * NS)
        copy.strobe_gpu_zone_end(P(0x20))
        p.cuda.advance(7 * NS)
    p.strobe.strobe_stop()
    found = [(r.s(g.duration), g.name) for r in wire.load_all(p.folder) for g in r.of("zone")]
    assert sorted(name for _, name in found) == ["ours"] * 5 + ["theirs"] * 5, found
    assert all(abs(s - {"ours": 0.002, "theirs": 0.007}[name]) < 1e-6 for s, name in found), found


@case
def a_burst_of_zones_is_looked_at_before_it_overflows():
    p = Program()
    count, name, stream = 50000, b"short", P(0x20)
    begin, end = p.strobe.strobe_gpu_zone_begin, p.strobe.strobe_gpu_zone_end
    for _ in range(count):
        begin(name, stream)
        end(stream)
    p.strobe.strobe_stop()
    found = sum(len(r.of("zone")) for r in wire.load_all(p.folder))
    assert found > count / 2, found  # all of them, where the helper thread is given its time


sys.exit(main())
