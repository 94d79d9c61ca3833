"""Switches of the environment that were set when an error was looked for, and left on. The driver and torch read them when they
begin: they are set here before torch is loaded."""
import os
import sys

from problem import planted

SWITCHES = {"launches_block": "CUDA_LAUNCH_BLOCKING", "memory_is_not_cached": "PYTORCH_NO_CUDA_MEMORY_CACHING"}
if len(sys.argv) > 1 and sys.argv[1] in SWITCHES and "--fixed" not in sys.argv:
    os.environ[SWITCHES[sys.argv[1]]] = "1"

import torch  # noqa: E402

from video import Pipeline, Size  # noqa: E402

CUDA = torch.cuda.is_available()


@planted("debug_mode", stage="Transformer", needs="cuda")
def launches_block(fixed):
    Pipeline(Size(CUDA, dim=1024, blocks=16, videos=20)).run()


@planted("debug_mode", stage="Transformer|Decoder", needs="cuda")
def memory_is_not_cached(fixed):
    Pipeline(Size(CUDA, dim=1024, videos=10)).run()


def asked_about_a_video(device, dtype, dim, layers, new_tokens, videos):
    """A Qwen-VL-like model with random weights that is asked about videos of eight frames; its answers are made with a cache."""
    from transformers import Qwen2VLConfig, Qwen2VLForConditionalGeneration, Qwen2VLVideoProcessor
    model = Qwen2VLForConditionalGeneration(Qwen2VLConfig(
        text_config=dict(vocab_size=64, hidden_size=dim, intermediate_size=2 * dim, num_hidden_layers=layers, num_attention_heads=dim // 64,
                         num_key_value_heads=dim // 64, bos_token_id=1, eos_token_id=2, pad_token_id=0,
                         rope_parameters={"rope_type": "default", "rope_theta": 1e4, "mrope_section": [16, 8, 8]}),
        vision_config=dict(depth=layers, embed_dim=dim, hidden_size=dim, num_heads=dim // 64, patch_size=8, mlp_ratio=2),
        image_token_id=50, video_token_id=51, vision_start_token_id=52, vision_end_token_id=53)).eval().to(device, dtype)
    processor = Qwen2VLVideoProcessor(patch_size=8, temporal_patch_size=2, merge_size=2, do_resize=False, do_sample_frames=False)
    for number in range(videos):
        frames = torch.randint(0, 255, (8, 3, 64, 64), dtype=torch.uint8, generator=torch.Generator().manual_seed(number))
        inputs = processor([frames], return_tensors="pt")
        ids = torch.tensor([[3, 52] + [51] * (int(inputs["video_grid_thw"][0].prod()) // 4) + [53, 4, 5]]).to(device)
        inputs = {key: value.to(device, dtype if value.is_floating_point() else None) for key, value in inputs.items()}
        model.generate(input_ids=ids, attention_mask=torch.ones_like(ids), mm_token_type_ids=(ids == 51).long() * 2, **inputs,
                       max_new_tokens=new_tokens, min_new_tokens=new_tokens, do_sample=False)


@planted(healthy=True, needs="cuda")
def healthy_vlm_on_the_gpu(fixed):
    asked_about_a_video("cuda" if CUDA else "cpu", torch.bfloat16 if CUDA else torch.float32, 1024 if CUDA else 128, 12 if CUDA else 2,
                        32 if CUDA else 4, 10 if CUDA else 2)
