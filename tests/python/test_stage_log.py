"""stage_log: sections print their line as they end, and the lines make the same stages again."""
import json
import re
import subprocess

import pytest

from conftest import run_program
from strobe import _tool

PROGRAM = """
    import strobe, sys
    CONFIG
    with strobe.section("ProPainter"):
        with strobe.section("I/O", code="3a"):
            pass
        with strobe.section("RAFT optical flow", code="3b", iters=12):
            pass
    with strobe.section("Main inference", code="4f") as main:
        with strobe.section("UNet", code="4f.2", steps=2, frames=81):
            pass
        main.set(batch=4)

    @strobe.section("helper")
    def helper():
        return 7
    assert helper() == 7
    try:
        with strobe.section("Decode", code="4g"):
            raise KeyError
    except KeyError:
        pass
    print("out")
    """
WANTED = [r"  \[3a\] I/O: #s", r"  \[3b\] RAFT optical flow \(12 iters\): #s", r"ProPainter total: #s",
          r"    \[4f\.2\] UNet \(2 steps, 81 frames\): #s", r"  \[4f\] Main inference \(batch=4\) TOTAL: #s", r"helper: #s", r"  \[4g\] Decode: #s"]


def masked(lines):
    return [re.sub(r"\d+\.\d+s$", "#s", line) for line in lines]


def matches(lines):
    return len(lines) == len(WANTED) and all(re.fullmatch(wanted, line) for wanted, line in zip(WANTED, masked(lines)))


@pytest.mark.parametrize("config, env", [("", {"STROBE_STAGE_LOG": "1"}), ("strobe.start('t', config={'stage_log': True})", {})])
def test_each_section_prints_its_line_to_standard_error(tmp_path, config, env):
    done = run_program(tmp_path, PROGRAM.replace("CONFIG", config), env=env)
    assert matches(done.stderr.splitlines()), done.stderr
    assert done.stdout == "out\n"
    # the guide's own filter finds every coded line
    assert len([line for line in done.stderr.splitlines() if re.search(r"\[[0-9][a-z]", line)]) == 5


def test_a_yaml_file_or_a_file_name_say_it_too(tmp_path):
    (tmp_path / "c.yaml").write_text("profiling:\n  enabled: true\n  stage_log: stages.log\n")
    done = run_program(tmp_path, PROGRAM.replace("CONFIG", "strobe.start('t', config='c.yaml')"))
    assert done.stderr == "" and matches((tmp_path / "stages.log").read_text().splitlines())


def test_off_nothing_is_printed_and_sections_are_the_extensions_own(tmp_path):
    done = run_program(tmp_path, PROGRAM.replace("CONFIG", "assert type(strobe.section('x')).__module__ != 'strobe._stage_log'"), env={"STROBE_STAGE_LOG": "0"})
    assert done.stderr == ""


def test_compat_prints_its_stages_too(tmp_path):
    done = run_program(tmp_path, """
        from strobe.compat import profile_section
        with profile_section("vae_decode"):
            pass
        """, env={"STROBE_STAGE_LOG": "1"})
    assert re.fullmatch(r"vae_decode: \d+\.\d+s\n", done.stderr)


@pytest.mark.skipif(_tool.path() is None, reason="the strobe command is not there")
def test_the_lines_read_back_are_the_same_stages(tmp_path):
    run_program(tmp_path, PROGRAM.replace("CONFIG", ""), env={"STROBE_STAGE_LOG": str(tmp_path / "stages.log")})
    report = json.loads(subprocess.run([_tool.path(), "report", tmp_path / "stages.log", "--format", "json"], stdout=subprocess.PIPE, check=True).stdout)
    rows = {s["name"]: s for s in report["stage_analysis"]["stages"]}
    assert set(rows) == {"ProPainter", "I/O", "RAFT optical flow", "Main inference", "UNet", "Decode"}
    assert rows["UNet"]["parent"] == "Main inference" and rows["RAFT optical flow"]["parent"] == "ProPainter"
    assert rows["RAFT optical flow"]["code"] == "3b" and rows["RAFT optical flow"]["attributes"] == {"iters": 12}
