"""Problems of a torch pipeline. On a GPU all of them run; those that show on a CPU too run there with a small model."""
import contextlib
import gc
import hashlib
import itertools
import threading
import time
import zlib

import torch
from torch import nn

import strobe

import beside
from problem import planted
from video import Pipeline, Size, attend

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
        return y

    def attention(q, k, v):
        timed(q)
        return timed(attend(q, k, v))

    Pipeline(Size(CUDA, dim=1024, tokens=3072, blocks=16, videos=30), attend if fixed else attention, None if fixed else timed).run()


@planted("hidden_sync", "slow_export", "python_between_steps", "repeated_work", "copies", needs="cuda")
def preview_every_step(fixed):
    pipe = Pipeline(Size(CUDA, grid=(8, 48, 48)))

    def on_step(index, x):
        if not fixed:
            pipe.decode(x).float().cpu().numpy().tobytes()  # planted

    pipe.on_step = on_step
    pipe.run()


# ---- memory ----

@planted("allocator_thrash", needs="cuda")
def empty_cache_every_step(fixed):
    pipe = Pipeline(Size(CUDA))

    def on_step(index, x):
        parts = [torch.empty(64 << 20, dtype=torch.uint8, device=x.device) for _ in range(16)]  # what a large model needs
        del parts
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
        frames = torch.empty(32 << 20, dtype=torch.uint8, pin_memory=CUDA)
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


@planted("allocator_retries", stage="vae_decode", needs="cuda")
def the_cache_goes_back_for_every_video(fixed):
    """Little memory is left beside the models, and no piece that a video's decoder asks for fits into one of those before: the
    allocator gives its cache back, waits for the GPU and asks again. Nothing fails."""
    pipe, gib = Pipeline(Size(CUDA, steps=4)), 1 << 30
    if CUDA:
        room = torch.cuda.memory_reserved() + 12 * gib
        torch.cuda.set_per_process_memory_fraction(room / torch.cuda.get_device_properties(0).total_memory)
    whole, videos = pipe.decode, itertools.count(1)

    def decode(x):
        size = (40 << 20) + (0 if fixed else next(videos) << 21) if CUDA else 1 << 20
        pieces = [torch.empty(size, dtype=torch.uint8, device=x.device) for _ in range(128)]
        del pieces
        return whole(x)

    pipe.decode = decode
    pipe.run()


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
from torch import nn
x = torch.randn(8192, 8192, device="cuda")
x @ x
torch.cuda.synchronize()
print("up", flush=True)
end = time.monotonic() + 20
while os.getppid() != 1 and time.monotonic() < end:
    x @ x
    torch.cuda.synchronize()
"""


@planted("gpu_unused", needs="cuda")
def model_left_on_the_cpu(fixed):
    """Someone forgot to move it: the same pipeline without .to("cuda")."""
    size = Size(False)
    size.dim, size.tokens, size.blocks, size.steps, size.videos = 512, 1024, 4, 8, 6
    if fixed and CUDA:
        size.device, size.dtype = "cuda", torch.bfloat16
    Pipeline(size).run()


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


@planted(healthy=True, needs="cuda")
def healthy_videos_of_growing_size(fixed):
    """Each is longer than the one before: what takes more time and memory then is no trend and no leak."""
    pipe = Pipeline(Size(CUDA, dim=2048, videos=12))

    def between():
        frames, height, width = pipe.size.grid
        pipe.size.tokens, pipe.size.grid = pipe.size.tokens * (frames + 4) // frames, (frames + 4, height, width)

    pipe.between = between
    pipe.run()


@planted(healthy=True, needs="torch")
def healthy_small_torch(fixed):
    Pipeline(Size(False)).run()


class Own(nn.Module):
    """Written by hand, without a module inside: its lines are the model."""

    def __init__(self, dim, layers):
        super().__init__()
        self.weights = nn.ParameterList(nn.Parameter(torch.randn(dim, dim) / dim ** 0.5) for _ in range(layers))

    def forward(self, x):
        kept = []
        for weight in self.weights:
            x = torch.tanh(x @ weight)
            heads = x.view(len(x), 4, -1).transpose(0, 1)
            x = x + torch.softmax(heads @ heads.transpose(1, 2), -1).matmul(heads).transpose(0, 1).reshape(x.shape)
            kept.append(x)
        return x + sum(kept) / len(kept)


@planted(healthy=True, needs="torch")
def healthy_model_of_ones_own(fixed):
    torch.set_num_threads(1)
    model, x = Own(64, 8), torch.randn(64, 64)
    with torch.no_grad():
        for _ in range(6):
            with strobe.generation(frames=5):
                for _ in strobe.steps(range(8)):
                    for _ in range(20):
                        x = model(x)
