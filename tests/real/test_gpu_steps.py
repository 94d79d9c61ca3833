"""The README's second command, strobe run --gpu-trace=steps:3 -- python wan.py, with the real diffusers."""
import os
import sys

import wire
from conftest import BUILD, HERE


def test_the_steps_of_a_real_pipeline_are_traced(run):
    fake = os.path.join(BUILD, "tests", "fake")
    found = run(sys.executable, os.path.join(HERE, "program_gpu_steps.py"), options=["--gpu-trace=steps:3"],
                STROBE_CUDA_PATH=fake + "/libfake_cuda.so", STROBE_CUPTI_PATH=fake + "/libfake_cupti.so")
    kernels = [kernel.name for kernel in wire.load(os.path.join(found.folder, "runs", "last")).of("kernel")]
    # One step of warm-up, then three with two forwards each.
    assert sorted(kernels) == ["kernel_of_forward_%d" % i for i in range(2, 8)]
    assert "too few steps" not in found.stdout + found.stderr


def test_on_a_machine_without_a_gpu_the_program_runs_as_ever(run):
    """torch's wheel brings a CUPTI whose first call crashes where there is no driver."""
    found = run(sys.executable, "-c", "import tiny\ntiny.wan()(prompt='w1', negative_prompt='w2', max_sequence_length=16, height=16, "
                "width=16, num_frames=5, num_inference_steps=4)", options=["--gpu-trace=steps:3", "--gpu-counters=steps:3"])
    assert found.code == 0 and "too few steps" not in found.stdout + found.stderr
