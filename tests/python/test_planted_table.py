"""The table of tests/planted/run.py: what a run that is cut keeps."""
import argparse
import importlib.util
import json
import os

HERE = os.path.dirname(os.path.abspath(__file__))
_spec = importlib.util.spec_from_file_location("planted_run", os.path.join(HERE, "..", "planted", "run.py"))
run = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(run)


def problem(name, healthy=False):
    return {"name": name, "ids": ["hidden_sync"], "healthy": healthy, "stage": None, "needs": "cuda", "file": "gpu.py", "lines": [24]}


def options(**more):
    return argparse.Namespace(**dict(dict(shard="0/1", only=None, needs=None, family=None, variants="traced", again=False, measured=None, at_once=1, out=None), **more))


def report(*findings):
    return {"recommendations": list(findings), "summary": {"generation_s": 2.0}}


def finding(line):
    return {"id": "hidden_sync", "priority": "high", "issue": "", "where": {"file": "/x/gpu.py", "line": line}, "gain_s": 0.3}


def test_known_and_healthy_programs_run_first():
    rest, healthy, known = problem("tiny_tiles"), problem("healthy_cached", healthy=True), problem("vae_in_fp32")
    assert run.chosen([rest, healthy, known], options()) == [healthy, known, rest]


def test_the_files_are_written_after_each_program(tmp_path, monkeypatch):
    out, written, write = tmp_path / "table.json", [], run.write

    def kept(rows, path):
        write(rows, path)
        written.append(len(json.loads(out.read_text())))

    monkeypatch.setattr(run, "run_one", lambda one, variant, folder, given: report(finding(25 if one["name"] == "a" else 90)))
    monkeypatch.setattr(run, "write", kept)
    rows = run.rows_of([problem("a"), problem("b")], str(tmp_path), options(out=str(out)))
    assert written == [1, 2]
    assert [r["traced"]["named"] for r in rows] == [True, False]
    assert json.loads(out.read_text()) == json.loads(json.dumps(rows))
    assert "1 of 2 named" in (tmp_path / "table.txt").read_text()


def test_a_measured_line_that_was_cut_is_left_out(tmp_path):
    path = tmp_path / "measured.jsonl"
    path.write_text('{"name": "a", "measured_s": 0.5}\n{"name": "b", "failed": "no memory"}\n{"name": "c", "meas')
    assert run.savings(str(path)) == {"a": 0.5}


def test_a_cut_recording_is_no_answer():
    rows = [run.row(problem("a"), {"traced": {"failed": "the recording was cut"}}, {})]
    assert "0 of 0 named, 1 more failed" in run.text_of(rows)
