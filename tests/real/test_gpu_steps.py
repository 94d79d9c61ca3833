"""The README's second command, strobe run --gpu-trace=steps:3 -- python wan.py, with the real diffusers."""
import os
import sys

import wire
from conftest import BUILD, HERE


def traced(run, program):
    """The numbers of the forwards whose kernels were traced."""
    fake = os.path.join(BUILD, "tests", "fake")
    found = run(sys.executable, os.path.join(HERE, program), options=["--gpu-trace=steps:3"],
                STROBE_CUDA_PATH=fake + "/libfake_cuda.so", STROBE_CUPTI_PATH=fake + "/libfake_cupti.so")
    assert "too few steps" not in found.stdout + found.stderr
    names = [kernel.name for kernel in wire.load(os.path.join(found.folder, "runs", "last")).of("kernel")]
    return sorted(int(name.removeprefix("kernel_of_forward_")) for name in names)


def test_the_steps_of_a_real_pipeline_are_traced(run):
    assert traced(run, "program_gpu_steps.py") == [2, 3, 4, 5, 6, 7]  # one step of warm-up, then three with two forwards each


def test_the_tokens_of_generate_are_its_steps(run):
    assert traced(run, "program_gpu_tokens.py") == [2, 3, 4]  # the prompt, one token of warm-up, then three


def test_on_a_machine_without_a_gpu_the_program_runs_as_ever(run):
    """torch's wheel brings a CUPTI whose first call crashes where there is no driver."""
    found = run(sys.executable, "-c", "import tiny\ntiny.wan()(prompt='w1', negative_prompt='w2', max_sequence_length=16, height=16, "
                "width=16, num_frames=5, num_inference_steps=4)", options=["--gpu-trace=steps:3", "--gpu-counters=steps:3"])
    assert found.code == 0 and "too few steps" not in found.stdout + found.stderr
