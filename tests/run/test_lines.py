"""@profile under strobe run: a stage, and a table of its lines."""
import json
import os
import pathlib
import re
import subprocess
import sys


BUILD = pathlib.Path(os.environ.get("STROBE_BUILD", pathlib.Path(__file__).resolve().parents[2] / "build"))
TOOL = BUILD / "strobe"

PROGRAM = '''
@profile
def slow(n):
    total = 0
    for i in range(n):
        total += helper(i)
    return total


def helper(i):
    return i * i


@profile
def lazily():
    yield 1


class Model:
    @profile
    def forward(self, x):
        return x + 1


print(slow(10), slow(5), list(lazily()), Model().forward(1))
'''


def environment():
    return {key: value for key, value in os.environ.items() if not key.startswith("STROBE_")}


def recorded(tmp_path, source, *options, code=0):
    (tmp_path / "script.py").write_text(source)
    done = subprocess.run([TOOL, "run", "-q", "-o", tmp_path / "runs", *options, "--", sys.executable, "script.py"], cwd=tmp_path, env=environment(),
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert done.returncode == code, done.stderr
    return done


def hits(table):
    return {int(m.group(1)): int(m.group(2)) for m in re.finditer(r"^ *(\d+) +(\d+) +[\d.]+ +[\d.]+ +[\d.]+  ", table, re.M)}


def test_each_line_is_counted_and_the_function_is_a_stage(tmp_path):
    done = recorded(tmp_path, PROGRAM)
    assert done.stdout == "285 30 [1] 2\n"
    table = next((tmp_path / "runs").glob("*-*/line_profile.txt")).read_text()
    assert table in done.stderr
    slow, forward = table.split("Function: slow")[1].split("Function: Model.forward")
    assert hits(slow) == {4: 2, 5: 17, 6: 15, 7: 2} and hits(forward) == {22: 1}
    assert "total += helper(i)" in slow and "helper at line" not in table
    report = json.loads(subprocess.run([TOOL, "report", tmp_path / "runs", "--format", "json"], stdout=subprocess.PIPE, check=True, env=environment()).stdout)
    counts = {s["name"]: s["count"] for s in report["stage_analysis"]["stages"] if s["name"] in ("slow", "Model.forward", "lazily")}
    assert counts["slow"] == 2 and counts["Model.forward"] == 1


def test_past_its_share_a_function_runs_untimed(tmp_path):
    source = "import builtins, sys\nimport strobe._lines as lines\nlines.LINES_MOST = 20\n" + PROGRAM
    done = recorded(tmp_path, source)
    assert "Lines of the first 1 of 2 calls" in done.stderr


def test_a_program_with_a_profile_of_its_own_keeps_it(tmp_path):
    done = recorded(tmp_path, "def profile(f): return f\n@profile\ndef g(): return 1\nprint(g())\n")
    assert done.stdout == "1\n" and "Line #" not in done.stderr


def test_an_error_inside_comes_through(tmp_path):
    done = recorded(tmp_path, "@profile\ndef g():\n    raise KeyError('x')\ng()\n", code=1)
    assert "KeyError: 'x'" in done.stderr


def test_without_the_hook_it_is_a_name_error_as_ever(tmp_path):
    assert "NameError" in recorded(tmp_path, PROGRAM, "--no-python-hook", code=1).stderr


def test_the_line_tracer_is_no_function_of_the_program(strobe):
    strobe.script("@profile\ndef work():\n    x = 0\n    for i in range(300000):\n        x += i * i\n    return x\n\nfor _ in range(4):\n    work()\n")
    strobe.run("-q", "--sample=200", "--", sys.executable, "script.py", check=True)
    report = json.loads(strobe("report", "--format", "json").stdout)
    assert "trace_line" not in json.dumps(report.get("function_samples", {})) + json.dumps(report["stage_analysis"])
