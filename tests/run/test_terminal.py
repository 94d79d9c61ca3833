"""Ctrl-C, Ctrl-Z and the live display, on a real (pseudo) terminal."""
import os
import pathlib
import pty
import re
import select
import signal
import subprocess
import time

from conftest import PYTHON, TOOL

IGNORES_EVERYTHING = """
import os, signal, time
signal.signal(signal.SIGINT, lambda *a: os.write(1, b'caught\\n'))  # print() cannot interrupt itself
signal.signal(signal.SIGTERM, signal.SIG_IGN)
os.write(1, b'ready\\n')
while True:
    time.sleep(0.01)  # pause() could miss a signal that came just before it
"""
ENDS_ON_CTRL_C = """
import sys, time
try:
    print('ready', flush=True)
    while True:
        time.sleep(0.01)
except KeyboardInterrupt:
    sys.exit(3)
"""


class Terminal:
    """A program with a terminal of its own, as its session's foreground job."""

    def __init__(self, strobe, *arguments, program=TOOL):
        self.seen = ""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(strobe.folder)
            os.execve(program, [program, *arguments], strobe.environment)

    def until(self, text):
        while text not in self.seen:
            ready, _, _ = select.select([self.fd], [], [], 60)
            assert ready, "never saw %r in %r" % (text, self.seen)
            self.seen += os.read(self.fd, 4096).decode(errors="replace")

    def type(self, data):
        os.write(self.fd, data)

    def wait(self):
        while True:
            ready, _, _ = select.select([self.fd], [], [], 60)
            assert ready, "never ended after %r" % self.seen
            try:
                self.seen += os.read(self.fd, 4096).decode(errors="replace")
            except OSError:  # the other side is gone
                break
        code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        os.close(self.fd)
        return code


def test_ctrl_c_once_is_the_programs(strobe):
    terminal = Terminal(strobe, "run", "--", PYTHON, strobe.script(ENDS_ON_CTRL_C))
    terminal.until("ready")
    terminal.type(b"\x03")
    assert terminal.wait() == 3
    assert strobe.recorded().meta("run", "outcome") == "exit 3 after Ctrl-C"
    assert "exit 3 after Ctrl-C" in terminal.seen


def test_ctrl_c_twice_means_it(strobe):
    terminal = Terminal(strobe, "run", "--", PYTHON, strobe.script(IGNORES_EVERYTHING))
    terminal.until("ready")
    terminal.type(b"\x03")
    terminal.until("caught")
    terminal.until("once more ends it")
    terminal.type(b"\x03")
    assert terminal.wait() == 137
    assert strobe.recorded().meta("run", "outcome") == "killed by SIGKILL after Ctrl-C twice"


def test_a_terminal_that_goes_away_ends_the_program(strobe):
    terminal = Terminal(strobe, "run", "--", PYTHON, strobe.script(ENDS_ON_CTRL_C))
    terminal.until("ready")
    os.close(terminal.fd)
    assert os.waitstatus_to_exitcode(os.waitpid(terminal.pid, 0)[1]) == 128 + signal.SIGHUP
    assert strobe.recorded().meta("run", "outcome") == "killed by SIGHUP"


# What a shell does for a job: a group of its own, the terminal, and back again.
SHELL = """
import os, signal, sys
signal.signal(signal.SIGTTOU, signal.SIG_IGN)
job = os.fork()
if job == 0:
    os.setpgid(0, 0)
    os.tcsetpgrp(0, os.getpid())
    signal.signal(signal.SIGTTOU, signal.SIG_DFL)
    os.execv(sys.argv[1], sys.argv[1:])
status = os.waitpid(job, os.WUNTRACED)[1]
os.tcsetpgrp(0, os.getpgrp())
print('stopped', os.WIFSTOPPED(status), flush=True)
sys.stdin.readline()
os.tcsetpgrp(0, job)
os.killpg(job, signal.SIGCONT)
status = os.waitpid(job, os.WUNTRACED)[1]
os.tcsetpgrp(0, os.getpgrp())
print('code', os.waitstatus_to_exitcode(status), flush=True)
"""


def until_stopped(pid):
    """A program that waits in read() may still take a line typed now before it takes its signal."""
    deadline = time.monotonic() + 60
    while pathlib.Path("/proc/%d/stat" % pid).read_text().rsplit(")", 1)[1].split()[0] != "T":
        assert time.monotonic() < deadline, "never stopped"
        time.sleep(0.001)


def test_ctrl_z_stops_both_and_continues(strobe):
    shell = strobe.script(SHELL, "shell.py")
    job = strobe.script("import os, sys\nprint('ready', os.getpid(), '.', flush=True)\nprint('got', sys.stdin.readline(), flush=True)\n")
    terminal = Terminal(strobe, shell, TOOL, "run", "--", PYTHON, job, program=PYTHON)
    terminal.until(" .")
    terminal.type(b"\x1a")
    terminal.until("stopped True")
    until_stopped(int(re.search(r"ready (\d+)", terminal.seen).group(1)))
    terminal.type(b"\nwords\n")
    terminal.until("got words")
    terminal.until("code 0")
    assert terminal.wait() == 0
    assert "exit 0" in terminal.seen


def test_live_display_is_whole_lines(strobe):
    strobe.fake_nvml("utilization 85\n")
    read, write = os.pipe()
    process = strobe.start("run", "--real-time-display", "--display-interval", "0.1", "--cpu-monitor-interval", "0.05",
                           "--gpu-monitor-interval", "0.05", "--", "sh", "-c",
                           "i=0; while [ $i -lt 2000 ]; do echo 'the program says this' >&2; i=$((i+1)); done; cat",
                           stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=write)
    os.close(write)
    text = ""
    while text.count("Util 85.0%") < 3:
        ready, _, _ = select.select([read], [], [], 60)
        assert ready, text
        text += os.read(read, 65536).decode()
    process.stdin.close()
    head = text[:text.rindex("\n")]
    while os.read(read, 65536):  # to the end: a full pipe would hold the program up
        pass
    assert process.wait(60) == 0
    os.close(read)
    shapes = (r"", r"the program says this", r"=== Profiling Metrics \(sh-[\d-]+\) ===",
              r"GPU: (n/a|Memory 8420MB / 24564MB \(34\.3%\), Util 85\.0%, Temp 72\.0°C)",
              r"CPU: (n/a|(\d+\.\d%, )?Memory \d+MB / \d+MB \(\d+\.\d%\))")
    for line in head.split("\n"):
        assert any(re.fullmatch(shape, line) for shape in shapes), repr(line)


def test_sigint_to_a_background_job_is_forwarded(strobe):
    process = strobe.start("run", "--", PYTHON, strobe.script(ENDS_ON_CTRL_C), stdout=subprocess.PIPE,
                           stderr=subprocess.DEVNULL, text=True, start_new_session=True)
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 3


def test_ctrl_c_twice_leaves_nobody(strobe):
    """Also those who were born meanwhile, and who ignore everything."""
    script = strobe.script(
        "import os, signal, time\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "if os.fork() == 0:\n    os.setsid()\n    while True: time.sleep(0.01)\n"
        "print('ready', flush=True)\nwhile True:\n    if os.fork() == 0:\n        time.sleep(0.05)\n        os._exit(0)\n"
        "    time.sleep(0.01)\n")
    terminal = Terminal(strobe, "run", "--", PYTHON, script)
    terminal.until("ready")
    terminal.type(b"\x03")
    terminal.until("once more ends it")
    terminal.type(b"\x03")
    assert terminal.wait() == 137
    assert "still running" not in terminal.seen
