"""The commands that compare runs, as a user types them."""
import os
import pathlib
import shutil
import subprocess

import pytest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("STROBE_BUILD", SOURCE / "build"))
TOOL = BUILD / "strobe"


def environment(folder, **more):
    launchers = ("STROBE_", "RANK", "LOCAL_RANK", "WORLD_SIZE", "SLURM", "OMPI", "PMI")
    kept = {k: v for k, v in os.environ.items() if not k.startswith(launchers)}
    return {**kept, "STROBE_HISTORY": str(folder / "history.db"), "NO_COLOR": "1", "TZ": "UTC", **more}


@pytest.fixture
def strobe(tmp_path):
    """Runs the tool in a folder that holds the two stage logs under short names."""
    for name in ("before", "after"):
        shutil.copy(SOURCE / "tests" / "data" / f"stagelog-{name}.txt", tmp_path / f"{name}.txt")

    def run(*args, code=0, **env):
        done = subprocess.run([TOOL, *map(str, args)], cwd=tmp_path, env=environment(tmp_path, **env),
                              capture_output=True, text=True, timeout=120)
        assert done.returncode == code, (done.returncode, done.stdout, done.stderr)
        return done

    return run


@pytest.fixture(scope="module")
def ranks(tmp_path_factory):
    """64 ranks on 8 hosts whose clocks are 3 ms apart: 17 is slow, 5 missing, 9 cut off, 11 no recording."""
    folder = tmp_path_factory.mktemp("ranks") / "job"
    subprocess.run([BUILD / "tests" / "make_ranks", folder, "64", "4000", "17", "8", "3"], check=True)
    shutil.rmtree(folder / "rank_5")
    with open(folder / "rank_9" / "run.strobe", "r+b") as f:
        f.truncate(60000)
    (folder / "rank_11" / "run.strobe").write_text("not a recording")
    return folder
