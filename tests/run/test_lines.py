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


def tables(text):
    return {name: rest for name, rest in re.findall(r"^Function: (\S+) at line \d+\n(.*?)(?=^Total time|\Z)", text, re.M | re.S)}


def test_each_line_is_counted_and_the_function_is_a_stage(tmp_path):
    done = recorded(tmp_path, PROGRAM)
    assert done.stdout == "285 30 [1] 2\n"
    table = next((tmp_path / "runs").glob("*-*/line_profile.txt")).read_text()
    assert table in done.stderr
    slow, lazily, forward = (tables(table)[name] for name in ("slow", "lazily", "Model.forward"))
    assert hits(slow) == {4: 2, 5: 17, 6: 15, 7: 2} and hits(lazily) == {16: 1} and hits(forward) == {22: 1}
    assert "total += helper(i)" in slow and "helper at line" not in table
    report = json.loads(subprocess.run([TOOL, "report", tmp_path / "runs", "--format", "json"], stdout=subprocess.PIPE, check=True, env=environment()).stdout)
    counts = {s["name"]: s["count"] for s in report["stage_analysis"]["stages"] if s["name"] in ("slow", "Model.forward", "lazily")}
    assert counts["slow"] == 2 and counts["Model.forward"] == 1
    lines = {f["function"]: f for f in report["line_profile"]}
    assert {n["line"]: n["hit_count"] for n in lines["slow"]["lines"]} == hits(slow) and lines["slow"]["call_count"] == 2
    assert lines["slow"]["lines"][2]["text"] == "total += helper(i)"
    text = subprocess.run([TOOL, "report", tmp_path / "runs"], stdout=subprocess.PIPE, check=True, env=environment(), text=True).stdout
    assert "Lines (@profile)" in text and re.search(r"^ +6 +15 .*total \+= helper\(i\)$", text, re.M)


INSIDE = '''
import asyncio


@profile
def outer(n):
    found = 0
    for i in numbers(n):
        found += inner(i)
    return found


@profile
def inner(i):
    if i > 1:
        return i
    return 0


@profile
def numbers(n):
    for i in range(n):
        got = yield i
    return "end"


@profile
async def waits(n):
    await asyncio.sleep(0)
    return n


@profile
def talks():
    got = yield 1
    try:
        got = yield got
    except ValueError:
        got = "caught"
    yield got
    return 7


class Model:
    @profile
    @staticmethod
    def forward(x):
        return inner(x)


async def both():
    return await asyncio.gather(waits(1), waits(2))


talk = talks()
print(outer(3), asyncio.run(both()), Model.forward(4), next(talk), talk.send("sent"), talk.throw(ValueError()))
try:
    next(talk)
except StopIteration as end:
    print(end.value)
unfinished = numbers(5)
next(unfinished)
unfinished.close()
'''


def test_functions_that_call_each_other_each_have_their_lines(tmp_path):
    """The same hits as kernprof -l -v 5.1 counts, and throw(), which its generators lose."""
    done = recorded(tmp_path, INSIDE)
    assert done.stdout == "2 [1, 2] 4 1 sent caught\n7\n"
    assert {name: list(hits(text).values()) for name, text in tables(done.stderr).items()} == {
        "outer": [1, 4, 3, 1], "inner": [4, 2, 2], "numbers": [5, 4, 1], "waits": [2, 2], "talks": [1] * 7, "Model.forward": [1]}


def test_a_call_that_began_in_its_share_is_timed_to_its_end(tmp_path):
    """Also a generator, between two of its values; and the next call is not timed."""
    source = "import strobe._lines as lines\nlines.LINES_MOST = 50\n@profile\ndef g():\n    for i in range(1000):\n        i += 1\n    return i\n@profile\ndef h():\n    for i in range(300):\n        yield i\n    i += 1\nprint(g(), sum(h()), g())\n"
    done = recorded(tmp_path, source)
    assert done.stdout == "1000 44850 1000\n" and "Lines of the first 1 of 2 calls" in done.stderr
    assert {name: list(hits(text).values()) for name, text in tables(done.stderr).items()} == {"g": [1001, 1000, 1], "h": [301, 300, 1]}


def test_one_long_call_is_timed_up_to_its_share(tmp_path):
    done = recorded(tmp_path, "import strobe._lines as lines\nlines.LINES_MOST_TO_THE_END = 50\n@profile\ndef g():\n    for i in range(1000):\n        pass\n    return i\nprint(g())\nimport sys\nprint(sys.gettrace())\n")
    assert done.stdout == "999\nNone\n" and "Of the first 50 lines that ran" in done.stderr
    assert sum(hits(done.stderr).values()) == 50


THEIRS = "def profile(function):\n    function.theirs = True\n    return function\n"


def test_the_profile_that_is_imported_from_line_profiler_is_the_same(tmp_path, monkeypatch):
    (tmp_path / "line_profiler.py").write_text(THEIRS)
    source = "from line_profiler import profile\n@profile\ndef g():\n    return 1\nprint(g(), hasattr(g, 'theirs'))\n"
    done = recorded(tmp_path, source)
    assert done.stdout == "1 False\n" and hits(done.stderr) == {4: 1}
    monkeypatch.setenv("LINE_PROFILE", "1")  # its own switch: then it is left alone
    done = recorded(tmp_path, source)
    assert done.stdout == "1 True\n" and "Line #" not in done.stderr


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
