"""`strobe run --wait` while only those are left that the command left behind."""
import os
import pathlib
import signal
import time

from conftest import LIMIT_S, PYTHON

DAEMON = """
import os, signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
if os.fork():
    print(os.getpid(), flush=True)
    os._exit(3)
os.setsid()
os.close(1)
open(sys.argv[1], "w").write(signal.Signals(signal.sigwait({signal.SIGTERM})).name)
"""


def start(strobe):
    """strobe, when the command has ended and its daemon has not."""
    tool = strobe.start("run", "-q", "--wait", "--", PYTHON, strobe.script(DAEMON), "got", stdout=-1)
    command = int(tool.stdout.readline())
    end = time.monotonic() + LIMIT_S
    while pathlib.Path("/proc/%d" % command).exists():
        assert time.monotonic() < end
    return tool


def cpu_ticks(pid):
    return sum(int(n) for n in pathlib.Path("/proc/%d/stat" % pid).read_text().rsplit(")", 1)[1].split()[11:13])


def test_a_signal_reaches_what_the_command_left_behind(strobe):
    tool = start(strobe)
    tool.send_signal(signal.SIGTERM)
    assert tool.wait(LIMIT_S) == 3
    assert (strobe.folder / "got").read_text() == "SIGTERM"


def test_waiting_costs_no_cpu(strobe):
    """Against this test's own spinning: a busy loop of the tool's would use as much."""
    tool = start(strobe)
    before, own = cpu_ticks(tool.pid), time.process_time()
    while time.process_time() - own < 1.0:
        pass
    used = (cpu_ticks(tool.pid) - before) / os.sysconf("SC_CLK_TCK")
    tool.send_signal(signal.SIGTERM)
    assert tool.wait(LIMIT_S) == 3
    assert used < 0.3 * (time.process_time() - own)
