"""Programs that treat the recorder badly. What they wrote must be there afterwards."""
import os
import pathlib
import subprocess

import pytest

BUILD = pathlib.Path(os.environ.get("STROBE_BUILD", "build")).resolve()
TOOL = str(BUILD / "strobe")
LIMIT_S = 120  # only matters when a test fails


def quiet_environment(**more):
    """Without what the tester's own shell says about strobe."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("STROBE_")}
    env["STROBE_GENERATE_FINAL_REPORT"] = "0"
    env.update(more)
    return env


@pytest.fixture
def harm(tmp_path):
    """Runs tests/harm_<name> with its arguments in a folder of its own."""
    def go(name, *arguments, env=None, **how):
        how.setdefault("capture_output", True)
        return subprocess.run([str(BUILD / "tests" / f"harm_{name}"), *map(str, arguments)], cwd=tmp_path, text=True,
                              timeout=LIMIT_S, env=quiet_environment(**(env or {})), **how)
    return go


def report(run):
    """The report model of a run folder."""
    import json
    text = subprocess.run([TOOL, "report", "--format=json", str(run)], check=True, capture_output=True, text=True,
                          timeout=LIMIT_S).stdout
    return json.loads(text)
