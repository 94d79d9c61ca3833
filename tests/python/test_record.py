"""Steps, blocks, generations and the single facts of a pipeline."""
import math
import struct

import pytest

import strobe
import strobe_file
from strobe._core import native


def doubles(payload):
    return struct.unpack("<%dd" % len(payload), struct.pack("<%dQ" % len(payload), *payload))


def signed(payload):
    return struct.unpack("<%dq" % len(payload), struct.pack("<%dQ" % len(payload), *payload))


def test_each_step_is_a_zone_with_what_is_known_of_it(record):
    seen = []
    for t in strobe.steps([999.0, 500.0], name="denoise", block_size=3, guidance_scale=7.5, mode="cfg"):
        with strobe.section("transformer"):
            seen.append(t)
    done = record()
    assert seen == [999.0, 500.0]
    assert [zone.attrs for zone in done.named("denoise")] == [
        {"strobe.role": 3, "step": 0, "timestep": 999.0, "block_size": 3, "guidance_scale": 7.5, "mode": "cfg"},
        {"strobe.role": 3, "step": 1, "timestep": 500.0, "block_size": 3, "guidance_scale": 7.5, "mode": "cfg"}]
    assert done.counts()["denoise", "transformer"] == 2


class OnDevice:
    is_cpu = False

    def __float__(self):
        raise AssertionError("waited for the GPU")


def test_a_timestep_on_a_device_is_not_read(record):
    list(strobe.steps([OnDevice()]))
    assert record().named("denoise")[0].attrs == {"strobe.role": 3, "step": 0}


def test_a_timestep_in_a_host_tensor_is_read(record, torch):
    list(strobe.steps(torch.tensor([7.0, 3.0])))
    assert [zone.attrs["timestep"] for zone in record().named("denoise")] == [7.0, 3.0]


def test_break_and_exceptions_end_the_turn(record):
    for i in strobe.iterations(10, "loop"):
        if i == 2:
            break
    with strobe.section("next"):
        pass
    with pytest.raises(KeyError):
        with strobe.section("around"):
            for _ in strobe.blocks(range(5), frames=4):
                raise KeyError
    with strobe.section("last"):
        pass
    done = record()
    assert done.counts() == {("loop",): 3, ("next",): 1, ("around",): 1, ("around", "block"): 1, ("last",): 1}
    assert [zone.attrs["index"] for zone in done.named("loop")] == [0, 1, 2]
    assert done.named("block")[0].attrs == {"strobe.role": 4, "index": 0, "block_size": 4, "error": "KeyError"}


def test_a_loop_knows_its_length_and_passes_errors_on():
    assert len(strobe.steps([1, 2, 3])) == 3
    assert list(strobe.steps(3)) == [0, 1, 2]

    def broken():
        yield 1
        raise OSError("source")

    with pytest.raises(OSError):
        list(strobe.steps(broken()))
    with pytest.raises(TypeError):
        strobe.steps(3.5)


def test_generations_carry_size_and_later_facts(record):
    with strobe.generation(frames=81, width=832, height=480, seed=7) as generation:
        with strobe.section("vae"):
            pass
        generation.set(prompt="a cat")
    zone, = record().named("generation")
    assert zone.attrs == {"strobe.role": 1, "frames": 81, "width": 832, "height": 480, "seed": 7, "prompt": "a cat"}


def test_single_facts(record):
    strobe.frames(16)
    strobe.frames(4)
    strobe.frames_dropped(2)
    strobe.counter("requests")
    strobe.counter("requests", 2)
    strobe.gauge("queue", 3.5)
    strobe.event("checkpoint", path="/x", step=3)
    strobe.skip("Pre-inference", "short video", code="4e")
    strobe.snapshot("after_load")
    strobe.model("wan", 1_300_000_000, "transformer", 2_600_000_000)
    strobe.cache("teacache", "hit", score=0.1, threshold=0.2, frame=3, chunk=1)
    strobe.cache("teacache", "miss")
    strobe.cache("kv", "evict", 5, size_bytes=100)
    strobe.streaming(8, encode_ms=2.0, buffer_ratio=0.5)
    strobe.alloc(100)
    strobe.free(40)
    strobe.step_record(3, seconds=0.25, timestep=1.0, block_size=3)
    strobe.block_record(2, frames=3, seconds=1.5, memory_bytes=10)
    strobe.duration("measured", 0.5, n=1)
    done = record()
    assert done.counters["frames"] == 20 and done.counters["frames_dropped"] == 2 and done.counters["requests"] == 3
    assert [name for name, _ in done.of(strobe_file.EVENT)] == ["checkpoint"]
    assert [name for name, _ in done.of(strobe_file.SKIP)] == ["Pre-inference"]
    (label, snapshot), = done.of(strobe_file.SNAPSHOT)
    assert label == "after_load" and signed(snapshot)[1] == -1 and signed(snapshot)[2] > 1 << 20
    (name, model), = done.of(strobe_file.MODEL)
    assert name == "wan" and model[1] == 1_300_000_000
    caches = [(done.names[aux & 0xFFFFF], aux >> 20 & 15, payload[1]) for aux, payload in done.records[strobe_file.CACHE]]
    assert caches == [("teacache", 1, 1), ("teacache", 2, 1), ("kv", 3, 5)]
    assert doubles(done.records[strobe_file.CACHE][0][1])[3:6] == (0.1, 0.2, 3.0)
    assert [signed(payload)[1] for _, payload in done.of(strobe_file.ALLOC)] == [100, -40]
    spans = [name for name, _ in done.of(strobe_file.SPAN)]
    assert spans == ["denoise", "block", "measured"]
    batch = done.records[strobe_file.STREAM][0][1]
    assert batch[1] == 8 and math.isnan(doubles(batch)[3])


def test_a_cache_event_of_another_kind_is_an_error():
    with pytest.raises(ValueError, match="hit"):
        strobe.cache("x", "maybe")


def test_sections_that_a_compiler_took_out_are_counted_and_are_no_loss(record):
    with strobe.section("call"):
        native.lost_compiled(3)
    folder = strobe.run_dir()
    done = record()
    assert done.lost[strobe_file.LOST_COMPILED] == 3 and sum(done.lost) == 3
    report = strobe.report(folder)
    assert report.data["recording"]["drop_reasons"] == {"compiled": 3}
    assert report.data["recording"]["dropped_count"] == 0
    assert "3: sections inside compiled code" in report.text
