"""Problems of real programs around a diffusers pipeline that a CPU shows: in the step callback, and between two calls.
Needs torch, diffusers and transformers; fixed=True is the same without the problem."""
import copy
import json
import os
import tempfile
import time

import diffusion  # noqa: F401 sets the path to the small models
import numpy as np
import tiny
import torch
from diffusion import STEPS, VIDEOS, make, pipeline
from problem import planted


@planted("repeated_work", needs="diffusers")
def wan_preview_every_step(fixed):
    """A preview of each step: the VAE decodes in the callback."""
    pipe = pipeline()

    def on_step(latents):
        if not fixed:
            pipe.vae.decode(latents, return_dict=False)  # planted

    make(pipe, on_step)


@planted("python_between_steps", needs="diffusers")
def wan_log_is_synced_every_step(fixed):
    with tempfile.TemporaryDirectory(dir=os.environ.get("PLANTED_DISK")) as folder, open(os.path.join(folder, "log"), "w") as log:
        def on_step(latents):
            line = "mean %f\n" % latents.float().mean()
            for _ in range(1 if fixed else 60):
                log.write(line)
                log.flush()
                if not fixed:
                    os.fsync(log.fileno())  # planted

        make(pipeline(), on_step)


@planted("python_between_steps", needs="diffusers")
def wan_latents_as_json(fixed):
    def on_step(latents):
        if not fixed:
            json.dumps(latents.repeat(1, 1, 4, 8, 8).tolist())  # planted

    make(pipeline(), on_step)


@planted("python_between_steps", needs="diffusers")
def wan_scheduler_copied_every_step(fixed):
    pipe = pipeline()
    pipe.scheduler.history = [[i] for i in range(4000)]

    def on_step(latents):
        if not fixed:
            copy.deepcopy(pipe.scheduler)  # planted

    make(pipe, on_step)


@planted("python_between_steps", needs="diffusers")
def wan_progress_prints_tensors(fixed):
    with open(os.devnull, "w") as out:
        def on_step(latents):
            if not fixed:
                torch.set_printoptions(profile="full")
                print("latents", latents, file=out)  # planted

        make(pipeline(), on_step)


@planted("python_between_steps", needs="diffusers")
def wan_config_read_every_step(fixed):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "config.json")
        with open(path, "w") as out:
            json.dump({"block_%d" % i: list(range(60)) for i in range(2500)}, out)

        def on_step(latents):
            if not fixed:
                with open(path) as source:
                    json.load(source)  # planted

        make(pipeline(), on_step)


def grade(frames):
    """Colours, by numpy, frame by frame."""
    for _ in range(6):
        large = np.kron(frames[0], np.ones((12, 12, 1)))  # planted: wan_frames_graded
        large = np.sort(large, axis=0)  # planted: wan_frames_graded
    return large


@planted("between_generations", marks="wan_frames_graded", needs="diffusers")
def wan_frames_graded(fixed):
    pipe = pipeline()
    for _ in range(VIDEOS):
        frames = make(pipe, videos=1)[0]
        if not fixed:
            grade(frames)


@planted("between_generations", needs="diffusers")
def wan_frames_resized_one_by_one(fixed):
    """Python between two calls of the pipeline, in the loop itself."""
    from PIL import Image
    pipe = pipeline()
    for _ in range(VIDEOS):
        frames = make(pipe, videos=1, output_type="pil")[0]
        for frame in frames if not fixed else []:
            for _ in range(4):
                frame.resize((1280, 1280), Image.LANCZOS)  # planted


@planted("between_generations", needs="diffusers")
def wan_values_listed(fixed):
    """tensor.tolist() and a loop over it, where the tensor has the answer."""
    pipe = pipeline()
    for _ in range(VIDEOS):
        frames = torch.from_numpy(make(pipe, videos=1)[0]).repeat(1, 4, 4, 1)
        if fixed:
            frames.clamp(0, 1).mean()
            continue
        total = 0.0
        for value in frames.flatten().tolist():
            total += min(1.0, max(0.0, value))  # planted


@planted("precision_mismatch", stage="transformer", needs="diffusers")
def wan_in_float64(fixed):
    """Weights made by numpy, and nobody has looked at their type."""
    model = tiny.wan_transformer(num_layers=4, num_attention_heads=4, attention_head_dim=64, ffn_dim=2048)
    pipe = pipeline(transformer=model.double() if not fixed else model)
    make(pipe)


@planted("repeated_work", needs="diffusers")
def wan_prompt_encoded_every_step(fixed):
    pipe = pipeline()

    def on_step(latents):
        if not fixed:
            for _ in range(3):
                pipe.encode_prompt("w1 w2 w3", "w4", max_sequence_length=16)  # planted

    make(pipe, on_step)


@planted("repeated_work", stage="text_encode", needs="diffusers")
def wan_prompt_encoded_in_one_video(fixed):
    """So little that no sample need hit it."""
    pipe = pipeline()

    def on_step(latents):
        if not fixed:
            pipe.encode_prompt("w1 w2 w3", "w4", max_sequence_length=16)  # planted

    make(pipe, on_step, videos=1)


def list_values(pipe, count, fixed):
    """A forward hook on every block that a debugging session left behind: one number after the other."""
    rows = []

    def hook(module, inputs, output):
        values = output.flatten()[:count]
        if fixed:
            rows.append(values.tolist())
            return
        rows.append([])
        for value in values:
            rows[-1].append(float(value))  # planted: list_values

    for block in pipe.transformer.blocks:
        block.register_forward_hook(hook)


def with_wide_blocks():
    return pipeline(transformer=tiny.wan_transformer(num_attention_heads=4, attention_head_dim=64))


@planted("python_in_forward", marks="list_values", needs="diffusers")
def wan_hook_lists_values(fixed):
    pipe = with_wide_blocks()
    list_values(pipe, 2000, fixed)
    make(pipe)


@planted("python_in_forward", "hidden_sync", marks="list_values", needs="cuda")
def wan_hook_lists_values_of_the_gpu(fixed):
    """Each number is a wait, too."""
    pipe = with_wide_blocks()
    pipe.to("cuda", torch.bfloat16)
    list_values(pipe, 400, fixed)
    make(pipe)


@planted(healthy=True, needs="diffusers")
def healthy_wan_batch(fixed):
    """Prompts in turn, with a log, one preview a video and the frames as an array: what has to be."""
    pipe = pipeline(transformer=tiny.wan_transformer(num_layers=16))
    latest = []
    with tempfile.TemporaryDirectory() as folder:
        for number in range(VIDEOS):
            frames = make(pipe, latest.append, videos=1)[0]
            np.save(os.path.join(folder, "%d.npy" % number), frames)
            print("video", number, time.time(), STEPS)
            latest.clear()
