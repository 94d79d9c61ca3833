"""strobe.compat: the shapes its users know, without the mistakes."""
import argparse
import asyncio
import json
import os
import struct
import warnings

import pytest

import strobe
import strobe_file
from strobe import _tool, compat
from strobe.compat import (CacheEventRecorder, DiffusionAnalyzer, InferixProfiler, IterationProfiler, MemoryTracker,
                           ProfilingConfig, TimingStats, add_profiling_event, profile_block_computation,
                           profile_diffusion_step, profile_function, profile_layer, profile_method,
                           profile_model_parameters, profile_section, profile_session, profile_streaming)


@pytest.fixture
def profiler(tmp_path):
    one = InferixProfiler(ProfilingConfig(enabled=True, output_dir=str(tmp_path / "reports"), report_format="json",
                                          session_tags={"model": "self_forcing", "mode": "config"}))
    yield one
    one.cleanup()


def the_report(profiler):
    return json.load(open(profiler.reports[0]))


@pytest.mark.skipif(_tool.path() is None, reason="the strobe command is not there")
def test_both_reports_are_there_when_the_session_has_ended(tmp_path):
    with InferixProfiler({"enabled": True, "output_dir": str(tmp_path)}) as one:
        one.start_session("s")
        with one.stage("denoise"):
            pass
        one.end_session()
    assert [os.path.splitext(path)[1] for path in one.reports] == [".json", ".html"]
    assert all(os.path.getsize(path) > 500 for path in one.reports) and one.error_count == 0


def test_a_page_that_cannot_be_made_is_said(tmp_path, monkeypatch):
    monkeypatch.setattr(_tool, "path", lambda: None)
    one = InferixProfiler({"enabled": True, "output_dir": str(tmp_path)})
    one.start_session("s")
    with pytest.warns(RuntimeWarning, match="no page of this session: the strobe command was not found"):
        one.end_session()
    assert [os.path.splitext(path)[1] for path in one.reports] == [".json"]
    one.cleanup()


# ---- timing ----

def test_timing_stats_have_their_six_numbers():
    stats = TimingStats()
    for seconds in (3.0, 1.0, 2.0):
        stats.record("op", seconds)
    assert stats.get_stats("op") == {"count": 3, "total": 6.0, "mean": 2.0, "min": 1.0, "max": 3.0, "last": 2.0}
    assert stats.get_stats("unknown") == {} and list(stats.get_all_stats()) == ["op"]
    stats.clear()
    assert stats.get_all_stats() == {}


def test_the_timing_table_is_sorted_cut_and_complete(capsys):
    stats = TimingStats()
    stats.record("small", 0.5)
    stats.record("x" * 80, 45.234)
    stats.record("third", 0.1)
    stats.print_summary(top_n=2)
    lines = capsys.readouterr().out.splitlines()
    rows = lines[lines.index(next(line for line in lines if line.startswith("----"))) + 1:-1]
    assert rows[0].split() == ["x" * 48, "1", "45.234s", "45.234s", "45.234s", "45.234s"]
    assert rows[1].startswith("small") and rows[2].startswith("(1 more)")
    assert lines[4].split() == ["Operation", "Count", "Total", "Mean", "Min", "Max"]


def test_timing_stats_are_bounded():
    stats = TimingStats()
    for i in range(10000):
        stats.record("chunk_%d" % i, 1.0)
    kept = stats.get_all_stats()
    assert len(kept) <= 4097 and sum(s["count"] for s in kept.values()) == 10000


def test_a_section_is_timed_on_exceptions_and_not_when_disabled(record):
    compat.get_global_stats().clear()
    with pytest.raises(KeyError):
        with profile_section("fails"):
            raise KeyError
    with profile_section("off", enabled=False):
        pass
    assert list(compat.get_global_stats().get_all_stats()) == ["fails"]
    assert record().counts() == {("fails",): 1}


def test_functions_are_named_after_their_module():
    compat.get_global_stats().clear()

    @profile_function()
    def plain():
        return 1

    @profile_function("named")
    async def named():
        return 2

    assert plain() == 1 and asyncio.run(named()) == 2
    assert sorted(compat.get_global_stats().get_all_stats()) == ["named", "test_compat.plain"]


# ---- memory, iterations, export ----

def test_memory_snapshots(tmp_path, capsys):
    tracker = MemoryTracker()
    tracker.snapshot("start")
    taken = tracker.snapshot("end")
    assert {"label", "timestamp", "allocated_mb", "reserved_mb", "max_allocated_mb"} <= set(taken)
    tracker.export_json(tmp_path / "new" / "memory_log.json")
    assert [s["label"] for s in json.load(open(tmp_path / "new" / "memory_log.json"))] == ["start", "end"]
    tracker.print_summary()
    out = capsys.readouterr().out
    assert "MEMORY USAGE SUMMARY" in out and "%.1fM" % taken["allocated_mb"] in out
    tracker.clear()
    tracker.print_summary()
    assert "No memory snapshots" in capsys.readouterr().out
    assert MemoryTracker(enabled=False).snapshot("x") == {}


def test_the_median_of_an_even_count_is_the_middle_of_two(monkeypatch, capsys):
    ticks = iter([0, 1, 10, 12, 20, 23, 30, 37])
    monkeypatch.setattr("strobe.compat.iteration.time.perf_counter", lambda: next(ticks))
    profiler = IterationProfiler("denoising_steps")
    for _ in range(4):
        with profiler.iteration():
            pass
    stats = profiler.get_stats()
    assert (stats["count"], stats["total"], stats["mean"], stats["min"], stats["max"], stats["median"]) == \
        (4, 13, 3.25, 1, 7, 2.5)
    profiler.print_summary()
    assert "0.31 it/s" in capsys.readouterr().out
    assert IterationProfiler("none").get_stats() == {}


def test_the_exported_report_has_its_four_parts(tmp_path):
    compat.get_global_stats().clear()
    tracker, iterations = MemoryTracker(), IterationProfiler("steps")
    tracker.snapshot("one")
    with profile_section("op"), iterations.iteration():
        pass
    report = compat.export_profiling_report(tmp_path / "report.json", memory_tracker=tracker,
                                            iteration_profilers=[iterations])
    assert json.load(open(tmp_path / "report.json")) == report
    assert list(report) == ["timestamp", "timing_stats", "memory_snapshots", "iteration_stats"]
    assert report["iteration_stats"]["steps"]["count"] == 1 and len(report["memory_snapshots"]) == 1


# ---- caches ----

def test_an_event_lies_where_its_step_was(record):
    recorder = CacheEventRecorder()
    recorder.start_chunk(start_frame=10, steps=20, label="chunk 1")
    recorder.mark_step(5)
    recorder.record_event("teacache", {"rel_l1": 0.1})
    recorder.mark_step(10)
    recorder.record_event("first_block_cache", hit=False)
    recorder.finalize_chunk(end_frame=30)
    recorder.start_chunk(30, 20)
    recorder.record_event("teacache")
    recorder.cancel_chunk()
    assert [(e["cache"], e["frame"]) for e in recorder.events] == [("teacache", 15.0), ("first_block_cache", 20.0)]
    table = recorder.to_markdown().splitlines()
    assert table[0] == "| Time (s) | Frame | Cache | Details |"
    assert table[2].endswith("| 15.0 | teacache | chunk 1, rel_l1=0.1 |") and len(table) == 4
    assert recorder.hit_rate() == 0.5
    import strobe_file
    assert len(record().records[strobe_file.CACHE]) == 2


def test_an_event_outside_of_chunks_is_recorded_without_a_frame(record):
    recorder = CacheEventRecorder()
    for _ in range(20):
        recorder.record_event("semantic", {"score": 0.9, "threshold": 0.95}, hit=False)
    import strobe_file
    assert len(record().records[strobe_file.CACHE]) == 20


# ---- diffusion ----

def test_frames_count_once_per_block_not_once_per_step():
    analyzer = DiffusionAnalyzer()
    for block in range(10):
        for step in range(4):
            analyzer.record_diffusion_step(step, 1000 - step, 3, 62.5)
    found = analyzer.get_diffusion_analysis()
    assert found["total_frames"] == 30 and found["blocks"] == 10 and found["steps_per_block"] == 4
    assert found["fps"] == pytest.approx(12.0) and found["bps"] == pytest.approx(4.0)
    for block in range(10):
        analyzer.record_block_computation(block, 3, 250.0, 100.0)
    assert analyzer.get_block_analysis()["fps"] == pytest.approx(12.0)
    assert analyzer.get_block_analysis()["by_block_size"] == {3: {"count": 10, "avg_time_ms": 250.0}}


@pytest.mark.parametrize("count, text", [(1_300_000_000, "1.3B"), (25_000_000, "25.0M"), (999, "999")])
def test_parameters_are_written_as_people_say_them(count, text):
    analyzer = DiffusionAnalyzer()
    analyzer.record_model_parameters("m", count, "t")
    assert analyzer.get_model_analysis()["total_parameters_text"] == text


def test_nothing_recorded_is_nothing_said():
    assert DiffusionAnalyzer().get_analysis() == {}


# ---- configuration ----

def test_the_defaults_are_the_known_ones():
    config = ProfilingConfig()
    assert (config.enabled, config.display_interval, config.gpu_monitor_interval, config.cpu_monitor_interval,
            config.max_data_points, config.report_format, config.output_dir) == \
        (False, 5.0, 0.5, 1.0, 10000, "both", None)
    assert config.folder == "./profiling_reports"
    assert ProfilingConfig.production().report_format == "json"
    assert ProfilingConfig.development().gpu_monitor_interval == 0.1


@pytest.mark.parametrize("wrong", [{"report_format": "pdf"}, {"gpu_monitor_interval": 0}, {"max_data_points": -1},
                                   {"enabled": "yes"}])
def test_wrong_values_are_refused(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        ProfilingConfig(**wrong)


def test_an_unknown_key_names_file_line_and_the_nearest(tmp_path):
    pytest.importorskip("yaml")
    path = tmp_path / "profiling.yaml"
    path.write_text("profiling:\n  enabled: true\n  gpu_monitor_intervall: 0.5\n")
    with pytest.raises(ValueError, match=r"profiling.yaml:3: .*gpu_monitor_intervall.*'gpu_monitor_interval'"):
        ProfilingConfig.from_yaml(path)
    path.write_text("profiling:\n  enabled: true\n  session_tags:\n    model: x\n")
    assert ProfilingConfig.from_yaml(path).session_tags == {"model": "x"}


# ---- sessions ----

def test_a_session_writes_its_report(profiler):
    profiler.start_session("abc", {"mode": "t2v", "x": "<script>"})
    with profiler.stage("vae_decode", {"frames": 16}):
        pass
    profiler.add_event("done", {"n": 1})
    report = profiler.end_session()
    assert report["session_info"]["tags"] == {"model": "self_forcing", "mode": "t2v", "x": "<script>"}
    written = the_report(profiler)
    assert written["session_info"]["id"] == "abc" and "profiling_report_abc_" in profiler.reports[0]
    stage = written["stage_analysis"]["stages"]["vae_decode"]
    assert set(stage) == {"total_time", "call_count", "avg_time", "min_time", "max_time", "percentage_of_total"}
    assert written["events"][0]["name"] == "done" and written["events"][0]["data"] == {"n": 1}
    assert set(written["session_info"]) == {"id", "start_time", "end_time", "duration", "tags", "generated_at"}


def test_stages_before_the_session_are_in_its_report(profiler):
    with profiler.stage("model_initialization"):
        pass
    profiler.start_session()
    assert list(profiler.end_session()["stage_analysis"]["stages"]) == ["model_initialization"]


def test_a_session_does_not_see_the_one_before(profiler):
    profiler.start_session("one")
    profiler.record_diffusion_step(0, 1.0, 3, 10.0)
    profiler.record_cache_event("hits")
    profiler.end_session()
    profiler.start_session("two")
    report = profiler.end_session()
    assert "diffusion_analysis" not in report and "cache_analysis" not in report


def test_an_open_session_is_ended_with_a_warning(profiler):
    profiler.start_session("one")
    with pytest.warns(RuntimeWarning, match="one"):
        profiler.start_session("two")
    assert profiler.session_id == "two"


def test_automatic_ids_and_ids_that_are_no_file_names(profiler):
    assert profiler.start_session().startswith("session_")
    profiler.end_session()
    profiler.start_session("../../etc/passwd")
    profiler.end_session()
    first = profiler.reports[0]
    assert os.path.basename(os.path.dirname(first)) == "reports" and os.path.exists(first)
    profiler.start_session("../../etc/passwd")
    profiler.end_session()
    assert profiler.reports[0] != first


def test_evictions_are_no_requests_and_frees_no_allocations(profiler):
    profiler.start_session()
    for kind in ("hits", "hits", "hits", "misses", "evictions"):
        profiler.record_cache_event(kind)
    profiler.record_memory_event("alloc", 100, "cuda")
    profiler.record_memory_event("free", 40, "cuda")
    report = profiler.end_session()
    assert report["cache_analysis"]["hit_rate_percent"] == 75.0
    assert report["memory_analysis"]["allocated_bytes"] == 100 and report["memory_analysis"]["net_bytes"] == 60


def test_the_stage_around_everything_is_no_bottleneck(profiler):
    from strobe.compat import session_report
    profiler.start_session()
    session = profiler._session
    for name, seconds, parent in (("run", 10.0, None), ("vae", 2.0, "run"), ("denoise", 6.0, "run")):
        session.stages.add(name, seconds)
        session.parents[name] = parent
    assert session_report._stages(session, 10.0)["bottlenecks"] == ["denoise"]
    session.diffusion.record_diffusion_step(0, 1.0, 3, 5900.0)
    session.loop_parents["diffusion_analysis"] = "denoise"  # its steps are what takes the time
    assert session_report._stages(session, 10.0)["bottlenecks"] == []


def test_streaming_and_dropped_frames(profiler):
    profiler.start_session()
    profiler.record_streaming_event(batch_size=90, encoding_time_ms=4.0, network_latency_ms=2.0, buffer_occupancy=0.5)
    profiler.record_dropped_frames(10)
    report = profiler.end_session()
    assert report["streaming_analysis"]["drop_rate_percent"] == 10.0
    assert any("dropped" in advice["issue"] for advice in report["recommendations"])


def test_the_steps_rule_counts_steps_per_video(profiler):
    profiler.start_session()
    for block in range(10):
        for step in range(4):
            profiler.record_diffusion_step(step, 1.0, 3, 10.0)
    assert not any("steps" in a["issue"] for a in profiler.end_session()["recommendations"])


def test_events_are_bounded_and_the_loss_is_said(tmp_path):
    one = InferixProfiler(ProfilingConfig(enabled=True, max_data_points=10, output_dir=str(tmp_path), report_format="json"))
    one.start_session()
    for i in range(25):
        one.add_event("e", {"i": i})
    report = one.end_session()
    one.cleanup()
    assert len(report["events"]) == 10 and report["events_dropped_count"] == 15


def test_a_disabled_profiler_does_nothing(tmp_path):
    one = InferixProfiler(ProfilingConfig(enabled=False, output_dir=str(tmp_path)))
    with one, one.stage("x"):
        one.start_session()
        one.record_diffusion_step(0, 0.0, 1, 1.0)
        assert one.get_current_metrics() == {}
    assert list(tmp_path.iterdir()) == [] and not strobe.recording()


def test_bad_input_costs_a_counted_error_only(profiler):
    profiler.record_diffusion_step("no number")
    profiler.record_cache_event("sideways")
    assert profiler.error_count == 2


def test_current_metrics_without_a_gpu_have_no_gpu(profiler):
    metrics = profiler.get_current_metrics()
    assert metrics["cpu"]["cpu_count"] >= 1 and "gpu" not in metrics


# ---- decorators ----

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


def test_the_flags(tmp_path, monkeypatch):
    parser = strobe.add_arguments(argparse.ArgumentParser())
    args = parser.parse_args(["--enable-profiling", "--profiling-iterations", "3", "--profiling-output-dir", "out"])
    assert (args.enable_profiling, args.profiling_iterations, args.profiling_output_dir, args.profiling_config) == \
        (True, 3, "out", None)
    assert parser.parse_args([]).profiling_iterations == 1 and not parser.parse_args([]).enable_profiling
    with pytest.raises(SystemExit):
        parser.parse_args(["--profiling-iterations", "0"])
    monkeypatch.setenv("FRAMEPACK_ENABLE_PROFILING", "1")
    assert strobe.add_arguments(argparse.ArgumentParser()).parse_args([]).enable_profiling


def test_profilers_from_configurations(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        one = compat.create_profiler_from_config({"profiling": {"enabled": True, "output_dir": str(tmp_path)}})
        summary = compat.get_profiling_summary(one)
        one.cleanup()
    assert summary["enabled"] and summary["stages"] == {}
    assert compat.get_profiling_summary() == {"enabled": False}


def test_a_profiled_session_is_one_generation_not_also_a_stage_of_its_own_name(record, tmp_path):
    class Pipeline:
        def __init__(self):
            self._profiler = InferixProfiler(ProfilingConfig(enabled=True, output_dir=str(tmp_path)))

        @profile_session("video_generation")
        def run(self, prompt):
            with self._profiler.stage("inner"):
                return prompt

    pipeline = Pipeline()
    assert pipeline.run("a cat") == "a cat"
    stages = json.load(open([p for p in pipeline._profiler.reports if p.endswith(".json")][0]))["stage_analysis"]["stages"]
    assert stages["video_generation"]["call_count"] == 1 and stages["inner"]["call_count"] == 1
    done = record()
    assert done.counts() == {("video_generation",): 1, ("video_generation", "inner"): 1}
