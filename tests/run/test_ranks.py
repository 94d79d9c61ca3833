"""Ranks below `strobe run`: each with its own GPU, CPU and memory; the first screen is about them."""
import json
import sqlite3

from conftest import BUILD

PROGRAM = f"{BUILD / 'tests' / 'marked'} 3"
LAUNCHER = "for r in 0 1 2; do RANK=$r LOCAL_RANK=$r WORLD_SIZE=3 TORCHELASTIC_RUN_ID=j {} & done; wait"


def aggregated(strobe, run):
    done = strobe("aggregate", run, "--format", "json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def only_run(strobe):
    (run,) = [p for p in (strobe.folder / "strobe-runs").iterdir() if not p.is_symlink()]
    return run


def test_every_rank_below_a_launcher_has_its_own_gpu_cpu_and_memory(strobe):
    strobe.fake_nvml("gpus 8\n")
    done = strobe.run("--", "sh", "-c", LAUNCHER.format(PROGRAM))
    assert done.returncode == 0, done.stderr
    report = aggregated(strobe, only_run(strobe))
    ranks = report["reports_summary"]
    assert [r["rank"] for r in ranks] == [0, 1, 2]
    assert [r["gpu_uuid"][:12] for r in ranks] == ["GPU-0000abc0", "GPU-0000abc1", "GPU-0000abc2"]
    assert [r["metrics"]["gpu_memory_peak_bytes"] // 2**20 for r in ranks] == [8420, 8421, 8422]
    assert all(r["metrics"]["rss_peak_bytes"] > 0 for r in ranks)


def test_the_first_screen_is_about_the_ranks_and_points_to_aggregate(strobe):
    done = strobe.run("--", "sh", "-c", LAUNCHER.format(PROGRAM))
    run = only_run(strobe)
    assert "3 ranks on 1 host, job j: " in done.stderr and f"strobe aggregate strobe-runs/{run.name}" in done.stderr
    assert f"strobe report strobe-runs/{run.name}/rank_0" in done.stderr
    assert "unattributed" not in done.stderr and "BOTTLENECK" not in done.stderr
    assert (run / "aggregated_report.json").exists() and f"{run.name}/aggregated_report.html" in done.stderr


def test_a_launcher_that_is_itself_a_rank_is_none_of_its_ranks(strobe):
    # srun, one task per node, each a torchrun of two: the program above the ranks has Slurm's rank and records too
    inner = "; ".join(f"RANK={r} LOCAL_RANK={r} WORLD_SIZE=4 {PROGRAM}" for r in (0, 1))
    strobe.environment.update(SLURM_PROCID="0", SLURM_LOCALID="0", SLURM_NTASKS="2", SLURM_JOB_ID="77", SLURM_STEP_ID="0")
    done = strobe.run("--", "sh", "-c", inner)
    assert done.returncode == 0, done.stderr
    (run,) = [p for p in (strobe.folder / "strobe-runs").iterdir() if not p.is_symlink()]
    report = aggregated(strobe, run)
    assert (report["rank_count"], report["world_size_count"], report["missing_ranks"]) == (2, 4, [2, 3])
    assert "scaling" not in report


def test_nothing_is_sampled_in_ranks_where_nothing_shall_be(strobe):
    strobe.fake_nvml("gpus 8\n")
    strobe.environment["STROBE_MONITOR"] = "0"
    strobe.run("--", "sh", "-c", LAUNCHER.format(PROGRAM))
    assert all("rss_peak_bytes" not in r["metrics"] and "gpu_uuid" not in r
               for r in aggregated(strobe, only_run(strobe))["reports_summary"])


def rows(strobe):
    with sqlite3.connect(strobe.environment["STROBE_HISTORY"]) as db:
        return db.execute("SELECT dir, (SELECT count(*) FROM ranks WHERE run = id) FROM runs ORDER BY dir").fetchall()


def test_the_rank_that_ends_last_reports_the_job(strobe):
    strobe.environment.update(WORLD_SIZE="2", TORCHELASTIC_RUN_ID="j", MASTER_PORT="29500", STROBE_HISTORY=str(strobe.folder / "history.db"))
    job = strobe.folder / "strobe-runs" / "marked-j"
    strobe.environment["RANK"] = "1"
    first = strobe.run("--", *PROGRAM.split())
    assert "ranks on" not in first.stderr and not (job / "aggregated_report.json").exists()
    strobe.environment["RANK"] = "0"
    last = strobe.run("--", *PROGRAM.split())
    assert "2 ranks on 1 host, job j: " in last.stderr and "strobe aggregate strobe-runs/marked-j\n" in last.stderr
    assert aggregated(strobe, job)["rank_count"] == 2 and (job / "aggregated_report.html").exists()
    assert rows(strobe) == [(str(job), 2)]
