"""An unmodified program: one Wan pipeline in the many ways people run it. Each case is a pipeline call.
usage: program_variants.py RESULT.json"""
import json
import os
import sys
import threading

import torch
from diffusers import (DiffusionPipeline, FasterCacheConfig, FirstBlockCacheConfig, PyramidAttentionBroadcastConfig,
                       TaylorSeerCacheConfig, UniPCMultistepScheduler)
from diffusers.hooks import apply_first_block_cache, apply_group_offloading
from diffusers.utils import export_to_gif, export_to_video
from PIL import Image

import tiny
from counting import Counts, digest

CALL = dict(prompt="w1 w2 w3", negative_prompt="w4", max_sequence_length=16, height=16, width=16, num_frames=5,
            num_inference_steps=2)
CASES = {}
torch.set_num_threads(1)


def case(function):
    CASES[function.__name__] = function
    return function


def fresh(**parts):
    pipeline = tiny.wan(**parts)
    pipeline.set_progress_bar_config(disable=True)
    return pipeline


def call(pipeline, then=lambda result: {}, **changes):
    counts = Counts(pipeline)
    arguments = dict(CALL, output_type="np", generator=torch.Generator().manual_seed(0))
    arguments.update(changes)
    try:
        result = pipeline(**arguments)[0]
        found = dict(then(result), shape=list(getattr(result, "shape", ())), digest=digest(result))
    except ZeroDivisionError as error:
        found = dict(raised=type(error).__name__)
    return dict(counts.done(), **found)


def bytes_of(tensors):
    return sum(tensor.numel() * tensor.element_size() for tensor in tensors)


@case
def latents():
    return call(fresh(), output_type="latent")


@case
def pil_images():
    return call(fresh(), output_type="pil")


@case
def a_tuple():
    return call(fresh(), return_dict=False)


@case
def two_videos_at_once():
    return call(fresh(), num_videos_per_prompt=2)


@case
def tiling():
    pipeline = fresh()
    pipeline.vae.enable_tiling(tile_sample_min_height=16, tile_sample_min_width=16, tile_sample_stride_height=8,
                               tile_sample_stride_width=8)
    found = call(pipeline, height=32, width=32)
    return dict(found, tiles=len(range(0, 4, 1)) ** 2)  # a latent of 4 x 4, a tile at every latent row and column


@case
def slicing():
    pipeline = fresh()
    pipeline.vae.enable_slicing()
    return call(pipeline, num_videos_per_prompt=2)


def counting_runs(pipeline, part, **changes):
    """How often the part ran in each step, by torch's own hooks."""
    ran, computed = [], []
    part.register_forward_pre_hook(lambda *_: ran.append(1))

    def at_the_end(pipeline, step, timestep, tensors):
        computed.append(len(ran))
        ran.clear()
        return tensors
    found = call(pipeline, callback_on_step_end=at_the_end, **changes)
    return dict(found, computed=computed)


@case
def first_block_cache():
    pipeline = fresh()
    apply_first_block_cache(pipeline.transformer, FirstBlockCacheConfig(threshold=100.0))
    return counting_runs(pipeline, pipeline.transformer.blocks[1].attn1, num_inference_steps=4)


@case
def pyramid_attention_broadcast():
    pipeline = fresh()
    pipeline.transformer.enable_cache(PyramidAttentionBroadcastConfig(
        spatial_attention_block_skip_range=2, spatial_attention_timestep_skip_range=(-1, 2000),
        spatial_attention_block_identifiers=("blocks",), current_timestep_callback=lambda: pipeline.current_timestep))
    return counting_runs(pipeline, pipeline.transformer.blocks[0].attn1.to_q, num_inference_steps=5, guidance_scale=1.0)


@case
def faster_cache():
    pipeline = fresh()
    pipeline.transformer.enable_cache(FasterCacheConfig(
        spatial_attention_block_skip_range=2, spatial_attention_timestep_skip_range=(-1, 900),
        spatial_attention_block_identifiers=("blocks",), unconditional_batch_skip_range=100,
        unconditional_batch_timestep_skip_range=(-1, -1), is_guidance_distilled=True, attention_weight_callback=lambda _: 0.3,
        current_timestep_callback=lambda: pipeline.current_timestep))
    return counting_runs(pipeline, pipeline.transformer.blocks[0].attn1.to_q, num_inference_steps=8, guidance_scale=1.0)


@case
def taylorseer_cache():
    pipeline = fresh()
    pipeline.transformer.enable_cache(TaylorSeerCacheConfig(
        cache_interval=3, disable_cache_before_step=2, cache_identifiers=[r"blocks\.\d+\.(attn1|attn2|ffn)"]))
    return counting_runs(pipeline, pipeline.transformer.blocks[0].attn1.to_q, num_inference_steps=8)


@case
def lora():
    from peft import LoraConfig
    pipeline = fresh()
    torch.manual_seed(1)
    pipeline.transformer.add_adapter(LoraConfig(r=2, lora_alpha=2, target_modules=["to_q", "to_v"], init_lora_weights=False))
    return call(pipeline)


@case
def step_callbacks():
    seen = []

    def callback(pipeline, step, timestep, tensors):
        seen.append(step)
        return tensors
    return dict(call(fresh(), num_inference_steps=3, callback_on_step_end=callback), seen=seen)


@case
def a_callback_that_raises():
    def callback(pipeline, step, timestep, tensors):
        return {1: 1 // (1 - step)} and tensors
    return call(fresh(), num_inference_steps=4, callback_on_step_end=callback)


@case
def interrupted():
    def callback(pipeline, step, timestep, tensors):
        pipeline._interrupt = step == 1
        return tensors
    return call(fresh(), num_inference_steps=4, callback_on_step_end=callback)


@case
def group_offload():
    pipeline = fresh()
    apply_group_offloading(pipeline.transformer, onload_device=torch.device("cpu"), offload_device=torch.device("cpu"),
                           offload_type="block_level", num_blocks_per_group=1)
    return dict(call(pipeline), bytes=bytes_of([*pipeline.transformer.parameters(), *pipeline.transformer.buffers()]))


@case
def compiled():
    """The graphs are dynamo's own count; eager, since what is compared is what dynamo sees."""
    from torch._dynamo.utils import counters
    torch._dynamo.reset()
    counters.clear()
    pipeline = fresh()
    pipeline.transformer = torch.compile(pipeline.transformer, backend="eager")
    found = call(pipeline)
    return dict(found, graphs=counters["stats"]["unique_graphs"], breaks=sum(counters["graph_break"].values()),
                frames_ok=counters["frames"]["ok"])


@case
def compiled_in_place():
    from torch._dynamo.utils import counters
    torch._dynamo.reset()
    counters.clear()
    pipeline = fresh()
    pipeline.transformer.compile(backend="eager")
    found = call(pipeline)
    return dict(found, graphs=counters["stats"]["unique_graphs"], breaks=sum(counters["graph_break"].values()))


@case
def loaded():
    fresh().save_pretrained("saved")
    sizes = {name: sum(os.path.getsize(os.path.join("saved", name, file)) for file in os.listdir(os.path.join("saved", name))
                       if file.endswith(".safetensors")) for name in ("transformer", "vae", "text_encoder")}
    pipeline = DiffusionPipeline.from_pretrained("saved")
    pipeline.set_progress_bar_config(disable=True)
    return dict(call(pipeline), weights=sizes)


@case
def exported():
    def export(frames):
        export_to_video(frames[0], "out.mp4", fps=8)
        export_to_gif(image=[Image.fromarray((frame * 255).astype("uint8")) for frame in frames[0][:3]], output_gif_path="out.gif")
        return dict(exported=len(frames[0]), written=os.path.getsize("out.mp4") > 0)
    return call(fresh(), export, height=32, width=32)


@case
def another_scheduler():
    pipeline = fresh()
    pipeline.scheduler = UniPCMultistepScheduler.from_config(pipeline.scheduler.config, prediction_type="flow_prediction",
                                                             use_flow_sigmas=True, flow_shift=3.0)
    return call(pipeline)


@case
def sequential_offload():
    """As enable_sequential_cpu_offload() does it, onto the CPU: the weights are away and come for each call."""
    import accelerate
    pipeline = fresh()
    size = bytes_of(pipeline.transformer.parameters())
    accelerate.cpu_offload(pipeline.transformer, torch.device("cpu"))
    return dict(call(pipeline), bytes=size)


@case
def in_two_threads():
    pipelines, found = [fresh(), fresh()], [None, None]

    def work(i):
        found[i] = call(pipelines[i], num_inference_steps=2 + i)
    threads = [threading.Thread(target=work, args=(i,), name="worker %d" % i) for i in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


if __name__ == "__main__":
    chosen = sys.argv[2:] or CASES
    with open(sys.argv[1], "w") as out:
        json.dump({name: CASES[name]() for name in chosen}, out)
