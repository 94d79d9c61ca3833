"""cProfile files in: what pstats says of them must be what the report says."""
import cProfile
import marshal
import pstats
import re
import subprocess
import sys

import pytest


def leaf(n):
    return sum(i * i for i in range(n))


def middle(n):
    return leaf(n) + leaf(n // 2)


def recursive(n):
    return leaf(2000) + (recursive(n - 1) if n else 0)


def work():
    return [middle(30000) for _ in range(10)] + [leaf(50000)] + [recursive(5)]


@pytest.fixture
def profile(tmp_path):
    p = cProfile.Profile()
    p.runcall(work)
    path = tmp_path / "work.prof"
    p.dump_stats(path)
    return path


def test_times_and_callers_are_kept(strobe, profile):
    stats = pstats.Stats(str(profile))
    ours = {}
    for zone in strobe.zones(strobe.imported(profile)):
        name = zone["name"].split(" (")[0]
        total, own, calls = ours.get(name, (0, 0, 0))
        ours[name] = total + zone["duration_ns"], own + zone["self_ns"], calls + zone["attributes"]["calls"]
    for (_, _, name), (_, calls, own, total, _) in stats.stats.items():
        if name in ("work", "middle", "leaf", "recursive"):
            if name != "recursive":
                assert ours[name][0] / 1e9 == pytest.approx(total, rel=0.02, abs=2e-5), name
                assert ours[name][2] == calls, name
    assert sum(own for _, own, _ in ours.values()) / 1e9 == pytest.approx(stats.total_tt, rel=0.01, abs=1e-4)


def test_what_is_called_by_the_script_and_by_an_import_counts_once(strobe, tmp_path):
    """'exec' runs the script's own code and, inside the imports, that of modules."""
    for name, body in (("first_module", "import second_module\n"), ("second_module", "VALUES = [i * i for i in range(60000)]\n")):
        (tmp_path / (name + ".py")).write_text(body)
    script = ("import cProfile, sys\nsys.path.insert(0, %r)\np = cProfile.Profile()\np.enable()\nimport first_module\n"
              "def work():\n    return sum(i * i for i in range(40000))\nwork()\nexec('work()')\np.disable()\np.dump_stats('script.prof')\n" % str(tmp_path))
    subprocess.run([sys.executable, "-c", script], cwd=tmp_path, check=True)
    total = pstats.Stats(str(tmp_path / "script.prof")).total_tt
    report = strobe.report(tmp_path / "script.prof")
    assert report["stage_analysis"]["wall_s"] == pytest.approx(total, rel=0.005)
    assert report["stage_analysis"]["unattributed_s"] == 0


def test_the_report_works_on_it(strobe, profile):
    text = strobe("report", profile)
    assert "work (test_prof.py:" in text and "leaf (test_prof.py:" in text


@pytest.mark.parametrize("value, what", [({(1, 2): 3}, "not what cProfile writes"), ({("f", 1, "g"): (1, 1, 0.5, 0.5)}, "not what cProfile writes"),
                                         ({("f", 1, "g"): (1, 1, -5.0, 0.5, {})}, "not what cProfile writes")])
def test_other_marshalled_things_are_named(strobe, value, what):
    assert what in strobe("import", strobe.write("x.prof", marshal.dumps(value)), code=2)


def test_a_truncated_profile_is_named_with_its_offset(strobe, profile):
    whole = profile.read_bytes()
    for size in (3, len(whole) // 2, len(whole) - 1):
        err = strobe("import", strobe.write("cut.prof", whole[:size]), code=2)
        assert "cut.prof' byte" in err and err.count("\n") == 1


SCRIPT = """
import json, decimal, argparse
def leaf(n): return sum(i * i for i in range(n))
def step(): return leaf(40000)
def main():
    import xml.dom.minidom
    return [step(), step(), step()]
main()
"""


def test_a_script_that_imports_something_has_its_whole_time(strobe):
    """'exec' is called again by every import: its calls from outside are still the root."""
    import subprocess
    import sys
    path = strobe.folder / "script.prof"
    subprocess.run([sys.executable, "-m", "cProfile", "-o", path, strobe.write("script.py", SCRIPT)], check=True)
    stats = pstats.Stats(str(path))
    report = strobe.report(path)
    assert report["stage_analysis"]["wall_s"] == pytest.approx(stats.total_tt, rel=0.02)
    rows = {s["name"]: s for s in report["stage_analysis"]["stages"]}
    step = next(s for n, s in rows.items() if n.startswith("step ("))
    assert step["count"] == 3 and step["mean_s"] == pytest.approx(step["total_s"] / 3)  # three calls, not one
    assert "p95_s" not in step and "min_s" not in step  # cProfile keeps sums
    whole = next(total for (_, _, name), (_, _, _, total, _) in stats.stats.items() if name == "step")
    assert step["total_s"] == pytest.approx(whole, rel=0.02)


def test_an_import_began_when_its_file_says_it_ended(strobe, profile):
    import datetime
    import os
    os.utime(profile, (1700000000, 1700000000))
    started = strobe.report(profile)["session_info"]["start_time"]
    assert datetime.datetime.fromisoformat(started).timestamp() == pytest.approx(1700000000, abs=60)
    trace = strobe.write("t.json", {"traceEvents": [{"ph": "X", "name": "a", "pid": 1, "tid": 1, "ts": 10, "dur": 2000000}]})
    os.utime(trace, (1700000000, 1700000000))
    started = strobe.report(trace)["session_info"]["start_time"]
    assert datetime.datetime.fromisoformat(started).timestamp() == pytest.approx(1699999998, abs=1)


PSTATS = """Mon Nov 16 06:13:46 2026    profile.prof

         4524 function calls (4438 primitive calls) in 7.042 seconds

   Ordered by: cumulative time
   List reduced from 314 to 4 due to restriction <4>

   ncalls  tottime  percall  cumtime  percall filename:lineno(function)
      7/1    0.500    0.071    7.042    7.042 {built-in method builtins.exec}
        1    0.250    0.250    6.542    6.542 profile_vjepa2.py:106(main)
       24    6.000    0.250    6.250    0.260 /usr/lib/torch/nn.py:1742(forward)
     82/2    0.042    0.001    0.042    0.021 {method 'endswith' of 'str' objects}


"""


def test_the_table_that_pstats_prints_is_a_run(strobe):
    path = strobe.write("pasted.txt", PSTATS)
    report = strobe.report(path)
    rows = {s["name"]: s for s in report["stage_analysis"]["stages"]}
    assert report["stage_analysis"]["wall_s"] == pytest.approx(7.042) and report["stage_analysis"]["bottlenecks"][0] == "forward (nn.py:1742)"
    assert {n: (r["count"], r["total_s"]) for n, r in rows.items()} == {
        "<built-in method builtins.exec>": (7, 0.5), "main (profile_vjepa2.py:106)": (1, 0.25),
        "forward (nn.py:1742)": (24, 6.0), "<method 'endswith' of 'str' objects>": (82, 0.042)}
    assert report["stage_analysis"]["unattributed_s"] == pytest.approx(0.25)  # functions that the table left out
    assert re.search(r"main \(profile_vjepa2.py:106\) .*\s+6.54 s with what it calls", strobe("report", path)), "cumtime"
    assert strobe("import", path, "-o", "pasted-run") and "Total 7.04 s -> 7.04 s" in strobe("diff", path, path)


def test_both_forms_name_a_function_the_same_and_python_s_own_compiling_is_none(strobe, tmp_path):
    """pstats prints whole paths; what is left of one in a narrow column would not say which file it is."""
    (tmp_path / "a (copy)").mkdir()
    (tmp_path / "a (copy)" / "deep.py").write_text("import re\ndef work():\n    return [re.compile('x%d' % i) for i in range(300)]\nwork()\n")
    subprocess.run([sys.executable, "-m", "cProfile", "-o", "deep.prof", str(tmp_path / "a (copy)" / "deep.py")], cwd=tmp_path, check=True)
    table = subprocess.run([sys.executable, "-m", "pstats", "deep.prof"], cwd=tmp_path, input="sort cumtime\nstats 1000\n", capture_output=True, text=True,
                           check=True).stdout
    whole, printed = strobe.report(tmp_path / "deep.prof"), strobe.report(strobe.write("table.txt", table))
    names = {s["name"] for s in printed["stage_analysis"]["stages"]}
    assert "work (deep.py:2)" in names and not [n for n in names if "/" in n]
    mine = {n for n in names if "deep.py" in n}
    assert mine and mine <= {s["name"] for s in whole["stage_analysis"]["stages"]}
    assert not [f["id"] for r in (whole, printed) for f in r["recommendations"] if f["id"] == "compile_time"]


def test_a_profile_below_the_stages_of_the_same_program_adds_nothing_to_them(strobe):
    report = strobe.report(strobe.write("both.txt", "[3b] RAFT: 5.00s\n[4c] VAE: 2.00s\nTOTAL TIME: 7.00s\n" + PSTATS))
    assert report["stage_analysis"]["wall_s"] == pytest.approx(7) and len(report["stage_analysis"]["stages"]) == 2


def test_the_foot_of_a_torch_table_is_no_stage(strobe):
    report = strobe.report(strobe.write("torch.txt", "[3b] RAFT: 5.00s\nSelf CPU time total: 44.286ms\nSelf CUDA time total: 43.662ms\n"))
    assert [s["name"] for s in report["stage_analysis"]["stages"]] == ["RAFT"]
