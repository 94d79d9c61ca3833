"""Runs of very many processes: small files, few descriptors, a whole report."""
import json
import resource
import subprocess

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
