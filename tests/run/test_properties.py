"""What holds for the report of a whole program: folded past max_trace_bytes, on threads, in processes, sampled. Every face says
the same number."""
import json
import re

import pytest

from conftest import BUILD, PYTHON

ROUNDS, INNER, PROCESSES, THREADS = 3000, 10, 3, 2

SCRIPT = f"""
import os, threading, strobe

def work(rounds):
    for i in range(rounds):
        with strobe.section("outer"):
            for k in range({INNER}):
                with strobe.section("inner" if k % 2 else "other"):
                    pass

strobe.start("folded")
with strobe.generation(frames=8):
    work({ROUNDS})
threads = [threading.Thread(target=work, args=({ROUNDS},)) for _ in range({THREADS})]
[t.start() for t in threads]
[t.join() for t in threads]
for _ in range({PROCESSES}):
    child = os.fork()
    if not child:
        work({ROUNDS})
        os._exit(0)
    os.waitpid(child, 0)
"""

UNITS = {"s": 1, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}


def run(strobe):
    strobe.environment["PYTHONPATH"] = str(BUILD / "python")
    done = strobe.run("--sample=100", "--max-trace-bytes", "1MiB", "--", PYTHON, strobe.script(SCRIPT))
    assert done.returncode == 0, done.stderr
    folder = next(strobe.folder.rglob("profiling_report.json")).parent
    return done.stdout + done.stderr, folder, json.loads((folder / "profiling_report.json").read_text())


def of_name(report, name):
    return [s for s in report["stage_analysis"]["stages"] if s["name"] == name]


def test_a_folded_run_of_threads_and_processes_adds_up_in_every_face(strobe):
    screen, folder, report = run(strobe)
    stages = report["stage_analysis"]["stages"]
    assert sum(s.get("folded_count", 0) for s in stages) > 0, "the recording was to be folded"
    tracks = 1 + THREADS + PROCESSES
    assert sum(s["count"] for s in of_name(report, "outer")) == tracks * ROUNDS
    assert sum(s["count"] for s in of_name(report, "inner")) == tracks * ROUNDS * INNER // 2
    for s in stages:
        assert 0 <= s["self_ratio"] <= s["wall_ratio"] + 1e-9 and s["wall_ratio"] <= 1 + 1e-9, s
        assert s["self_s"] <= s["total_s"] + 1e-9, s
        known = [s[k] for k in ("min_s", "p50_s", "p95_s", "p99_s", "max_s") if k in s]
        assert known == sorted(known), s
    analysis = report["stage_analysis"]
    top = sum(s.get("covered_s", s["total_s"]) for s in stages if "parent_index" not in s)
    assert top + analysis["unattributed_s"] - analysis.get("overlap_s", 0) == pytest.approx(analysis["wall_s"], rel=1e-3)
    assert sum(part["wall_ratio"] for part in analysis["parts"]) == pytest.approx(1, abs=1e-3)
    for n in analysis.get("same_name", []):
        assert n["stage"]["count"] == sum(stages[i]["count"] for i in n["stage_index"]) and n["stage"]["wall_ratio"] <= 1 + 1e-9

    page = json.loads(re.search(r'<script[^>]*id="strobe-report"[^>]*>(.*?)</script>', (folder / "profiling_report.html").read_text(), re.S).group(1))
    for key in ("stage_analysis", "summary", "generations", "function_samples", "iterations"):
        assert page.get(key) == report.get(key), key

    text = strobe("report", folder).stdout
    unattributed = re.search(r"^unattributed +([\d.]+) (\w+)", text, re.M)
    assert float(unattributed[1]) * UNITS[unattributed[2]] == pytest.approx(analysis["unattributed_s"], rel=0.006)
    wall = re.search(r"^wall +([\d.]+) (\w+)", text, re.M)
    assert float(wall[1]) * UNITS[wall[2]] == pytest.approx(analysis["wall_s"], rel=0.006)
    for name in ("outer", "inner", "other"):
        rows = re.findall(rf"^(?:\w+/)*{name} +(\d+) +([\d.]+) (\w+) ", text, re.M)
        assert sorted(int(count) for count, _, _ in rows) == sorted(s["count"] for s in of_name(report, name))
        assert sum(float(v) * UNITS[u] for _, v, u in rows) == pytest.approx(sum(s["total_s"] for s in of_name(report, name)), rel=0.01)
    assert "1.0 at once" not in text + screen
    video = re.search(r"1 video, 8 frames in ([\d.]+) (\w+)", screen)
    assert float(video[1]) * UNITS[video[2]] == pytest.approx(report["summary"]["generation_s"], rel=0.006), screen
