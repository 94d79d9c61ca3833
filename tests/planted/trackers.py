"""Problems that users of diffusers and transformers report again and again, around real pipelines on the CPU: what is made anew for
every request, and what is written in every step. Needs torch, diffusers and transformers; fixed=True is the same without the problem."""
import contextlib
import copy
import hashlib
import io
import logging
import os
import pickle
import re
import tempfile

import diffusion  # noqa: F401 sets the path to the small models
import tiny
import torch
from diffusion import STEPS, VIDEOS, make, pipeline
from problem import planted

WORDS = 12_000


def large_tokenizer():
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast
    vocabulary = {"w%d" % i: i for i in range(WORDS)}  # planted: tokenizer
    vocabulary["</s>"] = WORDS
    made = Tokenizer(models.WordLevel(vocabulary, unk_token="</s>"))  # planted: tokenizer
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    return PreTrainedTokenizerFast(tokenizer_object=made, unk_token="</s>", pad_token="</s>", eos_token="</s>", model_max_length=64)


@planted("between_generations", marks="tokenizer", needs="diffusers")
def tokenizer_made_for_every_request(fixed):
    pipe, tokenizer = pipeline(), None
    for _ in range(VIDEOS):
        for _ in range(1 if fixed else 12):
            if tokenizer is None or not fixed:
                tokenizer = large_tokenizer()
        tokenizer("w1 w2 w3")
        make(pipe, videos=1)


@planted("between_generations", needs="diffusers")
def pipeline_copied_for_every_request(fixed):
    """So that requests cannot disturb each other."""
    pipe = pipeline(transformer=tiny.wan_transformer(num_layers=24, num_attention_heads=4, attention_head_dim=64, ffn_dim=2048))
    for _ in range(VIDEOS):
        own = pipe if fixed else copy.deepcopy(pipe)  # planted
        make(own, videos=1)


@planted("between_generations", "model_load", "repeated_work", needs="diffusers")
def pipeline_loaded_for_every_request(fixed):
    import diffusers
    with tempfile.TemporaryDirectory() as folder:
        pipeline().save_pretrained(folder)
        pipe = None
        for _ in range(VIDEOS):
            if pipe is None or not fixed:
                pipe = diffusers.WanPipeline.from_pretrained(folder)  # planted
                pipe.set_progress_bar_config(disable=True)
            make(pipe, videos=1)


@planted("python_between_steps", needs="diffusers")
def debug_log_formats_tensors(fixed):
    log = logging.getLogger("pipe")
    log.addHandler(logging.StreamHandler(io.StringIO()))
    log.propagate = False
    log.setLevel(logging.INFO if fixed else logging.DEBUG)
    torch.set_printoptions(threshold=1_000_000)

    def on_step(latents):
        if log.isEnabledFor(logging.DEBUG):
            log.debug("latents %s", latents.repeat(1, 1, 1, 3, 3))  # planted

    make(pipeline(), on_step)


@planted("python_between_steps", "slow_export", needs="diffusers")
def states_pickled_every_step(fixed):
    pipe = pipeline(transformer=tiny.wan_transformer(num_layers=12, num_attention_heads=4, attention_head_dim=64, ffn_dim=2048))
    with tempfile.TemporaryDirectory() as folder:
        def on_step(latents):
            if not fixed:
                with open(os.path.join(folder, "state.pkl"), "wb") as out:
                    pickle.dump(pipe.transformer.state_dict(), out)  # planted

        make(pipe, on_step)


@planted("input_starved", "between_generations", needs="diffusers")
def workers_started_for_every_request(fixed):
    """A DataLoader that starts its processes anew for each pass over it."""
    from torch.utils.data import DataLoader
    clips = [torch.zeros(3, 8, 8) for _ in range(4)]
    loader = DataLoader(clips, num_workers=0 if fixed else 4)
    pipe = pipeline()
    for _ in range(VIDEOS):
        for _ in loader:  # planted
            pass
        make(pipe, videos=1)


@planted("python_between_steps", needs="diffusers")
def progress_bar_with_a_tensor(fixed):
    from tqdm import tqdm
    bar = tqdm(total=10_000, file=io.StringIO(), mininterval=0, miniters=1)

    def on_step(latents):
        bar.update(1)
        bar.set_postfix(mean=float(latents.mean()) if fixed else latents.flatten().tolist() * 8)  # planted

    make(pipeline(), on_step)


@planted("between_generations", needs="diffusers")
def patterns_compiled_for_every_prompt(fixed):
    words = ["w%d" % i for i in range(1600)]
    known = [re.compile(r"\b(%s)(\s+|$)" % word) for word in words]
    pipe = pipeline()
    for _ in range(VIDEOS):
        prompt = "w1 w2 w3 " * 40
        for word, pattern in zip(words, known):
            if not fixed:
                re.purge()
                pattern = re.compile(r"\b(%s)(\s+|$)" % word)  # planted
            prompt = pattern.sub(r"\1 ", prompt)
        make(pipe, videos=1)


@planted("debug_mode", stage="WanTransformer3DModel", needs="diffusers")
def anomaly_detection_left_on(fixed):
    """A loop of one's own around a model, with a switch that was set when an error was looked for."""
    torch.set_num_threads(1)
    torch.autograd.set_detect_anomaly(not fixed)
    model = tiny.wan_transformer(num_layers=1)
    x, text = torch.zeros(1, 16, 1, 4, 4), torch.zeros(1, 16, 32)
    with torch.inference_mode() if fixed else contextlib.nullcontext():
        for timestep in range(6 * STEPS):
            made = model(hidden_states=x, timestep=torch.tensor([timestep]), encoder_hidden_states=text).sample
            x = x - made.detach() / (6 * STEPS)


@planted("cache_idle", stage="decode", needs="diffusers")
def answers_without_a_cache(fixed):
    """A language model as training left it: without the keys and values of the tokens before."""
    from transformers import LlamaConfig, LlamaForCausalLM
    torch.set_num_threads(1)
    model = LlamaForCausalLM(LlamaConfig(vocab_size=64, hidden_size=128, intermediate_size=512, num_hidden_layers=4,
                                         num_attention_heads=4, pad_token_id=0)).eval()
    model.generation_config.use_cache = fixed
    for _ in range(VIDEOS):
        model.generate(torch.ones(1, 64, dtype=torch.long), max_new_tokens=24, min_new_tokens=24, do_sample=False)


@planted("python_between_steps", needs="diffusers")
def scheduler_filters_with_numpy(fixed):
    """A scheduler of one's own that thresholds the sample in numpy, in doubles."""
    import diffusers
    import numpy as np

    class Filtered(diffusers.FlowMatchEulerDiscreteScheduler):
        def step(self, model_output, timestep, sample, **others):
            if not fixed:
                wide = np.tile(model_output.numpy().astype(np.float64), (1, 1, 8, 16, 16))  # planted
                np.median(wide, axis=(2, 3, 4))  # planted
            return super().step(model_output, timestep, sample, **others)

    make(pipeline(scheduler=Filtered(shift=7.0)))


@planted("python_between_steps", needs="diffusers")
def words_are_banned_one_by_one(fixed):
    """A logits processor that goes through the vocabulary in Python, for every token."""
    from transformers import LlamaConfig, LlamaForCausalLM, LogitsProcessor, LogitsProcessorList
    torch.set_num_threads(1)
    size = 8000
    model = LlamaForCausalLM(LlamaConfig(vocab_size=size, hidden_size=64, intermediate_size=128, num_hidden_layers=2,
                                         num_attention_heads=4, pad_token_id=0)).eval()

    class Ban(LogitsProcessor):
        def __call__(self, ids, scores):
            if fixed:
                scores[0, 3::7] = -1e9
                return scores
            for i in range(size):
                if i % 7 == 3:
                    scores[0, i] = -1e9  # planted
            return scores

    for _ in range(VIDEOS):
        model.generate(torch.ones(1, 32, dtype=torch.long), max_new_tokens=32, min_new_tokens=32, do_sample=False,
                       logits_processor=LogitsProcessorList([Ban()]))


@planted("debug_mode", stage="transformer", needs="diffusers")
def tracemalloc_left_on(fixed):
    """Someone looked for a leak last week."""
    import tracemalloc
    pipe = pipeline()
    if not fixed:
        tracemalloc.start(5)
    make(pipe, videos=4)
    tracemalloc.stop()


@planted("python_between_steps", needs="diffusers")
def clips_are_made_with_numpy(fixed):
    """A V-JEPA2 in a plain loop, without a pipeline: its frames are scaled in numpy between its calls."""
    import numpy as np
    from transformers import VJEPA2Config, VJEPA2Model
    torch.set_num_threads(1)
    model = VJEPA2Model(VJEPA2Config(patch_size=8, crop_size=64, frames_per_clip=8, hidden_size=96, num_attention_heads=2,
                                     num_hidden_layers=4, pred_hidden_size=96, pred_num_attention_heads=2,
                                     pred_num_hidden_layers=2)).eval()
    frames = np.random.default_rng(0).integers(0, 255, (8, 512, 512, 3), dtype=np.uint8)

    def clip():
        scaled = (frames.astype(np.float64) / 255 - 0.5) / 0.25  # planted
        return torch.from_numpy(scaled.reshape(8, 64, 8, 64, 8, 3).mean(axis=(2, 4)).astype(np.float32)).permute(0, 3, 1, 2)[None]  # planted

    made = None
    with torch.no_grad():
        for _ in range(24):
            if made is None or not fixed:
                made = clip()
            model(made)


@planted("python_in_forward", needs="diffusers")
def hook_hashes_outputs(fixed):
    """An object as a forward hook, to find out whether two runs compute the same."""
    pipe, seen = pipeline(), {}

    class Recorder:
        def __call__(self, module, inputs, output):
            if not fixed:
                seen[hashlib.md5(output.repeat(800, 1, 1).numpy().tobytes()).hexdigest()] = output.shape  # planted

    for block in pipe.transformer.blocks:
        block.register_forward_hook(Recorder())
    make(pipe)


@planted(healthy=True, needs="diffusers")
def healthy_wan_with_statistics(fixed):
    """A hook, a scheduler and a callback of one's own that do little."""
    import diffusers

    class Counting(diffusers.FlowMatchEulerDiscreteScheduler):
        def step(self, model_output, timestep, sample, **others):
            counts.append(float(timestep))
            return super().step(model_output, timestep, sample, **others)

    counts, shapes = [], []
    pipe = pipeline(transformer=tiny.wan_transformer(num_layers=16), scheduler=Counting(shift=7.0))
    pipe.transformer.blocks[0].register_forward_hook(lambda module, inputs, output: shapes.append(output.shape))
    make(pipe, lambda latents: counts.append(latents.numel()))


@planted(healthy=True, needs="diffusers")
def healthy_answers_with_a_cache(fixed):
    answers_without_a_cache(True)


@planted(healthy=True, needs="diffusers")
def healthy_training(fixed):
    """Gradients are recorded because they are needed."""
    torch.set_num_threads(1)
    model = tiny.wan_transformer()
    optimizer = torch.optim.AdamW(model.parameters(), 1e-4)
    for _ in range(8):
        x = torch.randn(2, 16, 2, 4, 4)
        made = model(hidden_states=x, timestep=torch.tensor([500, 500]), encoder_hidden_states=torch.zeros(2, 16, 32)).sample
        (made - x).pow(2).mean().backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
