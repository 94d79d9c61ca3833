"""The system's clock is set while a program is recorded: no time of the report has the step in it."""
import os
import subprocess
import sys

import pytest

from conftest import BUILD, LIMIT_S, TOOL, quiet_environment, report

PROGRAM = """
import os, strobe, time
before = time.time()
with strobe.generation(frames=2):
    for index in strobe.steps(range(6)):
        with strobe.section("transformer"):
            if index == 3:
                open(os.environ["HARM_STEPPED"], "w").close()
print(round((time.time() - before) / 1000))
"""


def seconds(node, path=""):
    """Every number of the report that is a time within the run."""
    if isinstance(node, dict):
        for key, value in node.items():
            yield from seconds(value, path + "." + key)
    elif isinstance(node, list):
        for value in node:
            yield from seconds(value, path)
    elif isinstance(node, (int, float)) and path.endswith(("_s", "_seconds", "_ms")):
        yield path, node


@pytest.mark.parametrize("step", [-1_000_000, 1_000_000])
def test_a_clock_that_is_set_moves_no_stage(tmp_path, step):
    (tmp_path / "program.py").write_text(PROGRAM)
    env = quiet_environment(LD_PRELOAD=str(BUILD / "tests" / "harm_refuse.so"), HARM_STEP=str(step), HARM_STEPPED=str(tmp_path / "stepped"),
                            STROBE_NVML_PATH="/nonexistent")
    done = subprocess.run([TOOL, "run", "-q", "--", sys.executable, "program.py"], cwd=tmp_path, env=env, capture_output=True, text=True,
                          timeout=LIMIT_S)
    assert (done.returncode, done.stdout) == (0, "%d\n" % (step / 1000)), done.stderr
    model = report(os.path.realpath(tmp_path / "strobe-runs" / "last"))
    assert model["recording"]["dropped_count"] == 0 and not model["recording"].get("warnings")
    found = list(seconds(model))
    assert len(found) > 10 and not [one for one in found if one[1] < 0 or one[1] > 900_000], found
