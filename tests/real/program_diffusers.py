"""An unmodified program: every pipeline of the matrix once, with small random weights.
usage: program_diffusers.py RESULT.json"""
import json
import sys

import numpy
import torch
from PIL import Image

import tiny
from counting import Counts, digest

PROMPT = dict(prompt="w1 w2 w3", max_sequence_length=16)
SMALL = dict(height=16, width=16)
IMAGE = Image.fromarray(numpy.random.RandomState(0).randint(0, 255, (32, 32, 3), dtype=numpy.uint8))

CASES = {
    "wan": (tiny.wan, dict(PROMPT, **SMALL, negative_prompt="w4", num_frames=9, num_inference_steps=3)),
    "wan without guidance": (tiny.wan, dict(PROMPT, **SMALL, guidance_scale=1.0, num_frames=5, num_inference_steps=2)),
    "wan with transformer_2": (tiny.wan_two, dict(PROMPT, **SMALL, negative_prompt="w4", num_frames=9, num_inference_steps=4)),
    "wan image to video": (tiny.wan_image, dict(PROMPT, **SMALL, image=IMAGE, negative_prompt="w4", num_frames=9,
                                                num_inference_steps=2)),
    "wan modular": (tiny.wan_modular, dict(PROMPT, **SMALL, negative_prompt="w4", num_frames=5, num_inference_steps=2)),
    "ltx": (tiny.ltx, dict(PROMPT, height=32, width=32, num_frames=9, num_inference_steps=2)),
    "cogvideox": (tiny.cogvideox, dict(PROMPT, **SMALL, num_frames=8, num_inference_steps=2)),
    "hunyuanvideo": (tiny.hunyuan, dict(PROMPT, **SMALL, num_frames=9, num_inference_steps=2,
                                        prompt_template={"template": "{}", "crop_start": 0})),
    "mochi": (tiny.mochi, dict(PROMPT, **SMALL, num_frames=7, num_inference_steps=2)),
    "animatediff": (tiny.animatediff, dict(prompt="w1 w2", **SMALL, num_frames=4, num_inference_steps=2)),
    "svd": (tiny.svd, dict(image=IMAGE, height=32, width=32, num_frames=2, num_inference_steps=2)),
    "flux": (tiny.flux, dict(PROMPT, height=8, width=8, num_inference_steps=2)),
    "sdxl": (tiny.sdxl, dict(prompt="w1 w2", height=32, width=32, num_inference_steps=2)),
}
torch.set_num_threads(1)


def run(make, arguments):
    pipeline = make()
    counts = Counts(pipeline)
    result = pipeline(generator=torch.Generator().manual_seed(0), output_type="np", **arguments,
                      **({"output": "videos"} if make is tiny.wan_modular else {}))
    result = result if hasattr(result, "shape") else result[0]
    return dict(counts.done(), pipeline=type(pipeline).__name__, shape=list(result.shape), digest=digest(result))


if __name__ == "__main__":
    with open(sys.argv[1], "w") as out:
        json.dump({name: run(*case) for name, case in CASES.items()}, out)
