"""A Wan pipeline on the CPU whose forwards launch kernels of the stand-in for CUPTI: --gpu-trace=steps:N with
the real diffusers. usage: program_gpu_steps.py"""
import ctypes
import os

import torch

import tiny

P, U32, U64, I, S = ctypes.c_void_p, ctypes.c_uint32, ctypes.c_uint64, ctypes.c_int, ctypes.c_char_p


def table(path, function, *fields):
    kind = type("Table", (ctypes.Structure,), {"_fields_": [(name, ctypes.CFUNCTYPE(*types)) for name, *types in fields]})
    give = getattr(ctypes.CDLL(path), function)
    give.restype = ctypes.POINTER(kind)
    return give().contents


cuda = table(os.environ["STROBE_CUDA_PATH"], "fake_cuda", ("reset", None), ("calls", U64, S), ("advance", None, U64),
             ("work", None, P, U64), ("capture", None, P, I), ("make_current", None, P, I))
cupti = table(os.environ["STROBE_CUPTI_PATH"], "fake_cupti", ("reset", None), ("calls", U64, S), ("set_version", None, U32),
              ("refuse", None, S, I), ("now", U64), ("launch", U32), ("kernel", None, U32, U64, U64, S))
cuda.reset()
cupti.reset()
cuda.make_current(0x1000, 0)
names = []


def launch(*_):
    names.append(b"kernel_of_forward_%d" % len(names))
    cupti.kernel(cupti.launch(), cupti.now(), cupti.now() + 1000, names[-1])


pipeline = tiny.wan()
pipeline.transformer.register_forward_pre_hook(launch)
pipeline(prompt="w1", negative_prompt="w2", max_sequence_length=16, height=16, width=16, num_frames=5, num_inference_steps=6,
         generator=torch.Generator().manual_seed(0))
assert len(names) == 12
