"""STROBE_STAGE_LOG in a C program: zones print the lines that stage logs have, and the recording stays as it is."""
import json
import re
import subprocess

import pytest

from conftest import BUILD

STAGED = BUILD / "tests" / "staged"
LINES = """    [3b] RAFT optical flow (12 iters, batch=4): T
ProPainter total: T
    [4f.1] Text encode: T
  [4f] Main inference TOTAL: T
  never ended: T
outer: T
video (81 frames): T
beside it: T
"""


def timeless(text):
    return re.sub(r"\d+\.\d+s$", "T", text, flags=re.M)


def run(strobe, **environment):
    done = subprocess.run([STAGED], cwd=strobe.folder, env={**strobe.environment, **environment}, capture_output=True, text=True, check=True)
    return done.stdout, done.stderr


def stages(strobe):
    report = json.loads(strobe("report", "--format", "json").stdout)
    return {(s.get("code"), s["name"]): s["count"] for s in report["stage_analysis"]["stages"]}


def test_each_zone_prints_its_line_as_it_ends(strobe):
    out, err = run(strobe, STROBE_STAGE_LOG="1")
    assert timeless(err) == LINES and out == ""


def test_a_file_gets_the_lines_and_is_a_run_for_every_command(strobe):
    for _ in range(2):
        assert run(strobe, STROBE_STAGE_LOG="stages.log") == ("", "")
    text = (strobe.folder / "stages.log").read_text()
    assert timeless(text) == 2 * LINES
    (strobe.folder / "one.log").write_text("".join(text.splitlines(True)[:4]))
    assert "[3b] RAFT optical flow" in strobe("report", "one.log").stdout


@pytest.mark.parametrize("value", ["", "0", "false", "off"])
def test_off_prints_nothing(strobe, value):
    assert run(strobe, STROBE_STAGE_LOG=value) == ("", "")


def test_the_recording_is_the_same_with_and_without(strobe):
    run(strobe)
    without = stages(strobe)
    run(strobe, STROBE_STAGE_LOG="1")
    assert stages(strobe) == without and ("3b", "RAFT optical flow") in without


def test_a_file_that_cannot_be_written_costs_nothing(strobe):
    assert run(strobe, STROBE_STAGE_LOG="/nowhere/at/all.log") == ("", "")
    assert ("3b", "RAFT optical flow") in stages(strobe)


def test_under_strobe_run_the_lines_go_to_the_commands_own_standard_error(strobe):
    strobe.environment["STROBE_STAGE_LOG"] = "1"
    assert LINES in timeless(strobe.run("-q", "--", str(STAGED)).stderr)
