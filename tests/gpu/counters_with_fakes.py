"""Sampling of the GPU's counters through libstrobe.so with stand-ins for the CUDA driver and CUPTI.

usage: counters_with_fakes.py BUILD_DIR
"""
import os
import signal
import subprocess
import sys

import wire
from fake_program import BUILD, CASES, Sampled, case, main, report_of, said_of, values_of


@case
def counters_are_sampled_on_the_time_axis_of_the_zones():
    p = Sampled()
    p.begin()
    p.strobe.strobe_zone_begin(b"denoise")
    p.begun = p.cupti.now()
    p.samples(10, 80)
    p.strobe.strobe_zone_end()
    p.strobe.strobe_gpu_counters_stop()
    p.given_back()
    p.samples(5, 10)  # nobody samples any more
    rec = p.stop()
    rows = rec.sampled("gpu_pm")
    assert len(rows) == 11 and rows[0][2]["sm_active_percent"] != rows[0][2]["sm_active_percent"], rows
    assert values_of(rec) == [80] * 10 and all(abs(v - 30) < 0.1 for v in values_of(rec, "dram_active_percent"))
    zone = [z for z in rec.zones if z.name == "denoise"][0]
    slack = rec.hz // 1000  # the clocks are aligned to some microseconds
    assert all(zone.begin - slack <= ticks <= zone.end + slack for _, ticks, _ in rows), (zone, rows)
    assert abs(rec.s(rows[-1][1] - rows[0][1]) - 0.005) < 0.0005
    assert rec.meta["gpu_counters_sample_count"] == 10 and rec.meta["gpu_counters_lost_count"] == 0
    assert rec.meta["gpu_counters_begin_ticks"] < rec.meta["gpu_counters_end_ticks"]
    assert {z.tid for z in rec.zones} == {zone.tid}, rec.zones  # strobe's own threads have no zones


@case
def counters_of_steps_begin_after_the_warm_up_beside_the_trace():
    p = Sampled("steps:2")
    assert p.strobe.strobe_gpu_trace_start(b"steps:2") == 0
    for i in range(5):
        p.strobe.strobe_step_begin(b"step_%d" % i, None)
        p.begun = p.cupti.now()
        assert p.pm.sampling(0) == (i in (1, 2)) or i == 3, i
        p.samples(4, 10 * i)
        p.strobe.strobe_step_end()
    p.given_back()
    rec = p.stop()
    assert values_of(rec) == [10] * 4 + [20] * 4, values_of(rec)
    steps, own = ([z for z in rec.zones if z.name.startswith(begin)] for begin in ("step_", "strobe: "))
    assert len(steps) == 5 and {z.name for z in own} == {"strobe: setting up the GPU counters", "strobe: setting up the GPU trace"}, own
    # in a step, and no time of it; not on strobe's own threads, which no stage waits for
    assert all(any(s.begin <= z.begin <= z.end <= s.end and z.tid == s.tid for s in steps) for z in own), (own, steps)


@case
def lost_samples_are_counted_and_leave_a_gap():
    p = Sampled()
    p.begin()
    start = p.samples(4, 50)
    looks = p.cupti.calls(b"cuptiPmSamplingDecodeData")
    p.until(lambda: p.cupti.calls(b"cuptiPmSamplingDecodeData") > looks + 1, "a look that began after them")
    p.pm.overflow(0)
    p.until(lambda: p.pm.started(0) == 2, "the sampling to begin again")
    p.begun = start + 10 * 500000
    p.samples(4, 60, start=p.begun)
    rec = p.stop()
    rows = rec.sampled("gpu_pm")
    assert values_of(rec) == [50] * 4 + [60] * 4, rows
    assert [v["sm_active_percent"] == v["sm_active_percent"] for _, _, v in rows] == [False] + [True] * 4 + [False] + [True] * 4
    assert rec.meta["gpu_counters_lost_count"] == 6
    said = [why for what, why in rec.missing if what == "some sampled counters"]
    assert len(said) == 1 and said[0].startswith("6 of about 14 samples were lost, the buffer was full 1 time|"), rec.missing


@case
def without_a_sample_the_report_says_what_was_asked_for():
    for spec, words in ((b"all", "before the sampling ended|see docs/gpu.md"), (b"steps:3", "in the time asked for|sample for longer")):
        p = Sampled()
        assert p.strobe.strobe_gpu_counters_start(spec) == 0, p.strobe.strobe_error()
        for i in range(2):
            p.step(b"step_%d" % i)
        p.sampling()
        said = [why for what, why in p.stop().missing if what == "sampled counters"]
        assert len(said) == 1 and words in said[0], (spec, said)


@case
def counters_that_cannot_be_sampled_are_said_with_what_to_do():
    for call, result, words in ((b"cuptiPmSamplingEnable", 35, ("no permission", "RestrictProfilingToAdminUsers=0")),
                                (b"cuptiPmSamplingEnable", 26, ("another profiler has its counters", "dcgmi profile --pause")),
                                (b"cuptiPmSamplingStart", 7, ("another profiler", "dcgmi")), (b"cuptiProfilerHostInitialize", 46, ("samples none",))):
        p = Sampled("all", lambda cupti: cupti.refuse(call, result))
        p.zone(b"denoise", 1)
        p.until(lambda: p.cupti.calls(call) > 0, "the refusal")
        rec = p.stop()
        said = [why for what, why in rec.missing if what == "sampled counters"]
        assert len(said) == 1 and all(w in said[0] for w in words), (call, rec.missing)


def refused_version(version, words):
    p = Sampled("all", lambda cupti: cupti.set_version(version))
    p.zone(b"denoise", 1)
    p.until(lambda: p.cupti.calls(b"cuptiGetVersion") > 0, "a look at the version")
    said = [why for what, why in p.stop().missing if what == "sampled counters"]
    assert len(said) == 1 and words in said[0], said


def sampled_version(version):
    p = Sampled(before=lambda cupti: cupti.set_version(version))
    p.begin()
    p.samples(3, 50)
    rec = p.stop()
    assert values_of(rec) == [50] * 3 and rec.meta["cupti_version"] == version, rec.meta


for each in (14, 23, 140000, 140100):  # CUDA 11, 12.5, 14.0, 14.1
    CASES["cupti_%d_is_refused_in_one_line" % each] = lambda v=each: refused_version(v, "CUDA 12.6" if v == 23 else "is not one that strobe knows")
for each in (24, 28, 130000, 130300, 130900):  # CUDA 12.6, 12.9, 13.0, 13.3, a later 13
    CASES["cupti_%d_samples" % each] = lambda v=each: sampled_version(v)


@case
def signal_samples_counters_where_they_were_asked_for():
    p = Sampled("signal")
    p.zone(b"first", 1)
    assert not p.pm.sampling(0)
    p.begun = p.cupti.now()
    os.kill(os.getpid(), signal.SIGUSR2)
    p.until(lambda: p.cupti.calls(b"cuptiPmSamplingDecodeData") > 0, "the first look: the sampling has begun")
    p.begun = p.cupti.now()
    p.samples(3, 70)
    p.until(lambda: p.cupti.calls(b"cuptiEnableCallback") > 0, "the trace beside it")
    os.kill(os.getpid(), signal.SIGUSR2)
    p.given_back()
    assert values_of(p.stop()) == [70] * 3


@case
def a_forked_child_leaves_its_parents_counters_alone():
    p = Sampled()
    p.begin()
    child = os.fork()
    if not child:
        p.zone(b"child", 1)
        before = p.cupti.calls(b"cuptiPmSamplingDecodeData")
        p.strobe.strobe_stop()
        calls = [p.cupti.calls(c) for c in (b"cuptiPmSamplingStop", b"cuptiPmSamplingDisable", b"cuptiProfilerDeInitialize")]
        os._exit(0 if calls == [0, 0, 0] and p.cupti.calls(b"cuptiPmSamplingDecodeData") == before else 1)
    assert os.waitpid(child, 0)[1] == 0
    p.begun = p.cupti.now()
    p.samples(3, 40)
    assert values_of(p.stop()) == [40] * 3


@case
def samples_lost_at_the_end_are_counted():
    p = Sampled()
    p.begin()
    p.samples(4, 50)
    looks = p.cupti.calls(b"cuptiPmSamplingDecodeData")
    p.until(lambda: p.cupti.calls(b"cuptiPmSamplingDecodeData") > looks + 1, "a look that began after them")
    p.pm.overflow(0)
    p.begun = p.cupti.now()
    p.until(lambda: p.cupti.now() - p.begun > 10 ** 7, "ten milliseconds without a sample")
    rec = p.stop()
    last = max(t for _, t, v in rec.sampled("gpu_pm"))
    expected = rec.s(rec.meta["gpu_counters_end_ticks"] - last) / 0.0005
    assert expected >= 20 and abs(rec.meta["gpu_counters_lost_count"] - expected) <= 2, (rec.meta, expected)
    assert "samples were lost" in said_of(rec, "some sampled counters")[0], rec.missing


@case
def samples_out_of_order_twice_or_without_times_are_left_out_and_counted():
    p = Sampled()
    p.begin()
    p.until(lambda: p.cupti.now() - p.begun > 20 * 500000, "the samples' time to pass")
    start = p.cupti.now() - 16 * 500000

    def sample(i, sm, at=None):
        at = start + i * 500000 if at is None else at
        p.pm.sample(0, at, at + 500000 if at else 0, sm, sm / 2, 1, 1)
    for i in (0, 1, 3, 2, 3, 4):
        sample(i, 10 + i)
    sample(5, 99, at=0)  # no times
    sample(6, 16)
    p.pm.sample(0, start + 8 * 500000, start + 7 * 500000, 99, 99, 1, 1)  # ends before it begins
    rec = p.stop()
    rows = rec.sampled("gpu_pm")
    assert values_of(rec) == [10, 11, 13, 14, 16], rows
    assert rec.meta["gpu_counters_lost_count"] == 3, rec.meta  # 2 came too late, 5 and the last had no times
    assert "samples were lost|" in said_of(rec, "some sampled counters")[0], rec.missing  # the buffer was never full


@case
def what_was_sampled_until_a_kill_is_in_the_report():
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        p = Sampled()
        p.begin()
        p.strobe.strobe_zone_begin(b"denoise")
        p.begun = p.cupti.now()
        p.samples(20, 80)
        looks = p.cupti.calls(b"cuptiPmSamplingDecodeData")
        p.until(lambda: p.cupti.calls(b"cuptiPmSamplingDecodeData") > looks + 2, "a look that began after them")
        os.write(writer, p.folder.encode())
        os.kill(os.getpid(), signal.SIGKILL)
    folder = os.read(reader, 4096).decode()
    assert os.waitpid(child, 0)[1] == signal.SIGKILL
    report = report_of(folder + "/last")
    sampled = report["sampled_counters"]
    assert sampled["sample_count"] == 20 and sampled["lost_count"] == 0, sampled
    assert abs(sampled["gpu_counters"]["sm_active_percent"] - 80) < 1e-6 and report["recording"]["complete"] is False, sampled


@case
def other_steps_may_be_asked_for_while_the_hardware_is_held():
    p = Sampled("steps:1@2")
    for i in range(2):
        p.step(b"step_%d" % i)
    assert p.pm.held() == 3 and not p.pm.sampling(0)  # got in the step before
    p.begin(b"seconds:100")
    p.samples(3, 60)
    rec = p.stop()
    assert values_of(rec) == [60] * 3 and not any(what.startswith("sampled counters") for what, _ in rec.missing), rec.missing


@case
def stops_without_a_begin_hold_nothing():
    p = Sampled("steps:3@2")
    p.strobe.strobe_gpu_counters_stop()
    p.strobe.strobe_gpu_counters_stop()
    for i in range(8):
        p.step(b"step_%d" % i)
    assert p.pm.held() == 0 and p.pm.started(0) == 0
    p.begin(b"seconds:100")
    assert p.strobe.strobe_gpu_counters_start(b"") == -6, p.strobe.strobe_error()
    p.samples(3, 60)
    p.strobe.strobe_gpu_counters_stop()
    p.strobe.strobe_gpu_counters_stop()
    p.given_back()
    assert values_of(p.stop()) == [60] * 3


@case
def steps_that_never_came_are_said():
    p = Sampled("steps:3@5")
    for i in range(5):
        p.step(b"step_%d" % i)
    assert said_of(p.stop(), "sampled counters") == ["too few steps were seen to sample any|--gpu-counters=seconds:5"]
    assert p.pm.held() == 0
    p = Sampled("steps:10")
    for i in range(4):
        p.step(b"step_%d" % i)
    p.begun = p.cupti.now()
    p.samples(3, 60)
    rec = p.stop()
    (why,) = said_of(rec, "sampled counters of all steps")
    assert "the run ended after 3 of the 10 steps asked for" in why and values_of(rec) == [60] * 3, rec.missing


@case
def a_stage_shows_the_counters_sampled_in_it():
    p = Sampled()
    p.begin()
    for name, sm in ((b"denoise", 80), (b"decode", 20)):
        p.strobe.strobe_zone_begin(name)
        p.begun = p.cupti.now()
        p.samples(20, sm)
        p.strobe.strobe_zone_end()
    p.stop()
    stages = {s["name"]: s for s in report_of(p.folder + "/last")["stage_analysis"]["stages"]}
    for name, sm in (("denoise", 80), ("decode", 20)):
        seen = stages[name]["gpu_counters"]
        assert seen["source"] == "pm sampling" and abs(seen["sm_active_percent"] - sm) < 1e-6, stages[name]
        assert abs(seen["dram_read_percent"] - 20) < 0.1 and 0 < seen["covered_ratio"] <= 1, seen


LONG = 30 * 10 ** 9  # a step is slow by what its kernels take: no load of the machine makes another one slow


def steps_of_a_watch(p, slow):
    """Twelve steps, each with samples of its own level; that of the slow one is 90."""
    for i in range(12):
        p.strobe.strobe_step_begin(b"step_%d" % i, None)
        p.begun = p.cupti.now()
        p.kernel(b"kernel_of_step_%d" % i, LONG if i == slow else 1000)
        p.samples(4, 90 if i == slow else 10 + i)
        p.strobe.strobe_step_end()


@case
def counters_of_a_slow_step_are_kept_beside_a_normal_ones():
    os.environ["STROBE_GPU_TRACE"] = "slow:100000"
    p = Sampled("slow")
    del os.environ["STROBE_GPU_TRACE"]
    p.sampling()
    steps_of_a_watch(p, 8)
    rec = p.stop()
    assert sorted(set(values_of(rec))) == [17, 90], values_of(rec)  # of 12 steps the slow one and the normal one before it
    assert values_of(rec).count(90) == 4 and rec.meta["gpu_counters_sample_count"] == len(values_of(rec)), rec.meta
    (moment,) = report_of(p.folder + "/last")["slow_moments"]
    seen = {c["counter"]: (round(c["percent"], 3), round(c["normal_percent"], 3)) for c in moment["counters"]}
    assert seen["sm_active_percent"] == (90, 17) and seen["tensor_active_percent"] == (45, 8.5), seen
    text = subprocess.run([BUILD + "/strobe", "report", p.folder + "/last"], capture_output=True, text=True).stdout
    assert "SM active 90.0 % (normal 17.0 %), tensor 45.0 % (normal 8.5 %), DRAM" in text, text


@case
def a_healthy_run_keeps_no_counters():
    os.environ["STROBE_GPU_TRACE"] = "slow:100000"
    p = Sampled("slow")
    del os.environ["STROBE_GPU_TRACE"]
    p.sampling()
    steps_of_a_watch(p, None)
    rec = p.stop()
    assert rec.sampled("gpu_pm") == [] and rec.meta["gpu_counters_sample_count"] == 0, rec.meta
    assert not any(what == "sampled counters" for what, _ in rec.missing), rec.missing


@case
def counters_are_given_back_when_nothing_more_can_be_kept():
    os.environ["STROBE_GPU_TRACE"] = "slow:100000,1"
    p = Sampled("slow")
    del os.environ["STROBE_GPU_TRACE"]
    p.sampling()
    p.strobe.strobe_step_begin(b"now", None)
    p.begun = p.cupti.now()
    p.samples(4, 60)
    p.strobe.strobe_gpu_trace_keep(b"a customer called")
    p.strobe.strobe_step_end()  # which is kept whole
    p.given_back()  # before the session ends
    assert values_of(p.stop()) == [60] * 4


@case
def counters_of_an_asked_moment_are_kept_without_a_kernel_trace():
    os.environ["STROBE_GPU_TRACE"] = "slow:100000"
    p = Sampled("slow", lambda cupti: cupti.refuse(b"cuptiSubscribe_v2", 39))
    del os.environ["STROBE_GPU_TRACE"]
    p.sampling()
    p.strobe.strobe_step_begin(b"now", None)
    p.begun = p.cupti.now()
    p.samples(4, 60)
    p.strobe.strobe_gpu_trace_keep(b"a customer called")
    p.strobe.strobe_step_end()
    assert values_of(p.stop()) == [60] * 4
    (moment,) = report_of(p.folder + "/last")["slow_moments"]
    assert moment["what"] == "asked" and [round(c["percent"], 3) for c in moment["counters"] if c["counter"] == "sm_active_percent"] == [60], moment


@case
def slow_counters_without_a_watch_say_what_is_missing():
    p = Sampled("slow")
    p.zone(b"denoise", 1)
    assert p.strobe.strobe_gpu_counters_start(b"slow") == -3 and not p.pm.sampling(0), p.strobe.strobe_error()
    said = [why for what, why in p.stop().missing if what == "sampled counters"]
    assert len(said) == 1 and "finds the slow moments" in said[0] and "--gpu-trace=slow:1.5" in said[0], said


sys.exit(main())
