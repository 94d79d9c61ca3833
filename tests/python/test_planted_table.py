"""The table of tests/planted/run.py: what a run that is cut keeps."""
import argparse
import importlib.util
import json
import os

import pytest

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

    monkeypatch.setattr(run, "run_one", lambda one, variant, folder, given, turn: report(finding(25 if one["name"] == "a" else 90)))
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


def test_programs_run_in_order_though_all_import_at_once(tmp_path, monkeypatch):
    """The later ones are ready first: they wait for their turn."""
    monkeypatch.setattr(run, "told", lambda base, given: report())
    ran = tmp_path / "ran"
    strobe = tmp_path / "strobe"
    strobe.write_text("""#!%s
import os, sys
sys.path.insert(0, %r)
name = sys.argv[sys.argv.index("--turn") - 1]
if name == "c":
    sys.exit(1)  # while it imports, long before its turn
import gate
with open(%r, "a") as out:
    out.write(name + " begins\\n")
    out.flush()
    os.system("true")
    out.write(name + " ends\\n")
sys.exit(name == "b")
""" % (run.sys.executable, run.HERE, str(ran)))
    strobe.chmod(0o755)
    names = ["a", "b", "c", "d", "e"]
    rows = run.rows_of([problem(n) for n in names], str(tmp_path), options(at_once=5, strobe=str(strobe), python="python3", timeout=60))
    assert ran.read_text().split("\n")[:-1] == [n + " " + what for n in names if n != "c" for what in ("begins", "ends")]
    assert [r["name"] for r in rows if "failed" in r["traced"]] == ["b", "c"]


def test_a_turn_is_passed_on_when_its_process_is_gone(tmp_path):
    """Not when the program lets go of a lock: its GPU memory goes later, with the process."""
    turns = run.Turns(str(tmp_path), 2)
    process = run.subprocess.Popen(["cat"], stdin=run.subprocess.PIPE)
    (tmp_path / "turn.0.taken").write_text(str(process.pid))
    assert turns.all[0].program() == process.pid and not run.is_gone(process.pid)
    watching = run.threading.Thread(target=turns.all[0].watch, args=(run.argparse.Namespace(poll=lambda: None), 60))
    watching.start()
    assert not turns.all[1].opened.is_set()
    process.stdin.close()  # it ends, a zombie until it is waited for
    watching.join()
    assert turns.all[1].opened.is_set() and run.is_gone(process.pid)
    process.wait()


def test_what_only_a_trace_shows_need_not_be_named_without_one(tmp_path, monkeypatch):
    one = dict(problem("a"), traced=True)
    rows = [run.row(one, {"traced": report(finding(24)), "plain": report(), "fixed": report()}, {})]
    assert "traced: 1 of 1 named" in run.text_of(rows) and "plain: 0 of 0 named" in run.text_of(rows)
    assert run.good_enough([run.row(one, {"plain": report(), "fixed": report()}, {})], 1)
    flags = []
    monkeypatch.setattr(run.subprocess, "Popen", lambda command, **_: flags.append("--gpu-trace=steps:3" in command) or 1 / 0)
    for variant in ("traced", "plain", "fixed"):
        with pytest.raises(ZeroDivisionError):
            run.run_one(one, variant, str(tmp_path), options(strobe="strobe", python="python3"), run.Turns(str(tmp_path), 1).all[0])
    assert flags == [True, False, True]


def test_the_table_joins_predicted_and_measured_savings():
    rows = [run.row(problem("a"), {"traced": report(finding(24))}, {"a": 0.15})]
    assert "predicted 0.30 s measured 0.15 s (2.00 x)" in run.text_of(rows)


def test_a_process_beside_the_program_is_the_runners(tmp_path, monkeypatch):
    turn = str(tmp_path / "turn.0")
    monkeypatch.setattr(run.beside.sys, "argv", ["program.py", "a", "--turn", turn])
    monkeypatch.setattr(run.beside.time, "sleep", lambda _: other.look())
    other = run.beside.Beside(turn)
    other.look()
    assert other.other is None
    with run.beside.another_process("import signal; print('up', flush=True); signal.pause()"):
        assert other.other is not None and other.other.poll() is None
        began = other.other
    other.look()
    assert other.other is None and began.returncode is not None
    assert not [name for name in os.listdir(tmp_path) if name.endswith(".up")]
