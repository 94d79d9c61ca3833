"""strobe run --labels: stage lines that a program prints become zones; its output stays as it is."""
import json
import os
import pathlib
import pty
import signal
import subprocess
import sys

import pytest

BUILD = pathlib.Path(os.environ.get("STROBE_BUILD", pathlib.Path(__file__).resolve().parents[2] / "build"))
TOOL = BUILD / "strobe"

PROGRAM = r"""
import sys
print("Video: 81 frames, 24.00 fps")
print("\x1b[32m2026-01-01 12:00:00 INFO   [3a] I/O: 0.00s\x1b[0m")
print("  [3b] RAFT optical flow (12 iters): 0.00s  <- BOTTLENECK")
print("ProPainter total: 0.00s")
print("  [4e] Pre-inference: SKIPPED (keyframe pass disabled)")
print("  [4f] Main inference: Full video pass")
print("    [4f.2] UNet (2 steps, 81 frames): 0.00s")
print("  [4f] Main inference TOTAL: 0.00s", file=sys.stderr)
sys.stdout.flush()
sys.stdout.buffer.write(b"bytes \xff\x00\r no newline, tty=%d" % sys.stdout.isatty())
sys.exit(3)
"""


def environment():
    return {key: value for key, value in os.environ.items() if not key.startswith("STROBE_")}


@pytest.fixture
def program(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    return [sys.executable, str(tmp_path / "program.py")]


def report_of(folder):
    return json.loads(subprocess.run([TOOL, "report", folder, "--format", "json"], stdout=subprocess.PIPE, check=True, env=environment()).stdout)


def test_lines_become_stages_and_the_output_stays_the_same(tmp_path, program):
    plain = subprocess.run(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment())
    run = [TOOL, "run", "--labels", "-q", "--no-python-hook", "-o", tmp_path / "runs", "--", *program]
    watched = subprocess.run(run, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(), cwd=tmp_path)
    assert (watched.returncode, watched.stdout, watched.stderr) == (3, plain.stdout, plain.stderr)
    report = report_of(tmp_path / "runs")
    rows = {(s.get("code", ""), s["name"]): s for s in report["stage_analysis"]["stages"]}
    assert set(rows) == {("", "ProPainter"), ("3a", "I/O"), ("3b", "RAFT optical flow"), ("4e", "Pre-inference"), ("4f", "Main inference"), ("4f.2", "UNet")}
    assert rows["3b", "RAFT optical flow"]["attributes"]["iters"] == 12 and rows["3b", "RAFT optical flow"]["parent"] == "ProPainter"
    assert rows["4f.2", "UNet"]["parent"] == "Main inference" and rows["4e", "Pre-inference"]["state"] == "skipped"
    assert report["summary"]["frames"] == 81
    assert not any(m["what"] == "stages" for m in report["not_recorded"])
    import socket
    assert report["session_info"]["host"] == socket.gethostname()


def test_stages_end_when_their_line_appears(tmp_path):
    """Two lines, and between them the program waits for the second reader of a pipe: order, not length."""
    source = "import os\nprint('[1a] First: 0.00s')\nprint('[1b] Second: 0.00s')\n"
    (tmp_path / "p.py").write_text(source)
    subprocess.run([TOOL, "run", "--labels", "-q", "-o", tmp_path / "runs", "--", sys.executable, tmp_path / "p.py"], stdout=subprocess.DEVNULL, check=True, env=environment())
    rows = {s["name"]: s for s in report_of(tmp_path / "runs")["stage_analysis"]["stages"]}
    assert 0 < rows["First"]["end_s"] <= rows["Second"]["end_s"]


def test_a_terminal_stays_a_terminal(tmp_path, program):
    lead, follow = pty.openpty()
    child = subprocess.Popen([TOOL, "run", "--labels", "-q", "-o", tmp_path / "runs", "--", *program], stdout=follow, stderr=subprocess.DEVNULL, env=environment())
    os.close(follow)
    seen = b""
    while True:
        try:
            block = os.read(lead, 65536)
        except OSError:  # the other end is closed
            break
        if not block:
            break
        seen += block
    os.close(lead)
    assert child.wait() == 3
    assert seen.endswith(b"no newline, tty=1") and b"(12 iters): 0.00s  <- BOTTLENECK\r\n" in seen and b"\r\r\n" not in seen


def test_a_command_that_cannot_start_is_said_as_ever(tmp_path):
    done = subprocess.run([TOOL, "run", "--labels", "-o", tmp_path / "runs", "--", "/no/such/program"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment())
    assert done.returncode == 127 and b"/no/such/program" in done.stderr


def test_without_any_stage_line_nothing_is_added(tmp_path):
    subprocess.run([TOOL, "run", "--labels", "-q", "-o", tmp_path / "runs", "--", "echo", "hello"], stdout=subprocess.DEVNULL, check=True, env=environment())
    assert not list((tmp_path / "runs").glob("*/run.labels.strobe"))


def test_a_reader_that_goes_ends_the_program_as_it_would_without_us(tmp_path):
    """`... | head -1`: the program learns it by SIGPIPE; before, it was read for ever."""
    run = [TOOL, "run", "--labels", "-q", "--no-python-hook", "-o", tmp_path / "runs", "--", "yes", "[1a] First: 0.00s"]
    with subprocess.Popen(run, stdout=subprocess.PIPE, env=environment(), cwd=tmp_path) as watched:
        assert watched.stdout.readline() == b"[1a] First: 0.00s\n"
        watched.stdout.close()
        try:
            assert watched.wait(60) == 128 + signal.SIGPIPE
        finally:
            watched.terminate()
