"""Memory and files that pile up, and healthy programs that look like it. Neither torch nor a GPU is needed."""
import collections
import contextlib
import os
import queue
import resource
import tempfile

import strobe

from plain import compute, video
from problem import planted

MB = 1 << 20


def made(size):
    """So many bytes that are really there."""
    return bytearray(b"x") * size


@planted("memory_leak")
def every_step_leaks(fixed):
    """One long video whose steps each leave 12 MB behind."""
    history = []
    with strobe.generation(frames=16):
        for index in strobe.steps(range(40)):
            with strobe.section("transformer"):
                compute(0.1)
                latents = made(12 * MB)
            if not fixed:
                history.append(latents)  # planted


@planted("memory_leak")
def every_call_leaks(fixed):
    """A service that marks no generation: 108 MB of host memory for each request."""
    answers = {}
    for number in range(14):
        with strobe.section("answer"):
            compute(0.28)
            answer = made(108 * MB)
            if not fixed:
                answers[number] = answer  # planted


@planted("memory_leak")
def outputs_are_kept(fixed):
    outputs = []
    for _ in range(9):
        video(step_s=0.04)
        frames = made(40 * MB)
        if not fixed:
            outputs.append(frames)  # planted


@planted("memory_leak")
def a_closure_keeps_latents(fixed):
    on_exit = []
    for _ in range(9):
        video(step_s=0.04)
        latents = made(40 * MB)

        def later(kept=latents):
            return len(kept)
        if not fixed:
            on_exit.append(later)  # planted


class Recorder:
    def __init__(self):
        self.log = collections.deque()


@planted("memory_leak")
def an_object_logs_latents(fixed):
    recorder = Recorder()

    def on_step(index):
        latents = made(6 * MB)
        if not fixed:
            recorder.log.append(latents)  # planted

    for _ in range(9):
        video(on_step, step_s=0.03)


@planted("open_files")
def files_stay_open(fixed):
    readers = []
    with tempfile.TemporaryDirectory() as folder:
        for number in range(60):
            path = os.path.join(folder, "frame%03d.raw" % number)
            with strobe.section("read_frame"):
                compute(0.07)
                file = open(path, "wb")
                if fixed:
                    file.close()
                else:
                    readers.append(file)  # planted
    for file in readers:
        file.close()


@planted(healthy=True)
def a_cache_fills_up(fixed):
    """The first videos fill a cache of eight prompts; the rest find theirs there."""
    cache = {}
    for number in range(24):
        video(step_s=0.02)
        cache.setdefault(number % 8, made(24 * MB))


@planted(healthy=True)
def a_kv_cache_is_freed(fixed):
    """Grows with every step, and is gone after the generation."""
    for _ in range(3):
        with strobe.generation(frames=16):
            cache = []
            for index in strobe.steps(range(14)):
                with strobe.section("transformer"):
                    compute(0.1)
                    cache.append(made(8 * MB))
            cache = None
        with strobe.section("wait"):
            compute(0.3)


# ---- out of memory: the process has a limit of its own, and catches the error ----

@contextlib.contextmanager
def limited(room):
    """So many bytes more than the process has now."""
    with open("/proc/self/status") as status:
        used = next(int(line.split()[1]) << 10 for line in status if line.startswith("VmData"))
    before = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (used + room, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, before)


@planted("out_of_memory")
def the_vae_decodes_at_full_resolution(fixed):
    """After minutes of denoising; in tiles it fits."""
    with limited(160 * MB), strobe.generation(frames=16, width=1280, height=720):
        for index in strobe.steps(range(4)):
            with strobe.section("transformer"):
                compute(0.05)
        try:
            with strobe.section("vae_decode"):
                for _ in range(8 if fixed else 1):
                    bytearray((64 if fixed else 512) * MB)  # planted
        except MemoryError:
            pass


@planted("out_of_memory")
def two_models_are_resident(fixed):
    """The text encoder is still there when the transformer comes."""
    with limited(200 * MB):
        encoder = made(120 * MB)
        with strobe.section("text_encode"):
            compute(0.1)
        if fixed:
            encoder = None
        try:
            with strobe.section("load_transformer"):
                transformer = bytearray(120 * MB)  # planted
                compute(0.1)
        except MemoryError:
            transformer = None
        del encoder, transformer


class Attention:
    def __init__(self):
        self.cache = {}

    def step(self, prompt, index, fixed):
        if not fixed:
            self.cache[prompt, index] = made(6 * MB)  # planted: attention


@planted("memory_leak", marks="attention")
def the_kv_cache_of_every_prompt_stays(fixed):
    attention = Attention()
    for prompt in range(9):
        video(lambda index, prompt=prompt: attention.step(prompt, index, fixed), step_s=0.03)


@planted("memory_leak")
def an_encoder_that_nobody_empties(fixed):
    """Frames are queued for an encoder that has ended."""
    frames = queue.Queue()
    for _ in range(9):
        video(step_s=0.04)
        frames.put(made(40 * MB))  # planted
        if fixed:
            frames.get()


class Dataset:
    """Copies what it has already: each epoch has its own."""

    def __init__(self):
        self.epochs = []

    def load(self, clips, fixed):
        if not fixed:
            self.epochs.append([bytes(clip) for clip in clips])  # planted: loader
        return clips


@planted("memory_leak", marks="loader")
def a_loader_copies(fixed):
    loader, clips = Dataset(), [made(4 * MB) for _ in range(8)]
    for _ in range(9):
        loader.load(clips, fixed)
        video(step_s=0.04)


@planted(healthy=True)
def memory_that_suffices(fixed):
    """Large pieces within the limit, given back each time."""
    with limited(160 * MB):
        for _ in range(3):
            with strobe.generation(frames=16):
                with strobe.section("vae_decode"):
                    compute(0.2)
                    made(100 * MB)
