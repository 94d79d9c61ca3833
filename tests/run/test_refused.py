"""A system that refuses calls (seccomp, as containers have it): the program runs as without strobe."""
import ctypes
import errno
import os
import platform
import struct
import subprocess

import pytest

from conftest import LIMIT_S, PYTHON, TOOL

NUMBERS = {
    "x86_64": {"perf_event_open": 298, "memfd_create": 319, "fallocate": 285, "madvise": 28, "close_range": 436, "statx": 332, "prctl": 157, "ptrace": 101,
               "socketpair": 53, "setpgid": 109, "pidfd_open": 434, "copy_file_range": 326, "sendfile": 40, "flock": 73, "fsync": 74, "fdatasync": 75,
               "ftruncate": 77, "sched_setaffinity": 203, "sched_getaffinity": 204, "getrandom": 318, "inotify_init1": 294, "process_vm_readv": 310,
               "renameat2": 316, "symlinkat": 266, "fchmod": 91, "membarrier": 324, "rseq": 334, "eventfd2": 290, "epoll_create1": 291, "pipe2": 293},
    "aarch64": {"perf_event_open": 241, "memfd_create": 279, "fallocate": 47, "madvise": 233, "close_range": 436, "statx": 291, "prctl": 167, "ptrace": 117,
                "socketpair": 199, "setpgid": 154, "pidfd_open": 434, "copy_file_range": 285, "sendfile": 71, "flock": 32, "fsync": 82, "fdatasync": 83,
                "ftruncate": 46, "sched_setaffinity": 122, "sched_getaffinity": 123, "getrandom": 278, "inotify_init1": 26, "process_vm_readv": 270,
                "renameat2": 276, "symlinkat": 36, "fchmod": 52, "membarrier": 283, "rseq": 293, "eventfd2": 19, "epoll_create1": 20, "pipe2": 59},
}.get(platform.machine(), {})
CLONES = {"x86_64": (56, 57, 58, 435), "aarch64": (220, 435)}.get(platform.machine())
PROGRAM = """
import strobe, sys
with strobe.generation(frames=2):
    for _ in strobe.steps(range(3)):
        with strobe.section("transformer"):
            sum(range(1000))
print("result")
sys.exit(5)
"""
BARE = "import sys\nassert 'Seccomp:\\t2' in open('/proc/self/status').read()\nsum(range(1000))\nprint('result')\nsys.exit(5)\n"
libc = ctypes.CDLL(None, use_errno=True)


def refuse(number, error):
    """A filter of four instructions; the calls of another architecture are none of this program's."""
    def install():
        code = struct.pack("HBBIHBBIHBBIHBBI", 0x20, 0, 0, 0, 0x15, 0, 1, number, 0x06, 0, 0, 0x00050000 | error, 0x06, 0, 0, 0x7fff0000)
        memory = ctypes.create_string_buffer(code)
        program = struct.pack("HxxxxxxP", 4, ctypes.addressof(memory))
        if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, ctypes.create_string_buffer(program)):
            os._exit(99)
    return install


def run(strobe, call, error, *arguments):
    return subprocess.run(arguments, cwd=strobe.folder, env=strobe.environment, capture_output=True, text=True, timeout=LIMIT_S,
                          preexec_fn=refuse(NUMBERS[call], error))


@pytest.mark.skipif(not NUMBERS, reason="numbers of system calls are not known here")
@pytest.mark.parametrize("error", [errno.EPERM, errno.ENOSYS], ids=["EPERM", "ENOSYS"])
@pytest.mark.parametrize("call", NUMBERS)
def test_a_call_that_is_refused_changes_nothing_of_the_program(strobe, call, error):
    bare = run(strobe, call, error, PYTHON, strobe.script(BARE, "bare.py"))
    assert "AssertionError" not in bare.stderr  # the filter is there
    if (bare.returncode, bare.stdout) != (5, "result\n"):
        pytest.skip("Python itself needs %s" % call)
    done = run(strobe, call, error, TOOL, "run", "--", PYTHON, strobe.script(PROGRAM))
    assert (done.returncode, done.stdout) == (5, "result\n"), done.stderr
    assert "Traceback" not in done.stderr and "Aborted" not in done.stderr
    seen = strobe("report", "last")
    assert "transformer" in seen.stdout or "unrecorded" in done.stderr, (done.stderr, seen.stdout, seen.stderr)


@pytest.mark.skipif(not NUMBERS, reason="numbers of system calls are not known here")
@pytest.mark.parametrize("options", [(), ("--labels",), ("--wait",)], ids=["plain", "labels", "wait"])
@pytest.mark.parametrize("error", [errno.EAGAIN, errno.ENOMEM], ids=["EAGAIN", "ENOMEM"])
def test_a_program_runs_where_no_other_process_can_be_started(strobe, error, options):
    """At the limit of processes (ulimit -u): without strobe, the shell's exec of it needs none."""
    def no_process():
        for number in CLONES:
            refuse(number, error)()
    done = subprocess.run([TOOL, "run", *options, "--", "cat", "/proc/self/status"], cwd=strobe.folder, env=strobe.environment,
                          capture_output=True, text=True, timeout=LIMIT_S, preexec_fn=no_process)
    assert done.returncode == 0 and done.stdout.startswith("Name:\tcat\n"), (done.stdout, done.stderr)
    assert "the command runs unrecorded" in done.stderr
    assert not strobe.runs()
