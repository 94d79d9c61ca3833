"""The source lines that a report looked at stay with the run: the same findings after the fix, and on another machine."""
import json
import os
import pathlib
import shutil
import subprocess
import sys

BUILD = pathlib.Path(os.environ.get("STROBE_BUILD", pathlib.Path(__file__).resolve().parents[2] / "build"))
TOOL = BUILD / "strobe"

PROGRAM = '''
import strobe
from strobe import _native as native

strobe.start()
while native.sampler_seen() < 20:
    with strobe.section("generation"):
        sum(range(100000))
'''


def strobe(folder, *words):
    env = {key: value for key, value in os.environ.items() if not key.startswith("STROBE_")}
    done = subprocess.run([TOOL, *words], cwd=folder, env={**env, "PYTHONPATH": str(BUILD / "python")}, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def told(folder, run):
    """What a report says that depends on the source: its lines and its findings."""
    report = json.loads(strobe(folder, "report", "--format", "json", run))
    return [(line["line"], line.get("source")) for line in report["hot_lines"]], report["recommendations"]


def test_a_report_needs_no_source_once_the_run_has_ended(tmp_path):
    program = tmp_path / "loop.py"
    program.write_text(PROGRAM)
    strobe(tmp_path, "run", "-q", "--", sys.executable, "loop.py")
    run = tmp_path / "strobe-runs" / "last"
    before = told(tmp_path, run)
    assert (8, "sum(range(100000))") in before[0]
    program.write_text("import fixed\n" * 9)
    assert told(tmp_path, run) == before
    program.unlink()
    assert told(tmp_path, run) == before
    strobe(tmp_path, "export", "--to", "packed", run, "-o", "packed")
    shutil.rmtree(run.resolve())
    assert told(tmp_path, "packed") == before
