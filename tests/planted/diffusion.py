"""Problems in a real diffusers pipeline, as far as a CPU shows them: a Wan pipeline with small random weights, called
as people call it. Needs torch, diffusers and transformers; fixed=True is the same without the problem."""
import gc
import os
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "real"))
import torch  # noqa: E402
import diffusers  # noqa: E402
import tiny  # noqa: E402

from problem import planted  # noqa: E402

VIDEOS, STEPS = 6, 8
HEAP = 400_000  # objects of a program that has loaded much


def pipeline(**parts):
    torch.set_num_threads(1)
    made = tiny.wan(**parts)
    made.set_progress_bar_config(disable=True)
    return made


def make(pipe, on_step=None, videos=VIDEOS, output_type="np"):
    """Videos, one after the other. on_step is what people give as callback_on_step_end."""
    def callback(pipe, index, timestep, tensors):
        on_step(tensors["latents"])
        return {}

    made = []
    for number in range(videos):
        made.append(pipe(prompt="w1 w2 w3", negative_prompt="w4", max_sequence_length=16, height=32, width=32, num_frames=5,
                         num_inference_steps=STEPS, output_type=output_type, generator=torch.Generator().manual_seed(number),
                         **({"callback_on_step_end": callback} if on_step else {})).frames[0])
    return made


@planted("python_between_steps", needs="diffusers")
def wan_callback_with_numpy(fixed):
    def on_step(latents):
        values = latents.float().numpy()
        if not fixed:
            time.sleep(0.06)  # planted
        return values.mean()

    make(pipeline(), on_step)


@planted("garbage_collection", needs="diffusers")
def wan_collects_every_step(fixed):
    heap = [[i, str(i)] for i in range(HEAP)]

    def on_step(latents):
        if not fixed:
            gc.collect()  # planted

    make(pipeline(), on_step)
    return len(heap)


@planted("slow_export", "python_between_steps", needs="diffusers")
def wan_writes_every_step(fixed):
    data = os.urandom(1 << 20) * 24
    with tempfile.TemporaryDirectory() as folder:
        def on_step(latents):
            if not fixed:
                with open(os.path.join(folder, "latents.bin"), "wb") as out:
                    out.write(data)  # planted
                    os.fsync(out.fileno())  # planted

        make(pipeline(), on_step)


@planted("slow_export", needs="diffusers")
def wan_png_of_every_frame(fixed):
    """After the pipeline's call: in no stage, in no generation."""
    from PIL import Image
    pipe = pipeline()
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(VIDEOS):
            for index, frame in enumerate(make(pipe, videos=1, output_type="pil")[0]):
                large = frame.resize((640, 640), Image.NEAREST)
                if not fixed:
                    noise = Image.effect_noise((640, 640), 90)
                    Image.merge("RGB", (noise, noise, large.convert("L"))).save(
                        os.path.join(folder, "%d.png" % index), compress_level=9)  # planted


@planted("memory_leak", needs="diffusers")
def wan_keeps_every_latent(fixed):
    kept = []

    def on_step(latents):
        large = latents.repeat(1, 1, 1, 64, 64).contiguous()
        if not fixed:
            kept.append(large)  # planted

    make(pipeline(), on_step, videos=VIDEOS * 2)
    return len(kept)


@planted("cache_idle", stage="transformer", needs="diffusers")
def wan_cache_never_serves(fixed):
    pipe = pipeline(transformer=tiny.wan_transformer(num_layers=16))
    pipe.transformer.enable_cache(diffusers.FirstBlockCacheConfig(threshold=100.0 if fixed else 0.0))
    make(pipe)


@planted("asked_not_ran", stage="transformer", needs="diffusers")
def wan_compiler_is_off(fixed):
    pipe = pipeline()
    pipe.transformer.compile(backend="eager")
    torch._dynamo.config.disable = not fixed
    make(pipe)


def passing_over():
    """An attention processor of one's own that does not look at the backend that was set on it: products and softmax."""
    from diffusers.models.attention_dispatch import attention_backend
    from diffusers.models.transformers.transformer_wan import WanAttnProcessor

    class Own(WanAttnProcessor):
        def __call__(self, *args, **kwargs):
            backend, self._attention_backend = self._attention_backend, None
            try:
                with attention_backend("_native_math"):  # set_attention_backend() sets that of all others, too
                    return super().__call__(*args, **kwargs)
            finally:
                self._attention_backend = backend

    return Own()


@planted("asked_not_ran", "fallback_attention", stage="transformer", needs="cuda")
def wan_attention_backend_is_passed_over(fixed):
    pipe = pipeline(transformer=tiny.wan_transformer(num_attention_heads=4, attention_head_dim=64, ffn_dim=1024, num_layers=8))
    pipe.to("cuda", torch.bfloat16)
    if not fixed:
        for block in pipe.transformer.blocks:
            block.attn1.set_processor(passing_over())
            block.attn2.set_processor(passing_over())
    pipe.transformer.set_attention_backend("_native_flash")
    make(pipe, videos=4, output_type="latent")


@planted("hidden_sync", "python_between_steps", needs="cuda")
def wan_every_channel_is_logged(fixed):
    """Values of the latents are read in the callback: the CPU waits for the GPU between all steps."""
    pipe, log = pipeline(transformer=tiny.wan_transformer(num_layers=1)), []
    pipe.to("cuda", torch.bfloat16)

    def on_step(latents):
        for frame in latents[0].flatten(0, 1) if not fixed else []:  # of every channel
            log.append([float(value) for value in (frame.min(), frame.max(), frame.mean(), frame.std(), frame.abs().max(), frame.abs().mean(), frame.norm())])  # planted

    make(pipe, on_step, videos=24)


@planted(healthy=True, needs="cuda")
def healthy_wan_logs_one_value(fixed):
    """A wait between all steps that costs nothing: the GPU has work for longer than the CPU needs for the next launch."""
    pipe = pipeline(transformer=tiny.wan_transformer(num_attention_heads=12, attention_head_dim=128, ffn_dim=8960, num_layers=12,
                                                     rope_max_seq_len=1024))
    pipe.to("cuda", torch.bfloat16)
    log = []
    for number in range(4):
        pipe(prompt="w1 w2 w3", negative_prompt="w4", max_sequence_length=16, height=480, width=832, num_frames=33, num_inference_steps=STEPS,
             output_type="np", callback_on_step_end=lambda pipe, index, timestep, tensors: log.append(float(tensors["latents"].abs().max())) or {})


@planted(healthy=True, needs="diffusers")
def healthy_wan(fixed):
    make(pipeline(transformer=tiny.wan_transformer(num_layers=16)))


@planted(healthy=True, needs="diffusers")
def healthy_wan_with_a_cache(fixed):
    pipe = pipeline(transformer=tiny.wan_transformer(num_layers=16))
    pipe.transformer.enable_cache(diffusers.FirstBlockCacheConfig(threshold=100.0))
    make(pipe)


def video_chat():
    """A Qwen-VL-like model that is asked about a video, and what it is given."""
    from transformers import Qwen2VLConfig, Qwen2VLForConditionalGeneration, Qwen2VLVideoProcessor
    torch.set_num_threads(1)
    model = Qwen2VLForConditionalGeneration(Qwen2VLConfig(
        text_config=dict(vocab_size=64, hidden_size=64, intermediate_size=128, num_hidden_layers=4, num_attention_heads=4,
                         num_key_value_heads=2, bos_token_id=1, eos_token_id=2, pad_token_id=0,
                         rope_parameters={"rope_type": "default", "rope_theta": 1e4, "mrope_section": [4, 2, 2]}),
        vision_config=dict(depth=4, embed_dim=64, hidden_size=64, num_heads=4, patch_size=4, mlp_ratio=2),
        image_token_id=50, video_token_id=51, vision_start_token_id=52, vision_end_token_id=53)).eval()
    processor = Qwen2VLVideoProcessor(patch_size=4, temporal_patch_size=2, merge_size=2, do_resize=False, do_sample_frames=False)
    return model, processor


@planted(healthy=True, needs="diffusers")
def healthy_video_chat(fixed):
    model, processor = video_chat()
    for number in range(VIDEOS):
        frames = torch.randint(0, 255, (8, 3, 32, 32), dtype=torch.uint8, generator=torch.Generator().manual_seed(number))
        inputs = processor([frames], return_tensors="pt")
        ids = torch.tensor([[3, 52] + [51] * (int(inputs["video_grid_thw"][0].prod()) // 4) + [53, 4, 5]])
        model.generate(input_ids=ids, attention_mask=torch.ones_like(ids), mm_token_type_ids=(ids == 51).long() * 2, **inputs,
                       max_new_tokens=24, min_new_tokens=24, do_sample=False)
