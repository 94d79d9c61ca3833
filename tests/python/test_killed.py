"""The kernel kills a program for its memory: in a control group of its own, where the machine lets the test make one."""
import json
import os
import subprocess
import sys
import uuid

import pytest
from strobe import _tool

MB = 1 << 20
LIMIT_MB = 160

PROGRAM = """
import strobe
kept = []
with strobe.generation(frames=8):
    for _ in strobe.steps(range(3)):
        with strobe.section("transformer"):
            sum(range(100000))
    with strobe.section("vae_decode"):
        for _ in range(4000):
            kept.append(bytearray(b"x") * (1 << 20))
"""


def own_groups():
    """Folders of the group this process is in, of the memory controller: (folder, name of its limit)."""
    with open("/proc/self/cgroup") as groups:
        for line in groups:
            _, controllers, path = line.rstrip("\n").split(":", 2)
            if controllers == "memory":
                yield "/sys/fs/cgroup/memory" + path, "memory.limit_in_bytes"
            elif not controllers:
                yield "/sys/fs/cgroup" + path, "memory.max"


@pytest.fixture
def group():
    """A group with a limit, which a process can enter."""
    why = "there is no control group of memory"
    for parent, limit in own_groups():
        folder = os.path.join(parent, "strobe-test-" + uuid.uuid4().hex[:12])
        try:
            os.mkdir(folder)
        except OSError as error:
            why = str(error)
            continue
        try:
            with open(os.path.join(folder, limit), "w") as file:
                file.write(str(LIMIT_MB * MB))
        except OSError as error:  # a group of version 2 whose parent hands no memory on
            why = str(error)
            os.rmdir(folder)
            continue
        yield folder
        os.rmdir(folder)
        return
    pytest.skip("no control group can be made: " + why)


def has_swap():
    with open("/proc/swaps") as swaps:
        return len(swaps.readlines()) > 1


def test_a_program_that_the_kernel_kills_for_its_memory(tmp_path, group):
    if has_swap():
        pytest.skip("the machine has swap, which the limit does not hold")
    (tmp_path / "program.py").write_text(PROGRAM)
    enter = 'echo $$ > "$1/cgroup.procs" && shift && exec "$@"'
    environment = {key: value for key, value in os.environ.items() if not key.startswith("STROBE_")}
    done = subprocess.run(["sh", "-c", enter, "sh", group, _tool.path(), "run", "-q", "-o", "run", "--", sys.executable, "program.py"],
                          cwd=str(tmp_path), env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert done.returncode == 137, done.stdout
    made = subprocess.run([_tool.path(), "report", "run", "--format", "json"], cwd=str(tmp_path), stdout=subprocess.PIPE, check=True)
    report = json.loads(made.stdout)
    first, ran_out = report["recommendations"][0], report["out_of_memory"]
    assert first["id"] == "out_of_memory" and ran_out["killed"] and ran_out["stage"] == "vae_decode"
    assert ran_out["total_bytes"] == LIMIT_MB * MB
    held = sum(resident["bytes"] for resident in ran_out["residents"])
    assert held > LIMIT_MB * MB // 2, ran_out  # also what came after the last sample
