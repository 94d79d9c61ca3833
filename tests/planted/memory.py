"""Memory and files that pile up, and healthy programs that look like it. Neither torch nor a GPU is needed."""
import collections
import os
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
