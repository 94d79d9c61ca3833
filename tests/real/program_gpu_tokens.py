"""A language model on the CPU whose forwards launch kernels of the stand-in for CUPTI: --gpu-trace=steps:N with the
generate() of the real transformers. usage: program_gpu_tokens.py"""
import os
import sys

import torch
import transformers

sys.path.append(os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "fake"))
import standins  # noqa: E402

cuda, cupti = standins.load()
names = []


def launch(*_):
    names.append(b"kernel_of_forward_%d" % len(names))
    cupti.kernel(cupti.launch(), cupti.now(), cupti.now() + 1000, names[-1])


torch.manual_seed(0)
model = transformers.LlamaForCausalLM(transformers.LlamaConfig(
    vocab_size=64, hidden_size=32, intermediate_size=64, num_hidden_layers=1, num_attention_heads=2, num_key_value_heads=2,
    bos_token_id=1, eos_token_id=2, pad_token_id=0)).eval()
model.register_forward_pre_hook(launch)
ids = torch.tensor([[3, 4, 5]])
model.generate(ids, attention_mask=torch.ones_like(ids), max_new_tokens=8, min_new_tokens=8, do_sample=False)
assert len(names) == 8
