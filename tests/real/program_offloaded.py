"""A real Wan pipeline whose models diffusers offloads and fetches, on a machine without a GPU: torch's fake tensors stand for
those on cuda:0. It says where the weights of each model lie after each call."""
import json
import sys
import types

import torch
from torch._subclasses.fake_tensor import FakeTensorMode

import tiny

MODELS = "text_encoder", "transformer", "vae"


def replace_tensors(self, fn, recurse=True):
    """nn.Module._apply() exchanges what fake tensors are made of, which they do not allow on the way to a GPU."""
    for child in self.children():
        child._apply(fn)
    for table in self._parameters, self._buffers:
        for name, tensor in table.items():
            if tensor is not None:
                moved = fn(tensor.detach())
                table[name] = torch.nn.Parameter(moved, False) if table is self._parameters else moved
    return self


def lying(pipeline):
    found = {}
    for name in MODELS:
        module = getattr(pipeline, name)
        for tensor in {id(one): one for one in [*module.parameters(), *module.buffers()]}.values():
            key = "%s %s" % (name, tensor.device)
            found[key] = found.get(key, 0) + tensor.numel() * tensor.element_size()
    return found


def computes_nothing(self, *args, **kwargs):
    return torch.zeros(1)


def calls(pipeline):
    """The stages of a video, each a call of a model as the pipeline makes it."""
    x = torch.zeros(1)
    pipeline.text_encoder(x)
    yield "text_encoder"
    for _ in range(3):
        pipeline.transformer(x)
    yield "transformer"
    pipeline.vae.decode(x)
    yield "vae_decode"
    pipeline.maybe_free_model_hooks()
    yield "end"


pipeline = tiny.wan(transformer=tiny.wan_transformer(attention_head_dim=24, ffn_dim=8192, num_layers=4, text_dim=64),
                    text_encoder=tiny.umt5(d_model=64, d_ff=8192), vae=tiny.wan_vae(base_dim=24))
torch.nn.Module._apply = replace_tensors
for model in pipeline.text_encoder, pipeline.transformer:
    type(model).forward = computes_nothing  # what fake tensors hold cannot be read
type(pipeline.vae)._decode = lambda self, z: types.SimpleNamespace(sample=z)
with FakeTensorMode(allow_non_fake_inputs=True), torch.no_grad():
    truth = [["begin", lying(pipeline)]]
    pipeline.enable_model_cpu_offload(device="cuda")
    truth += [[name, lying(pipeline)] for name in calls(pipeline)]
with open(sys.argv[1], "w") as file:
    json.dump(truth, file)
