"""tests/real_tools: what strobe writes and speaks, against the tools and client libraries it is for."""
import os
import pathlib
import shutil
import subprocess

import pytest

BUILD = pathlib.Path(os.environ["STROBE_BUILD"])
TOOL = BUILD / "strobe"


@pytest.fixture(scope="session")
def runs(tmp_path_factory):
    """A folder of runs with fixed clocks."""
    folder = tmp_path_factory.mktemp("real_tools")
    subprocess.run([BUILD / "tests" / "make_recordings", folder], check=True)
    for recording in sorted(folder.glob("*.strobe")):
        (folder / "runs" / recording.stem).mkdir(parents=True)
        shutil.move(recording, folder / "runs" / recording.stem / "run.strobe")
    return folder / "runs"
