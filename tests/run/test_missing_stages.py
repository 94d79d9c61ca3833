"""strobe run says why stages are missing: Python without the start-up hook, a stage that no program has."""
import json
import os

import pytest

from conftest import PYTHON


def missing_stages(strobe):
    report = json.loads((strobe.last() / "profiling_report.json").read_text())
    return next((m["why"], m["how"]) for m in report["not_recorded"] if m["what"] == "stages")


@pytest.mark.parametrize("options, option", [(["-I"], "I"), (["-S"], "S"), (["-B", "-Es"], "E"), (["-W", "error", "-BI"], "I")])
def test_python_that_keeps_the_hook_out_is_the_reason(strobe, options, option):
    done = strobe.run("--", PYTHON, *options, strobe.script("pass\n"))
    why, how = missing_stages(strobe)
    assert why == "python was started with -%s, which keeps the start-up hook out" % option
    assert how == "run it without -%s, or 'import strobe; strobe.start()' in the program" % option
    assert why in done.stderr and how in done.stderr


def test_options_of_the_program_are_not_pythons(strobe):
    strobe.run("--", PYTHON, "-c", "pass", "-I")
    assert missing_stages(strobe)[0] == "no program recorded any"
    strobe.run("--", PYTHON, "-X", "importtime", strobe.script("pass\n"), "-S")
    assert missing_stages(strobe)[0] == "no program recorded any"


def test_a_first_line_that_keeps_the_hook_out_is_the_reason(strobe):
    script = strobe.script("#!%s -I\npass\n" % PYTHON, "tool")
    os.chmod(script, 0o755)
    strobe.run("--", script)
    assert "started with -I" in missing_stages(strobe)[0]
    script = strobe.script("#!/usr/bin/env -S %s -E\npass\n" % PYTHON, "tool")
    strobe.run("--", script)
    assert "started with -E" in missing_stages(strobe)[0]


@pytest.mark.parametrize("before, words", [
    (["env", "-u", "PYTHONPATH"], "was started with another PYTHONPATH, without the start-up hook"),
    (["env", "-i"], "was started with a cleared environment, without the start-up hook"),
    (["sh", "-c", "\"$@\"; true", "sh"], None)])
def test_python_that_lost_the_hook_on_the_way_is_the_reason(strobe, before, words):
    """Seen while it runs: it goes on until the tool has looked at it at least once."""
    more = ["-I"] if words is None else []
    waits = strobe.script("import time\nend = time.monotonic() + 1\nwhile time.monotonic() < end:\n    time.sleep(.05)\n")
    strobe.run("--", *before, PYTHON, *more, waits)
    assert (words or "python was started with -I") in missing_stages(strobe)[0]


def test_a_stage_that_only_a_worker_has_is_no_loss_of_its_launcher(strobe):
    (strobe.folder / "worker.py").write_text("def work(): pass\nwork()\n")
    (strobe.folder / "launcher.py").write_text(
        "import subprocess, sys\nfor _ in range(2): subprocess.run([sys.executable, 'worker.py'], check=True)\n")
    done = strobe.run("--stage", "worker:work=4a work", "--stage", "worker:missing=x", "--stage", "never.there:f=y",
                      "--", PYTHON, "launcher.py")
    said = [line for line in done.stderr.splitlines() if "was not recorded" in line]
    assert said == ["strobe: the stage worker:missing was not recorded: the script has no missing",
                    "strobe: the stage never.there:f was not recorded: its module was never imported"]
    assert "[4a] work" in strobe("report", "last").stdout
    report = json.loads(strobe("report", "last", "--format", "json").stdout)
    assert [m["what"] for m in report["not_recorded"] if m["what"].startswith("stage ")] == [
        "stage worker:missing", "stage never.there:f"]
    assert "stages_seen.txt" not in os.listdir(strobe.last())


def test_a_stage_without_any_python_is_said(strobe):
    done = strobe.run("--stage", "mod:f=x", "--", "true")
    assert "the stage mod:f was not recorded: no Python program with the start-up hook ran" in done.stderr
