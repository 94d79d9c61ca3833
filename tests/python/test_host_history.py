"""Large allocations of the host by line: `strobe run --memory-history=host`, counted by the programs themselves."""
import json
import os
import subprocess
import sys

import pytest

from strobe import _tool

KEEPS = """
import strobe
MB, kept = 1 << 20, []
def load():
    return bytearray(32 * MB)
def decode():
    return bytearray(8 * MB)
weights = load()
for video in range(6):
    with strobe.generation(frames=8):
        with strobe.section("denoise"):
            for step in range(4):
                latents = [bytearray(2 * MB) for _ in range(3)]
        with strobe.section("decode"):
            kept.append(decode())
del latents, weights
"""

GROWS = """
import strobe
buffer = bytearray()
with strobe.generation():
    for _ in range(64):
        buffer += bytes(1 << 20)  # moved again and again
    buffer = bytearray(buffer[:2 << 20])
"""

THREADS = """
import strobe, threading
def work(number):
    held = []
    for turn in range(400):
        held.append(bytes([number]) * (1 << 20))
        if len(held) == 3:
            assert all(set(block[:64]) == {number} for block in held)
            held.clear()
    left.append(bytes([number]) * (2 << 20))
left = []
with strobe.generation():
    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for one in threads: one.start()
    for one in threads: one.join()
print(sum(len(block) for block in left))
"""

TURNS = """
import strobe
def repeat(block, held):
    for turn in range(6):
        if turn % 2:
            held[turn] = block * 4
with strobe.generation():
    held = {}
    repeat(bytes(1 << 20), held)
"""

FORKS = """
import os, strobe
before = bytearray(16 << 20)
with strobe.generation():
    child = os.fork()
    if not child:
        mine = [bytearray(4 << 20) for _ in range(3)]
        os._exit(0 if len(mine) == 3 else 1)
    assert os.waitpid(child, 0)[1] == 0
print("whole")
"""


def run(folder, source, option="--memory-history=host", env=None):
    path = folder / "program.py"
    path.write_text(source)
    done = subprocess.run([_tool.path(), "run", option, "-o", str(folder / "runs"), "--", sys.executable, str(path)], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, universal_newlines=True, env=dict(os.environ, **(env or {})), timeout=100)
    assert done.returncode == 0, done.stderr
    made = subprocess.run([_tool.path(), "report", str(folder / "runs"), "--format", "json"], stdout=subprocess.PIPE, check=True, timeout=100)
    return done.stdout, json.loads(made.stdout)


def lines(report):
    """(function, line) -> its row, of what this test's program allocated."""
    return {(row["function"], row.get("line")): row for row in report["memory"]["lines"] if "device_index" not in row}


def test_each_line_has_what_it_holds_at_the_peak_and_at_the_end(tmp_path):
    _, report = run(tmp_path, KEEPS)
    rows = lines(report)
    loaded, decoded = rows["load", 5], rows["decode", 7]
    assert (loaded["peak_mb"], loaded["peak_count"], loaded["end_mb"], loaded["end_count"]) == (32, 1, 0, 0)
    assert (decoded["peak_mb"], decoded["peak_count"], decoded["end_mb"], decoded["end_count"]) == (48, 6, 48, 6)
    assert decoded["stage"] == "decode" and decoded["file"].endswith("program.py")
    assert decoded["stack"] == "program.py:7 decode < program.py:15 <module>"
    latents = next(row for (_, line), row in rows.items() if line == 13)
    assert latents["end_mb"] == 0 and 6 <= latents["peak_mb"] <= 12  # those before it are freed as the new ones stand
    picture, = (p for p in report["memory_over_time"] if p.get("by_line"))
    assert "device_index" not in picture and picture["layers"][-1]["component"] == "program.py:7 decode"


def test_what_is_moved_counts_once(tmp_path):
    _, report = run(tmp_path, GROWS)
    rows = lines(report)
    buffer = sum(row["peak_mb"] for (_, line), row in rows.items() if line in (5, 6, 7))
    assert 64 <= buffer <= 64 * 9 / 8 + 4  # Python asks for an eighth more than it needs, and copies two
    assert sum(row["end_mb"] for row in rows.values()) <= 4


def test_threads_are_a_sum_and_lose_nothing(tmp_path):
    printed, report = run(tmp_path, THREADS)
    assert printed.split() == [str(16 << 20)]
    others = lines(report)["(other threads)", None]
    assert (others["end_mb"], others["end_count"]) == (16, 8)
    assert 16 <= others["peak_mb"] <= 8 * 5


def test_what_a_loop_makes_just_before_it_jumps_back_has_its_line(tmp_path):
    """On CPython 3.11 the jump has no line, and it is the first to look for calls that wait."""
    _, report = run(tmp_path, TURNS)
    assert lines(report)["repeat", 6]["peak_mb"] == 12
    assert "repeat" in lines(report)["repeat", 6]["stack"]


def test_a_child_goes_on_with_its_own(tmp_path):
    printed, report = run(tmp_path, FORKS)
    assert printed.split() == ["whole"]
    assert lines(report)["<module>", 3]["peak_mb"] == 16


def test_what_the_program_preloads_stays(tmp_path):
    own = os.path.join(os.path.dirname(_tool.path()), "libstrobe.so")
    printed, report = run(tmp_path, "import os\nprint(os.environ['LD_PRELOAD'])\nkeep = bytearray(4 << 20)\n", env={"LD_PRELOAD": own})
    assert printed.strip().endswith("_allocations.so:" + own)


def test_a_program_that_records_nothing_else_has_its_lines(tmp_path):
    _, report = run(tmp_path, "keep = [bytearray(4 << 20) for _ in range(10)]\n")
    rows = lines(report)
    assert sum(row["peak_mb"] for row in rows.values()) == 40 and {line for _, line in rows} == {1}


def test_a_program_without_large_allocations_is_told_so(tmp_path):
    _, report = run(tmp_path, "keep = [str(number) for number in range(1000)]\n")
    assert not report["memory"].get("lines")
    assert "asked for 1 MiB or more at once nowhere" in json.dumps(report["not_recorded"])


def test_without_the_option_nothing_is_preloaded(tmp_path):
    printed, report = run(tmp_path, "import os, strobe\nprint('LD_PRELOAD' in os.environ)\nkeep = bytearray(4 << 20)\nwith strobe.generation(): pass\n",
                          "--memory-history=1000")
    assert printed.strip() == "False" and "lines" not in report["memory"]


@pytest.mark.parametrize("given", ("hosts", "host,", "host,x", "0", "host,0"))
def test_another_word_is_refused(tmp_path, given):
    done = subprocess.run([_tool.path(), "run", "--memory-history=" + given, "-o", str(tmp_path), "--", "true"], stderr=subprocess.PIPE,
                          universal_newlines=True, timeout=100)
    assert done.returncode and "takes a number of entries, host, or host,NUMBER" in done.stderr
