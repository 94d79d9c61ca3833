"""Ranks below `strobe run`: each with its own GPU, CPU and memory; the first screen is about them."""
import json
import os
import sqlite3
import subprocess

from conftest import BUILD, TOOL

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


def test_a_job_below_a_launcher_is_known_by_the_command_that_started_it(strobe):
    for argument in "a", "b":
        assert strobe.run("--", "sh", "-c", LAUNCHER.format(PROGRAM), "launcher", argument).returncode == 0
    rank = json.loads(strobe("report", "last/rank_1", "--format", "json").stdout)
    assert rank["session_info"]["command"].endswith(" launcher b")
    changed, = [line for line in strobe("diff", "last~1", "last").stdout.splitlines() if "command:" in line]
    assert " launcher a -> " in changed and changed.endswith(" launcher b")
    assert strobe("share", "last/rank_1", "-o", "rank.html").returncode == 0
    assert "command" not in json.loads(strobe("report", "rank.html", "--format", "json").stdout)["session_info"]


def test_a_launcher_whose_ranks_record_nothing_says_how_they_would(strobe):
    launcher = strobe.folder / "mpirun"
    launcher.write_text("#!/bin/sh\nfor r in 0 1; do OMPI_COMM_WORLD_RANK=$r OMPI_COMM_WORLD_SIZE=2 \"$@\" & done; wait\n")
    launcher.chmod(0o755)
    told = " ".join(strobe.run("--", str(launcher), "true").stderr.split())
    assert "Not recorded: ranks: no process that mpirun started recorded anything" in told
    assert "mpirun ... strobe run -- PROGRAM" in told
    told = strobe.run("--", str(launcher), *PROGRAM.split()).stderr
    assert "2 ranks on 1 host" in told and "Not recorded: ranks" not in told


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


def test_a_rank_that_ends_while_others_run_has_one_line(strobe):
    os.mkfifo(strobe.folder / "until")
    around = dict(strobe.environment, WORLD_SIZE="2", TORCHELASTIC_RUN_ID="j", MASTER_PORT="29500")
    other = subprocess.Popen([TOOL, "run", "-q", "--name", "t", "--", "sh", "-c", "echo ready; read line < until"], cwd=strobe.folder,
                             env=dict(around, RANK="1"), stdout=subprocess.PIPE)
    try:
        assert other.stdout.readline() == b"ready\n"
        strobe.environment.update(around, RANK="0")
        lines = strobe.run("--name", "t", "--", *PROGRAM.split()).stderr.split("\n")
        (line,) = [line for line in lines if "strobe" in line]
        assert line.startswith("== strobe: t, rank 0 of 2, exit 0, ") and line.endswith("t-j/rank_0/profiling_report.html")
    finally:
        (strobe.folder / "until").write_text("\n")
        assert other.wait(timeout=60) == 0


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


# what torchrun does on one node, without torch
NODE = "; ".join(f"RANK=$((2 * SLURM_PROCID + {r})) LOCAL_RANK={r} WORLD_SIZE=4 TORCHELASTIC_RUN_ID=77 {PROGRAM}" for r in (0, 1))


def below_srun(strobe):
    """A launcher on each of two nodes: the job's folder has a folder for each node, with two ranks in it."""
    strobe.environment.update(SLURM_LOCALID="0", SLURM_NTASKS="2", SLURM_NNODES="2", SLURM_JOB_ID="77", SLURM_STEP_ID="0")
    for node in "01":
        strobe.environment["SLURM_PROCID"] = node
        done = strobe.run("--", "sh", "-c", NODE)
        assert done.returncode == 0, done.stderr
    for name in [name for name in strobe.environment if name.startswith("SLURM")]:
        del strobe.environment[name]
    return only_run(strobe), done


def test_every_rank_of_every_node_has_a_name_that_opens(strobe):
    job, last = below_srun(strobe)
    hint = f"strobe report strobe-runs/{job.name}/rank_0"
    assert hint in last.stderr, last.stderr
    for rank in range(4):
        for name in (f"{job.name}.rank_{rank}", f"{job.name}/rank_{rank}", str(job / f"rank_{rank}"), f"strobe-runs/{job.name}/rank_{rank}/"):
            shown = strobe("report", name)
            assert shown.returncode == 0 and f", rank {rank} of 4," in shown.stdout, (name, shown.stdout, shown.stderr)
        for command in (["diff", name, name], ["export", name, "--to", "csv", "-o", f"out{rank}"], ["history", "add", name], ["aggregate", name]):
            done = strobe(*command)
            assert done.returncode == 0, (command, done.stderr)
    assert aggregated(strobe, str(job / "rank_1" / "."))["missing_ranks"] == [0, 1]  # the node itself
    assert aggregated(strobe, str(job))["rank_count"] == 4


def runs_of_mcp(strobe):
    calls = [{"jsonrpc": "2.0", "id": 1, "method": "initialize",
              "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}},
             {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "runs", "arguments": {}}}]
    done = strobe("mcp", "strobe-runs", input="".join(json.dumps(call) + "\n" for call in calls))
    return json.loads(json.loads(done.stdout.splitlines()[1])["result"]["content"][0]["text"])["runs"]


def test_the_list_of_runs_says_how_long_a_report_says_they_took(strobe):
    job, _ = below_srun(strobe)
    strobe.environment.update(WORLD_SIZE="2", TORCHELASTIC_RUN_ID="j", MASTER_PORT="29500")
    for rank in "01":  # a recording of the tool's and one of the program's in each folder
        strobe.environment["RANK"] = rank
        assert strobe.run("--", *PROGRAM.split()).returncode == 0
    listed = runs_of_mcp(strobe)
    assert [r.get("rank_count") for r in listed] == [2, None, None, 4, None, None, None, None]
    for run in listed:
        report = json.loads(strobe("report", run["id"], "--format", "json").stdout)
        wall_s = report["metrics"]["wall_s"]["max_value"] if "rank_count" in run else report["summary"]["wall_s"]
        assert abs(run["duration_s"] - wall_s) < 1e-6 + 1e-4 * wall_s, (run, wall_s)  # each recording measured its clock
