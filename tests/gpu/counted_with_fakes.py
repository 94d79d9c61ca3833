"""Which GPUs are sampled, and what becomes of those that cannot be, through libstrobe.so with stand-ins for the CUDA driver and CUPTI.

usage: counted_with_fakes.py BUILD_DIR
"""
import sys

from fake_program import Sampled, case, main, said_of, values_of


@case
def every_device_in_use_is_sampled():
    p = Sampled()
    p.cuda.make_current(0x3000, 2)
    p.begin()
    p.sampling(2)
    p.begun = p.cupti.now()
    p.samples(3, 40)
    p.samples(3, 90, device=2)
    rec = p.stop()
    seen = {(d, v["sm_active_percent"]) for d, _, v in rec.sampled("gpu_pm") if v["sm_active_percent"] > 0}
    assert seen == {(0, 40), (2, 90)}, seen


def two_devices():
    p = Sampled()
    p.cuda.make_current(0x3000, 2)
    return p


@case
def a_device_that_comes_into_use_later_is_sampled_from_then_on():
    for ask in b"seconds:100", b"steps:100@0":
        p = Sampled()
        assert p.strobe.strobe_gpu_counters_start(ask) == 0
        p.step(b"first")
        p.sampling()
        p.begun = p.cupti.now()
        p.samples(3, 40)
        for device in 2, 3:
            p.cuda.make_current(0x3000 + device, device)
            p.sampling(device)
            looks = p.cupti.calls(b"cuptiPmSamplingDecodeData")
            p.until(lambda: p.cupti.calls(b"cuptiPmSamplingDecodeData") > looks, "the look after its begin")
            p.begun = p.cupti.now()
            p.samples(3, 60 + device, device=device)
        rec = p.stop()
        seen = [(d, v["sm_active_percent"]) for d, _, v in rec.sampled("gpu_pm") if v["sm_active_percent"] > 0]
        assert sorted(seen) == [(0, 40)] * 3 + [(2, 62)] * 3 + [(3, 63)] * 3, seen
        assert rec.meta["gpu_counters_lost_count"] == 0, rec.missing


@case
def a_later_device_that_cannot_be_sampled_is_said_once():
    p = Sampled()
    p.begin()
    p.pm.occupy(2, True)
    p.cuda.make_current(0x3000, 2)
    looks = p.cupti.calls(b"cuptiPmSamplingEnable")
    p.until(lambda: p.cupti.calls(b"cuptiPmSamplingEnable") > looks, "a try")
    tries, looks = p.cupti.calls(b"cuptiPmSamplingEnable"), p.cupti.calls(b"cuptiPmSamplingDecodeData")
    p.until(lambda: p.cupti.calls(b"cuptiPmSamplingDecodeData") > looks + 2, "more looks")
    assert p.cupti.calls(b"cuptiPmSamplingEnable") == tries
    p.begun = p.cupti.now()
    p.samples(3, 70)
    rec = p.stop()
    assert values_of(rec) == [70] * 3
    (why,) = said_of(rec, "sampled counters of some GPUs")
    assert "GPU 2: another profiler has its counters" in why, why


@case
def more_devices_than_can_be_sampled_are_said_once():
    p = Sampled()
    for device in range(17):
        p.cuda.make_current(0x3000 + device, device)
    p.begin()
    p.until(lambda: p.pm.sampling(15), "all that are sampled")
    p.cuda.make_current(0x4000, 18)
    looks = p.cupti.calls(b"cuptiPmSamplingDecodeData")
    p.until(lambda: p.cupti.calls(b"cuptiPmSamplingDecodeData") > looks + 40, "two more rounds")
    assert not p.pm.sampling(16) and not p.pm.sampling(18)
    rec = p.stop()
    assert said_of(rec, "sampled counters of some GPUs") == ["16 are sampled at the most|see docs/gpu.md, 'Sampled counters'"], rec.missing


@case
def contexts_of_the_programs_own_are_sampled_where_it_has_gpu_zones():
    p = Sampled()
    p.cuda.destroy(0x1000)
    for device in 1, 2:
        p.cuda.make_own(0x3000 + device, device)
        p.zone(b"denoise", 1)
    assert p.strobe.strobe_gpu_counters_start(b"") == 0
    p.sampling(1)
    p.sampling(2)
    p.stop()


@case
def a_device_that_another_profiler_has_leaves_the_others():
    for held, other in ((0, 2), (2, 0)):
        p = two_devices()
        p.pm.occupy(held, True)
        assert p.strobe.strobe_gpu_counters_start(b"") == 0
        p.sampling(other)
        p.begun = p.cupti.now()
        p.samples(3, 70, device=other)
        rec = p.stop()
        assert {(d, v["sm_active_percent"]) for d, _, v in rec.sampled("gpu_pm") if v["sm_active_percent"] > 0} == {(other, 70)}
        (why,) = said_of(rec, "sampled counters of some GPUs")
        assert "GPU %d: another profiler has its counters" % held in why and "dcgmi" in why, why


@case
def a_device_that_does_not_start_leaves_the_others():
    for broken, other in ((0, 2), (2, 0)):
        p = two_devices()
        p.pm.trouble(broken, 4)
        assert p.strobe.strobe_gpu_counters_start(b"") == 0
        p.sampling(other)
        p.begun = p.cupti.now()
        p.samples(3, 70, device=other)
        rec = p.stop()
        assert {(d, v["sm_active_percent"]) for d, _, v in rec.sampled("gpu_pm") if v["sm_active_percent"] > 0} == {(other, 70)}
        (why,) = said_of(rec, "sampled counters of some GPUs")
        assert "GPU %d: CUPTI does not start sampling" % broken in why, why


@case
def a_device_that_breaks_off_is_given_back_said_and_counted():
    p = two_devices()
    p.begin()
    p.sampling(2)
    p.begun = p.cupti.now()
    first = p.samples(4, 40)
    p.samples(4, 90, device=2, start=first)
    looks = p.cupti.calls(b"cuptiPmSamplingDecodeData")
    p.until(lambda: p.cupti.calls(b"cuptiPmSamplingDecodeData") > looks + 3, "a look that began after them")
    p.pm.trouble(0, 2)  # full whenever it is read
    p.until(lambda: not p.pm.sampling(0), "the device to be given back")
    p.until(lambda: p.pm.held() == 3, "all of it")  # of the other device: itself, a host object, the profiler
    p.begun = p.cupti.now()
    p.samples(4, 95, device=2)
    rec = p.stop()
    (why,) = said_of(rec, "sampled counters of GPU 0 after ")
    assert "its buffer is full whenever it is read" in why, why
    seen = [(d, v["sm_active_percent"]) for d, _, v in rec.sampled("gpu_pm") if v["sm_active_percent"] > 0]
    assert sorted(seen) == [(0, 40)] * 4 + [(2, 90)] * 4 + [(2, 95)] * 4, seen
    lost_s = rec.s(rec.meta["gpu_counters_end_ticks"] - max(t for d, t, _ in rec.sampled("gpu_pm") if d == 0))
    gap_s = rec.s(max(t for d, t, _ in rec.sampled("gpu_pm") if d == 2) - 4 * rec.hz // 2000 - max(t for d, t, v in rec.sampled("gpu_pm") if d == 2 and v["sm_active_percent"] == 90))
    expected = (lost_s + gap_s) / 0.0005
    assert abs(rec.meta["gpu_counters_lost_count"] - expected) <= 4, (rec.meta, expected)


if __name__ == "__main__":
    sys.exit(main())
