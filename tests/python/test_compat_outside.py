"""strobe.compat used as the guides use it: by keyword, outside sessions, with durations handed in,
through the command line's flags."""
import json
import os

import pytest

import strobe
from conftest import run_program
from strobe import _tool
from strobe.compat import (CacheEventRecorder, InferixProfiler, ProfilingConfig, add_profiling_event,
                           profile_block_computation, profile_diffusion_step, profile_model_parameters, profile_session)

pytestmark = pytest.mark.skipif(_tool.path() is None, reason="the strobe command is not there")


class Pipeline:
    @profile_session("video_generation", {"mode": "t2v"})
    @add_profiling_event("generation_completed", lambda result, **kwargs: {"shape": list(result)})
    def run_text_to_video(self, prompts, **kwargs):
        return (1, 3, 81)

    @profile_diffusion_step(lambda args, kwargs: {"step": args[0], "timestep": args[1], "block_size": args[2]})
    def diffusion_step(self, step, timestep, block_size=3):
        pass

    @profile_diffusion_step(lambda args, kwargs: {"step": kwargs["step"], "block_size": kwargs["block_size"]})
    def step_by_name(self, step, block_size):
        pass

    @profile_block_computation(lambda args, kwargs: {"block_index": args[0], "block_size": args[1],
                                                     "computation_time_ms": args[2], "memory_usage_mb": args[3]})
    def process_block(self, block_index, block_size, computation_time_ms, memory_usage_mb):
        pass

    @profile_model_parameters(lambda args, kwargs: {"model_name": args[0], "parameters_count": args[1]})
    def loaded(self, name, count):
        pass

    @profile_diffusion_step(lambda args, kwargs: {"step": args[7]})
    def wrong(self, step):
        return 7


def test_steps_and_blocks_outside_every_generation_count_by_themselves(record, tmp_path):
    p = Pipeline()
    p.run_text_to_video(["x"])
    p.diffusion_step(step=2, timestep=.5, block_size=3)
    for i in range(4):
        p.process_block(i, 3, 250.0, memory_usage_mb=8000.0)
    folder = strobe.run_dir()
    record()
    report = strobe.report(folder).data
    blocks = report["block_analysis"]
    assert (blocks["blocks"], blocks["frames"]) == (4, 12)
    assert blocks["fps"] == pytest.approx(12, rel=1e-3) and blocks["bps"] == pytest.approx(4, rel=1e-3)
    assert report["diffusion_analysis"]["steps"] == 1
    assert report["generations"]["count"] == 1 and "frames" not in report["generations"]["items"][0]
    assert not any(rate["scope"] == "end_to_end" for rate in report["diffusion_analysis"]["rates"])


def test_extractors_find_every_argument_however_it_was_passed(record):
    p = Pipeline()
    p.diffusion_step(step=2, timestep=.5, block_size=4)
    p.diffusion_step(3, .25)
    p.step_by_name(4, 5)
    p.loaded(count=1300, name="wan")
    done = record()
    assert [(z.attrs["step"], z.attrs["block_size"]) for z in done.named("diffusion_step")] == [(2, 4), (3, 3), (4, 5)]


def test_an_extractor_that_raises_is_named_as_the_programs_own(record):
    p = Pipeline()
    assert p.wrong(1) == 7
    folder = strobe.run_dir()
    record()
    said = [m for m in strobe.report(folder).data["not_recorded"] if m["what"] == "the numbers of wrong"]
    assert len(said) == 1 and "IndexError" in said[0]["why"] and "strobe itself" not in said[0]["why"]


def test_what_comes_after_the_last_session_gets_a_report(tmp_path):
    done = run_program(tmp_path, """
        from strobe.compat import InferixProfiler, ProfilingConfig
        p = InferixProfiler(ProfilingConfig(enabled=True, output_dir="reports", report_format="json"))
        p.start_session("inner")
        p.end_session()
        for step in range(2):
            p.record_diffusion_step(step=step, timestep=1.0, block_size=3, computation_time_ms=20.0)
        p.record_block_computation(block_index=0, block_size=3, computation_time_ms=50.0)
        """)
    reports = [json.load(open(path)) for path in sorted((tmp_path / "reports").glob("*.json"), key=os.path.getmtime)]
    assert len(reports) == 2, done.stderr
    outside = next(r for r in reports if r["session_info"]["tags"].get("outside_session"))
    assert outside["block_analysis"]["total_blocks"] == 1 and outside["diffusion_analysis"]["total_steps"] == 2


@pytest.fixture
def clock(monkeypatch):
    """The profiler's own clock; strobe's zones keep the real one."""
    import time
    import types
    from strobe.compat import profiler
    seconds = [100.0]
    monkeypatch.setattr(profiler, "time", types.SimpleNamespace(perf_counter=lambda: seconds[0], time=time.time))
    return lambda add: seconds.__setitem__(0, seconds[0] + add)


def test_a_step_without_a_time_lasts_from_the_record_before_it(tmp_path, clock):
    p = InferixProfiler(ProfilingConfig(enabled=True, output_dir=str(tmp_path), generate_final_report=False))
    p.start_session("s")
    clock(0.5)
    for block in range(2):
        with p.stage("block"):
            for step in range(4):
                with p.stage("denoise"):
                    clock(0.25)
                p.record_diffusion_step(step=step, timestep=1.0, block_size=3)
            clock(0.125)
            p.record_block_computation(block_index=block, block_size=3)
        with p.stage("vae_decode"):
            clock(2)
    report = p.end_session()
    p.cleanup()
    steps, blocks = report["diffusion_analysis"], report["block_analysis"]
    assert [steps[k] for k in ("total_steps", "min_step_time_ms", "max_step_time_ms")] == [8, 250, 250]
    assert [blocks[k] for k in ("total_blocks", "min_block_time_ms", "max_block_time_ms")] == [2, 1125, 1125]
    assert blocks["fps"] == pytest.approx(6 / 2.25) and blocks["bps"] == pytest.approx(2 / 2.25)


def test_without_stages_a_step_lasts_from_the_step_or_block_before_it(tmp_path, clock):
    p = InferixProfiler(ProfilingConfig(enabled=True, output_dir=str(tmp_path), generate_final_report=False))
    p.start_session("s")
    for block in range(2):
        for step in range(2):
            clock(0.25)
            p.record_diffusion_step(step=step, block_size=3)
        clock(0.5)
        p.record_block_computation(block_index=block, block_size=3)
    p.record_diffusion_step(step=0, block_size=3, computation_time_ms=40.0)
    report = p.end_session()
    p.cleanup()
    assert report["diffusion_analysis"]["total_time_ms"] == 4 * 250 + 40
    assert report["block_analysis"]["min_block_time_ms"] == report["block_analysis"]["max_block_time_ms"] == 1000


def test_durations_handed_in_are_compute_time_and_lie_in_their_blocks(record):
    """Blocks and steps are recorded as they end: side by side, though the steps lie in the block."""
    import time
    with strobe.generation(frames=30):
        begin = time.perf_counter()
        for block in range(3):
            block_begin = time.perf_counter()
            for step in range(4):
                step_begin = time.perf_counter()
                sum(range(20000))
                strobe.step_record(step, seconds=time.perf_counter() - step_begin, timestep=1.0 * step, block_size=10)
            strobe.block_record(block, frames=10, seconds=time.perf_counter() - block_begin)
        with strobe.section("vae_decode", frames=30):
            sum(range(20000))
        begin = time.perf_counter() - begin
    folder = strobe.run_dir()
    record()
    report = strobe.report(folder).data
    whole = next(r for r in report["diffusion_analysis"]["rates"] if r["scope"] == "end_to_end")
    assert whole["compute_s"] <= whole["wall_s"] and whole["compute_fps"] >= whole["wall_fps"]
    steps = next(s for s in report["stage_analysis"]["stages"] if s["name"] == "denoise")
    blocks = next(s for s in report["stage_analysis"]["stages"] if s["name"] == "block")
    vae = next(s for s in report["stage_analysis"]["stages"] if s["name"] == "vae_decode")
    assert whole["compute_s"] >= steps["total_s"] + vae["total_s"] - 1e-6  # not the VAE alone
    assert steps["parent"] == "block" and blocks["self_s"] <= blocks["total_s"] - steps["total_s"] + 1e-6
    assert sum(part["self_s"] for part in report["diffusion_analysis"]["split"]) == pytest.approx(whole["wall_s"], rel=0.01)


def test_a_cache_event_keeps_the_score_of_its_details(record):
    events = CacheEventRecorder()
    events.start_chunk(0, 4)
    events.record_event("semantic", {"score": .9, "threshold": .95}, hit=False)
    kept, = events.finalize_chunk(10)
    assert (kept["score"], kept["threshold"]) == (.9, .95)
    folder = strobe.run_dir()
    record()
    cache, = strobe.report(folder).data["cache_analysis"]["caches"]
    assert cache["threshold_value"] == pytest.approx(.95) and cache["miss_score_median_value"] == pytest.approx(.9)


def test_both_reports_of_a_session_give_absolute_rules_the_same_weight(tmp_path):
    one = InferixProfiler(ProfilingConfig(enabled=True, output_dir=str(tmp_path), report_format="json"))
    one.start_session("s")
    one.record_block_computation(block_index=0, block_size=1, computation_time_ms=4000.0)
    report = one.end_session()
    assert {r["priority"] for r in report["recommendations"] if r["category"] == "throughput"} == {"low"}
    one.cleanup()
    goal = InferixProfiler(ProfilingConfig(enabled=True, output_dir=str(tmp_path), report_format="json", target_fps=30))
    goal.start_session("s")
    goal.record_block_computation(block_index=0, block_size=1, computation_time_ms=4000.0)
    found = {r["id"]: r["priority"] for r in goal.end_session()["recommendations"] if r["category"] == "throughput"}
    assert found == {"fps_low": "high", "bps_low": "medium"}
    goal.cleanup()


def test_both_reports_of_a_session_have_the_same_rates(tmp_path):
    one = InferixProfiler(ProfilingConfig(enabled=True, output_dir=str(tmp_path), report_format="json"))
    one.start_session("s")
    for block in range(3):
        for step in range(4):
            one.record_diffusion_step(step=step, timestep=1000.0 - step, block_size=3, computation_time_ms=250.0)
        one.record_block_computation(block_index=block, block_size=3, computation_time_ms=1250.0)
        one.record_streaming_event(batch_size=3, encoding_time_ms=60000.0)  # at once: nobody knows when they left
    mine = one.end_session()
    one.cleanup()
    run = next(path for path in tmp_path.iterdir() if path.is_dir() and not path.is_symlink())
    theirs = json.loads(_tool_says("report", run, "--format", "json"))
    assert mine["diffusion_analysis"]["fps"] == pytest.approx(theirs["diffusion_analysis"]["fps"]) == pytest.approx(3)
    assert mine["block_analysis"]["fps"] == pytest.approx(theirs["block_analysis"]["fps"]) == pytest.approx(2.4)
    assert "fps" not in mine["streaming_analysis"] and "fps" not in theirs["streaming_analysis"]
    assert [r["issue"] for r in mine["recommendations"]] == [r["issue"] for r in theirs["recommendations"]]


def test_the_time_before_the_first_thing_seen_is_no_part_of_a_session(tmp_path, monkeypatch):
    from strobe.compat import profiler
    now = [100.0]
    monkeypatch.setattr(profiler.time, "perf_counter", lambda: now[0])
    one = InferixProfiler(ProfilingConfig(enabled=True, output_dir=str(tmp_path), generate_final_report=False))
    now[0] = 130.0  # the model is loaded
    one.start_session("s")
    with one.stage("decode"):
        now[0] = 131.0
    report = one.end_session()
    one.cleanup()
    assert report["stage_analysis"]["total_time"] == 1.0
    assert report["stage_analysis"]["stages"]["decode"]["percentage_of_total"] == 100.0


def test_opening_the_recording_is_no_part_of_a_session(tmp_path, monkeypatch):
    """The recording does not have that time either: frames/s of both reports are of one wall time."""
    from strobe.compat import profiler
    now, start = [100.0], profiler._session.start

    def slow_start(*args, **settings):
        start(*args, **settings)
        now[0] += 5
    monkeypatch.setattr(profiler.time, "perf_counter", lambda: now[0])
    monkeypatch.setattr(profiler._session, "start", slow_start)
    one = InferixProfiler(ProfilingConfig(enabled=True, output_dir=str(tmp_path), generate_final_report=False))
    one.start_session("s")
    with one.stage("decode"):
        now[0] += 1
    report = one.end_session()
    one.cleanup()
    assert report["stage_analysis"]["total_time"] == 1.0


def test_what_threads_do_at_the_same_time_counts_once_in_a_share(monkeypatch):
    from strobe.compat import tally
    now = [0.0]
    monkeypatch.setattr(tally.time, "perf_counter", lambda: now[0])
    one = tally.Covering()
    for end, seconds in (10, 2), (11, 2), (12, 1), (20, 3), (21, 15), (30, 1):
        now[0] = float(end)
        one.add(float(seconds))
    assert one.total == 24.0 and one.covered == 15.0 + 1.0  # 6 to 21, 29 to 30


def test_a_long_call_beside_many_short_ones_counts_no_moment_twice(monkeypatch):
    from strobe.compat import tally
    now = [0.0]
    monkeypatch.setattr(tally.time, "perf_counter", lambda: now[0])
    one = tally.Covering()
    for number in range(3000):
        now[0] = number * 2.0 + 1
        one.add(1.0)
    assert one.covered == 3000.0
    now[0] += 1
    one.add(now[0])  # since the beginning
    assert 3000.0 < one.covered <= now[0]


def _tool_says(*arguments):
    import subprocess
    env = {key: value for key, value in os.environ.items() if not key.startswith("STROBE_")}
    return subprocess.run([_tool.path(), *map(str, arguments)], env=env, stdout=subprocess.PIPE, text=True, check=True).stdout


def test_a_rank_of_a_launcher_is_in_the_report(tmp_path, monkeypatch):
    monkeypatch.setenv("RANK", "2")
    monkeypatch.setenv("WORLD_SIZE", "4")
    one = InferixProfiler(ProfilingConfig(enabled=True, output_dir=str(tmp_path), report_format="json"))
    one.start_session("s")
    info = one.end_session()["session_info"]
    one.cleanup()
    assert (info["rank"], info["world_size"]) == (2, 4)


FLAGS = """
    import argparse, strobe, sys
    args = strobe.add_arguments(argparse.ArgumentParser()).parse_args()
    strobe.start_from_arguments(args, name="demo")
    for i in strobe.profiled_iterations(args):
        with strobe.section("work", i=i):
            pass
    strobe.snapshot("after")
    """


def run_flags(tmp_path, *flags):
    import subprocess
    import sys
    import textwrap
    (tmp_path / "program.py").write_text(textwrap.dedent(FLAGS))
    env = {key: value for key, value in os.environ.items() if not key.startswith("STROBE_")}
    return subprocess.run([sys.executable, "program.py", *flags], cwd=tmp_path, env=env, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=120, check=True)


def test_the_flags_leave_the_four_files(tmp_path):
    done = run_flags(tmp_path, "--enable-profiling", "--profiling-iterations", "3", "--profiling-warmup", "2")
    assert "too little data" not in done.stderr
    results = tmp_path / "profiling_results"
    report = json.load(open(results / "profiling_report.json"))
    loop = next(loop for loop in report["iterations"] if loop["name"] == "iteration")
    assert loop["count"] == 3
    stages = {s["name"]: s["count"] for s in report["stage_analysis"]["stages"] if s["name"] in ("iteration", "warm-up")}
    assert stages == {"iteration": 3, "warm-up": 2}
    assert any(e.get("name") == "iteration" for e in json.load(open(results / "trace.json"))["traceEvents"])
    assert "iteration" in (results / "timing_summary.txt").read_text()
    assert any(s["label"] == "after" for s in json.load(open(results / "memory_log.json"))["snapshots"])
    # and the run is `last`, without being told where
    import subprocess
    env = {key: value for key, value in os.environ.items() if not key.startswith("STROBE_")}
    text = subprocess.run([_tool.path(), "report"], cwd=tmp_path, env=env, stdout=subprocess.PIPE, text=True, check=True).stdout
    assert text.startswith("strobe: demo")


def test_the_warm_up_is_in_no_summary(capsys):
    import argparse
    import strobe
    from strobe import compat
    from strobe.compat.timing import _global_stats
    args = strobe.add_arguments(argparse.ArgumentParser()).parse_args(["--profiling-iterations", "3", "--profiling-warmup", "1"])
    loop = compat.IterationProfiler("turns of a warmed loop")
    for i in strobe.profiled_iterations(args):
        for _ in range(2):
            with loop.iteration(), compat.profile_section("part of a warmed loop"):
                pass
    assert loop.get_stats()["count"] == 6 and _global_stats.get_stats("part of a warmed loop")["count"] == 6
    loop.print_summary()
    assert "(not counted: 1 warm-up iteration)" in capsys.readouterr().out


def test_one_iteration_is_too_little_data(tmp_path):
    done = run_flags(tmp_path, "--enable-profiling", "--profiling-output-dir", "out")
    assert "1 iteration is too little data" in done.stderr
    report = json.load(open(tmp_path / "out" / "profiling_report.json"))
    assert any("too little data" in m["why"] for m in report["not_recorded"])


def test_without_the_flag_nothing_is_left(tmp_path):
    run_flags(tmp_path)
    assert sorted(os.listdir(tmp_path)) == ["program.py"]


def test_a_session_s_own_report_has_the_findings_of_strobe_s(tmp_path):
    one = InferixProfiler(ProfilingConfig(enabled=True, output_dir=str(tmp_path), report_format="json"))
    one.start_session("s")
    one.record_model_parameters("dit", 1_300_000_000, "dit")
    with one.stage("denoise", {"frames": 100, "padded_frames": 400}):
        pass
    one.record_block_computation(block_index=0, block_size=9, computation_time_ms=4000.0)
    mine = one.end_session()
    one.cleanup()
    written = json.loads(next(tmp_path.glob("profiling_report_*.json")).read_text())
    run = next(path for path in tmp_path.iterdir() if path.is_dir() and not path.is_symlink())
    theirs = json.loads(_tool_says("report", run, "--format", "json"))["recommendations"]
    assert theirs and [r["issue"] for r in theirs] == [r["issue"] for r in mine["recommendations"]]
    assert written["recommendations"] == mine["recommendations"]
    assert all({"category", "priority", "issue", "suggestion"} <= set(r) for r in theirs)
