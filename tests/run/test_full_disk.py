"""A full disk: the program runs on, and what could not be recorded is counted."""
import json
import subprocess

import pytest

from conftest import BUILD, PYTHON

ZONES = "import strobe\nfor _ in range(100):\n    with strobe.section('step'): pass\n"
FILL = """
import os, sys
fill = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT, 0o600)
try:
    while os.write(fill, bytes(4096)): pass
except OSError:
    pass
"""
CHILDREN = """
import subprocess
for _ in range(2):
    subprocess.run([sys.executable, "-c", "import strobe\\nwith strobe.section('job'): pass"])
"""
EMPTY = "os.unlink(sys.argv[1])\n"


@pytest.fixture
def small_disk(strobe):
    def mount(size):
        made = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=%s" % size, "tmpfs", str(disk)], capture_output=True)
        if made.returncode:
            pytest.skip("no filesystem can be mounted here")
        return disk

    disk = strobe.folder / "disk"
    disk.mkdir()
    yield mount
    subprocess.run(["umount", str(disk)], capture_output=True)


@pytest.mark.parametrize("size", ["4k", "64k", "600k"])
def test_a_full_disk_does_not_stop_the_program(strobe, small_disk, size):
    disk = small_disk(size)
    done = strobe.run("-o", str(disk / "runs"), "--", "sh", "-c", "echo ran; exit 4")
    assert (done.returncode, done.stdout) == (4, "ran\n")
    if size == "4k":
        assert done.stderr == "strobe run: no room on the disk for a recording\nstrobe: the command runs unrecorded\n"
        assert list((disk / "runs").iterdir()) == []
    else:
        assert "== strobe: sh, exit 4" in done.stderr
        assert ("No space left on device" in done.stderr) == (size == "64k")


@pytest.mark.parametrize("size", ["600k", "1m", "1536k", "2m", "3m"])
def test_the_own_recording_of_the_tool_leaves_room_for_the_program(strobe, small_disk, size):
    strobe.environment["PYTHONPATH"] = str(BUILD / "python")
    runs = small_disk(size) / "runs"
    done = strobe.run("-o", str(runs), "--", PYTHON, strobe.script(ZONES))
    assert done.returncode == 0 and "unrecorded" not in done.stderr
    report = json.loads(strobe("report", str(runs), "--format", "json").stdout)
    assert [(s["name"], s["count"]) for s in report["stage_analysis"]["stages"]] == [("step", 100)]


@pytest.mark.parametrize("more, count", [("", 1), (CHILDREN, 3)], ids=["one", "three"])
def test_processes_that_find_the_disk_full_are_counted(strobe, small_disk, more, count):
    strobe.environment["PYTHONPATH"] = str(BUILD / "python")
    disk = small_disk("2m")
    done = strobe.run("-o", str(disk / "runs"), "--", PYTHON, strobe.script(FILL + ZONES + more + EMPTY), str(disk / "fill"))
    whose = "%d process%s" % (count, "" if count == 1 else "es")
    assert done.returncode == 0
    assert done.stderr.count("strobe: no room on the disk for a recording; running unrecorded\n") == count
    assert "Not recorded: recordings of %s: no room on the disk\n" % whose in done.stderr
    assert "\nstrobe: %s unrecorded, " % whose in done.stderr
    assert "0 events dropped" not in done.stderr and "--labels" not in done.stderr
    report = json.loads(strobe("report", str(disk / "runs"), "--format", "json").stdout)
    assert {"what": "recordings of " + whose, "why": "no room on the disk", "how": "make room, or record to another disk (-o)"} in report["not_recorded"]
    assert not [m for m in report["not_recorded"] if m["what"] == "stages"]
    assert report["recording"]["complete"] is False
    assert not list((disk / "runs").glob("*/unrecorded.*"))
    for form in ("text", "markdown"):
        said = strobe("report", str(disk / "runs"), "--format", form).stdout
        assert whose + " unrecorded" in said and "0 dropped" not in said and "0 events dropped" not in said and ", not of all processes" in said
    assert "recordings of %s are missing" % whose in strobe("aggregate", str(disk / "runs")).stdout


def test_a_disk_without_room_for_anything_still_counts_the_program(strobe, small_disk):
    strobe.environment["PYTHONPATH"] = str(BUILD / "python")
    done = strobe.run("-o", str(small_disk("64k") / "runs"), "--", PYTHON, strobe.script(ZONES))
    assert done.returncode == 0
    assert "recordings of 1 process: no room on the disk" in done.stderr and "--labels" not in done.stderr


def test_a_child_without_room_is_counted_without_the_tool_too(strobe, small_disk):
    """The program starts the session itself: no one waits for its children, who leave a note."""
    disk = small_disk("2m")
    program = "import sys, os, strobe\nstrobe.start(output_dir=sys.argv[2])\n" + FILL + """
import subprocess
subprocess.run([sys.executable, "-c", "import strobe\\nwith strobe.section('job'): pass"])
os.unlink(sys.argv[1])
"""
    subprocess.run([PYTHON, "-c", program, str(disk / "fill"), str(disk / "runs")], check=True, capture_output=True,
                   env=dict(strobe.environment, PYTHONPATH=str(BUILD / "python")))
    report = json.loads(strobe("report", str(disk / "runs"), "--format", "json").stdout)
    assert {"what": "recordings of 1 process", "why": "no room on the disk", "how": "make room, or record to another disk (-o)"} in report["not_recorded"]
    assert report["recording"]["complete"] is False
