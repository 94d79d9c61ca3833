"""Problems that need neither torch nor a GPU: a pipeline of the standard library, slowed down one way at a time.
Each function is a program; fixed=True is the same without the problem, and makes the same output."""
import gc
import hashlib
import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
import time
import zlib

import strobe

from problem import planted

SIDE = 48
VIDEOS, STEPS, FRAMES = 4, 8, 6


def compute(seconds):
    """The model: work that takes this long, whatever the machine. It lets other threads in, as torch does."""
    until = time.perf_counter() + seconds
    data = b"x" * 200_000
    while time.perf_counter() < until:
        data = hashlib.sha256(data).digest() * 6250  # outside the GIL
    return data[:32]


def video(on_step=None, step_s=0.012, export=None, decode_s=0.02):
    with strobe.generation(frames=FRAMES):
        for index in strobe.steps(range(STEPS)):
            with strobe.section("transformer"):
                compute(step_s)
            if on_step is not None:
                on_step(index)
        with strobe.section("vae_decode"):
            compute(decode_s)
        frames = [bytes([i % 251]) * (SIDE * SIDE * 3) for i in range(FRAMES)]
        if export is not None:
            export(frames)
        strobe.frames(FRAMES)


@planted("python_between_steps", "slow_steps")
def callback_sleeps(fixed):
    def on_step(index):
        if not fixed:
            time.sleep(0.02)  # planted

    for _ in range(VIDEOS):
        video(on_step)


@planted("python_between_steps")
def callback_logs_json(fixed):
    state = [{"step": i, "values": list(range(40))} for i in range(400)]

    def on_step(index):
        if not fixed:
            json.dumps(state, indent=1)  # planted

    for _ in range(VIDEOS):
        video(on_step)


@planted("padding", stage="generation")
def padded_to_one_size(fixed):
    wanted, computed = 30, 32 if fixed else 64
    for _ in range(VIDEOS):
        with strobe.generation(frames=wanted, padded_frames=computed):
            for _ in strobe.steps(range(STEPS)):
                with strobe.section("transformer"):
                    compute(0.0005 * computed)


@planted("garbage_collection")
def gc_collect_every_step(fixed):
    heap = [[i, str(i)] for i in range(300_000)]

    def on_step(index):
        if not fixed:
            gc.collect()  # planted

    for _ in range(VIDEOS):
        video(on_step)
    return len(heap)


@planted("garbage_collection")
def gc_by_itself(fixed):
    heap = [[i] for i in range(400_000)]
    if fixed:
        gc.freeze()
    gc.set_threshold(200, 2, 2)

    def on_step(index):
        made = [[i] for i in range(3000)]  # planted
        made.clear()

    for _ in range(VIDEOS):
        video(on_step)
    return len(heap)


def png(frame, level):
    rows = b"".join(b"\0" + frame[i * SIDE * 3:(i + 1) * SIDE * 3] for i in range(SIDE))
    return zlib.compress(rows * 40, level)  # planted: slow_png


@planted("slow_export", marks="slow_png")
def slow_png(fixed):
    def export(frames):
        with strobe.section("export"):
            for frame in frames:
                noise = hashlib.shake_128(frame).digest(len(frame))
                for _ in range(1 if fixed else 4):
                    png(noise, 1 if fixed else 9)

    for _ in range(VIDEOS):
        video(export=export)


@planted("slow_export")
def export_without_a_section(fixed):
    def export(frames):
        for frame in frames:
            noise = hashlib.shake_128(frame).digest(len(frame))
            if not fixed:
                zlib.compress(noise * 150, 9)  # planted

    for _ in range(VIDEOS):
        video(export=export)


@planted("slow_export", "python_between_steps")
def writes_every_step(fixed):
    data = os.urandom(1 << 20) * 6
    with tempfile.TemporaryDirectory() as folder:
        def on_step(index):
            if not fixed:
                with open(os.path.join(folder, "latents.bin"), "wb") as out:
                    out.write(data)  # planted
                    os.fsync(out.fileno())  # planted

        for _ in range(VIDEOS):
            video(on_step)


@planted("slow_export", "python_between_steps")
def a_process_per_frame(fixed):
    def export(frames):
        with strobe.section("export"):
            for frame in frames[:1] if fixed else frames:
                subprocess.run([sys.executable, "-S", "-c", "pass"], input=frame, check=True)  # planted

    for _ in range(VIDEOS):
        video(export=export)


@planted("memory_leak")
def host_memory_leaks(fixed):
    kept = []

    def on_step(index):
        latents = bytearray(b"x") * (1 << 21)
        if not fixed:
            kept.append(latents)  # planted

    for _ in range(VIDEOS * 2):
        video(on_step)
    return len(kept)


@planted("slow_trend", "python_between_steps")
def history_is_scanned(fixed):
    seen = []

    def on_step(index):
        seen.extend(range(len(seen), len(seen) + 6000))
        if not fixed:
            sum(1 for item in seen if item % 7 == 3)  # planted

    for _ in range(VIDEOS * 2):
        video(on_step)


@planted("slow_trend", "input_starved")
def reads_get_slower(fixed):
    waited = [0.0]

    def read():
        with strobe.section("read_input"):
            if not fixed:
                waited[0] += 0.012
            time.sleep(waited[0])  # planted

    for _ in range(VIDEOS * 3):
        read()
        video()


@planted("gil_contention")
def a_busy_thread(fixed):
    done = threading.Event()

    def poll():
        count = 0
        while not done.is_set():
            count += 1  # planted
        return count

    def on_step(index):
        sum(i * i for i in range(60_000))

    threads = [] if fixed else [threading.Thread(target=poll, daemon=True) for _ in range(2)]
    for thread in threads:
        thread.start()
    for _ in range(VIDEOS):
        video(on_step)
    done.set()


@planted("python_between_steps")
def a_thread_keeps_the_lock(fixed):
    """A thread that reads the settings again and again, under the lock that each step needs."""
    lock, done = threading.Lock(), threading.Event()

    def reload():
        while not done.is_set():
            with lock:
                time.sleep(0.001 if fixed else 0.1)  # planted: the holder
            done.wait(0.02)

    def on_step(index):
        with lock:  # planted
            sum(range(100))

    threading.Thread(target=reload, daemon=True).start()
    for _ in range(VIDEOS):
        video(on_step)
    done.set()


@planted("input_starved")
def reader_is_late(fixed):
    """One thread reads ahead, too slowly: the queue is empty whenever the pipeline asks."""
    frames = queue.Queue(4)

    def produce():
        for _ in range(VIDEOS):
            time.sleep(0.02 if fixed else 0.25)
            frames.put(b"frame")

    threading.Thread(target=produce, daemon=True).start()
    for _ in range(VIDEOS):
        with strobe.section("wait_for_input"):
            frames.get()  # planted
        video()


@planted("repeated_work", stage="text_encode")
def text_encoded_every_step(fixed):
    prompt = "a cat walks on the beach at dawn"

    def encode():
        with strobe.section("text_encode"):
            return compute(0.008)  # planted

    def on_step(index):
        if not fixed:
            encode()

    for _ in range(VIDEOS):
        encode()
        video(on_step)
    return prompt


@planted(healthy=True)
def healthy_cpu_pipeline(fixed):
    for _ in range(VIDEOS * 2):
        video(lambda index: sum(i for i in range(2000)))


@planted(healthy=True)
def healthy_service(fixed):
    """A service: requests come with pauses, each is answered at once."""
    requests = queue.Queue()

    def client():
        for number in range(6):
            time.sleep(0.1)
            requests.put(number)
        requests.put(None)

    threading.Thread(target=client, daemon=True).start()
    while requests.get() is not None:
        video()


@planted(healthy=True)
def healthy_service_that_polls(fixed):
    """Nobody can see whether a sleep waits for the next request."""
    for _ in range(VIDEOS * 2):
        video()
        time.sleep(0.1)


@planted(healthy=True)
def healthy_hash_beside(fixed):
    """A thread that hashes what was made: C code, without the GIL."""
    done, data = threading.Event(), bytes(32 << 20)

    def check():
        while not done.is_set():
            hashlib.sha256(data).hexdigest()

    threading.Thread(target=check, daemon=True).start()
    for _ in range(VIDEOS * 2):
        video(lambda index: sum(i * i for i in range(20_000)))
    done.set()


@planted(healthy=True)
def healthy_export(fixed):
    with tempfile.TemporaryFile() as out:
        def export(frames):
            with strobe.section("export"):
                for frame in frames:
                    out.write(frame)

        for _ in range(VIDEOS):
            video(export=export)
