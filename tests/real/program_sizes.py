"""A small Wan pipeline at the sizes given: 17x128x192 is frames x height x width."""
import sys

import torch

import tiny

torch.set_num_threads(1)
pipeline = tiny.wan()
pipeline.set_progress_bar_config(disable=True)
for size in sys.argv[1:]:
    frames, height, width = map(int, size.split("x"))
    pipeline("w1 w2", num_frames=frames, height=height, width=width, num_inference_steps=2, guidance_scale=1.0,
             max_sequence_length=16, output_type="np")
