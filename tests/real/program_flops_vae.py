"""Decodes and encodes of small video VAEs, in tiles and whole, and a text encoder with padding. What torch's counter says of the
same calls on the CPU is written to the file given."""
import json
import sys

import strobe
import torch
from torch.utils.flop_counter import FlopCounterMode

import tiny

MASK = torch.tensor([[1] * 5 + [0] * 7])
VIDEO = torch.randn(1, 3, 9, 32, 32)
made = {"wan": (tiny.wan_vae(), torch.randn(1, 16, 3, 4, 4), VIDEO), "ltx": (tiny.ltx().vae, torch.randn(1, 8, 3, 8, 8), VIDEO),
        "kl": (tiny.small_vae(), torch.randn(2, 4, 8, 8), VIDEO[0, :, :2].transpose(0, 1)),
        "tiled": (tiny.small_vae(), torch.randn(1, 4, 48, 48), VIDEO[0, :, :2].transpose(0, 1))}
counts = {}


def counted(name, call):
    with strobe.section(name):
        call()
    with FlopCounterMode(display=False) as counter, strobe.section("again"):
        call()
    counts[name] = counter.get_total_flops()


def calls(vae, latents, video):
    vae.decode(latents, return_dict=False)
    vae.encode(video)


with torch.no_grad():
    for name, (vae, latents, video) in made.items():
        if name == "tiled":
            vae.decode(latents)  # whole: what is set afterwards is not what this call computed
            vae.enable_tiling()
        counted(name, lambda: calls(vae.eval(), latents, video))
    text_encoder, video_vae = tiny.umt5().eval(), made["wan"][0]
    counted("umt5", lambda: text_encoder(torch.ones(1, 12, dtype=torch.long), MASK))
assert video_vae._feat_map is None or not any(isinstance(one, torch.Tensor) for one in video_vae._feat_map)
json.dump(counts, open(sys.argv[1], "w"))
