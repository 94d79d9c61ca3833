"""strobe.compat: the shapes its users know, without the mistakes."""
import argparse
import asyncio
import json
import os
import warnings

import pytest

import strobe
import strobe_file
from conftest import the_report
from strobe import _tool, compat
from strobe.compat import (CacheEventRecorder, DiffusionAnalyzer, InferixProfiler, IterationProfiler, MemoryTracker,
                           ProfilingConfig, TimingStats, profile_function, profile_section, profile_session)


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


@pytest.mark.skipif(_tool.path() is None, reason="the strobe command is not there")
def test_durations_longer_than_the_session_have_the_rate_of_the_denoising_and_its_finding(tmp_path):
    """Handed in afterwards, in no time at all: 12 frames in 9.6 s are not 2 000 frames/s end to end."""
    with InferixProfiler({"enabled": True, "output_dir": str(tmp_path), "report_format": "json"}) as one:
        one.start_session("s")
        for block in range(4):
            for step in range(4):
                one.record_diffusion_step(step=step, timestep=1.0 * step, block_size=3, computation_time_ms=600.0)
            one.record_block_computation(block_index=block, block_size=3, computation_time_ms=2400.0, memory_usage_mb=8000.0)
        one.end_session()
    with open(one.reports[0]) as file:
        found = {r["id"]: r for r in json.load(file)["recommendations"]}
    assert found["fps_low"]["issue"] == "1.25 frames/s in the denoising"
    assert found["fps_low"]["evidence"] == "12 frames in 9.60 s of denoising" and "bps_low" in found


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


def test_short_times_keep_their_digits(capsys):
    stats = TimingStats()
    for seconds in (0.0024, 0.0000125, 0.0000004):
        stats.record("op", seconds)
    stats.print_summary()
    row = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("op"))
    assert row.split()[2:] == ["2.413ms", "0.804ms", "0.400us", "2.400ms"]


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
