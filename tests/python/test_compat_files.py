"""Every file that strobe and strobe.compat write is a run for every command: with its own figures."""
import json
import os
import re
import subprocess
import sys

import pytest

import strobe
from conftest import run_program
from strobe import _tool
from strobe.compat import IterationProfiler, MemoryTracker, TimingStats, export_profiling_report

pytestmark = pytest.mark.skipif(_tool.path() is None, reason="the strobe command is not there")


def tool(folder, *args):
    env = {key: value for key, value in os.environ.items() if not key.startswith("STROBE_")}
    done = subprocess.run([_tool.path(), *map(str, args)], cwd=folder, env=dict(env, NO_COLOR="1"), text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE)
    assert done.returncode == 0, (args, done.stdout, done.stderr)
    return done.stdout


def report_of(folder, path):
    return json.loads(tool(folder, "report", path, "--format", "json"))


def stages(report):
    return {s["name"]: s for s in report["stage_analysis"]["stages"]}


@pytest.fixture
def exported(tmp_path):
    stats = TimingStats()
    for seconds in (3.0, 1.0, 2.0):
        stats.record("vae_decode", seconds)
    stats.record("text_encoder", .5)
    loop = IterationProfiler("denoising_steps")
    loop._times.add(.25)
    loop._times.add(.75)
    tracker = MemoryTracker()
    tracker.snapshot("start")
    tracker.snapshot("after_load")
    path = tmp_path / "export.json"
    export_profiling_report(path, timing_stats=stats, memory_tracker=tracker, iteration_profilers=[loop])
    tracker.export_json(tmp_path / "memory.json")
    return path


def test_an_exported_report_comes_back_with_its_figures(tmp_path, exported):
    report = report_of(tmp_path, exported)
    vae = stages(report)["vae_decode"]
    assert (vae["count"], vae["total_s"], vae["min_s"], vae["max_s"]) == (3, 6.0, 1.0, 3.0)
    assert report["stage_analysis"]["wall_s"] == pytest.approx(6.5)
    loop, = report["iterations"]
    assert (loop["name"], loop["count"], loop["mean_s"]) == ("denoising_steps", 2, .5)
    assert [s["label"] for s in report["memory"]["snapshots"]] == ["start", "after_load"]
    assert "Total 6.50 s -> 6.50 s" in tool(tmp_path, "diff", exported, exported)
    tool(tmp_path, "import", "-o", tmp_path / "run", exported)
    assert report_of(tmp_path, tmp_path / "run")["stage_analysis"]["wall_s"] == pytest.approx(6.5)


def test_a_memory_log_is_a_run(tmp_path, exported):
    wanted = json.load(open(tmp_path / "memory.json"))
    for path in (tmp_path / "memory.json", exported):
        taken = report_of(tmp_path, path)["memory"]["snapshots"]
        assert [s["label"] for s in taken] == ["start", "after_load"]
        assert [s["allocated_mb"] for s in taken] == pytest.approx([s["allocated_mb"] for s in wanted], abs=.1)
    tool(tmp_path, "diff", tmp_path / "memory.json", tmp_path / "memory.json")


def test_a_sessions_report_is_a_run(tmp_path):
    run_program(tmp_path, """
        from strobe.compat import InferixProfiler, ProfilingConfig
        p = InferixProfiler(ProfilingConfig(enabled=True, output_dir="reports", report_format="json", save_raw_data=True))
        p.start_session("nightly", {"model": "wan"})
        with p.stage("outer"):
            with p.stage("inner"):
                sum(range(100000))
        for block in range(3):
            p.record_block_computation(block_index=block, block_size=4, computation_time_ms=50.0)
        p.end_session()
        """)
    path, = (tmp_path / "reports").glob("*.json")
    wanted = json.load(open(path))
    report = report_of(tmp_path, path)
    rows = stages(report)
    for name in ("outer", "inner"):
        assert rows[name]["total_s"] == pytest.approx(wanted["stage_analysis"]["stages"][name]["total_time"], rel=1e-6)
    assert rows["inner"]["parent"] == "outer" and report["session_info"]["name"] == "nightly"
    block = next(loop for loop in report["iterations"] if loop["name"] == "block")
    assert (block["count"], block["mean_s"]) == (3, pytest.approx(.05)) and report["summary"]["frames"] == 12
    assert "outer" in tool(tmp_path, "diff", path, path)
    assert "nightly" in tool(tmp_path, "import", "-o", tmp_path / "again", path) or os.path.exists(tmp_path / "again" / "run.strobe")


def test_strobes_own_files_are_runs(record, tmp_path):
    with strobe.generation(frames=8):
        for _ in strobe.iterations(range(3), name="turn"):
            with strobe.section("denoise", code="3b"):
                sum(range(1000))
    strobe.skip("upscale", "not asked for")
    strobe.snapshot("end")
    folder = strobe.run_dir()
    record()
    tool(tmp_path, "report", folder, "--format", "all")
    wanted = json.load(open(os.path.join(folder, "profiling_report.json")))
    report = report_of(tmp_path, os.path.join(folder, "profiling_report.json"))
    for name, row in stages(wanted).items():
        again = stages(report)[name]
        if row.get("state") == "skipped":
            continue
        assert again["count"] == row["count"] and again["total_s"] == pytest.approx(row["total_s"], abs=2e-9), name
        assert again.get("parent") == row.get("parent") and again.get("code") == row.get("code")
    assert stages(report)["upscale"]["state"] == "skipped"
    assert report["stage_analysis"]["wall_s"] == pytest.approx(wanted["stage_analysis"]["wall_s"], rel=1e-6)
    assert report["summary"]["frames"] == 8
    log = report_of(tmp_path, os.path.join(folder, "memory_log.json"))
    assert [s["label"] for s in log["memory"]["snapshots"]] == ["end"]


DISPLAYED = """
import os, sys
from strobe.compat import InferixProfiler, ProfilingConfig
profiler = InferixProfiler(ProfilingConfig(enabled=True, real_time_display=True, display_interval=0.1, cpu_monitor_interval=0.1,
                                           gpu_monitor_interval=0.1, output_dir="reports"))
for name in ("session_abc123", "session_def456"):
    profiler.start_session(name)
    while "Profiling Metrics (" + name not in open("display").read():  # until it was displayed: the test's own limit ends it
        pass
    profiler.end_session()
"""


def test_the_live_display_is_headed_by_the_session_id(tmp_path):
    (tmp_path / "program.py").write_text(DISPLAYED)
    env = {key: value for key, value in os.environ.items() if not key.startswith("STROBE_")}
    with open(tmp_path / "display", "w") as display:
        subprocess.run([sys.executable, "program.py"], cwd=tmp_path, stderr=display, check=True, timeout=300,
                       env=dict(env, PYTHONPATH=os.path.dirname(os.path.dirname(os.path.abspath(strobe.__file__)))))
    heads = re.findall(r"=== Profiling Metrics \((.*)\) ===", (tmp_path / "display").read_text())
    assert {"session_abc123", "session_def456"} <= set(heads)  # the very first may come before the tag
