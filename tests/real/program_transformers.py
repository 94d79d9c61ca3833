"""An unmodified program: video models of transformers with small random weights.
usage: program_transformers.py RESULT.json"""
import json
import sys

import torch
from transformers import (Qwen2VLConfig, Qwen2VLForConditionalGeneration, Qwen2VLVideoProcessor, SmolVLMConfig,
                          SmolVLMForConditionalGeneration, T5Config, T5ForConditionalGeneration, VJEPA2Config,
                          VJEPA2Model, VJEPA2VideoProcessor)

from counting import digest

torch.set_num_threads(1)
CASES = {}
NEW = 5


def case(function):
    CASES[function.__name__] = function
    return function


class Calls:
    """Forwards of a module, counted by a hook of the test's own."""

    def __init__(self, module):
        self.count = 0
        module.register_forward_pre_hook(self)

    def __call__(self, *_):
        self.count += 1


def video(frames, size):
    return torch.randint(0, 255, (frames, 3, size, size), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))


@case
def vjepa2():
    torch.manual_seed(0)
    model = VJEPA2Model(VJEPA2Config(patch_size=8, crop_size=32, frames_per_clip=8, hidden_size=16, num_attention_heads=2,
                                     num_hidden_layers=2, pred_hidden_size=12, pred_num_attention_heads=2,
                                     pred_num_hidden_layers=2)).eval()
    forwards = Calls(model)
    processor = VJEPA2VideoProcessor(crop_size={"height": 32, "width": 32}, size={"shortest_edge": 36})
    with torch.no_grad():
        for _ in range(3):
            inputs = processor(video(8, 40), return_tensors="pt")
            out = model(**inputs).last_hidden_state
    return dict(digest=digest(out), forwards=forwards.count, preprocesses=3, frames=8)


def qwen_model():
    torch.manual_seed(0)
    config = Qwen2VLConfig(
        text_config=dict(vocab_size=64, hidden_size=32, intermediate_size=37, num_hidden_layers=2, num_attention_heads=4,
                         num_key_value_heads=2, bos_token_id=1, eos_token_id=2, pad_token_id=0,
                         rope_parameters={"rope_type": "default", "rope_theta": 1e4, "mrope_section": [2, 1, 1]}),
        vision_config=dict(depth=2, embed_dim=32, hidden_size=32, num_heads=4, patch_size=4, mlp_ratio=2),
        image_token_id=50, video_token_id=51, vision_start_token_id=52, vision_end_token_id=53)
    return Qwen2VLForConditionalGeneration(config).eval()


def qwen(batch=1, **options):
    model = qwen_model()
    forwards, vision = Calls(model), Calls(model.model.visual)
    processor = Qwen2VLVideoProcessor(patch_size=4, temporal_patch_size=2, merge_size=2, do_resize=False,
                                      do_sample_frames=False)
    inputs = processor([video(4, 16)] * batch, return_tensors="pt")
    grid = inputs["video_grid_thw"][0]
    prompt = [3, 52] + [51] * (int(grid.prod()) // 4) + [53, 4, 5]
    ids = torch.tensor([prompt] * batch)
    types = (ids == 51).long() * 2
    out = model.generate(input_ids=ids, attention_mask=torch.ones_like(ids), mm_token_type_ids=types, **inputs,
                         max_new_tokens=NEW, min_new_tokens=NEW, do_sample=False, **options)
    return dict(digest=digest(out), forwards=forwards.count, vision=vision.count, batch=batch, prompt=len(prompt),
                new=out.shape[1] - len(prompt), preprocesses=1, frames=4 * batch)


@case
def qwen_vl():
    return qwen()


@case
def qwen_vl_in_batches():
    return qwen(batch=2)


@case
def qwen_vl_streaming():
    class Streamer:
        puts = 0

        def put(self, tokens):
            self.puts += 1

        def end(self):
            pass
    streamer = Streamer()
    return dict(qwen(streamer=streamer), puts=streamer.puts)


@case
def smolvlm():
    torch.manual_seed(0)
    config = SmolVLMConfig(
        text_config=dict(model_type="llama", vocab_size=64, hidden_size=32, intermediate_size=37, num_hidden_layers=2,
                         num_attention_heads=4, num_key_value_heads=2, head_dim=8, bos_token_id=1, eos_token_id=2,
                         pad_token_id=0),
        vision_config=dict(hidden_size=16, intermediate_size=32, num_hidden_layers=2, num_attention_heads=2, image_size=32,
                           patch_size=8), image_token_id=50, scale_factor=2)
    model = SmolVLMForConditionalGeneration(config).eval()
    forwards, vision = Calls(model), Calls(model.model.vision_model)
    frames = 3
    ids = torch.tensor([[3] + [50] * 4 * frames + [4, 5]])  # (32 / 8)^2 patches, merged by 2^2
    pixels = video(frames, 32)[None].float() / 255
    out = model.generate(input_ids=ids, attention_mask=torch.ones_like(ids), pixel_values=pixels, max_new_tokens=NEW,
                         min_new_tokens=NEW, do_sample=False)
    return dict(digest=digest(out), forwards=forwards.count, vision=vision.count, batch=1, prompt=ids.shape[1],
                new=out.shape[1] - ids.shape[1], preprocesses=0, frames=frames)


@case
def encoder_decoder():
    torch.manual_seed(0)
    model = T5ForConditionalGeneration(T5Config(vocab_size=64, d_model=32, d_kv=8, d_ff=37, num_layers=2, num_heads=4,
                                                decoder_start_token_id=0, eos_token_id=1, pad_token_id=0)).eval()
    forwards = Calls(model)
    ids = torch.tensor([[5, 6, 7, 1]])
    out = model.generate(ids, max_new_tokens=NEW, min_new_tokens=NEW, do_sample=False)
    return dict(digest=digest(out), forwards=forwards.count, vision=0, batch=1, prompt=4, new=out.shape[1] - 1, preprocesses=0)


@case
def beams():
    model = qwen_model()
    forwards = Calls(model)
    ids = torch.tensor([[3, 4, 5]])
    out = model.generate(ids, max_new_tokens=NEW, min_new_tokens=NEW, num_beams=3, do_sample=False)
    return dict(digest=digest(out), forwards=forwards.count, vision=0, batch=1, prompt=3, new=out.shape[1] - 3, preprocesses=0)


if __name__ == "__main__":
    with open(sys.argv[1], "w") as out:
        json.dump({name: CASES[name]() for name in sys.argv[2:] or CASES}, out)
