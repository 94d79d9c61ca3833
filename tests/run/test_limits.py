"""Limits of the shell: the program runs as without strobe, and nothing half written stays."""
import resource
import signal
import subprocess

import pytest

from conftest import LIMIT_S, PYTHON, TOOL

STAGES = "import strobe\nwith strobe.generation(frames=2):\n    with strobe.section('decode'):\n        pass\nraise SystemExit(7)\n"


def limited(strobe, limit, value, *arguments):
    def lower():
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)  # Python ignores it
        resource.setrlimit(limit, (value, value))
    return subprocess.run([TOOL, *arguments], cwd=strobe.folder, env=strobe.environment, capture_output=True, text=True, timeout=LIMIT_S,
                          preexec_fn=lower)


def files(strobe):
    return sorted(p.name for p in strobe.folder.rglob("*"))


def test_reports_that_are_larger_than_a_file_may_be(strobe):
    done = limited(strobe, resource.RLIMIT_FSIZE, 200 << 10, "run", "--", PYTHON, strobe.script(STAGES))
    assert done.returncode == 7
    assert "profiling_report.html" in done.stderr and "File too large" in done.stderr
    assert not [name for name in files(strobe) if "tmp" in name], files(strobe)
    assert "profiling_report.json" in files(strobe) and "decode" in strobe("report", "last").stdout


def test_a_page_that_is_larger_than_a_file_may_be(strobe):
    strobe.run("-q", "--", PYTHON, strobe.script(STAGES))
    before = files(strobe)
    done = limited(strobe, resource.RLIMIT_FSIZE, 100 << 10, "report", "last", "-o", "page.html")
    assert done.returncode == 2 and "File too large" in done.stderr
    assert files(strobe) == before


@pytest.mark.parametrize("ignored", [False, True])
def test_the_program_has_its_own_way_with_the_limit(strobe, ignored):
    """What strobe does about the signal for itself is not the program's."""
    word = "ignored" if ignored else "kept"
    start = "import os, signal, sys\nsignal.signal(signal.SIGXFSZ, signal.SIG_IGN if sys.argv[1] == 'ignored' else signal.SIG_DFL)\nos.execvp(sys.argv[2], sys.argv[2:])\n"
    done = subprocess.run([PYTHON, strobe.script(start), word, TOOL, "run", "-q", "--", "grep", "SigIgn", "/proc/self/status"], cwd=strobe.folder,
                          env=strobe.environment, capture_output=True, text=True, timeout=LIMIT_S)
    assert bool(int(done.stdout.split()[1], 16) >> (signal.SIGXFSZ - 1) & 1) == ignored


@pytest.mark.parametrize("most", [4, 5, 6, 7, 8, 10, 12, 16, 20])
@pytest.mark.parametrize("rank", [False, True])
def test_few_descriptors_leave_the_program_alone(strobe, most, rank):
    if rank:
        strobe.environment.update(SLURM_JOB_ID="9", SLURM_PROCID="0", SLURM_NTASKS="2")
    done = limited(strobe, resource.RLIMIT_NOFILE, most, "run", "--", "/bin/sh", "-c", "echo hello; exit 5")
    if "error while loading shared libraries" in done.stderr:
        pytest.skip("the tool itself does not start with %d descriptors" % most)
    assert (done.returncode, done.stdout) == (5, "hello\n")
    if "unrecorded" in done.stderr:
        assert "Too many open files" in done.stderr and "-o names" not in done.stderr
        empty = [p for p in strobe.folder.rglob("*") if p.is_dir() and p.name not in ("strobe-runs", "last") and not any(p.iterdir())]
        assert not empty
