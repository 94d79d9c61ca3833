"""A torch program without a framework, and the ways such programs are launched."""
import os
import sys

import pytest

from conftest import HERE, LOAD, both_ways, of_role

PROGRAM = os.path.join(HERE, "program_torch.py")
STAGES = ["--stage", "program_torch:prepare=3a prepare", "--stage", "__main__:main=3 main"]
SCRIPTS = os.path.dirname(sys.executable)


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    return both_ways(tmp_path_factory.mktemp("torch"), "program_torch.py", options=STAGES)


def test_the_result_is_bit_equal(found):
    assert found[0] == found[1]


def test_the_outermost_modules_are_stages(found):
    _, counted, run = found
    assert len(run.recording.named("Net")) == counted["forwards"] == 6
    assert not run.recording.named("Block") and not run.recording.named("Linear")


def test_loads_with_their_bytes(found):
    _, counted, run = found
    loads = [zone.attrs["bytes"] for zone in of_role(run.recording.zones, LOAD) if not zone.name.startswith("load:")]
    assert loads == counted["loads"]


def test_large_models_that_move_are_loads(found):
    move, = [zone for zone in found[2].recording.zones if zone.name == "load:Large"]
    assert move.attrs["bytes"] == 101 << 20


def test_data_and_compilation(found):
    _, counted, run = found
    assert len(run.recording.named("data_loading")) == 5 and len(run.recording.named("data_loading_sampler")) == 6
    assert len(run.recording.named("torch.compile")) == counted["compiles"] >= 1


def test_stages_of_the_script_itself(found):
    run = found[2]
    assert len(run.recording.named("prepare")) == 6 and len(run.recording.named("main")) == 1
    assert run.recording.named("prepare")[0].code == "3a"


@pytest.mark.parametrize("command, processes", [
    ([sys.executable, "-m", "program_torch"], 1),
    ([os.path.join(SCRIPTS, "torchrun"), "--nproc-per-node=2", "--master-port=0", PROGRAM], 2),
    ([os.path.join(SCRIPTS, "accelerate"), "launch", "--cpu", "--num_processes=1", "--num_machines=1",
      "--mixed_precision=no", "--dynamo_backend=no", PROGRAM], 1)], ids=["python -m", "torchrun", "accelerate launch"])
def test_launchers(run, tmp_path, command, processes):
    done = run(*command, options=STAGES)
    recordings = [recording for recording in done.recordings if recording.named("Net")]
    assert len(recordings) == processes
    for recording in recordings:
        assert len(recording.named("Net")) == len(recording.named("prepare")) == 6


ASKED = """
import torch

class Net(torch.nn.Module):
    def forward(self, x):
        return x + 1

    def __getattr__(self, name):
        asked.append(name)
        return super().__getattr__(name)

asked, net, x = [], Net(), torch.ones(2)
net(x)
del asked[:]
for _ in range(3):
    net(x)
open("asked", "w").write(" ".join(asked))
torch.compile(torch.nn.Sequential(torch.nn.Linear(2, 2)), backend="eager")(x)
"""


def test_a_call_asks_the_model_for_nothing_it_has_not(run, tmp_path):
    """torch words an error for every such attribute, which is slow."""
    script = tmp_path / "asks.py"
    script.write_text(ASKED.replace('"asked"', repr(str(tmp_path / "asked"))))
    done = run(sys.executable, str(script))
    assert (tmp_path / "asked").read_text() == ""
    recording, = [one for one in done.recordings if one.named("Net")]
    assert len(recording.named("Net")) == 4
    assert recording.named("Sequential") and not recording.named("OptimizedModule")
