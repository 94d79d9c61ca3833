"""The live display beside a program's own output: on a terminal, in a file, through a pipe."""
import os
import re
import select
import subprocess

import pytest

from conftest import PYTHON, TOOL

FAST = ("--real-time-display", "--display-interval", "0.1", "--cpu-monitor-interval", "5", "--gpu-monitor-interval",
        "0.05")
BLOCK = re.compile(r"=== Profiling Metrics \(\S+\) ===\nGPU: (?:n/a|Memory 8420MB / 24564MB \(34\.3%\), Util 85\.0%, "
                   r"Temp 72\.0°C)\nCPU: \d+\.\d%, Memory \d+MB / \d+MB \(\d+\.\d%\)\n")


def program(text):
    """Prints, then waits until it is told to end."""
    return "printf '%s'; read word" % text


def shown(screen, text, count=3, columns=100):
    top = screen(TOOL, "run", *FAST, "--", "sh", "-c", program(text), columns=columns, rows=30)
    while True:
        seen = top.until("Profiling Metrics")
        if seen.count("Profiling Metrics") >= count:
            return seen


def lines_of(seen):
    return seen.rstrip("\n").split("\n")


def test_a_block_never_begins_inside_a_line(strobe, screen):
    strobe.fake_nvml("")
    lines = lines_of(shown(screen, "Loading the model... "))
    assert lines[0].rstrip() == "Loading the model..."
    assert lines[1].startswith("=== Profiling Metrics (sh-")
    assert not any(line.strip() == "" for line in lines)  # and no empty lines where there is no need


def test_after_whole_lines_there_is_no_empty_one(strobe, screen):
    lines = lines_of(shown(screen, "one\\ntwo\\n"))
    assert lines[:2] == ["one", "two"]
    assert lines[2].startswith("=== Profiling Metrics")
    assert not any(line.strip() == "" for line in lines)


def test_a_progress_bar_stays_readable(strobe, screen):
    bar = " 45%%|####      | 45/100 [00:12<00:15]"
    lines = lines_of(shown(screen, "\\r 44%%|####  \\r" + bar))
    assert lines[0].rstrip() == bar.replace("%%", "%")
    assert lines[1].startswith("=== Profiling Metrics")


def test_a_line_as_wide_as_the_screen_is_one_line(strobe, screen):
    lines = lines_of(shown(screen, "x" * 80, columns=80))
    assert lines[0] == "x" * 80
    assert lines[1].startswith("=== Profiling Metrics")
    assert not any(line.strip() == "" for line in lines)


def start(strobe, text, stderr):
    return strobe.start("run", "-q", *FAST, "--", "sh", "-c", "exec >&2; " + program(text), stdin=subprocess.PIPE,
                        stdout=subprocess.DEVNULL, stderr=stderr)


@pytest.mark.parametrize("text, first", [("partial", "partial\n"), ("whole\\n", "whole\n")])
def test_a_file_gets_whole_lines_and_no_empty_ones(strobe, text, first):
    path = strobe.folder / "log"
    with open(path, "wb") as log:
        process = start(strobe, text, log)
    while len(BLOCK.findall(path.read_text())) < 3:
        assert process.poll() is None
    process.communicate(b"end\n", timeout=60)
    seen = path.read_text()
    assert seen.startswith(first)
    assert BLOCK.sub("", seen[len(first):]) == ""


def test_a_pipe_gets_whole_lines(strobe):
    read, write = os.pipe()
    process = start(strobe, "partial", write)
    os.close(write)
    seen = ""
    while len(BLOCK.findall(seen)) < 3:
        ready, _, _ = select.select([read], [], [], 60)
        assert ready, seen
        seen += os.read(read, 65536).decode()
    process.communicate(b"end\n", timeout=60)
    os.close(read)
    assert re.match(r"partial\n+=== Profiling", seen)
    assert len(re.findall(r"^=== Profiling", seen, re.M)) == seen.count("=== Profiling")


def test_the_first_block_has_the_cpu(strobe):
    """Two samples come before it, whatever the interval of the monitor is."""
    path = strobe.folder / "log"
    with open(path, "wb") as log:
        process = start(strobe, "", log)
    while "CPU:" not in path.read_text():
        assert process.poll() is None
    process.communicate(b"end\n", timeout=60)
    first = re.search(r"^CPU: .*$", path.read_text(), re.M).group(0)
    assert re.match(r"CPU: \d+\.\d%, Memory \d+MB", first), first


def until(strobe, wanted, *arguments):
    """Runs a program that waits for a line, until the display says what is wanted."""
    path = strobe.folder / "log"
    with open(path, "wb") as log:
        process = strobe.start("run", "-q", *FAST, *arguments, stdin=subprocess.PIPE, stdout=log, stderr=log)
    while not re.search(wanted, path.read_text(), re.M):
        assert process.poll() is None, path.read_text()
    process.communicate(b"end\n", timeout=60)


def test_frames_blocks_and_steps_of_the_command_are_shown_with_their_rates(strobe):
    program = "import strobe\nfor b in strobe.blocks(3, frames=4):\n    for t in strobe.steps(2): pass\ninput()"
    until(strobe, r"^Speed: \d+\.\d FPS, \d+\.\d BPS, \d+\.\d steps/s \(12 frames, 3 blocks, 6 steps\)$", "--", PYTHON, "-c", program)


def test_frames_that_are_counted_go_before_those_of_blocks(strobe):
    program = "import strobe\nfor b in strobe.blocks(3, frames=4): strobe.frames(3)\ninput()"
    until(strobe, r"\(9 frames, 3 blocks\)$", "--", PYTHON, "-c", program)


def test_the_label_that_was_printed_last_is_shown(strobe):
    until(strobe, r"^Stage: \[3b\] RAFT optical flow", "--labels", "--", "sh", "-c", "echo '[3a] Load: 1.00s'; echo '  [3b] RAFT optical flow (12 iters): 95.32s'; read word")


# A program below `strobe run` whose own configuration asks for the display: the tool has the monitors.
ASKING = """
import os, sys
from strobe.compat import InferixProfiler, ProfilingConfig
profiler = InferixProfiler(ProfilingConfig(enabled=True, real_time_display=True, display_interval=0.1, output_dir="reports"))
for name in ("session_abc123", "session_def456"):
    with profiler.session(name):
        profiler.record_block_computation(0, 3, 10.0)
        while "Profiling Metrics (" + name not in open("display").read():
            pass
print(os.environ["STROBE_DISPLAY_ASKED"])
"""
JOINING = """
import os, strobe
strobe.start("mine", config={"real_time_display": True, "display_interval": 0.1})
while "Profiling Metrics" not in open("display").read():
    pass
print(os.environ["STROBE_DISPLAY_ASKED"])
"""


def asked(strobe, program, *arguments):
    """What was displayed; the monitors sample once an hour, so that nothing waits for a sample."""
    (strobe.folder / "program.py").write_text(program)
    with open(strobe.folder / "display", "w") as display:
        done = subprocess.run([TOOL, "run", "-q", "--cpu-monitor-interval", "3600", *arguments, "--", PYTHON, "program.py"],
                              cwd=strobe.folder, env=strobe.environment, stderr=display, stdout=subprocess.PIPE, check=True,
                              timeout=300, text=True)
    assert not os.path.exists(done.stdout.strip())  # and leaves no file behind
    return (strobe.folder / "display").read_text()


def test_a_display_that_the_program_asks_for_is_shown_at_once(strobe):
    seen = asked(strobe, ASKING)
    assert set(re.findall(r"=== Profiling Metrics \((.*)\) ===", seen)) == {"session_abc123", "session_def456"}
    assert re.findall(r"^CPU: .*$", seen, re.M)[0] != "CPU: n/a"
    assert "(3 frames, 1 block)" in seen, seen


def test_a_session_that_joins_the_run_gets_its_display_too(strobe):
    assert "=== Profiling Metrics (" in asked(strobe, JOINING)


def test_what_is_said_to_run_about_the_display_holds(strobe):
    done = strobe("run", "-q", "--real-time-display=false", "--", PYTHON, "-c",
                  "import os; print('STROBE_DISPLAY_ASKED' in os.environ, os.environ['STROBE_REAL_TIME_DISPLAY'])")
    assert done.stdout == "False 0\n"


UNREAD = """
import os, sys
from strobe.compat import InferixProfiler, ProfilingConfig

def sampled():
    for task in os.listdir("/proc/%d/task" % os.getppid()):
        folder = "/proc/%d/task/%s/" % (os.getppid(), task)
        if open(folder + "comm").read() == "strobe-sampler\\n":
            return int(re.search(r"^voluntary_ctxt_switches:\\s*(\\d+)", open(folder + "status").read(), re.M).group(1))

import re
profiler = InferixProfiler(ProfilingConfig(enabled=True, real_time_display=True, display_interval=0.1, output_dir="reports"))
for name in ("unread", "read_again"):
    with profiler.session(name):
        before = sampled()
        while sampled() < before + 30:
            pass
    print(name, flush=True)
    input()
"""


def test_a_display_that_could_not_be_written_stays_off(strobe):
    """Also when standard error has a reader again and the next session asks for a display."""
    (strobe.folder / "program.py").write_text(UNREAD)
    fifo = strobe.folder / "errors"
    os.mkfifo(fifo)
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    with open(fifo, "wb") as errors:
        process = strobe.start("run", "-q", "--cpu-monitor-interval", "0.1", "--", PYTHON, "program.py", stderr=errors,
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        os.close(reader)
        assert process.stdout.readline() == b"unread\n"
        reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
        process.stdin.write(b"on\n")
        process.stdin.flush()
        assert process.stdout.readline() == b"read_again\n"
    process.communicate(b"end\n", timeout=60)
    seen = os.read(reader, 65536)
    os.close(reader)
    assert b"Profiling Metrics" not in seen, seen


def test_the_summary_leaves_the_programs_last_line_alone(strobe, screen):
    top = screen("sh", "-c", "%s run -- printf 'the result: 42'; cat" % TOOL, columns=100, rows=30)
    lines = lines_of(top.until("report:"))
    assert lines[0].rstrip() == "the result: 42"
    assert lines[1].startswith("== strobe: printf, exit 0")
