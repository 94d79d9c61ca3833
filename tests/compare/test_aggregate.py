"""strobe aggregate: many ranks into one report."""
import json
import shutil
import socket
import subprocess

import pytest

from conftest import BUILD, TOOL, environment


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
    assert "leave a collective up to" in strobe("aggregate", ranks).stdout


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


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


@pytest.mark.skipif(not shutil.which(TORCHRUN[0]), reason="no torchrun here")
@pytest.mark.parametrize("outside", [True, False])
def test_four_ranks_of_torchrun_on_either_side(strobe, tmp_path, outside):
    record, launch = [str(TOOL), "run", "-q", "-o", "out", "--"], [*TORCHRUN, "--master_port", str(free_port())]
    command = (record + launch if outside else launch + record) + [str(BUILD / "tests" / "marked"), "20"]
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


def test_a_session_called_like_a_rank_is_none(strobe, tmp_path):
    (tmp_path / "reports").mkdir()
    for name in ("rank_5", "rank_7_again"):
        report = session_report(None, .3)
        report["session_info"]["id"] = name
        (tmp_path / "reports" / f"profiling_report_{name}_20261115_210729.json").write_text(json.dumps(report))
    assert "Runs: 2, none of which says its rank" in strobe("aggregate", "reports").stdout


def test_the_ranks_own_recordings_count_before_reports_beside_them(strobe, ranks, tmp_path):
    folder = tmp_path / "both"
    shutil.copytree(ranks, folder / "job", symlinks=True)
    (folder / "profiling_report_x.json").write_text(json.dumps(session_report()))
    both = json.loads(strobe("aggregate", folder, "--format", "json").stdout)
    alone = json.loads(strobe("aggregate", ranks, "--format", "json").stdout)
    assert both["rank_count"] == alone["rank_count"]


def test_run_folders_of_ranks_count_before_the_session_reports_beside_them(strobe, tmp_path):
    """As a session profiler leaves them in one folder: the recordings have the GPU's and the CPU's samples."""
    for rank in (0, 1):
        strobe("run", "-q", "-o", tmp_path / "reports", "--", BUILD / "tests" / "marked", "2", RANK=str(rank), WORLD_SIZE="2")
        (tmp_path / "reports" / f"profiling_report_{rank}.json").write_text(json.dumps(session_report(rank, .3)))
    strobe("run", "-q", "-o", tmp_path / "reports", "--", BUILD / "tests" / "marked", "2")  # no rank
    report = json.loads(strobe("aggregate", "--reports_dir", tmp_path / "reports", "--format", "json").stdout)
    assert (report["report_count"], report["rank_count"], report["host_count"]) == (2, 2, 1)
    assert "collective_s" in report["metrics"]  # the session reports have none


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
