"""`uv run`, on either side of `strobe run`: the program it starts is recorded as any other. Nothing is downloaded."""
import subprocess

from conftest import LIMIT_S, PYTHON, TOOL

UV = ["uv", "run", "--no-project", "--offline", "--python", PYTHON]
PROGRAM = """def encode():
    return sum(range(1000))


for _ in range(3):
    encode()
"""


def stages(strobe):
    done = strobe("report", "strobe-runs/last")
    assert done.returncode == 0, done.stderr
    return [line for line in done.stdout.splitlines() if line.startswith("encode ")]


def test_uv_run_below_strobe_run(strobe):
    done = strobe.run("-q", "--stage", "program:encode", "--", *UV, strobe.script(PROGRAM, "program.py"))
    assert done.returncode == 0, done.stderr
    (row,) = stages(strobe)
    assert row.split()[1] == "3"


def test_strobe_run_below_uv_run(strobe):
    done = subprocess.run([*UV, TOOL, "run", "-q", "--stage", "program:encode", "--", "python", strobe.script(PROGRAM, "program.py")],
                          cwd=strobe.folder, env=strobe.environment, capture_output=True, text=True, timeout=LIMIT_S)
    assert done.returncode == 0, done.stderr
    (row,) = stages(strobe)
    assert row.split()[1] == "3"
