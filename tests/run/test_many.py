"""Runs of very many processes: small files, few descriptors, a whole report."""
import json
import resource
import subprocess

import pytest

from conftest import BUILD, LIMIT_S, PYTHON

WORKERS = 1500


def few_descriptors():
    resource.setrlimit(resource.RLIMIT_NOFILE, (1024, 1024))


def stage(report, name):
    return next(s for s in report["stage_analysis"]["stages"] if s["name"] == name)


def test_many_short_workers_give_a_whole_report(strobe):
    done = strobe.run("-q", "--", str(BUILD / "tests" / "manyfork"), str(WORKERS), preexec_fn=few_descriptors)
    assert done.returncode == 0, done.stderr
    report = json.loads((strobe.last() / "profiling_report.json").read_text())
    assert stage(report, "job")["count"] == WORKERS
    assert report["recording"]["dropped_count"] == 0
    assert sum(f.stat().st_size for f in strobe.last().glob("*.strobe")) < (WORKERS + 100) * 65536


def test_many_short_workers_of_a_program_that_records_itself(strobe):

    done = subprocess.run([str(BUILD / "tests" / "manyfork"), "200"], cwd=strobe.folder, env=strobe.environment,
                          capture_output=True, text=True, timeout=LIMIT_S)
    assert done.returncode == 0, done.stderr

    def very_few():
        resource.setrlimit(resource.RLIMIT_NOFILE, (100, 100))

    done = strobe("report", "--format", "json", preexec_fn=very_few)
    assert done.returncode == 0, done.stderr
    assert stage(json.loads(done.stdout), "job")["count"] == 200


def test_many_short_workers_leave_few_files(strobe):
    done = strobe.run("-q", "--", str(BUILD / "tests" / "manyfork"), "300")
    assert done.returncode == 0, done.stderr
    run = strobe.last()
    assert {f.name for f in run.glob("*.strobe")} >= {"run.strobe", "run.workers.strobe"}
    assert len(list(run.glob("*.strobe"))) == 3  # the tool's, the command's, all workers'
    again = json.loads(strobe("report", "--format", "json").stdout)
    assert stage(again, "job")["count"] == 300
    assert stage(again, "parent")["count"] == 1

    (run / "run.workers.copy.strobe").write_bytes((run / "run.workers.strobe").read_bytes())
    again = json.loads(strobe("report", "--format", "json").stdout)
    assert stage(again, "job")["count"] == 300, "gathered and not yet removed is one recording"
    (run / "run.workers.copy.strobe").unlink()

    done = strobe("export", "--to", "packed", "-o", "packed")
    assert done.returncode == 0, done.stderr
    assert stage(json.loads(strobe("report", "packed", "--format", "json").stdout), "job")["count"] == 300


def test_programs_that_end_at_once_are_gathered_by_what_they_used(strobe):
    done = strobe.run("-q", "--", str(BUILD / "tests" / "manyfork"), "60", "exec")
    assert done.returncode == 0, done.stderr
    assert len(list(strobe.last().glob("*.strobe"))) == 3
    assert (strobe.last() / "run.workers.strobe").stat().st_size < 60 * 65536
    assert stage(json.loads(strobe("report", "--format", "json").stdout), "job")["count"] == 60


def test_a_gathered_file_that_is_cut_gives_what_it_has(strobe):
    strobe.run("-q", "--", str(BUILD / "tests" / "manyfork"), "100")
    gathered = strobe.last() / "run.workers.strobe"
    whole = gathered.read_bytes()
    for size in (0, 10, 5000, len(whole) // 2, len(whole) - 1):
        gathered.write_bytes(whole[:size])
        done = strobe("report", "--format", "json")
        assert done.returncode == 0, done.stderr
        report = json.loads(done.stdout)
        assert stage(report, "parent")["count"] == 1
        jobs = [s["count"] for s in report["stage_analysis"]["stages"] if s["name"] == "job"]
        assert jobs == [] if size <= 5000 else 0 < jobs[0] < 100


def test_workers_beyond_the_budget_are_dropped_and_said(strobe):
    done = strobe.run("-q", "--max-trace-bytes", "2MiB", "--", str(BUILD / "tests" / "manyfork"), "400")
    assert done.returncode == 0, done.stderr
    report = json.loads((strobe.last() / "profiling_report.json").read_text())
    count = stage(report, "job")["count"]
    said = [m for m in report["not_recorded"] if m["what"] == "recordings of %d processes" % (400 - count)]
    assert 0 < count < 400 and said
    assert (strobe.last() / "run.workers.strobe").stat().st_size < 3 << 20


def test_workers_cut_off_take_one_line_of_the_report(strobe):
    strobe.environment["STROBE_HOOK"] = "0"
    assert strobe.run("-q", "--", str(BUILD / "tests" / "manyfork"), "40").returncode == 0
    said = [line for line in strobe("report", "last").stdout.splitlines() if "ended without a stop" in line]
    assert len(said) == 1 and "40 processes (" in said[0], said


def test_a_file_that_is_still_mapped_is_not_gathered(strobe):
    """As of a process in a container, whose pid means another one out here."""
    script = strobe.script(
        "import mmap, os, subprocess, sys, time\n"
        "subprocess.run([sys.argv[1], '40'], check=True)\n"
        "folder = os.environ['STROBE_RUN_DIR']\n"
        "names = sorted(n for n in os.listdir(folder) if n.startswith('run.') and n[4].isdigit())\n"
        "with open(os.path.join(folder, names[0]), 'r+b') as file:\n"
        "    kept = mmap.mmap(file.fileno(), 0)\n"
        "if os.fork():\n"
        "    print(names[0], flush=True)\n"
        "    os._exit(0)\n"
        "os.close(1)\n"
        "sys.stdin.read()\n")
    strobe.environment["STROBE_HOOK"] = "0"
    tool = strobe.start("run", "-q", "--", PYTHON, script, str(BUILD / "tests" / "manyfork"), stdin=-1, stdout=-1)
    name = tool.stdout.readline().decode().strip()
    assert tool.wait(LIMIT_S) == 0  # the mapping is held until standard input ends
    kept = (strobe.last() / name).exists()
    gathered = (strobe.last() / "run.workers.strobe").exists()
    tool.stdin.close()
    assert kept and gathered


# ---- the bound of the whole run ---------------------------------------------------------

MIB = 1 << 20


def live(strobe, workers, zones, *options):
    """The report, and what the recordings took while all workers lived."""
    done = strobe.run("-q", *options, "--", str(BUILD / "tests" / "manylive"), str(workers), str(zones))
    assert done.returncode == 0, done.stderr
    return json.loads((strobe.last() / "profiling_report.json").read_text()), int(done.stdout)


@pytest.mark.parametrize("spooled", [False, True])
def test_processes_that_live_together_stay_within_the_bound_of_the_run(strobe, spooled):
    workers, zones = 24, 200_000  # 3 MiB of zones each
    if spooled:
        strobe.environment.update(STROBE_SPOOL="1", STROBE_SPOOL_DIR=str(strobe.folder))
    report, at_most = live(strobe, workers, zones, "--max-trace-bytes", "8MiB", "--max-run-bytes", "12MiB")
    assert at_most < 12 * MIB + workers * 65536  # each may take a step at the same moment
    assert report["recording"]["limited_by"] == "max_run_bytes"
    assert stage(report, "job")["count"] + report["recording"]["dropped_count"] // 2 == workers * zones
    assert not [m for m in report["not_recorded"] if "max_run_bytes" in m["why"]]
    assert "max_run_bytes" in strobe("report").stdout


def test_processes_that_find_no_room_in_the_run_are_counted(strobe):
    report, at_most = live(strobe, 60, 1, "--max-trace-bytes", "1MiB", "--max-run-bytes", "1MiB")
    said = [m for m in report["not_recorded"] if m["what"].endswith("more processes")]
    assert stage(report, "job")["count"] < 60 and len(said) == 1
    assert said[0]["what"] == "recordings of %d more processes" % (60 - stage(report, "job")["count"])
    assert at_most < MIB + 4 * 65536 + MIB  # the tool's own has its own bound
    assert not (strobe.last() / "unrecorded.txt").exists()


def test_processes_that_record_little_take_little(strobe):
    _, at_most = live(strobe, 40, 10)
    assert at_most < 42 * 65536 + 2 * MIB
