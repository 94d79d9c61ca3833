"""strobe.compat's decorators: a whole session from a pipeline whose methods carry them."""
import struct

import pytest

import strobe_file
from conftest import the_report
from strobe.compat import (add_profiling_event, profile_block_computation, profile_diffusion_step, profile_layer,
                           profile_method, profile_model_parameters, profile_session, profile_streaming)


class Shape:
    shape = (1, 3, 16)


def make_pipeline(profiler):
    class Pipeline:
        def __init__(self):
            self._profiler = profiler

        @profile_method("model_initialization")
        def initialize(self):
            return "ready"

        @profile_session("video_generation", {"mode": "t2v"})
        @add_profiling_event("generation_completed", lambda result, **kwargs: {"shape": list(result.shape), **kwargs})
        def run(self, prompts, frames=16, **kwargs):
            for i in range(2):
                self.step(i, 999.0 - i, 3)
            self.process_block(0, 3, 20.0, 512.0)
            return Shape()

        @profile_method("checkpoint_loading")
        @add_profiling_event("checkpoint_loaded", lambda _, checkpoint_path, **kwargs: {"path": checkpoint_path})
        def load(self, checkpoint_path, strict=True):
            return None

        @profile_diffusion_step(lambda args, kwargs: {"step": args[0], "timestep": args[1], "block_size": args[2]})
        def step(self, step, timestep, block_size):
            return step

        @profile_block_computation(lambda args, kwargs: {"block_index": args[0], "block_size": args[1],
                                                         "computation_time_ms": args[2], "memory_usage_mb": args[3]})
        def process_block(self, index, size, ms, mb):
            return index

        @profile_model_parameters(lambda args, kwargs: {"model_name": args[0], "parameters_count": args[1]})
        def model(self, name, count):
            return count

        @add_profiling_event("broken", lambda result: 1 / 0)
        def broken(self):
            return "still fine"

        @profile_layer("attention")
        def layer(self):
            return 1

        @profile_streaming(lambda args, kwargs: {"batch_size": args[0], "network_latency_ms": 7.0, "buffer_occupancy": 50})
        def stream(self, n):
            return n
    return Pipeline()


def test_the_decorators_record_a_whole_session(profiler):
    pipeline = make_pipeline(profiler)
    assert pipeline.initialize() == "ready"
    assert pipeline.run(["a cat"], steps=4).shape == (1, 3, 16)
    report = the_report(profiler)
    assert report["session_info"]["id"] == "video_generation"
    assert report["session_info"]["tags"]["prompt"] == "a cat" and report["session_info"]["tags"]["prompt_length"] == 5
    assert set(report["stage_analysis"]["stages"]) == {"model_initialization", "video_generation"}
    event, = report["events"]
    assert event["data"] == {"shape": [1, 3, 16], "prompts": ["a cat"], "frames": 16, "steps": 4}
    assert report["diffusion_analysis"]["total_steps"] == 2
    assert report["diffusion_analysis"]["parent"] == report["block_analysis"]["parent"] == "video_generation"
    assert report["block_analysis"]["peak_memory_mb"] == 512.0 and report["block_analysis"]["total_time_ms"] == 20.0


@pytest.mark.parametrize("call", [lambda p: p.load("/x"), lambda p: p.load(checkpoint_path="/x")])
def test_extractors_get_positional_and_keyword_arguments_by_name(profiler, call):
    profiler.start_session()
    call(make_pipeline(profiler))
    assert profiler.end_session()["events"][0]["data"] == {"path": "/x"}


def test_a_raising_extractor_never_costs_the_call(profiler):
    assert make_pipeline(profiler).broken() == "still fine"
    assert profiler.error_count == 1


def test_defaults_of_missing_fields(profiler):
    profiler.start_session()
    make_pipeline(profiler).model("wan", 1_300_000_000)
    report = profiler.end_session()
    assert report["model_analysis"]["models"]["wan"]["model_type"] == "unknown"
    assert any("1.3B" in advice["issue"] for advice in report["recommendations"])


def test_without_a_profiler_the_decorators_record_into_strobe_alone(record):
    pipeline = make_pipeline(None)
    pipeline.run(["a cat"])
    pipeline.layer()
    pipeline.stream(4)
    done = record()
    assert done.counts() == {("video_generation",): 1, ("video_generation", "diffusion_step"): 2,
                             ("video_generation", "process_block"): 1, ("attention",): 1, ("stream",): 1}
    zone, = done.named("video_generation")
    assert zone.attrs["strobe.role"] == 1
    assert [z.attrs["step"] for z in done.named("diffusion_step")] == [0, 1]
    (name, span), = done.of(strobe_file.SPAN)  # once, under one name, with what the extractor knows
    assert name == "block" and 512 << 20 in span, span
    (_, batch), = done.records[strobe_file.STREAM]
    assert struct.unpack("<2d", struct.pack("<2Q", *batch[3:5])) == (7.0, 0.5), batch


def test_the_decorators_take_plain_functions(record):
    @profile_diffusion_step
    def step(latents, sigma=1.0):
        return latents + sigma

    @profile_block_computation
    def block():
        return "block"

    @profile_streaming
    def send(frames):
        return frames

    @profile_model_parameters
    def load():
        return "model"

    def numbers(args, kwargs):
        return {"step": args[0]}

    @profile_diffusion_step(numbers)  # a named extractor is no plain function that is decorated
    def numbered(index):
        return index

    assert step(2) == 3.0 and step(2, sigma=3) == 5 and block() == "block" and send(4) == 4 and load() == "model"
    assert numbered(7) == 7 and step.__name__ == "step"
    done = record()
    assert done.counts()[("diffusion_step",)] == 3 and done.counts()[("block",)] == 1
    assert [z.attrs.get("step") for z in done.named("diffusion_step")] == [None, None, 7]


def test_a_method_with_the_name_of_what_it_records_is_recorded_once(record):
    class Pipeline:
        @profile_block_computation(lambda args, kwargs: {"block_index": args[0], "computation_time_ms": args[1]})
        def block(self, index, ms):
            return index

    assert [Pipeline().block(index, 20.0) for index in range(3)] == [0, 1, 2]
    done = record()
    assert not done.counts()  # no zone of the call beside it, which the table would add to the blocks
    assert [name for name, _ in done.of(strobe_file.SPAN)] == ["block"] * 3


def test_self_may_have_another_name(profiler):
    class Pipeline:
        def __init__(me):
            me._profiler = profiler

        @profile_diffusion_step(lambda args, kwargs: {"step": args[0], "block_size": kwargs["block_size"]})
        def step(me, step, block_size):
            return step

        @staticmethod
        @profile_diffusion_step(lambda args, kwargs: {"step": args[0]})
        def alone(step):
            return step

    profiler.start_session()
    assert [Pipeline().step(step, block_size=3) for step in range(4)] + [Pipeline.alone(4)] == [0, 1, 2, 3, 4]
    assert profiler.end_session()["diffusion_analysis"]["total_steps"] == 5
    assert profiler.error_count == 0
