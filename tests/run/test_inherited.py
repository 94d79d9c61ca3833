"""What a program is started with is the same below strobe run: all 64 signals, limits, priority, descriptors, environment."""
import ctypes
import fcntl
import os
import pathlib
import platform
import resource
import subprocess

import pytest

from conftest import LIMIT_S, TOOL

SIGACTION, SIGPROCMASK, IOPRIO_SET = {"x86_64": (13, 14, 251), "aarch64": (134, 135, 30)}.get(platform.machine(), (0, 0, 0))
NEVER = (9, 19)  # SIGKILL, SIGSTOP
SHOWN = ["/proc/self/status", "/proc/self/limits", "/proc/self/oom_score_adj", "/proc/self/coredump_filter", "/proc/self/timerslack_ns"]
# Their own in every process, or of the moment.
OTHER = ("Pid:", "Tgid:", "PPid:", "NStgid:", "NSpid:", "Ngid:", "Vm", "Rss", "SigQ:", "Threads:", "voluntary", "nonvoluntary", "Mems", "HugetlbPages", "FDSize:")
DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs" / "run.md"
libc = ctypes.CDLL(None)

pytestmark = pytest.mark.skipif(not SIGACTION, reason="the numbers of the system calls are not known here")


def dispose(number, handler):
    """The C library refuses 32 and 33."""
    libc.syscall(SIGACTION, number, (ctypes.c_ulong * 4)(handler, 0, 0, 0), None, 8)


def begin_with(ignored, blocked, more=()):
    def prepare():
        for number in range(1, 65):
            if number not in NEVER:
                dispose(number, number in ignored)
        mask = ctypes.c_ulong(sum(1 << (n - 1) for n in blocked))
        libc.syscall(SIGPROCMASK, 2, ctypes.byref(mask), None, 8)
        for change in more:
            change()
    return prepare


def limits():
    os.nice(3)
    os.umask(0o137)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_NOFILE, (300, 400))
    resource.setrlimit(resource.RLIMIT_STACK, (4 << 20, resource.getrlimit(resource.RLIMIT_STACK)[1]))
    libc.syscall(IOPRIO_SET, 1, 0, 2 << 13 | 6)
    for name, value in ("oom_score_adj", "77"), ("coredump_filter", "0x11"), ("timerslack_ns", "70000"):
        try:
            pathlib.Path("/proc/self", name).write_text(value)
        except OSError:
            pass  # not allowed here: then it is as it was in both


def shown(strobe, before, prepare, command, **more):
    done = subprocess.run([*before, *command], cwd=strobe.folder, env=dict(strobe.environment, LC_ALL="C"), stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=LIMIT_S, preexec_fn=prepare, restore_signals=False, **more)
    assert done.returncode == 0, done.stderr
    return [line for line in done.stdout.splitlines() if not line.startswith(OTHER)]


def both(strobe, prepare, *command, options=(), **more):
    return shown(strobe, (), prepare, command, **more), shown(strobe, (TOOL, "run", "-q", *options, "--"), prepare, command, **more)


EVERY = [n for n in range(1, 65) if n not in NEVER]


@pytest.mark.parametrize("options", [(), ("-o", "/proc/nowhere")], ids=["recorded", "unrecorded"])
@pytest.mark.parametrize("ignored, blocked", [([], []), (EVERY, []), ([], EVERY), (EVERY, EVERY), ([7, 17, 32], [33, 15, 25])],
                         ids=["plain", "ignored", "blocked", "both", "some"])
def test_signals_are_ignored_and_blocked_as_without_strobe(strobe, ignored, blocked, options):
    without, below = both(strobe, begin_with(ignored, blocked), "cat", "/proc/self/status", options=options)
    assert below == without
    assert any(line.startswith("SigIgn:") for line in below) and any(line.startswith("SigBlk:") for line in below)


@pytest.mark.parametrize("ignored, blocked", [([], []), (EVERY, EVERY), ([7, 17, 32], [33, 15, 25])], ids=["plain", "all", "some"])
def test_a_measured_command_has_its_signals_as_without_strobe(strobe, tmp_path, ignored, blocked):
    show = ["sh", "-c", f"grep Sig /proc/self/status > {tmp_path}/$STATUS"]
    found = []
    for name, before in ("without", ()), ("below", (TOOL, "bench", "-n", "1", "--warmup", "0", "--")):
        subprocess.run([*before, *show], cwd=strobe.folder, env=dict(strobe.environment, STATUS=name), stdin=subprocess.DEVNULL, check=True,
                       capture_output=True, timeout=LIMIT_S, preexec_fn=begin_with(ignored, blocked), restore_signals=False)
        found.append([line for line in (tmp_path / name).read_text().splitlines() if not line.startswith(OTHER)])
    assert found[0] == found[1] and len(found[0]) >= 4


def test_a_measured_command_prints_where_strobe_was_started_without_descriptors(strobe, tmp_path):
    def without():
        os.closerange(0, 3)
    show = ["sh", "-c", f"echo out; echo err >&2; ls /proc/$$/fd > {tmp_path}/fds"]
    subprocess.run([TOOL, "bench", "-n", "1", "--warmup", "0", "--", *show], cwd=strobe.folder, env=strobe.environment, timeout=LIMIT_S, preexec_fn=without)
    assert {"0", "1", "2"} <= set((tmp_path / "fds").read_text().split())


def test_limits_and_priorities_are_as_without_strobe(strobe):
    without, below = both(strobe, begin_with([], [], [limits]), "cat", *SHOWN)
    assert below == without
    assert any("Umask:\t0137" in line for line in below)
    without, below = both(strobe, begin_with([], [], [limits]), "sh", "-c", "nice; ulimit -a; cut -d' ' -f18,19,40,41 /proc/self/stat; ionice || true")
    assert below == without and below[0] == str(min(os.nice(0) + 3, 19))


def test_descriptors_are_as_without_strobe(strobe, tmp_path):
    with open(tmp_path / "own", "w") as own:
        far = fcntl.fcntl(own, fcntl.F_DUPFD, 40)
        try:
            without, below = both(strobe, begin_with([], []), "sh", "-c", "ls /proc/$$/fd", pass_fds=(own.fileno(), far))
        finally:
            os.close(far)
        assert below == without and {str(own.fileno()), str(far)} <= set(below)


@pytest.mark.parametrize("more", [(), ("--gpu-trace=steps:3",), ("--sample=100",), ("--labels",), ("--stage", "m:f", "-t", "a=b")])
def test_every_variable_that_is_added_is_documented(strobe, more):
    without, below = both(strobe, begin_with([], []), "env", options=more)
    added = {line.split("=")[0] for line in set(below) - set(without)}
    assert not set(without) - set(below) and {"STROBE_ENABLED", "STROBE_RUN_DIR"} <= added
    text = DOCS.read_text()
    assert not [name for name in added if f"`{name}" not in text]
