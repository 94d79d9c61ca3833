"""Threads that use GPU zones and traces are cancelled and forked at any moment, over stand-ins
in which every call of the driver is a cancellation point: nothing stays held (H7)."""
import os

import pytest

from conftest import BUILD, report

ROUNDS = int(os.environ.get("STROBE_HARM_ROUNDS", "1"))
FAKES = {"STROBE_CUDA_PATH": str(BUILD / "tests" / "fake" / "libfake_cuda.so"),
         "STROBE_CUPTI_PATH": str(BUILD / "tests" / "fake" / "libfake_cupti.so"), "FAKE_CANCELLABLE": "1"}
BUILDS = ["gpu", "gpu_scheduled"]


def stage(tmp_path, name):
    stages = report(tmp_path / "strobe-runs" / "last")["stage_analysis"]["stages"]
    return sum(s["count"] for s in stages if s["name"] == name)


@pytest.mark.parametrize("build", BUILDS)
def test_threads_cancelled_in_the_driver_leave_nothing_held(harm, tmp_path, build):
    rounds = 30 * ROUNDS
    ran = harm(build, "cancel", rounds, env=FAKES)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert int(ran.stdout) == 12 * rounds
    assert stage(tmp_path, "gpu zone") >= 12  # the last session: all contexts of the main thread


@pytest.mark.parametrize("build", BUILDS)
def test_a_child_forked_while_others_use_the_gpu_can_use_it_and_end(harm, tmp_path, build):
    ran = harm(build, "fork", 20 * ROUNDS, env={**FAKES, "STROBE_MONITOR": "0"})
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert stage(tmp_path, "gpu zone") >= 12 + 20 * ROUNDS
