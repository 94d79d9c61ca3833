"""Runs of very many processes: small files, few descriptors, a whole report."""
import json
import resource

from conftest import BUILD, LIMIT_S

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
    import subprocess
    done = subprocess.run([str(BUILD / "tests" / "manyfork"), "200"], cwd=strobe.folder, env=strobe.environment,
                          capture_output=True, text=True, timeout=LIMIT_S)
    assert done.returncode == 0, done.stderr

    def very_few():
        resource.setrlimit(resource.RLIMIT_NOFILE, (100, 100))

    done = strobe("report", "--format", "json", preexec_fn=very_few)
    assert done.returncode == 0, done.stderr
    assert stage(json.loads(done.stdout), "job")["count"] == 200
