"""A Wan pipeline on the CPU whose forwards launch kernels of the stand-in for CUPTI: --gpu-trace=steps:N with
the real diffusers. usage: program_gpu_steps.py"""
import os
import sys

import torch

import tiny

sys.path.append(os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "fake"))
import standins  # noqa: E402

cuda, cupti = standins.load()
names = []


def launch(*_):
    names.append(b"kernel_of_forward_%d" % len(names))
    cupti.kernel(cupti.launch(), cupti.now(), cupti.now() + 1000, names[-1])


pipeline = tiny.wan()
pipeline.transformer.register_forward_pre_hook(launch)
pipeline(prompt="w1", negative_prompt="w2", max_sequence_length=16, height=16, width=16, num_frames=5, num_inference_steps=6,
         generator=torch.Generator().manual_seed(0))
assert len(names) == 12
