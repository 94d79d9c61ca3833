"""Problems of a torch pipeline. On a GPU all of them run; those that show on a CPU too run there with a small model."""
import contextlib
import gc
import hashlib
import threading
import time
import zlib

import torch
import torch.nn.functional as F

import strobe

import beside
from problem import planted
from video import Decoder, Pipeline, Size, attend

CUDA = torch.cuda.is_available()


# ---- waiting for the GPU ----

@planted("hidden_sync", needs="cuda")
def isnan_in_every_block(fixed):
    def check(y):
        if torch.isnan(y).any():  # planted
            raise ValueError("nan")

    Pipeline(Size(CUDA, dim=1024, blocks=16, videos=20), after_block=None if fixed else check).run()


@planted("hidden_sync", needs="cuda")
def item_in_the_scheduler(fixed):
    pipe = Pipeline(Size(CUDA, dim=1024, blocks=2, steps=20))
    sigmas = torch.linspace(1, 0, pipe.size.steps, device=pipe.size.device)
    values = sigmas.tolist()
    sizes = []

    def on_step(index, x):
        for _ in range(12):
            sizes.append(values[index] if fixed else (x.float().abs().mean() * sigmas[index]).item())  # planted

    pipe.on_step = on_step
    pipe.run()


@planted("hidden_sync", needs="cuda")
def timers_left_in(fixed):
    took = []

    def timed(y):
        torch.cuda.synchronize()  # planted
        took.append(time.perf_counter())

    Pipeline(Size(CUDA, dim=1024, blocks=16, videos=20), after_block=None if fixed else timed).run()


@planted("hidden_sync", "slow_export", "python_between_steps", "repeated_work", "copies", needs="cuda")
def preview_every_step(fixed):
    pipe = Pipeline(Size(CUDA))

    def on_step(index, x):
        if not fixed:
            pipe.decode(x).float().cpu().numpy().tobytes()  # planted

    pipe.on_step = on_step
    pipe.run()


# ---- the wrong kernel ----

def math_attention(q, k, v):
    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
        return F.scaled_dot_product_attention(q, k, v)


@planted("fallback_attention", "attention_math", stage="Transformer|denoise", needs="cuda")
def attention_is_math(fixed):
    Pipeline(Size(CUDA, dim=512, blocks=6, videos=12), attention=attend if fixed else math_attention).run()


@planted("fallback_attention", stage="Transformer|denoise", needs="cuda")
def attention_has_a_dense_mask(fixed):
    if CUDA:
        torch.backends.cuda.enable_cudnn_sdp(False)  # as it is before Hopper: flash, or memory-efficient with a mask
    size = Size(CUDA, dim=512, tokens=8192, blocks=6, videos=14)
    mask = torch.zeros(size.tokens, size.tokens, device=size.device, dtype=size.dtype)

    def attention(q, k, v):
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)

    Pipeline(size, attention=attend if fixed else attention).run()


@planted("fallback_conv", stage="vae_decode|Decoder|Relaid", needs="cuda")
def cudnn_is_off(fixed):
    torch.backends.cudnn.enabled = fixed
    size = Size(CUDA, steps=4, dim=1024, videos=12, grid=(16, 48, 48))
    Pipeline(size).run()


@planted("precision_mismatch", stage="vae_decode|Decoder|Relaid", needs="cuda")
def vae_in_fp32(fixed):
    size = Size(CUDA, steps=4, videos=14, grid=(16, 48, 48))
    torch.backends.cudnn.allow_tf32 = False
    Pipeline(size, vae_dtype=torch.bfloat16 if fixed else torch.float32, vae_dim=96).run()


@planted("precision_mismatch", stage="denoise|Transformer", needs="cuda")
def timestep_in_float64(fixed):
    pipe = Pipeline(Size(CUDA))
    filters = torch.randn(pipe.size.dim, pipe.size.dim, device=pipe.size.device, dtype=pipe.size.dtype if fixed else torch.float64)

    def predict(x, timestep, text):
        mixed = x.to(filters.dtype)
        for _ in range(4):
            mixed = torch.tanh(mixed @ filters)  # float64 by accident: a constant without a dtype
        return pipe.transformer(x + mixed.to(x.dtype) * 1e-3, timestep, text)

    pipe.predict = predict
    pipe.run()


@planted("precision_mismatch", stage="Transformer|denoise", needs="cuda")
def fp32_weights_under_autocast(fixed):
    size = Size(CUDA, dim=4096, tokens=256, blocks=6)
    pipe = Pipeline(size)
    if not fixed:
        pipe.transformer.float()

    def predict(x, timestep, text):
        with torch.autocast("cuda", torch.bfloat16, cache_enabled=False, enabled=not fixed):
            return pipe.transformer(x, timestep, text).to(x.dtype)

    pipe.predict = predict
    pipe.run()


class Quantised(torch.nn.Module):
    """int8 weights that are made bf16 again for every call."""

    def __init__(self, linear):
        super().__init__()
        scale = linear.weight.abs().amax(1, keepdim=True).float() / 127
        self.register_buffer("scale", scale)
        self.register_buffer("int8", (linear.weight.float() / scale).round().to(torch.int8))
        self.bias = linear.bias

    def forward(self, x):
        weight = (self.int8.float() * self.scale).to(x.dtype)
        return F.linear(x, weight, self.bias)


@planted("quantised_not_used", "precision_mismatch", stage="Transformer|denoise", needs="cuda")
def int8_weights_unpacked_every_call(fixed):
    pipe = Pipeline(Size(CUDA, dim=4096, tokens=256, blocks=6, videos=14))
    for block in pipe.transformer.blocks if not fixed else ():
        block.qkv, block.out = Quantised(block.qkv), Quantised(block.out)
        block.mlp[0], block.mlp[2] = Quantised(block.mlp[0]), Quantised(block.mlp[2])
    pipe.run()


class Relaid(Decoder):
    """Turns the layout around between the layers."""

    def forward(self, z):
        y = F.interpolate(self.inside(z), scale_factor=(1, 4, 4))
        for layer in self.layers:
            y = y.contiguous(memory_format=torch.channels_last_3d).contiguous()
            y = y.permute(0, 2, 3, 4, 1).contiguous().permute(0, 4, 1, 2, 3).contiguous()
            y = F.silu(layer(y))
        return self.outside(y)


@planted("layout_conversion", stage="vae_decode|Decoder|Relaid", needs="cuda")
def layouts_go_back_and_forth(fixed):
    size = Size(CUDA, steps=2, dim=1024, grid=(16, 48, 48))
    pipe = Pipeline(size)
    made = (Decoder if fixed else Relaid)(size.vae_dim)
    made.load_state_dict(pipe.vae.state_dict())
    pipe.vae = made.to(size.device, size.dtype)
    pipe.run()


@planted("fallback_conv", "small_kernels", "gpu_gaps", "tiny_tiles", stage="vae_decode|Decoder|Relaid", needs="cuda")
def tiny_tiles(fixed):
    size = Size(CUDA, steps=4, videos=10, grid=(8, 64, 64))
    pipe = Pipeline(size)
    whole = pipe.decode

    def decode(x):
        t, h, w = size.grid
        z = x.flatten()[:4 * t * h * w].view(1, 4, t, h, w)
        return torch.cat([torch.cat([pipe.vae(z[..., i:i + 4, j:j + 4]) for j in range(0, w, 4)], -1) for i in range(0, h, 4)], -2)

    pipe.decode = whole if fixed else decode
    pipe.run()


@planted("tiny_tiles", "small_kernels", "gpu_gaps", stage="vae_decode|Decoder|Relaid", needs="cuda")
def frame_by_frame_decode(fixed):
    size = Size(CUDA, steps=4, videos=14, grid=(96, 16, 16))
    pipe = Pipeline(size)
    whole = pipe.decode

    def decode(x):
        t, h, w = size.grid
        z = x.flatten()[:4 * t * h * w].view(1, 4, t, h, w)
        return torch.cat([pipe.vae(z[:, :, i:i + 1]) for i in range(t)], 2)

    pipe.decode = whole if fixed else decode
    pipe.run()


# ---- memory ----

@planted("allocator_thrash", needs="cuda")
def empty_cache_every_step(fixed):
    pipe = Pipeline(Size(CUDA))

    def on_step(index, x):
        if not fixed:
            torch.cuda.empty_cache()  # planted

    pipe.on_step = on_step
    pipe.run()


@planted("memory_leak", needs="cuda")
def vram_leaks(fixed):
    pipe = Pipeline(Size(CUDA))
    kept = []

    def on_step(index, x):
        latents = torch.empty(1 << 23 if CUDA else 1 << 18, device=x.device)
        if not fixed:
            kept.append(latents)  # planted

    pipe.on_step = on_step
    pipe.run()


@planted("memory_leak", needs="cuda")
def pinned_buffers_stay(fixed):
    """Each video's frames go to the host through a pinned buffer of their own."""
    pipe, buffers = Pipeline(Size(CUDA, steps=4)), []

    def on_step(index, x):
        frames = torch.empty(12 << 20, dtype=torch.uint8, pin_memory=CUDA)
        if not fixed:
            buffers.append(frames)  # planted

    pipe.on_step = on_step
    pipe.run()


@planted("out_of_memory", needs="cuda")
def memory_in_pieces(fixed):
    """Half of what is reserved is free, in pieces between others that are in use: none is large enough for the decoded frames."""
    pipe = Pipeline(Size(CUDA, videos=2, steps=2))
    pipe.run()
    if not CUDA:
        return
    torch.cuda.empty_cache()
    room, total = 8 << 30, torch.cuda.get_device_properties(0).total_memory
    torch.cuda.set_per_process_memory_fraction((torch.cuda.memory_reserved() + room) / total)
    whole = torch.empty(6 << 30, dtype=torch.uint8, device="cuda")
    del whole
    latents = [torch.empty(64 << 20, dtype=torch.uint8, device="cuda") for _ in range(95)]
    del latents[::1 if fixed else 2]
    try:
        with strobe.generation(frames=8), strobe.section("vae_decode"):
            frames = torch.empty(int(2.5 * (1 << 30)), dtype=torch.uint8, device="cuda")  # planted
            del frames
    except torch.OutOfMemoryError:
        pass


@planted("offload", "offload_serial", "overswap", "copies", stage="offload:Transformer", needs="cuda")
def offloaded_every_step(fixed):
    pipe = Pipeline(Size(CUDA, dim=1024, videos=4, steps=4))

    def on_step(index, x):
        if not fixed:
            pipe.transformer.to("cpu")  # planted
            pipe.transformer.to("cuda")  # planted

    pipe.on_step = on_step
    pipe.run()


@planted("copies", "repeated_work", "hidden_sync", needs="cuda")
def latents_to_the_host_and_back(fixed):
    pipe = Pipeline(Size(CUDA))
    large = torch.zeros(8_000_000 if CUDA else 100_000, device=pipe.size.device)

    def on_step(index, x):
        if not fixed:
            large.copy_(large.cpu().to(large.device))  # planted

    pipe.on_step = on_step
    pipe.run()


@planted("repeated_work", "copies", "hidden_sync", needs="cuda")
def constant_uploaded_every_step(fixed):
    pipe = Pipeline(Size(CUDA))
    table = torch.zeros(16_000_000 if CUDA else 100_000)
    on_device = table.to(pipe.size.device)

    def predict(x, timestep, text):
        rotary = on_device if fixed else table.to(x.device)  # planted
        return pipe.transformer(x + rotary[0].to(x.dtype), timestep, text)

    pipe.predict = predict
    pipe.run()


# ---- work that need not be ----

@planted("repeated_work", stage="TextEncoder", needs="cuda")
def text_encoder_every_step(fixed):
    pipe = Pipeline(Size(CUDA, dim=1024, tokens=2048, blocks=4))
    from video import TextEncoder
    pipe.text_encoder = TextEncoder(256 if CUDA else 32).to(pipe.size.device, pipe.size.dtype)
    pipe.text_encoder.layers.extend([pipe.text_encoder.layers[0]] * 40)
    known = []

    def predict(x, timestep, text):
        if not fixed or not known:
            known[:] = [pipe.encode("a cat walks on the beach at dawn")]  # planted
        return pipe.transformer(x, timestep, known[0])

    pipe.predict = predict
    pipe.run()


@planted("cfg_wasted", stage="Transformer|denoise", needs="cuda")
def guidance_of_one(fixed):
    pipe = Pipeline(Size(CUDA))

    def video(prompt):
        text, empty = pipe.encode(prompt), pipe.encode("blurry")
        x = pipe.latents()
        for index in strobe.steps(range(pipe.size.steps), guidance_scale=1.0):
            guided = pipe.predict(x, pipe.timestep(index), text)
            if not fixed:
                plain = pipe.predict(x, pipe.timestep(index), empty)
                guided = plain + 1.0 * (guided - plain)
            x = x - guided / pipe.size.steps
        with strobe.section("vae_decode"):
            return pipe.decode(x)

    pipe.video = video
    pipe.run()


@planted("cache_idle", "cache_useless", "cache_strict", stage="first_block", needs="cuda")
def cache_never_fires(fixed):
    """A step cache with a threshold that no step meets."""
    pipe = Pipeline(Size(CUDA))
    last = {}
    threshold = 10.0 if fixed else 1e-9

    def predict(x, timestep, text):
        score = 0.05
        if "made" in last and last["age"] % 2 and score < threshold:
            last["age"] += 1
            strobe.cache("first_block", "hit", score=score, threshold=threshold)
            return last["made"]
        strobe.cache("first_block", "miss", score=score, threshold=threshold)
        last.update(made=pipe.transformer(x, timestep, text), age=last.get("age", 0) + 1)
        return last["made"]

    pipe.predict = predict
    pipe.run()


@planted("recompiles", needs="cuda")
def recompiles_by_shape(fixed):
    pipe = Pipeline(Size(CUDA, dim=256, tokens=512, blocks=4, videos=6))
    torch._dynamo.config.automatic_dynamic_shapes = False
    torch._dynamo.config.cache_size_limit = 64
    pipe.transformer.compile(backend="eager")
    lengths = iter(range(1, 100))
    whole = pipe.latents

    def latents():
        return whole()[:, :pipe.size.tokens - (0 if fixed else 4 * next(lengths))]

    pipe.latents = latents
    pipe.decode = lambda x: pipe.vae(torch.zeros(1, 4, *pipe.size.grid, device=x.device, dtype=pipe.vae_dtype))
    pipe.run()


# ---- the host ----

@planted("python_between_steps", needs="cuda")
def numpy_in_the_callback(fixed):
    pipe = Pipeline(Size(CUDA))

    def on_step(index, x):
        if not fixed:
            sum(i * i % 7 for i in range(40_000))  # planted
            time.sleep(0.003)  # planted

    pipe.on_step = on_step
    pipe.run()


@planted("garbage_collection", needs="cuda")
def gc_with_a_large_heap(fixed):
    heap = [[i] for i in range(200_000)]
    pipe = Pipeline(Size(CUDA, videos=5))

    def on_step(index, x):
        if not fixed:
            gc.collect()  # planted

    pipe.on_step = on_step
    pipe.run()
    return len(heap)


@planted("slow_export", needs="cuda")
def png_of_every_frame(fixed):
    pipe = Pipeline(Size(CUDA, videos=12))
    whole = pipe.export

    def export(frames):
        made = whole(frames)
        if not fixed:
            for frame in made[0].unbind(1):
                noise = hashlib.shake_128(frame.numpy().tobytes()[:64]).digest(150_000)
                zlib.compress(noise * 4, 9)  # planted
        return made

    pipe.export = export
    pipe.run()


@planted("gil_contention", needs="cuda")
def a_thread_holds_the_gil(fixed):
    done = threading.Event()

    def watch():
        count = 0
        while not done.is_set():
            count += 1  # planted

    pipe = Pipeline(Size(CUDA, dim=1024, tokens=1024, blocks=2, steps=3, videos=4))
    if not fixed:
        threading.Thread(target=watch, daemon=True).start()
    pipe.run()
    done.set()


@planted("input_starved", "data_loading", needs="torch")
def loader_without_workers(fixed):
    pipe = Pipeline(Size(CUDA))

    class Clips(torch.utils.data.Dataset):
        def __len__(self):
            return pipe.size.videos

        def __getitem__(self, index):
            return torch.frombuffer(bytearray(hashlib.shake_128(bytes([index])).digest(30_000_000 if CUDA else 300_000)), dtype=torch.uint8)  # planted

    loader = torch.utils.data.DataLoader(Clips(), num_workers=2 if fixed else 0, prefetch_factor=2 if fixed else None)
    with torch.no_grad():
        for clip in loader:
            with strobe.generation(frames=pipe.size.grid[0]):
                pipe.export(pipe.video("a cat"))
                strobe.frames(pipe.size.grid[0])


@planted("thread_oversubscription", needs="torch")
def too_many_threads(fixed):
    import os
    torch.set_num_threads(len(os.sched_getaffinity(0)) if fixed else 16 * len(os.sched_getaffinity(0)))  # planted
    size = Size(False)
    size.dim, size.tokens, size.steps, size.videos = 128, 256, 8, 6
    Pipeline(size).run()


@planted("gpu_shared", stage=None, needs="cuda")
def another_process_on_the_gpu(fixed):
    pipe = Pipeline(Size(CUDA))
    with contextlib.nullcontext() if fixed else beside.another_process(OTHER):
        pipe.run()


OTHER = """
import os, sys, time
import torch
x = torch.randn(8192, 8192, device="cuda")
x @ x
torch.cuda.synchronize()
print("up", flush=True)
end = time.monotonic() + 20
while os.getppid() != 1 and time.monotonic() < end:
    x @ x
    torch.cuda.synchronize()
"""


# ---- healthy ----

@planted(healthy=True, needs="cuda")
def healthy_compute_bound(fixed):
    Pipeline(Size(CUDA, dim=2048, videos=14)).run()


@planted(healthy=True, needs="cuda")
def healthy_launch_bound(fixed):
    Pipeline(Size(CUDA, dim=128, tokens=128, blocks=8, grid=(4, 32, 32))).run()


@planted(healthy=True, needs="cuda")
def healthy_compiled(fixed):
    pipe = Pipeline(Size(CUDA))
    pipe.transformer.compile(backend="eager")
    pipe.run()


@planted(healthy=True, needs="cuda")
def healthy_cached(fixed):
    cache_never_fires(True)


@planted(healthy=True, needs="cuda")
def healthy_offloaded_once(fixed):
    """Offloaded because it must be: the text encoder leaves the GPU before the transformer comes, once a video."""
    pipe = Pipeline(Size(CUDA))
    whole = pipe.video

    def video(prompt):
        pipe.text_encoder.to("cuda")
        text = pipe.encode(prompt)
        pipe.text_encoder.to("cpu")
        pipe.encode = lambda _: text
        try:
            return whole(prompt)
        finally:
            del pipe.encode

    pipe.video = video
    pipe.run()


@planted(healthy=True, needs="cuda")
def healthy_service_on_the_gpu(fixed):
    pipe = Pipeline(Size(CUDA, videos=10))
    pipe.between = lambda: time.sleep(0.1)
    pipe.run()


@planted(healthy=True, needs="torch")
def healthy_small_torch(fixed):
    Pipeline(Size(False)).run()
