"""Jobs of a real Slurm: one node, two tasks. Whichever side of srun `strobe run` stands on, it is one job of two ranks."""
import json
import pathlib
import sqlite3
import subprocess

import pytest

import slurm
from conftest import BUILD, LIMIT_S, TOOL

MARKED = [str(BUILD / "tests" / "marked"), "3"]
# what torchrun does on one node, without torch: a process for each rank of the node, told by its environment
TORCHRUN = """for r in 0 1; do
  RANK=$((2 * SLURM_PROCID + r)) LOCAL_RANK=$r WORLD_SIZE=4 TORCHELASTIC_RUN_ID=77 MASTER_PORT=29500 "$@" &
done
wait"""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    with slurm.slurm(tmp_path_factory.mktemp("slurm")) as around:
        yield around["SLURM_CONF"]


@pytest.fixture
def launch(strobe, cluster):
    """Run a command line of Slurm in the test's folder."""
    history = strobe.folder / "history.db"
    strobe.environment.update(SLURM_CONF=cluster, STROBE_HISTORY=str(history))

    def launched(*command):
        done = subprocess.run(command, cwd=strobe.folder, env=strobe.environment, capture_output=True, text=True, timeout=LIMIT_S)
        assert done.returncode == 0, done.stderr
        return done
    return launched


def the_job(strobe, ranks):
    """The report of the only job there is, and the only row of the history."""
    (run,) = [p for p in (strobe.folder / "strobe-runs").iterdir() if not p.is_symlink()]
    done = strobe("report", str(run), "--format", "json")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert (report["rank_count"], report["world_size_count"], report["missing_ranks"], report["left_out"]) == (ranks, ranks, [], [])
    assert [one["rank"] for one in report["reports_summary"]] == list(range(ranks))
    with sqlite3.connect(strobe.folder / "history.db") as db:
        rows = db.execute("SELECT dir, (SELECT count(*) FROM ranks WHERE run = id) FROM runs").fetchall()
    assert rows == [(str(run.resolve()), ranks)]
    assert (run / "aggregated_report.html").exists()
    return report


def test_strobe_run_below_srun(strobe, launch):
    done = launch("srun", "-n2", TOOL, "run", "--", *MARKED)
    the_job(strobe, 2)
    assert "2 ranks on 1 host, job " in done.stderr  # by the rank that ended last
    assert "strobe aggregate strobe-runs/marked-" in done.stderr


def every_rank_has_its_memory(report):
    return all(one["metrics"]["rss_peak_bytes"] > 0 for one in report["reports_summary"])


def test_strobe_run_above_srun(strobe, launch):
    done = launch(TOOL, "run", "--", "srun", "-n2", *MARKED)
    assert "Launcher and its child processes: CPU " in done.stderr and "Program: CPU" not in done.stderr  # slurmd started the ranks
    assert every_rank_has_its_memory(the_job(strobe, 2))


def test_strobe_run_in_a_batch_script_is_no_task_of_its_job(strobe, launch):
    pathlib.Path(strobe.script('#!/bin/sh\nexec "$STROBE" run -- srun -n2 "$MARKED" 3\n', "batch.sh")).chmod(0o755)
    strobe.environment.update(STROBE=TOOL, MARKED=MARKED[0])
    launch("sbatch", "-W", "-n2", "-o", "out.txt", "batch.sh")
    assert every_rank_has_its_memory(the_job(strobe, 2))
    assert "2 ranks on 1 host, job " in (strobe.folder / "out.txt").read_text()


def test_a_launcher_on_every_node_below_srun(strobe, launch):
    launch("srun", "-n2", TOOL, "run", "--", "sh", "-c", TORCHRUN, "torchrun", *MARKED)
    the_job(strobe, 4)


def test_two_steps_of_one_job_are_two_attempts(strobe, launch):
    pathlib.Path(strobe.script('#!/bin/sh\nfor i in 1 2; do srun -n2 "$STROBE" run -q -- "$MARKED" 3; done\n', "batch.sh")).chmod(0o755)
    strobe.environment.update(STROBE=TOOL, MARKED=MARKED[0])
    launch("sbatch", "-W", "-n2", "-o", "out.txt", "batch.sh")
    first, second = sorted(p for p in (strobe.folder / "strobe-runs").iterdir() if not p.is_symlink())
    assert second.name == first.name + ".2"
    report = json.loads(strobe("report", str(first), "--format", "json").stdout)
    assert [one["attempt_index"] for one in report["attempts"]] == [1, 2] and report["attempts"][1]["taken"]


def test_a_requeued_job_is_another_attempt(strobe, launch):
    script = """#!/bin/sh
srun -n2 "$STROBE" run -q -- "$MARKED" 3
test "${SLURM_RESTART_COUNT:-0}" = 0 || exit 0
scontrol requeue "$SLURM_JOB_ID"
exec sleep 600  # until Slurm ends it
"""
    pathlib.Path(strobe.script(script, "batch.sh")).chmod(0o755)
    strobe.environment.update(STROBE=TOOL, MARKED=MARKED[0])
    number = launch("sbatch", "--parsable", "--requeue", "-n2", "-o", "out.txt", "batch.sh").stdout.strip()

    def ended():
        state = launch("squeue", "-h", "-o", "%T").stdout.strip()
        if state == "PENDING":  # Slurm waits two minutes before it starts a job again
            subprocess.run(["scontrol", "update", "jobid=" + number, "StartTime=now"], env=strobe.environment, capture_output=True)
        return not state
    slurm.wait_for(ended, [], "end of the job")
    first, second = sorted(p for p in (strobe.folder / "strobe-runs").iterdir() if not p.is_symlink())
    assert second.name == first.name + ".2"
    report = json.loads(strobe("report", str(first), "--format", "json").stdout)
    assert [(one["attempt_index"], one.get("taken", False)) for one in report["attempts"]] == [(1, False), (2, True)]
    assert report["rank_count"] == 2 and report["reports_summary"][0]["run"].endswith(".2/rank_0")
