"""What things are called: threads by the name the system has for them, files by their run."""
import json
import subprocess

import pytest

from conftest import BUILD, PYTHON


def lanes(strobe):
    done = strobe("export", "--to", "chrome", "-q", "-o", "trace.json")
    assert done.returncode == 0, done.stderr
    events = json.loads((strobe.folder / "trace.json").read_text())
    events = events["traceEvents"] if isinstance(events, dict) else events
    return sorted(e["args"]["name"] for e in events if e.get("name") == "thread_name" and e["args"]["name"] != "strobe")


@pytest.mark.parametrize("zones,options", [(10, ()), (200_000, ("--max-trace-bytes", "1MiB"))])
def test_a_thread_has_the_name_that_the_system_has_for_it(strobe, zones, options):
    """Also when its first words have become totals. A thread without a name of its own has its maker's."""
    done = strobe.run("-q", *options, "--", str(BUILD / "tests" / "named"), str(zones))
    assert done.returncode == 0, done.stderr
    names = lanes(strobe)
    assert names.count("decoder") == 1, names
    assert "named" not in names, names
    assert any(n.startswith("main") for n in names) and any(n.startswith("thread ") for n in names), names


def test_a_packed_run_is_named_after_the_run_and_not_after_the_link(strobe):
    strobe.run("-q", "--", str(BUILD / "tests" / "named"), "1")
    run = strobe.last()
    done = strobe("export", "last", "--to", "packed")
    assert done.returncode == 0, done.stderr
    beside = sorted(p.name for p in run.parent.iterdir())
    assert run.name + ".packed" in beside and not any(name.startswith("last.") for name in beside), beside


def test_lines_that_became_zones_are_not_the_main_process(strobe):
    script = strobe.script("import strobe\n"
                           "print('[3b] RAFT: 1.00s', flush=True)\n"
                           "with strobe.section('own'):\n"
                           "    pass\n"
                           "import os\n"
                           "os.kill(os.getpid(), 9)\n")
    done = strobe.run("-q", "--labels", "--", PYTHON, script)
    assert done.returncode == 137, done.stderr
    assert (strobe.last() / "run.labels.strobe").exists()
    report = json.loads(strobe("report", "--format", "json").stdout)
    assert {"own", "RAFT"} <= {s["name"] for s in report["stage_analysis"]["stages"]}
    assert report["session_info"]["state"] == "ended without a stop"  # the lines' recording was closed in order


def test_a_process_of_multiprocessing_is_called_after_the_script_that_started_it(strobe):
    if not (BUILD / "python" / "strobe").exists():
        pytest.skip("no Python package in this build")
    script = strobe.script("import multiprocessing, strobe\ndef work():\n    strobe.start()\n    strobe.stop()\n"
                           "if __name__ == '__main__':\n    child = multiprocessing.get_context('spawn').Process(target=work)\n"
                           "    child.start()\n    child.join()\n", "spawning.py")
    environment = dict(strobe.environment, PYTHONPATH=str(BUILD / "python"))
    done = subprocess.run([PYTHON, script], cwd=strobe.folder, env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert strobe.last().name.startswith("spawning-"), strobe.last().name


EVIL = "a\\x1b[2J\\x9b31m\\x85\\u202eb\\x7f"  # clears the screen, colours, begins a line, turns the direction of writing


def test_no_name_of_a_recording_moves_the_cursor(strobe):
    """Whatever is written, for a terminal or into a file that is shown on one."""
    script = strobe.script("import strobe\nwith strobe.generation(frames=2):\n    with strobe.section('%s'):\n        strobe.event('%s', why='%s')\n" % (EVIL, EVIL, EVIL))
    for _ in range(2):
        assert strobe.run("--name", "x", "-t", "model=a\x1b[2J\u009bb", "--", PYTHON, script).returncode == 0
    (strobe.folder / "\x1b[2J\u009b.strobe").write_text("no recording")
    shown = [strobe("report", "last"), strobe("report", "last", "--format", "json"), strobe("report", "last", "--format", "markdown"),
             strobe("report", "last", "--brief"), strobe("diff", "last~1", "last"), strobe("diff", "last~1", "last", "--format", "json"),
             strobe("diff", "last~1", "last", "--format", "markdown"), strobe("history", "add", "last", "--db", "h.db"),
             strobe("history", "show", "--db", "h.db"), strobe("history", "list", "--db", "h.db"), strobe("journal"),
             strobe("export", "last", "--to", "csv", "-o", "-"), strobe("export", "last", "--to", "chrome", "-o", "-"),
             strobe("report", "\x1b[2J\u009b.strobe"), strobe("report", "no such \x1b[2J\u009b")]
    for done in shown:
        text = done.stdout + done.stderr
        assert text and not [c for c in text if (ord(c) < 32 and c not in "\n\t\r") or 127 <= ord(c) < 160 or c == "\u202e"], (done.args, text)
    assert json.loads(shown[1].stdout)
