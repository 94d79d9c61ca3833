"""A recording that is cut short, a folder that cannot be mapped, files that last (H8, T7, R6),
and the environment of a setuid program (H10)."""
import os
import re
import shutil
import stat
import subprocess
import sys
import pathlib

import pytest

from conftest import BUILD, LIMIT_S, TOOL, quiet_environment, report

SOURCES = pathlib.Path(__file__).resolve().parents[2] / "src"
REFUSE = str(BUILD / "tests" / "harm_refuse.so")


def zones(run, name):
    return sum(s["count"] for s in report(run)["stage_analysis"]["stages"] if s["name"] == name)


@pytest.mark.parametrize("size", [0, 5000, 100000, 400000])
def test_cutting_the_recording_does_not_kill_the_program(harm, tmp_path, size):
    """And faults of the program's own go to its own handler, which it gets back."""
    ran = harm("cut", tmp_path, size)
    assert ran.returncode == 0, (ran.returncode, ran.stdout, ran.stderr)
    assert ran.stdout == "alive\n"
    if size >= 5000:  # the header is still there to count in
        recording = report(tmp_path / "last")["recording"]
        # Where the file had grown again before the next store, the hole says it.
        assert recording["drop_reasons"].get("cut") or recording["skipped_bytes"] or not recording["complete"]


def test_a_folder_that_cannot_be_mapped_is_spooled(harm, tmp_path):
    folder = tmp_path / "unmappable"
    folder.mkdir()
    ran = harm("talk", folder, env={"LD_PRELOAD": REFUSE, "HARM_UNMAPPABLE": str(folder), "TMPDIR": str(tmp_path)})
    assert "running unrecorded" not in ran.stderr
    assert zones(folder / "last", "z") == 100
    assert not list((folder / "last").glob("*.spool"))


def test_without_a_spool_the_message_names_what_failed(harm, tmp_path):
    folder = tmp_path / "unmappable"
    folder.mkdir()
    ran = harm("talk", folder, env={"LD_PRELOAD": REFUSE, "HARM_UNMAPPABLE": str(folder), "STROBE_SPOOL": "0"})
    assert "No such device" in ran.stderr and "no room" not in ran.stderr


def test_a_report_is_on_the_disk_before_it_has_its_name(harm, tmp_path):
    harm("talk", tmp_path / "runs")
    log = tmp_path / "log"
    subprocess.run([TOOL, "report", "--write", "--format=json", str(tmp_path / "runs" / "last")], check=True,
                   capture_output=True, timeout=LIMIT_S,
                   env=quiet_environment(LD_PRELOAD=REFUSE, HARM_LOG=str(log)))
    check_flushed_before_renamed(log)


def check_flushed_before_renamed(log):
    calls = log.read_text().split()
    assert "rename" in calls
    for i, call in enumerate(calls):
        if call == "rename":
            assert calls[i - 1] == "fsync"


def test_an_imported_run_is_on_the_disk_before_it_has_its_name(tmp_path):
    trace = tmp_path / "trace.json"
    trace.write_text('{"traceEvents": [{"ph": "X", "name": "a", "ts": 1, "dur": 2, "pid": 1, "tid": 1}]}')
    subprocess.run([TOOL, "import", str(trace), "-o", str(tmp_path / "a.strobe")], check=True, capture_output=True,
                   timeout=LIMIT_S, env=quiet_environment(LD_PRELOAD=REFUSE, HARM_LOG=str(tmp_path / "log")))
    check_flushed_before_renamed(tmp_path / "log")


def test_gathered_recordings_are_on_the_disk_before_their_own_files_go(tmp_path):
    subprocess.run([TOOL, "run", "-q", "-o", str(tmp_path / "runs"), "--", str(BUILD / "tests" / "manyfork"), "60"], check=True,
                   capture_output=True, timeout=LIMIT_S, env=quiet_environment(LD_PRELOAD=REFUSE, HARM_LOG=str(tmp_path / "log")))
    calls = (tmp_path / "log").read_text().split()
    assert calls.count("unlink") >= 60
    assert "fsync" in calls[:calls.index("unlink")]
    assert zones(tmp_path / "runs" / "last", "job") == 60


def test_what_python_writes_is_on_the_disk_before_it_has_its_name(tmp_path):
    program = "from strobe.compat import MemoryTracker; MemoryTracker().export_json('memory.json')"
    subprocess.run([sys.executable, "-c", program], check=True, cwd=tmp_path, timeout=LIMIT_S,
                   env=quiet_environment(PYTHONPATH=str(BUILD / "python"), LD_PRELOAD=REFUSE, HARM_LOG=str(tmp_path / "log")))
    check_flushed_before_renamed(tmp_path / "log")


def test_what_a_setuid_program_loads_reads_the_environment_with_care():
    """secure_getenv: nothing where the program runs with more rights than its user."""
    plain = re.compile(r"(?<![_\w])getenv\(")
    for folder in ("base", "format", "record", "monitor", "gpu"):
        for source in (SOURCES / folder).rglob("*.c"):
            assert not plain.search(source.read_text()), source


def test_the_processors_are_counted_where_descriptors_are_strobes_own():
    """sysconf() opens a file for it: on a thread of the program it closes what the program has under that number meanwhile."""
    found = [(source.name, line) for folder in ("record", "monitor", "gpu") for source in (SOURCES / folder).rglob("*.c")
             for line in re.findall(r"^(?:static )?\w[^;{}\n]*\n\{(?:(?!^\}).)*?_SC_NPROCESSORS", source.read_text(), re.M | re.S)]
    assert [(name, line.splitlines()[0]) for name, line in found] == [("sampler.c", "static int look_at_machine(void *look)")]


@pytest.fixture
def setuid_program(tmp_path):
    if os.geteuid() != 0:
        pytest.skip("needs root, to make a setuid program")
    tmp_path.chmod(0o755)
    for parent in list(tmp_path.parents)[:2]:
        parent.chmod(0o755)
    program = tmp_path / "talk"
    shutil.copy(BUILD / "tests" / "harm_talk", program)
    program.chmod(0o755 | stat.S_ISUID)
    return program


def test_a_setuid_program_ignores_the_users_environment(setuid_program, tmp_path):
    subprocess.run([str(setuid_program), str(tmp_path / "runs")], capture_output=True, timeout=LIMIT_S, user=65534, cwd="/",
                   env=quiet_environment(STROBE_OUTPUT_DIR=str(tmp_path / "strangers")))
    assert (tmp_path / "runs").exists()
    assert not (tmp_path / "strangers").exists()


def test_a_setuid_program_starts_no_tool_that_its_user_put_there(setuid_program, tmp_path):
    """The user chooses PATH and argv[0], which is where a program that links the archive seems to be."""
    folder = tmp_path / "strangers"
    folder.mkdir()
    (folder / "talk").write_text("")
    (folder / "strobe").write_text(f"#!/bin/sh\n: > {folder}/started\n")
    (folder / "strobe").chmod(0o755)
    folder.chmod(0o777)
    subprocess.run([str(folder / "talk"), str(tmp_path / "runs")], executable=str(setuid_program), capture_output=True,
                   timeout=LIMIT_S, user=65534, cwd="/", env={"PATH": str(folder)})
    assert (tmp_path / "runs" / "last" / "run.strobe").exists()
    assert not (folder / "started").exists()
