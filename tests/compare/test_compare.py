"""diff, bench, aggregate and history, as a user types them.

Expected output lies in tests/cli/<command>/; STROBE_ACCEPT=1 takes what is printed now.
"""
import json
import os
import pathlib
import shutil
import signal
import sqlite3
import subprocess
import time

import pytest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("STROBE_BUILD", SOURCE / "build"))
TOOL = BUILD / "strobe"


def environment(folder, **more):
    launchers = ("STROBE_", "RANK", "LOCAL_RANK", "WORLD_SIZE", "SLURM", "OMPI", "PMI")
    kept = {k: v for k, v in os.environ.items() if not k.startswith(launchers)}
    return {**kept, "STROBE_HISTORY": str(folder / "history.db"), "NO_COLOR": "1", "TZ": "UTC", **more}


@pytest.fixture
def strobe(tmp_path):
    """Runs the tool in a folder that holds the two stage logs under short names."""
    for name in ("before", "after"):
        shutil.copy(SOURCE / "tests" / "data" / f"stagelog-{name}.txt", tmp_path / f"{name}.txt")

    def run(*args, code=0, **env):
        done = subprocess.run([TOOL, *map(str, args)], cwd=tmp_path, env=environment(tmp_path, **env),
                              capture_output=True, text=True, timeout=120)
        assert done.returncode == code, (done.returncode, done.stdout, done.stderr)
        return done

    return run


def expect(name, text):
    path = SOURCE / "tests" / "cli" / name
    if os.environ.get("STROBE_ACCEPT"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert text == path.read_text()


@pytest.fixture(scope="module")
def ranks(tmp_path_factory):
    """64 ranks on 8 hosts whose clocks are 3 ms apart: 17 is slow, 5 missing, 9 cut off, 11 no recording."""
    folder = tmp_path_factory.mktemp("ranks") / "job"
    subprocess.run([BUILD / "tests" / "make_ranks", folder, "64", "4000", "17", "8", "3"], check=True)
    shutil.rmtree(folder / "rank_5")
    with open(folder / "rank_9" / "run.strobe", "r+b") as f:
        f.truncate(60000)
    (folder / "rank_11" / "run.strobe").write_text("not a recording")
    return folder


# ---- diff ----------------------------------------------------------------

@pytest.mark.parametrize("form, rest", [("text", "\n  Metric"), ("markdown", "\n<details>"), ("template", "\f")])
def test_diff_of_two_stage_logs(strobe, form, rest):
    option = ["--template"] if form == "template" else ["--format", form]
    expect(f"diff/stagelog.{form}", strobe("diff", "before.txt", "after.txt", *option).stdout.split(rest)[0])


def test_the_tracking_sheet_has_one_unit_and_the_digits_that_short_stages_need(strobe, tmp_path):
    (tmp_path / "old.txt").write_text("[1a] prepare: 0.0031s\n[1b] copy: 0.000035s\n[1c] decode: 1.5s\n")
    (tmp_path / "new.txt").write_text("[1a] prepare: 0.0042s\n[1b] copy: 0.000032s\n[1c] decode: 1.25s\n")
    after = strobe("diff", "old.txt", "new.txt", "--template").stdout.split("AFTER")[1]
    assert "- [1a] prepare: 0.004200s (Δ: +0.001100s)\n" in after
    assert "- [1b] copy:    0.000032s (Δ: -0.000003s)\n" in after
    assert "- [1c] decode:  1.250000s (Δ: -0.250000s)\n" in after


def test_diff_leads_with_the_total_although_a_stage_gained(strobe):
    lines = strobe("diff", "before.txt", "after.txt").stdout.splitlines()
    assert lines[1].startswith("Total 281.96 s -> 299.88 s  (+17.92 s, +6.4 %)")
    assert "[4f.2]" in lines[3] and "largest" in lines[3]
    assert any("[3b] RAFT" in line and "3.97 s less" in line for line in lines)


def test_diff_fails_above_its_limit_only(strobe):
    failed = strobe("diff", "before.txt", "after.txt", "--fail-above", "5%", code=1)
    assert "FAIL: Total 281.96 s -> 299.88 s" in failed.stdout
    assert "PASS" in strobe("diff", "before.txt", "after.txt", "--fail-above", "7%").stdout
    assert "FAIL: [4c]" in strobe("diff", "before.txt", "after.txt", "--fail-above", "4c=3%", code=1).stdout


def test_diff_fails_on_what_is_missing(strobe):
    assert "neither a metric nor a stage" in strobe("diff", "before.txt", "after.txt", "--fail-above", "upscale=5%",
                                                    code=2).stderr
    assert "'vram' is missing" in strobe("diff", "before.txt", "after.txt", "--fail-above", "vram=5%", code=1).stdout
    # [4d] had a time in BASE and has none in NEW
    assert "has no time in NEW" in strobe("diff", "before.txt", "after.txt", "--fail-above", "4d=5%", code=1).stdout
    strobe("diff", "before.txt", "after.txt", "--fail-above", "vram=5%", "--format", "json", code=1)


def test_diff_of_several_runs_a_side_needs_four_of_them(strobe):
    def total(count):
        out = strobe("diff", "--base", ",".join(["before.txt"] * count), "--new", ",".join(["after.txt"] * count),
                     "--format", "json").stdout
        return json.loads(out)["total"]

    assert total(3)["verdict"] == "too_few"
    assert total(4)["verdict"] == "worse" and total(4)["basis"] == "rank_test"
    text = strobe("diff", "--base", "before.txt,before.txt", "--new", "after.txt,after.txt", "--fail-above", "5%",
                  code=1).stdout
    assert "too few to judge: 4 a side are needed" in text
    assert "not judged, 2 and 2 repetitions are too few" in text
    same = json.loads(strobe("diff", "--base", "before.txt", "--new", "before.txt", "--format", "json").stdout)
    assert same["total"]["verdict"] == "same" and not same["explanations"]


def test_a_change_inside_the_noise_does_not_fail(strobe):
    mixed = "before.txt,after.txt,before.txt,after.txt"
    out = strobe("diff", "--base", mixed, "--new", mixed.removesuffix("before.txt,after.txt") + "after.txt,after.txt",
                 "--fail-above", "2%").stdout
    assert "PASS" in out


@pytest.mark.parametrize("args, words", [
    (["--fail-above", "5"], "--fail-above 5 would allow 500 %: write 5%"),
    (["--tolerance", "2"], "--tolerance 2 would allow 200 %: write 2%"),
    (["--template", "--format", "json"], "--template and --format cannot be used together"),
    (["--top", "0"], "--top takes a whole number from 1 to 1000000, not '0'"),
    (["--top", "2.5"], "--top takes a whole number from 1 to 1000000, not '2.5'"),
])
def test_diff_refuses_what_is_hardly_meant(strobe, args, words):
    assert words in strobe("diff", "before.txt", "after.txt", *args, code=2).stderr


def test_diff_of_a_part_compares_that_part(strobe, tmp_path):
    subprocess.run([BUILD / "tests" / "make_ranks", tmp_path / "job", "2", "400", "1"], check=True)
    whole = json.loads(strobe("diff", "job/rank_0", "job/rank_1", "--format", "json").stdout)["total"]["base_value"]
    part = json.loads(strobe("diff", "job/rank_0", "job/rank_1", "--last", "500ms", "--format", "json").stdout)["total"]
    assert part["base_value"] == pytest.approx(0.5) and whole > 1


def test_diff_judges_steps_by_a_rank_test(strobe, tmp_path):
    subprocess.run([BUILD / "tests" / "make_ranks", tmp_path / "even", "2", "200"], check=True)
    subprocess.run([BUILD / "tests" / "make_ranks", tmp_path / "slow", "2", "200", "1"], check=True)
    report = json.loads(strobe("diff", "even/rank_0", "slow/rank_0", "--format", "json").stdout)
    step = next(s for s in report["stages"] if s["name"] == "step")
    assert (step["judged"], step["basis"], step["verdict"]) == ("single_calls", "rank_test", "worse")
    assert step["p_ratio"] < 0.001 and step["change_low_ratio"] > 1.1


def test_diff_says_what_it_cannot_open(strobe):
    assert "nosuch" in strobe("diff", "nosuch", "after.txt", code=2).stderr
    assert "BASE" in strobe("diff", code=2).stderr
    assert "--fail-above" in strobe("diff", "before.txt", "after.txt", "--fail-above", "much", code=2).stderr


# ---- bench ---------------------------------------------------------------

def bench(strobe, *args, code=0, **env):
    return json.loads(strobe("bench", "--format", "json", *args, code=code, **env).stdout)


def test_bench_measures_after_the_warmup(strobe, tmp_path):
    result = bench(strobe, "-n", "4", "-w", "2", "--frames", "81", "--", "sh", "-c", f"echo x >> {tmp_path}/runs")
    row = result["rows"][0]
    assert (tmp_path / "runs").read_text() == "x\n" * 6
    assert row["count"] == 4 and len(row["seconds_s"]) == 4 and row["state"] == "ok"
    assert row["mean_s"] == pytest.approx(sum(row["seconds_s"]) / 4)
    assert row["median_s"] == pytest.approx(sum(sorted(row["seconds_s"])[1:3]) / 2)
    assert row["clips_per_second"] == pytest.approx(1 / row["mean_s"])
    assert row["frames_fps"] == pytest.approx(81 / row["mean_s"])
    assert row["median_low_s"] <= row["median_s"] <= row["median_high_s"]


def test_bench_sweeps_the_full_grid_in_turns(strobe, tmp_path):
    result = bench(strobe, "-n", "2", "-w", "0", "--sweep", "a=1,2", "--sweep", "b=x,y,z", "--",
                   "sh", "-c", f"echo {{a}}{{b}} >> {tmp_path}/runs")
    assert [row["values"] for row in result["rows"]] == [{"a": a, "b": b} for a in "12" for b in "xyz"]
    assert (tmp_path / "runs").read_text().split() == ["1x", "1y", "1z", "2x", "2y", "2z"] * 2


def test_bench_keeps_failing_rows_and_goes_on(strobe):
    script = 'case {n} in 1) exit 3;; 2) echo "CUDA out of memory" >&2; exit 1;; 3) kill -KILL $$;; 5) sleep 60;; esac'
    rows = bench(strobe, "-n", "2", "-w", "1", "--timeout", "1", "--sweep", "n=1,2,3,4,5", "--", "sh", "-c", script)["rows"]
    assert [row["state"] for row in rows] == ["failed", "oom", "oom", "ok", "timeout"]
    assert rows[0]["exit_code"] == 3 and rows[1]["reason"] == "CUDA out of memory"
    assert [row["count"] for row in rows] == [0, 0, 0, 2, 0]
    table = strobe("bench", "-n", "1", "-w", "0", "--sweep", "n=2,4", "--", "sh", "-c", script).stdout
    assert "OOM: CUDA out of memory" in table


def test_bench_passes_the_code_on_when_everything_fails(strobe):
    strobe("bench", "-n", "2", "--", "sh", "-c", "exit 7", code=7)
    strobe("bench", "-n", "2", "--", "sh", "-c", "kill -TERM $$", code=128 + signal.SIGTERM)
    assert "cannot run" in strobe("bench", "-n", "2", "--", "./no-such-program", code=127).stdout


def test_bench_judges_the_target(strobe):
    ok = strobe("bench", "-n", "2", "--frames", "1000", "--target-fps", "30", "--", "true").stdout
    assert "target 30 frames/s: PASS" in ok
    missed = strobe("bench", "-n", "2", "--frames", "1", "--target-fps", "1000000", "--", "true", code=1).stdout
    assert "FAIL" in missed
    assert "--frames" in strobe("bench", "--target-fps", "30", "--", "true", code=2).stderr
    some = strobe("bench", "-n", "2", "--frames", "1000", "--target-fps", "30", "--sweep", "c=true,false", "--", "{c}").stdout
    assert "target 30 frames/s: PASS, met by 1 of 1 that ran: c=true" in some


def test_bench_ladder_tells_step_and_total(strobe, tmp_path):
    (tmp_path / "ladder").write_text("# variants\nbaseline: 0.06\nfp16: 0.03\n+compile: '0.01'\nbroken: x\n")
    rows = bench(strobe, "-n", "3", "--ladder", "ladder", "--", "sleep")["rows"]
    assert [row["name"] for row in rows] == ["baseline", "fp16", "+compile", "broken"]
    assert rows[3]["state"] == "failed"
    median = [row["median_s"] for row in rows[:3]]
    assert rows[2]["step_speedup_ratio"] == pytest.approx(median[1] / median[2])
    assert rows[2]["total_speedup_ratio"] == pytest.approx(median[0] / median[2])


@pytest.mark.parametrize("args, words", [
    (["--sweep", "a=1", "--", "true"], "{a}"), (["--sweep", "a", "--", "true"], "KEY=VALUE"), ([], "no command"),
    (["-n", "0", "--", "true"], "--iterations"), (["--ladder", "nosuch", "--", "true"], "nosuch"), (["true"], "--")])
def test_bench_refuses_nonsense(strobe, args, words):
    assert words in strobe("bench", *args, code=2).stderr


def test_bench_csv_quotes(strobe):
    lines = strobe("bench", "-n", "1", "-w", "0", "--format", "csv", "--sweep", 'a=x"y,z', "--", "echo", "{a}").stdout.splitlines()
    assert lines[1].startswith('"a=x""y",ok,"x""y",1,') and lines[2].startswith("a=z,ok,z,1,")


def test_bench_stops_at_ctrl_c_and_keeps_what_it_has(tmp_path):
    marker = tmp_path / "second"
    script = f"[ -e {tmp_path}/first ] && {{ touch {marker}; exec sleep 60; }}; touch {tmp_path}/first"
    tool = subprocess.Popen([TOOL, "bench", "-n", "5", "-w", "0", "--format", "json", "--", "sh", "-c", script],
                            stdout=subprocess.PIPE, text=True, env=environment(tmp_path))
    while not marker.exists() and tool.poll() is None:
        time.sleep(0.01)
    tool.send_signal(signal.SIGINT)
    out, _ = tool.communicate(timeout=30)
    assert tool.returncode == 130
    assert json.loads(out)["interrupted"] and json.loads(out)["rows"][0]["count"] == 1


def test_bench_measures_marks_inside_the_process(strobe, tmp_path):
    result = bench(strobe, "--marks", "-w", "2", "-n", "2", "--", BUILD / "tests" / "marked", "10")
    row = result["rows"][0]
    assert result["measured"] == "marks" and row["count"] == 2 * (10 - 2)
    assert row["frames_per_clip_count"] == 4  # 40 frames in 10 iterations
    nothing = bench(strobe, "--marks=no_such_name", "--", BUILD / "tests" / "marked", "10", code=1)["rows"][0]
    assert nothing["state"] == "empty" and "no_such_name" in nothing["reason"]
    assert not (tmp_path / "strobe-runs").exists() and not (tmp_path / "history.db").exists()


def test_bench_measures_the_calls_of_a_stage(strobe):
    command = ("--", BUILD / "tests" / "marked", "10", "videos")
    videos, steps, decode, save = (bench(strobe, mark, "-w", "2", *command)["rows"][0]
                                   for mark in ("--marks", "--marks=denoise", "--marks=vae_decode", "--marks=save"))
    assert (videos["count"], steps["count"], decode["count"], save["count"]) == (8, 28, 8, 8)
    assert videos["clips_per_second"] and videos["frames_per_clip_count"] == 12
    # a step is no clip, and the frames of the run are not its own
    assert "clips_per_second" not in steps and "frames_fps" not in steps and "frames_fps" not in save
    assert decode["frames_fps"] == pytest.approx(12 / decode["mean_s"])
    text = strobe("bench", "--marks=denoise", *command).stdout
    assert "steps/s" in text and "clips/s" not in text
    assert "calls/s" in strobe("bench", "--marks=save", *command).stdout


def test_frames_of_blocks_outside_the_videos_are_not_theirs(strobe):
    row = bench(strobe, "--marks", "--", BUILD / "tests" / "marked", "10", "apart")["rows"][0]
    assert row["count"] == 9 and "frames_fps" not in row and "frames_per_clip_count" not in row


def test_a_target_without_frames_is_not_judged(strobe):
    command = ("--target-fps", "1", "--", BUILD / "tests" / "marked", "10", "videos")
    assert "PASS" in strobe("bench", "--marks", *command).stdout
    unknown = strobe("bench", "--marks=save", *command, code=2).stdout
    assert "not judged" in unknown and "FAIL" not in unknown and "frames/s unknown" in unknown
    assert "target_met" not in bench(strobe, "--marks=save", *command, code=2)["rows"][0]


# ---- aggregate -----------------------------------------------------------

def test_aggregate_names_straggler_missing_damaged_and_broken(strobe, ranks):
    report = json.loads(strobe("aggregate", ranks, "--format", "json").stdout)
    by_rank = {r["rank"]: r for r in report["reports_summary"]}
    assert report["rank_count"] == 62 and report["world_size_count"] == 64
    assert report["missing_ranks"] == [5, 11]
    assert [p["run"].endswith("rank_11") for p in report["left_out"]] == [True]
    assert "damage" in by_rank[9] and "damage" not in by_rank[8]
    assert [r for r in by_rank if by_rank[r]["straggler"]] == [17]
    assert by_rank[17]["slow_stage"] == "forward"
    assert by_rank[17]["last_count"] > 0.9 * report["collective_count"] > 100
    assert report["metrics"]["collective_s"]["min_rank"] == 17
    forward = next(s for s in report["stages"] if s["name"] == "forward")
    assert forward["total_s"]["max_rank"] == 17 and 0.4 < forward["imbalance_ratio"] < 0.6


def test_names_that_were_lost_stay_apart(strobe, ranks):
    report = json.loads(strobe("aggregate", ranks, "--format", "json").stdout)
    by_rank = {r["rank"]: r for r in report["reports_summary"]}
    assert len([s for s in report["stages"] if s["name"].startswith("(name ")]) == 3
    # forward and backward are not taken for waiting because all_reduce is
    assert report["metrics"]["collective_s"]["max_rank"] != 9, by_rank[9]


def test_aggregate_aligns_hosts_by_their_collectives(strobe, ranks):
    report = json.loads(strobe("aggregate", ranks, "--format", "json").stdout)
    for r in report["reports_summary"]:
        host = r["rank"] // 8
        if r["rank"] == 9:  # its names are lost with the end of its file: nothing to match by
            continue
        assert r["clock"]["method"] == ("collectives" if host else "same_host")
        assert r["clock"]["offset_s"] == pytest.approx(-0.003 * host, abs=5e-5)
        assert r["clock"]["residual_s"] < 5e-5
    assert "residual error" in strobe("aggregate", ranks).stdout


def test_aggregate_text_keeps_its_form(strobe, ranks):
    lines = strobe("aggregate", ranks).stdout.splitlines()
    assert lines[:5] == ["=== Aggregation Summary ===", "Total reports processed: 62", "Ranks: 62", "World size: 64",
                         "Missing: rank 5, 11"]
    assert "rank 17 on node002:" in "\n".join(lines)


def test_aggregate_is_the_same_whatever_the_threads(strobe, ranks):
    texts = {strobe("aggregate", ranks, "-j", n, "--format", "json").stdout for n in (1, 2, 5)}
    assert len({json.dumps(json.loads(t)["metrics"]) for t in texts}) == 1
    assert len({json.dumps(json.loads(t)["stages"]) for t in texts}) == 1


def test_aggregate_scales_over_world_sizes(strobe, tmp_path):
    for n in (2, 4):
        subprocess.run([BUILD / "tests" / "make_ranks", tmp_path / f"ws{n}", str(n), str(800 // n)], check=True)
    report = json.loads(strobe("aggregate", "ws2", "ws4", "--format", "json").stdout)
    two, four = report["scaling"]
    assert (two["world_size_count"], four["world_size_count"]) == (2, 4)
    assert report["rank_count"] == 4
    assert four["speedup_ratio"] == pytest.approx(two["wall_s"] / four["wall_s"])
    assert four["efficiency_split_ratio"] == pytest.approx(four["speedup_ratio"] / 2)


def test_the_job_is_that_of_the_ranks_shown(strobe, tmp_path):
    for size in (2, 4):
        for rank in range(size):
            strobe("run", "-q", "-o", f"out{size}", "--", BUILD / "tests" / "marked", "3", RANK=str(rank), LOCAL_RANK=str(rank),
                   WORLD_SIZE=str(size), TORCHELASTIC_RUN_ID=f"j{size}")
    for folders in (("out2", "out4"), ("out4", "out2")):
        text = strobe("aggregate", "-j", "1", *folders).stdout
        assert "Job: j4\n" in text and "j2" not in text.split("\n\n")[0]


def check_four_ranks(strobe, folder):
    report = json.loads(strobe("aggregate", folder, "--format", "json").stdout)
    assert [r["rank"] for r in report["reports_summary"]] == [0, 1, 2, 3]
    assert report["world_size_count"] == 4 and not report["missing_ranks"] and not report["left_out"]
    assert report["collective_count"] == 20
    assert report["job"]
    assert next(s for s in report["stages"] if s["name"] == "work")["count"] == 4 * 20


def test_four_ranks_each_under_strobe_run(strobe, tmp_path):
    tools = [subprocess.Popen([TOOL, "run", "-q", "-o", "out", "--", BUILD / "tests" / "marked", "20"], cwd=tmp_path,
                              env=environment(tmp_path, RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE="4",
                                              TORCHELASTIC_RUN_ID="job7"))
             for rank in range(4)]
    assert [tool.wait(timeout=60) for tool in tools] == [0] * 4
    check_four_ranks(strobe, "out")
    (tmp_path / "elsewhere").mkdir()  # the job is in the recordings, whatever their folders are called
    for rank in range(4):
        shutil.copytree(tmp_path / "out" / "marked-job7" / f"rank_{rank}", tmp_path / "elsewhere" / f"rank_{rank}")
    assert json.loads(strobe("aggregate", "elsewhere", "--format", "json").stdout)["job"] == "job7"
    report = json.loads(strobe("report", "elsewhere/rank_2", "--format", "json").stdout)
    assert report["session_info"]["job"] == "job7"
    tagged = json.loads((tmp_path / "elsewhere" / "rank_1" / "profiling_report.json").read_text())
    assert tagged["session_info"]["job"] == "job7"


@pytest.mark.skipif(not shutil.which("mpirun"), reason="no mpirun here")
@pytest.mark.parametrize("outside", [True, False])
def test_four_ranks_of_mpirun_on_either_side(strobe, tmp_path, outside):
    record = [str(TOOL), "run", "-q", "-o", "out", "--"]
    launch = ["mpirun", "--oversubscribe", "-np", "4"]
    command = (record + launch if outside else launch + record) + [str(BUILD / "tests" / "marked"), "20"]
    root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    done = subprocess.run(command, cwd=tmp_path, env=environment(tmp_path, **root), capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    (run,) = [p for p in (tmp_path / "out").iterdir() if not p.is_symlink()]
    check_four_ranks(strobe, run)


# torch 1.13 on Python 3.11 reads its own default of --redirects and --tee, 0, as None: 1 avoids that
TORCHRUN = ["/usr/bin/torchrun", "--no_python", "--redirects", "1", "--tee", "1", "--nproc_per_node", "4"]


@pytest.mark.skipif(not shutil.which(TORCHRUN[0]), reason="no torchrun here")
@pytest.mark.parametrize("outside", [True, False])
def test_four_ranks_of_torchrun_on_either_side(strobe, tmp_path, outside):
    record = [str(TOOL), "run", "-q", "-o", "out", "--"]
    command = (record + TORCHRUN if outside else TORCHRUN + record) + [str(BUILD / "tests" / "marked"), "20"]
    done = subprocess.run(command, cwd=tmp_path, env=environment(tmp_path), capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    (run,) = [p for p in (tmp_path / "out").iterdir() if not p.is_symlink()]  # one job, though torchrun gave no id
    check_four_ranks(strobe, run)


OTHER_TOOL = {
    "session_info": {"id": "session_abc", "start_time": 1700000000.0, "duration": 12.5, "tags": {"world_size": 3}},
    "summary": {"gpu": {}, "cpu": {}},
    "gpu_metrics": {"total_samples": 2, "memory_analysis": {"avg_used_mb": 7000.0, "peak_used_mb": 7200.0},
                    "utilization_analysis": {"avg_percent": 75.2}},
    "stage_analysis": {"total_stages": 1, "total_time": 10.0, "bottlenecks": [], "stages": {
        "vae_decode": {"total_time": 10.0, "call_count": 5, "avg_time": 2.0, "min_time": 1.0, "max_time": 3.0}}},
}


def test_aggregate_reads_other_tools_reports_and_not_their_raw_data(strobe, tmp_path):
    for rank, peak in ((0, 7200.0), (1, 9800.0)):
        folder = tmp_path / "reports" / f"rank_{rank}"
        folder.mkdir(parents=True)
        report = json.loads(json.dumps(OTHER_TOOL))
        report["gpu_metrics"]["memory_analysis"]["peak_used_mb"] = peak
        (folder / "profiling_report_session_abc_20260101_000000.json").write_text(json.dumps(report))
        (folder / "raw_profiling_data_session_abc.json").write_text(json.dumps({**report, "gpu_metrics": []}))
        (folder / "samples.json").write_text(json.dumps({"gpu_metrics": [1, 2], "session_info": {}}))
    out = strobe("aggregate", "reports").stdout
    assert "Total reports processed: 2\nRanks: 2\n" in out
    assert "Missing: rank 2" in out
    assert "GPU Memory - Min: 7200.0MB, Max: 9800.0MB, Avg: 8500.0MB" in out
    assert "GPU Utilization - Min: 75.2%, Max: 75.2%, Avg: 75.2%" in out


def test_aggregate_of_nothing_is_loud(strobe, tmp_path):
    (tmp_path / "empty").mkdir()
    assert "holds no ranks" in strobe("aggregate", "empty", code=2).stderr
    assert "nosuch" in strobe("aggregate", "nosuch", code=2).stderr
    (tmp_path / "rank_0").mkdir()
    assert "nothing to aggregate" in strobe("aggregate", ".", code=2).stderr


# ---- history -------------------------------------------------------------

def test_history_adds_lists_shows_and_draws(strobe):
    strobe("history", "add", "before.txt", "after.txt")
    strobe("history", "add", "after.txt")  # again: the same run
    runs = json.loads(strobe("history", "list", "--format", "json").stdout)
    assert sorted((r["name"], r["metrics"]["wall_s"]) for r in runs) == [
        ("after.txt", pytest.approx(299.88)), ("before.txt", pytest.approx(281.96))]
    assert "[4f.2] UNet" in strobe("history", "show", str(runs[0]["id"])).stdout
    trend = json.loads(strobe("history", "trend", "[3b]", "--format", "json").stdout)
    assert sorted(p["point_value"] for p in trend["points"]) == [pytest.approx(10.05), pytest.approx(14.02)]
    plot = strobe("history", "trend").stdout
    assert "299.88 s |" in plot and "281.96 s |" in plot
    assert "no run" in strobe("history", "trend", "no_such_stage", code=2).stderr


def test_what_would_mislead_is_said(strobe, tmp_path):
    strobe("history", "add", "before.txt", "after.txt")
    assert "runs of several names" in strobe("history", "trend").stdout
    assert "several names" not in strobe("history", "trend", "--name", "before.txt").stdout
    assert "no history 'typo.db'" in strobe("history", "list", "--db", "typo.db", code=2).stderr
    assert not (tmp_path / "typo.db").exists()
    strobe("run", "-q", "--", BUILD / "tests" / "marked", "3")
    assert "NEW is set against itself" in strobe("diff", "best", "last").stderr


def test_run_adds_itself_unless_history_is_off(strobe, tmp_path):
    strobe("run", "-q", "-n", "remembered", "--", BUILD / "tests" / "marked", "3")
    strobe("run", "-q", "-n", "forgotten", "--", BUILD / "tests" / "marked", "3", STROBE_HISTORY="off")
    (run,) = json.loads(strobe("history", "--format", "json").stdout)
    assert run["name"] == "remembered" and pathlib.Path(run["run"]).is_dir()
    shutil.rmtree(tmp_path / "strobe-runs")
    assert "remembered" in strobe("history", "show", "last").stdout
    strobe("diff", "history:last", "history:last")  # from what is kept
    assert "no runs in" in strobe("diff", "last", "last", code=2).stderr  # 'last' is of this folder, or nothing


def test_a_damaged_history_does_not_stop_a_run(strobe, tmp_path):
    (tmp_path / "history.db").write_text("garbage" * 100)
    assert "damaged" in strobe("run", "-q", "--", BUILD / "tests" / "marked", "3").stderr


def test_diff_with_the_history_needs_no_folder(strobe, tmp_path):
    strobe("history", "add", "before.txt")
    run = json.loads(strobe("history", "--format", "json").stdout)[0]["id"]
    (tmp_path / "before.txt").unlink()
    out = strobe("diff", f"history:{run}", "after.txt", "--fail-above", "5%", code=1).stdout
    assert "Total 281.96 s -> 299.88 s" in out and "[4f.2]" in out
    strobe("history", "add", "after.txt")
    assert "Total 299.88 s -> 299.88 s" in strobe("diff", "best", "after.txt").stdout


def test_history_prunes_what_it_is_told(strobe, tmp_path):
    strobe("history", "add", "before.txt", "after.txt")
    (tmp_path / "before.txt").unlink()
    assert strobe("history", "prune", "--gone", "--dry-run").stdout.startswith("1 run would")
    strobe("history", "prune", "--gone")
    assert len(json.loads(strobe("history", "--format", "json").stdout)) == 1
    assert "prune what?" in strobe("history", "prune", code=2).stderr


def test_history_never_touches_what_is_not_its_own(strobe, tmp_path):
    (tmp_path / "garbage").write_bytes(b"garbage" * 100)
    newer, other = tmp_path / "newer", tmp_path / "other"
    strobe("history", "add", "before.txt", "--db", newer)
    for path, statement in ((newer, "PRAGMA user_version = 99"), (other, "CREATE TABLE mine (a)")):
        with sqlite3.connect(path) as db:
            db.execute(statement)
        db.close()
    for name, words in (("garbage", "damaged"), ("newer", "newer strobe"), ("other", "not a strobe history")):
        before = (tmp_path / name).read_bytes()
        assert words in strobe("history", "add", "after.txt", "--db", name, code=2).stderr
        assert (tmp_path / name).read_bytes() == before


def test_history_takes_concurrent_runs(tmp_path, strobe):
    tools = []
    for i in range(8):
        folder = tmp_path / f"r{i}"
        folder.mkdir()
        shutil.copy(tmp_path / "before.txt", folder / f"log{i}.txt")
        tools.append(subprocess.Popen([TOOL, "history", "add", folder / f"log{i}.txt"], env=environment(tmp_path),
                                      stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True))
    for tool in tools:
        _, errors = tool.communicate(timeout=60)
        assert tool.returncode == 0, errors
    assert len(json.loads(strobe("history", "--format", "json").stdout)) == 8


# ---- formats by file name, reports without ranks ---------------------------

def test_the_ending_of_the_output_chooses_the_format(strobe, tmp_path):
    strobe("report", "before.txt", "-o", "a.json")
    assert json.loads((tmp_path / "a.json").read_text())["stage_analysis"]["wall_s"] == pytest.approx(281.96)
    strobe("report", "before.txt", "-o", "a.html")
    assert (tmp_path / "a.html").read_text().lstrip().lower().startswith("<!doctype html")
    strobe("diff", "before.txt", "after.txt", "-o", "d.json")
    assert json.loads((tmp_path / "d.json").read_text())
    strobe("diff", "before.txt", "after.txt", "-o", "d.md")
    assert "|" in (tmp_path / "d.md").read_text()
    strobe("import", "-q", "-o", "runs/a", "before.txt")
    strobe("aggregate", "runs", "-o", "g.json")
    assert json.loads((tmp_path / "g.json").read_text())["report_count"] == 1
    strobe("aggregate", "runs", "-o", "g.html")
    assert "<html" in (tmp_path / "g.html").read_text()[:2000].lower()
    strobe("export", "runs/a", "-o", "t.json")
    assert "traceEvents" in json.loads((tmp_path / "t.json").read_text())
    strobe("report", "before.txt", "--format", "text", "-o", "b.json")  # what is said counts
    assert (tmp_path / "b.json").read_text().startswith("strobe: before.txt")


def session_report(rank=None, total=1.0):
    info = {"id": "job", "start_time": "2026-01-01T12:00:00", "duration": total + .1, "tags": {}}
    if rank is not None:
        info.update(rank=rank, world_size=4)
    return {"session_info": info, "summary": {}, "stage_analysis": {"total_stages": 1, "total_time": total, "stages": {
        "denoise": {"total_time": total, "call_count": 1, "avg_time": total, "min_time": total, "max_time": total}}, "bottlenecks": []},
        "recommendations": []}


def test_ranks_of_session_reports_are_those_they_say_not_the_files_order(strobe, tmp_path):
    (tmp_path / "reports").mkdir()
    for name, rank, total in (("a", 3, .3), ("b", 2, .3), ("c", 0, .7), ("d", 1, .3)):
        (tmp_path / "reports" / f"profiling_report_{name}.json").write_text(json.dumps(session_report(rank, total)))
    report = json.loads(strobe("aggregate", "--reports_dir", "reports", "--format", "json").stdout)
    assert report["rank_count"] == 4 and [r["rank"] for r in report["reports_summary"] if r["straggler"]] == [0]


def test_runs_that_say_no_rank_are_no_ranks(strobe, tmp_path):
    (tmp_path / "reports").mkdir()
    for name, total in (("a", .3), ("b", .3), ("c", .7), ("d", .3)):
        (tmp_path / "reports" / f"profiling_report_{name}.json").write_text(json.dumps(session_report(None, total)))
    text = strobe("aggregate", "reports").stdout
    assert "Runs: 4, none of which says its rank" in text and "Ranks:" not in text and "STRAGGLER" not in text


def test_the_ranks_own_recordings_count_before_reports_beside_them(strobe, ranks, tmp_path):
    folder = tmp_path / "both"
    shutil.copytree(ranks, folder / "job", symlinks=True)
    (folder / "profiling_report_x.json").write_text(json.dumps(session_report()))
    both = json.loads(strobe("aggregate", folder, "--format", "json").stdout)
    alone = json.loads(strobe("aggregate", ranks, "--format", "json").stdout)
    assert both["rank_count"] == alone["rank_count"]


def test_packed_ranks_are_ranks_and_copies_of_ranks_are_not(strobe, tmp_path):
    job = tmp_path / "job"
    subprocess.run([BUILD / "tests" / "make_ranks", job, "3", "400", "1"], check=True)
    whole = json.loads(strobe("aggregate", job, "--format", "json").stdout)
    for rank in range(3):
        strobe("export", job / f"rank_{rank}", "--to", "packed")
    assert json.loads(strobe("aggregate", job, "--format", "json").stdout)["rank_count"] == 3
    for rank in (0, 1):
        shutil.rmtree(job / f"rank_{rank}")
    packed = json.loads(strobe("aggregate", job, "--format", "json").stdout)
    assert packed["rank_count"] == 3
    assert packed["metrics"] == whole["metrics"]
    assert packed["straggler_count"] == whole["straggler_count"]


def test_a_p95_lies_between_neighbours_and_inside_what_was_measured(strobe, tmp_path):
    for rank, ms in enumerate((252, 253, 256, 355)):
        (tmp_path / f"r{rank}.txt").write_text(f"[1a] A: {ms}ms\n")
        strobe("import", "-q", "-o", f"job/rank_{rank}", f"r{rank}.txt")
    report = json.loads(strobe("aggregate", "job", "--format", "json").stdout)
    stage = next(s for s in report["stages"] if s["name"] == "A")
    assert stage["call_p95_s"] == pytest.approx(.340, rel=.02)
