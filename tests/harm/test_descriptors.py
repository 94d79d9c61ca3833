"""The recorder holds no descriptor that the program could take (H1)."""
import os
import resource
import subprocess
import sys

import pytest

from conftest import BUILD, LIMIT_S, quiet_environment, report

ROUNDS = {"own": 10000, "shared": 2000}


@pytest.mark.parametrize("table", ["own", "shared"])
def test_a_program_that_closes_everything_keeps_its_files(harm, tmp_path, table):
    """At random moments, while sessions open, grow and close. The monitors sample too where
    they have a table of their own; docs/harmless.md says what is left where not."""
    env = {"STROBE_CPU_MONITOR_INTERVAL": "0.01"} if table == "own" else {"STROBE_MONITOR": "0"}
    ran = harm("descriptors", tmp_path, ROUNDS[table], 7, table, env=env)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "every byte is there" in ran.stdout


def closing(*numbers):
    def close():
        for number in numbers:
            os.close(number)
    return close


def zones(run, name):
    stages = report(run)["stage_analysis"]["stages"]
    return sum(s["count"] for s in stages if s["name"] == name)


@pytest.mark.parametrize("closed", [(1,), (2,), (1, 2), (0, 1, 2)])
def test_started_with_standard_streams_closed(harm, tmp_path, closed):
    """The recording is no standard stream: what the program prints goes nowhere."""
    ran = harm("talk", tmp_path / "runs", preexec_fn=closing(*closed), capture_output=False,
               stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    assert ran.returncode == 0
    assert zones(tmp_path / "runs" / "last", "z") == 100


@pytest.mark.parametrize("closed", [1, 2])
def test_a_file_that_became_a_standard_stream_holds_the_programs_words_alone(harm, tmp_path, closed):
    """Also when strobe has something to say: here its folder cannot be made."""
    (tmp_path / "runs").write_text("a file, no folder")
    harm("talk", tmp_path / "runs", tmp_path / "own", preexec_fn=closing(closed), capture_output=False,
         stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    text = (tmp_path / "own").read_text()
    assert text.endswith("end\n")
    words = [line for line in text.splitlines() if not line.startswith("descriptors of strobe")]
    assert len(words) == 101 and all("of the program" in word for word in words[:-1])


def broken_pipe(tmp_path):
    read, write = os.pipe()
    os.close(read)
    return write, None


def file_at_its_limit(tmp_path):
    full = os.open(tmp_path / "errors", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.write(full, b"x" * (1 << 20))
    return full, lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))


@pytest.mark.parametrize("folder", ["runs", "no-folder"])
@pytest.mark.parametrize("stderr", [broken_pipe, file_at_its_limit])
def test_what_strobe_says_never_ends_the_program(harm, tmp_path, stderr, folder):
    """A stage's line, or that nothing can be recorded, where writing to standard error sends SIGPIPE or SIGXFSZ."""
    (tmp_path / "no-folder").write_text("a file")
    fd, limit = stderr(tmp_path)
    try:
        ran = harm("silent", tmp_path / folder, tmp_path / "result", env={"STROBE_STAGE_LOG": "1"}, capture_output=False, stderr=fd,
                   preexec_fn=limit)
    finally:
        os.close(fd)
    assert ran.returncode == 0 and (tmp_path / "result").read_text() == "end\n"


def test_the_program_sees_no_descriptor_of_strobe(harm, tmp_path):
    ran = harm("talk", tmp_path / "runs")
    assert "descriptors of strobe: 0 during, 0 after" in ran.stdout


def test_python_that_closes_a_range_keeps_its_file(tmp_path):
    script = tmp_path / "daemon.py"
    script.write_text("""
import os, strobe
with strobe.section("a"):
    pass
os.closerange(3, 256)
with open("result.bin", "wb") as f:
    f.write(b"A" * (6 << 20))
    f.flush()
    for i in range(120000):
        with strobe.section("work"):
            pass
    strobe.stop()
    f.write(b"end")
""")
    subprocess.run([sys.executable, str(script)], cwd=tmp_path, check=True, timeout=LIMIT_S,
                   env=quiet_environment(STROBE_ENABLED="1", PYTHONPATH=str(BUILD / "python")))
    assert (tmp_path / "result.bin").read_bytes() == b"A" * (6 << 20) + b"end"
    assert zones(tmp_path / "strobe-runs" / "last", "work") == 120000
