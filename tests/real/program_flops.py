"""Forwards of small video models, some of them twice, one with two shapes."""
import json
import sys

import diffusers
import torch
from transformers import VJEPA2Config, VJEPA2Model

import tiny


def wan(frames):
    model = tiny.wan_transformer().eval()

    def call():
        model(hidden_states=torch.randn(1, 16, frames, 8, 8), timestep=torch.tensor([5]),
              encoder_hidden_states=torch.randn(1, 5, 32), return_dict=False)
    return model, call


def ltx():
    model = diffusers.LTXVideoTransformer3DModel(num_layers=2, num_attention_heads=2, attention_head_dim=32, cross_attention_dim=64,
                                                 caption_channels=16, in_channels=8, out_channels=8).eval()

    def call():
        model(hidden_states=torch.randn(1, 4 * 6 * 8, 8), encoder_hidden_states=torch.randn(1, 12, 16), timestep=torch.tensor([3]),
              encoder_attention_mask=torch.ones(1, 12), num_frames=4, height=6, width=8, return_dict=False)
    return model, call


def vjepa2():
    model = VJEPA2Model(VJEPA2Config(hidden_size=48, num_attention_heads=4, num_hidden_layers=2, pred_num_hidden_layers=2,
                                     pred_hidden_size=24, pred_num_attention_heads=2, crop_size=32, frames_per_clip=4)).eval()
    return model, lambda: model(pixel_values_videos=torch.randn(1, 4, 3, 32, 32))


torch.manual_seed(0)
made = [wan(2), ltx(), vjepa2()]
with torch.no_grad():
    for model, call in made:
        call()
        call()
    state = torch.random.get_rng_state()
json.dump({"random_state": int(state.sum())}, open(sys.argv[1], "w"))
