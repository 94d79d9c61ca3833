import json
import os
import subprocess
import sys
import textwrap

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, HERE)

import strobe  # noqa: E402
import strobe_file  # noqa: E402

assert "_inert" not in strobe.section.__module__, "the extension did not load"


@pytest.fixture
def record(tmp_path, monkeypatch):
    """Opens a session in a folder of its own; calling it stops and reads it back."""
    for key in list(os.environ):
        if key.startswith("STROBE_"):
            monkeypatch.delenv(key)
    strobe.start("test", output_dir=tmp_path / "runs", config={"generate_final_report": False})
    assert strobe.recording()

    def finish():
        folder = strobe.run_dir()
        strobe.stop()
        return strobe_file.read(folder)[0]
    yield finish
    if strobe.recording():
        strobe.stop()


def run_program(folder, source, *args, env=None, check=True):
    """Runs a Python program in a process of its own and returns it with what it recorded."""
    path = folder / "program.py"
    path.write_text(textwrap.dedent(source))
    environment = {key: value for key, value in os.environ.items() if not key.startswith("STROBE_")}
    environment.update(STROBE_OUTPUT_DIR=str(folder / "runs"), STROBE_GENERATE_FINAL_REPORT="0", STROBE_DEBUG="1")
    environment.update(env or {})
    done = subprocess.run([sys.executable, str(path), *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, cwd=str(folder), env=environment, timeout=120)
    if check:
        assert done.returncode == 0, done.stderr
    folders = sorted((folder / "runs").glob("*-*")) if (folder / "runs").exists() else []
    done.run_dir = str(folders[-1]) if folders else None
    done.recordings = strobe_file.read(done.run_dir) if done.run_dir and os.listdir(done.run_dir) else []
    return done


@pytest.fixture
def program(tmp_path):
    return lambda source, *args, **options: run_program(tmp_path, source, *args, **options)


@pytest.fixture
def profiler(tmp_path):
    """A profiler of strobe.compat that writes its reports below tmp_path."""
    from strobe.compat import InferixProfiler, ProfilingConfig
    one = InferixProfiler(ProfilingConfig(enabled=True, output_dir=str(tmp_path / "reports"), report_format="json",
                                          session_tags={"model": "self_forcing", "mode": "config"}))
    yield one
    one.cleanup()


def the_report(profiler):
    with open(profiler.reports[0]) as file:
        return json.load(file)


@pytest.fixture
def torch():
    return pytest.importorskip("torch", reason="torch is not installed")
