"""A signal reaches the program exactly once: sent to strobe, to the whole group, to every process, or to both."""
import os
import pathlib
import shutil
import signal
import subprocess
import time

import pytest

from conftest import LIMIT_S, PYTHON, TOOL

# Writes the number of every signal in the order in which they came, whatever Python is doing.
COUNTS = """
import os, signal, sys
if "own-group" in sys.argv:
    os.setpgid(0, 0)
if "leave-behind" in sys.argv and os.fork():
    os._exit(0)
if "own-session" in sys.argv or "leave-behind" in sys.argv:
    os.setsid()
def come_back(*a):
    try:
        os.setpgid(0, os.getpgid(os.getppid()))
    except OSError:
        pass
signal.signal(signal.SIGCONT, come_back)
for s in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2, signal.SIGTERM):
    signal.signal(s, lambda *a: None)
os.set_blocking(1, False)
signal.set_wakeup_fd(1)
os.write(1, b"R")
while True:
    signal.pause()
"""
PASSED_ON = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2, signal.SIGTERM)


def name_of(pid):
    try:
        return pathlib.Path("/proc/%d/comm" % pid).read_text().strip()
    except OSError:  # it has ended since
        return None


class Counted:
    """A program that counts, below strobe as the leader of a group of its own."""

    def __init__(self, strobe, *arguments, before=(), options=()):
        self.seen = b""
        self.outside = bool(arguments)
        self.script = strobe.script(COUNTS)
        self.strobe = subprocess.Popen([*before, TOOL, "run", "-q", *options, "--", PYTHON, self.script, *arguments], cwd=strobe.folder,
                                       env=strobe.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, start_new_session=True)
        self.until(b"R", 1)

    def until(self, byte, count):
        while self.seen.count(byte) < count:
            got = os.read(self.strobe.stdout.fileno(), 4096)
            assert got, "the program ended after %r" % self.seen
            self.seen += got

    def children(self):
        return [int(p) for p in pathlib.Path("/proc/%d/task/%d/children" % (self.strobe.pid, self.strobe.pid)).read_text().split()]

    def named(self, name):
        return [p for p in self.children() if name_of(p) == name]

    def witnesses(self, count=1):
        """They name themselves, and the second one follows the program, some time after the start."""
        until(lambda: len(self.named("witness")) == count)
        return self.named("witness")

    def witness(self):
        return self.witnesses()[0]

    def program(self):
        witnesses = self.witnesses(1 + self.outside)
        return next(p for p in self.children() if p not in witnesses)

    def processes(self):
        return [self.strobe.pid, *self.witnesses(1 + self.outside), self.program()]

    def settle(self, sent):
        """Until strobe has dealt with what was sent, and the program has what came of it: two marks go through both."""
        mark = signal.SIGUSR1 if sent != signal.SIGUSR1 else signal.SIGUSR2
        until(lambda: not pending(self.strobe.pid) & 1 << (sent - 1))
        for _ in range(2):
            before = self.seen.count(bytes([mark]))
            os.kill(self.strobe.pid, mark)
            self.until(bytes([mark]), before + 1)

    def count(self, sent):
        self.settle(sent)
        return self.seen.count(bytes([sent]))

    def end(self):
        witness = self.named("witness")
        program = [p for p in self.children() if p not in witness]
        for pid in (*program, self.strobe.pid):
            os.kill(pid, signal.SIGKILL)
        self.strobe.wait(LIMIT_S)
        self.strobe.stdout.close()
        for pid in witness:
            until(lambda: gone(pid))


def pending(pid):
    for line in pathlib.Path("/proc/%d/status" % pid).read_text().splitlines():
        if line.startswith("ShdPnd:"):
            return int(line.split()[1], 16)


def gone(pid):
    try:
        return pathlib.Path("/proc/%d/stat" % pid).read_text().rsplit(")", 1)[1].split()[0] == "Z"
    except OSError:
        return True


def work_ns(ns):
    """Takes the processor, as long as it gets it, until the process has used so much more of it."""
    end = time.process_time_ns() + ns
    while time.process_time_ns() < end:
        pass


def until(true):
    end = time.monotonic() + LIMIT_S
    while not true():
        assert time.monotonic() < end
        time.sleep(0.001)


@pytest.fixture
def counted(strobe):
    started = []

    def start(*arguments, **more):
        started.append(Counted(strobe, *arguments, **more))
        return started[-1]

    yield start
    for c in started:
        if c.strobe.poll() is None:
            c.end()


@pytest.mark.parametrize("sent", PASSED_ON, ids=lambda s: s.name)
def test_a_signal_to_the_group_comes_once(counted, sent):
    c = counted()
    os.killpg(c.strobe.pid, sent)
    assert c.count(sent) == 1


@pytest.mark.parametrize("sent", PASSED_ON, ids=lambda s: s.name)
def test_a_signal_to_strobe_comes_once(counted, sent):
    c = counted()
    os.kill(c.strobe.pid, sent)
    assert c.count(sent) == 1


def test_group_and_strobe_in_turn(counted):
    """What the group got before is not taken for what strobe gets alone, and the other way round."""
    c = counted()
    for i in range(40):
        (os.killpg if i % 2 else os.kill)(c.strobe.pid, signal.SIGTERM)
        assert c.count(signal.SIGTERM) == i + 1


def test_a_burst_to_the_group_is_not_multiplied(counted):
    c = counted()
    for _ in range(300):
        os.killpg(c.strobe.pid, signal.SIGTERM)
    assert 1 <= c.count(signal.SIGTERM) <= 300
    before = c.count(signal.SIGTERM)
    os.kill(c.strobe.pid, signal.SIGTERM)
    assert c.count(signal.SIGTERM) == before + 1


def test_strobe_first_and_then_the_group_is_one_signal(counted):
    """As timeout(1) does it. strobe is held, so that it sees both at once."""
    c = counted()
    os.kill(c.strobe.pid, signal.SIGSTOP)
    os.kill(c.strobe.pid, signal.SIGTERM)
    os.killpg(c.strobe.pid, signal.SIGTERM)
    os.kill(c.strobe.pid, signal.SIGCONT)
    assert c.count(signal.SIGTERM) == 1


PLACES = pytest.mark.parametrize("where", [(), ("own-group",), ("own-session",)], ids=["same-group", "own-group", "own-session"])
ORDERS = pytest.mark.parametrize("order", [list, lambda pids: pids[::-1], lambda pids: pids[1:] + pids[:1]],
                                 ids=["strobe-first", "program-first", "strobe-last"])


@PLACES
@ORDERS
def test_every_process_one_by_one(counted, where, order):
    """As Slurm and systemd do it."""
    c = counted(*where)
    pids = order(c.processes())
    for pid in pids:
        os.kill(pid, signal.SIGTERM)
    assert c.count(signal.SIGTERM) == 1
    for sent in range(2, 12):
        for pid in pids:
            os.kill(pid, signal.SIGTERM)
        assert c.count(signal.SIGTERM) == sent
    os.kill(c.strobe.pid, signal.SIGTERM)
    assert c.count(signal.SIGTERM) == sent + 1


@PLACES
@ORDERS
def test_a_burst_to_every_process_is_not_multiplied(counted, where, order):
    c = counted(*where)
    pids = order(c.processes())
    for _ in range(100):
        for pid in pids:
            os.kill(pid, signal.SIGTERM)
    assert 1 <= c.count(signal.SIGTERM) <= 100
    before = c.count(signal.SIGTERM)
    os.kill(c.strobe.pid, signal.SIGTERM)
    assert c.count(signal.SIGTERM) == before + 1


@PLACES
@ORDERS
def test_a_slow_walk_over_every_process_is_one_signal(counted, where, order):
    """A sender that has to wait for the processor, as on a loaded machine: seen from outside it runs all the time."""
    c = counted(*where)
    for pid in order(c.processes()):
        os.kill(pid, signal.SIGTERM)
        work_ns(3_000_000)
    assert c.count(signal.SIGTERM) == 1


@PLACES
def test_a_burst_to_strobe_is_not_multiplied(counted, where):
    c = counted(*where)
    for _ in range(50):
        os.kill(c.strobe.pid, signal.SIGTERM)
    assert 1 <= c.count(signal.SIGTERM) <= 50


@PLACES
def test_a_sender_that_never_rests_is_not_waited_for(counted, where):
    """strobe passes its signal on although it runs on and on."""
    c = counted(*where)
    busy = subprocess.Popen([PYTHON, "-c", "import os, sys\nos.kill(int(sys.argv[1]), 15)\nwhile True: pass", str(c.strobe.pid)])
    try:
        c.until(bytes([signal.SIGTERM]), 1)
    finally:
        busy.kill()
        busy.wait()
    assert c.count(signal.SIGTERM) == 1


@pytest.mark.skipif(not shutil.which("pkill"), reason="no pkill here")
@PLACES
@pytest.mark.parametrize("how", ["-s", "-g", "-f"])
def test_pkill_by_session_group_and_command(counted, where, how):
    c = counted(*where)
    c.processes()
    what = c.script if how == "-f" else str(c.strobe.pid)
    for sent in range(1, 6):
        subprocess.run(["pkill", "-TERM", how, what], check=True, timeout=LIMIT_S)
        assert c.count(signal.SIGTERM) == sent


@pytest.mark.parametrize("where", ["own-group", "own-session"])
def test_a_program_that_comes_back_to_the_group(counted, where):
    """The second witness goes where the program is; none is left where it is not."""
    c = counted(where)
    first = c.processes()
    os.kill(c.program(), signal.SIGCONT)  # the script's sign to change its place
    if where == "own-group":
        c.outside = False
        until(lambda: os.getpgid(c.program()) == c.strobe.pid)
        until(lambda: len(c.named("witness")) == 1)
    assert gone(first[2]) == (where == "own-group")
    os.killpg(c.strobe.pid, signal.SIGTERM)
    assert c.count(signal.SIGTERM) == 1


def test_what_is_left_behind_apart_gets_a_signal_to_every_process_once(counted):
    """With --wait, after the command itself has ended."""
    c = counted("leave-behind", options=("--wait",))
    until(lambda: len(c.children()) == 3)  # the first process has been waited for
    for pid in c.processes():
        os.kill(pid, signal.SIGTERM)
    assert c.count(signal.SIGTERM) == 1


@pytest.mark.parametrize("where", ["own-group", "own-session"])
@pytest.mark.parametrize("send", [os.kill, os.killpg], ids=["strobe", "group"])
def test_a_program_outside_the_group_gets_what_strobe_gets(counted, where, send):
    c = counted(where)
    send(c.strobe.pid, signal.SIGTERM)
    assert c.count(signal.SIGTERM) == 1


def test_a_stopped_job_gets_its_signal_once_it_goes_on(counted):
    c = counted()
    os.killpg(c.strobe.pid, signal.SIGSTOP)
    os.killpg(c.strobe.pid, signal.SIGTERM)
    os.killpg(c.strobe.pid, signal.SIGCONT)
    assert c.count(signal.SIGTERM) == 1
    os.kill(c.strobe.pid, signal.SIGTERM)
    assert c.count(signal.SIGTERM) == 2


def test_without_the_witness_signals_are_passed_on(counted):
    c = counted()
    witness = c.witness()
    os.kill(witness, signal.SIGKILL)
    os.kill(c.strobe.pid, signal.SIGTERM)
    assert c.count(signal.SIGTERM) == 1
    assert not c.named("witness")
    until(lambda: not pathlib.Path("/proc/%d" % witness).exists())  # nor a zombie of it


def test_a_held_witness_delays_only(counted):
    c = counted()
    os.kill(c.witness(), signal.SIGSTOP)
    os.kill(c.strobe.pid, signal.SIGTERM)
    assert c.count(signal.SIGTERM) == 1


def test_killed_strobe_leaves_no_witness(counted):
    c = counted()
    witness, program = c.witness(), c.program()
    os.kill(c.strobe.pid, signal.SIGKILL)
    c.strobe.wait(LIMIT_S)
    until(lambda: gone(witness))
    os.kill(program, signal.SIGKILL)
    c.strobe.stdout.close()


def test_who_looks_for_strobe_by_name_finds_strobe_only(counted, strobe):
    """pkill and killall by name, by command line, by program file: the signal to what they find has to be passed on."""
    c = counted()
    line = pathlib.Path("/proc/%d/cmdline" % c.witness()).read_bytes().replace(b"\0", b" ")
    assert b"strobe" not in line.replace(os.fsencode(strobe.folder), b"")
    assert line.split()[:2] == [b"witness", PYTHON.encode()]


def test_the_witness_is_no_part_of_the_run(strobe):
    done = strobe.run("--wait", "--", "sh", "-c", "cat /proc/$PPID/task/$PPID/children; ls -l /proc/self/fd")
    witness = next(p for p in done.stdout.splitlines()[0].split())
    assert done.returncode == 0 and "socket" not in done.stdout
    assert "still running" not in done.stderr
    assert not pathlib.Path("/proc", witness).exists()
    assert int(witness) not in [pid for pid, _, _ in strobe.recorded().processes]


def test_a_command_that_cannot_start_leaves_no_witness(strobe):
    script = strobe.folder / "broken"
    script.write_text("#!/nonexistent/interpreter\n")
    script.chmod(0o755)
    outer = strobe.script("import subprocess, sys\nsubprocess.run(sys.argv[1:])\nprint(open('/proc/self/task/%d/children' % __import__('os').getpid()).read())\n")
    done = subprocess.run([PYTHON, outer, TOOL, "run", "--", str(script)], cwd=strobe.folder, env=strobe.environment,
                          capture_output=True, text=True, timeout=LIMIT_S)
    assert done.stdout.strip() == "" and "nonexistent/interpreter" in done.stderr


def test_after_a_kill_of_strobe_the_program_goes_on_and_its_recording_is_read(strobe):
    script = strobe.script("import strobe, sys\nwith strobe.generation(frames=2):\n    with strobe.section('before'):\n        print('ready', flush=True)\n"
                           "        sys.stdin.readline()\n    with strobe.section('after'):\n        pass\nprint('done', flush=True)\n")
    tool = strobe.start("run", "--", PYTHON, script, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert tool.stdout.readline() == "ready\n"
    tool.kill()
    tool.wait(LIMIT_S)
    assert "before" in strobe("report", "last").stdout  # while it runs
    tool.stdin.write("\n")
    tool.stdin.close()
    assert tool.stdout.read() == "done\n"
    tool.stdout.close()
    done = strobe("report", "last", "--format", "all")
    assert done.returncode == 0, done.stderr
    run, = strobe.runs()
    text = (run / "timing_summary.txt").read_text()
    assert "before" in text and "after" in text and (run / "profiling_report.html").exists()
