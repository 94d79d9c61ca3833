"""Launchers that start a process for each rank: accelerate's, and one as deepspeed's that sets the environment and starts Python."""
import json
import os
import subprocess
import sys

import pytest

from conftest import HERE, TOOL, environment
from program_launched import FORWARDS, RANKS

PROGRAM = os.path.join(HERE, "program_launched.py")
ACCELERATE = [os.path.join(os.path.dirname(sys.executable), "accelerate"), "launch", "--multi_gpu", "--num_processes", str(RANKS),
              "--num_machines", "1", "--mixed_precision", "no", "--dynamo_backend", "no", "--main_process_port", "0", PROGRAM]
LIKE_DEEPSPEED = [sys.executable, PROGRAM, "--ranks", str(RANKS), PROGRAM]


@pytest.mark.parametrize("launcher, how, model", [(ACCELERATE, "accelerate", "DistributedDataParallel"),
                                                  (LIKE_DEEPSPEED, "environment", "Sequential")], ids=["accelerate", "like_deepspeed"])
def test_every_rank_of_a_launcher_is_recorded(tmp_path, launcher, how, model):
    done = subprocess.run([TOOL, "run", "-q", "-o", "runs", "--", *launcher, "watched", how], cwd=tmp_path, capture_output=True, text=True,
                          timeout=900, env=environment(STROBE_HISTORY="off", STROBE_FLOPS="0", STROBE_DEBUG="1"))
    assert done.returncode == 0, done.stderr[-4000:]
    assert "strobe: fault" not in done.stderr, done.stderr[-4000:]
    found = [json.loads((tmp_path / ("watched.%d" % rank)).read_text()) for rank in range(RANKS)]
    assert [one["rank"] for one in found] == list(range(RANKS)) and found[0]["sum"] == found[1]["sum"]
    job = json.loads(subprocess.run([TOOL, "report", "runs/last", "--format", "json"], cwd=tmp_path, check=True,
                                    stdout=subprocess.PIPE, env=environment()).stdout)
    assert (job["rank_count"], job["world_size_count"], job["missing_ranks"], job["left_out"]) == (RANKS, RANKS, [], [])
    stages = {stage["name"]: stage for stage in job["stages"]}
    assert stages[model]["count"] == RANKS * FORWARDS
    assert stages["collective:all_reduce"]["count"] >= RANKS


PLAIN = """
import torch
model = torch.nn.Sequential(torch.nn.Linear(8, 8))
for _ in range(5):
    model(torch.zeros(1, 8))
"""


@pytest.mark.parametrize("launcher", [[ACCELERATE[0], "launch", "--num_processes", "1", "--num_machines", "1", "--cpu", "--mixed_precision",
                                       "no", "--dynamo_backend", "no"], [sys.executable, "-m", "wrapper"]], ids=["accelerate", "python_m"])
def test_one_process_below_a_launcher_has_one_start_up(run, tmp_path, launcher):
    (tmp_path / "plain.py").write_text(PLAIN)
    (tmp_path / "wrapper.py").write_text("import subprocess, sys, numpy\nsys.exit(subprocess.call([sys.executable] + sys.argv[1:]))\n")
    done = run(*launcher, "plain.py")
    stages = done.report()["stage_analysis"]["stages"]
    model, = [stage for stage in stages if stage["name"] == "Sequential"]
    assert model["count"] == 5 and not any(stage.get("bottleneck") for stage in stages if stage["name"].startswith("import "))
    assert "start-up (imports)" in done.stderr and "BOTTLENECK" not in done.stderr
