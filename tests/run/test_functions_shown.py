"""Functions that were sampled are on the first screen, in the text and in the page's data."""
import json
import re

from conftest import PYTHON

SCRIPT = """
import time
def slow_filter(until):
    total = 0
    while time.perf_counter() < until:
        total += sum(range(1000))
    return total
slow_filter(time.perf_counter() + 1.0)
"""


def test_functions_are_in_every_face_of_a_run_without_stages(strobe):
    done = strobe.run("--sample=200", "--", PYTHON, strobe.script(SCRIPT))
    assert done.returncode == 0, done.stderr
    said = done.stdout + done.stderr
    assert re.search(r"\d+ % of the run in slow_filter \(", said), said
    folder = next(strobe.folder.rglob("profiling_report.json")).parent
    report = json.loads((folder / "profiling_report.json").read_text())
    assert any("slow_filter" in f["name"] for f in report["function_samples"]["functions"])
    assert "--sample" not in json.dumps(report["recommendations"]), "samples are there"
    page = (folder / "profiling_report.html").read_text()
    data = json.loads(re.search(r'<script[^>]*id="strobe-report"[^>]*>(.*?)</script>', page, re.S).group(1))
    assert data["function_samples"] == report["function_samples"]


def test_a_program_without_stages_names_its_functions_unasked(strobe):
    done = strobe.run("--", PYTHON, strobe.script(SCRIPT.replace("+ 1.0", "+ 3.0")))
    assert done.returncode == 0, done.stderr
    said = done.stdout + done.stderr
    assert re.search(r"\d+ % of the run in slow_filter \(", said), said
    assert "Not recorded: stages" in said, "how to get stages is still said"


def test_a_program_of_a_moment_gets_no_recording_of_its_own(strobe):
    done = strobe.run("--", PYTHON, "-c", "pass")
    assert done.returncode == 0, done.stderr
    assert not list(strobe.folder.rglob("run.[0-9]*.strobe"))


def test_what_python_does_after_the_last_line_is_told_from_what_has_no_name(strobe):
    script = SCRIPT.replace("slow_filter(time.perf_counter() + 1.0)", """
import strobe
class Heavy:
    def __del__(self, clock=time.perf_counter):
        end = clock() + 1.5
        while clock() < end:
            pass
kept = Heavy()
with strobe.generation():
    slow_filter(time.perf_counter() + 0.6)
""")
    done = strobe.run("--", PYTHON, strobe.script(script))
    assert done.returncode == 0, done.stderr
    report = json.loads(next(strobe.folder.rglob("profiling_report.json")).read_text())
    assert report["unattributed"]["run"]["exit_s"] > 0
    assert "of it after the program's last line)" in done.stdout + done.stderr
