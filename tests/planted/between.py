"""Problems of the loop around the generations, without torch: what a program does between two of them, and again for every part
of one. fixed=True is the same without the problem."""
import concurrent.futures
import http.client
import http.server
import json
import os
import tempfile
import threading
import time

import strobe

from plain import FRAMES, SIDE, VIDEOS, compute, video
from problem import planted


def sharpen(frame, width):
    """A filter over pixels, in Python."""
    made = bytearray(len(frame))
    for i in range(width, len(frame) - width):
        made[i] = (2 * frame[i] - frame[i - 1]) & 255  # planted: frames_are_filtered_in_python
    return made


@planted("between_generations", marks="frames_are_filtered_in_python")
def frames_are_filtered_in_python(fixed):
    """After the generation has ended, in no stage."""
    frame = os.urandom(SIDE * SIDE * 3)
    for _ in range(VIDEOS):
        video()
        for _ in range(1 if fixed else 24):
            sharpen(frame, 3)


def clip_of(number):
    """What a video encoder takes: pixels between -1 and 1, one after the other."""
    frame = bytes((i * number) & 255 for i in range(256))
    return [(frame[i & 255] / 255 - 0.5) / 0.5 for i in range(120_000)]  # planted: clips_are_made_between_the_calls


@planted("python_between_steps", marks="clips_are_made_between_the_calls")
def clips_are_made_between_the_calls(fixed):
    """A plain loop around an encoder: no pipeline, no generation."""
    clip = None
    for number in range(30):
        if clip is None or not fixed:
            clip = clip_of(number)
        with strobe.section("VJEPA2Model"):
            compute(0.02)


@planted("between_generations")
def prompts_are_read_again(fixed):
    """The whole list for each prompt of it."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "prompts.json")
        with open(path, "w") as out:
            json.dump([{"prompt": "a cat walks on the beach %d" % i, "tags": list(range(20))} for i in range(12000)], out)
        prompts = None
        for _ in range(VIDEOS):
            if prompts is None or not fixed:
                with open(path) as source:
                    prompts = json.load(source)  # planted
            video()


@planted("between_generations")
def waits_for_a_file_to_settle(fixed):
    """A sleep in a loop that polls: the file has been there all the while."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "done")
        for _ in range(VIDEOS):
            video()
            with open(path, "w") as out:
                out.write("done")
            for _ in range(0 if fixed else 5):
                time.sleep(0.05)  # planted
                if os.path.getsize(path) == 0:
                    break


def clipped(value):
    return 0 if value < 0 else 255 if value > 255 else int(value)  # planted: colours_are_converted_pixel_by_pixel


def rgb_of(y, u, v):
    return clipped(1.164 * y + 1.596 * v), clipped(1.164 * y - 0.392 * u - 0.813 * v), clipped(1.164 * y + 2.017 * u)  # planted: colours_are_converted_pixel_by_pixel


@planted("python_between_steps", marks="colours_are_converted_pixel_by_pixel")
def colours_are_converted_pixel_by_pixel(fixed):
    """Inside the generation, in no stage of it and no step: its stages are the program's own."""
    frame = os.urandom(60_000)
    for _ in range(VIDEOS * 2):
        with strobe.generation(frames=FRAMES):
            for _ in range(FRAMES):
                made = frame if fixed else b"".join(bytes(rgb_of(*frame[i:i + 3])) for i in range(0, len(frame), 3))
                with strobe.section("encoder"):
                    compute(0.01)
            strobe.frames(len(made) and FRAMES)


class Board(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        time.sleep(0.03)
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *args):
        pass


@planted("python_between_steps")
def values_are_posted_after_every_call(fixed):
    """A tracker of experiments that waits for its server's answer, in a loop without generations."""
    with http.server.HTTPServer(("127.0.0.1", 0), Board) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        for number in range(40):
            with strobe.section("WanTransformer3DModel"):
                compute(0.02)
            if not fixed or number == 39:
                link = http.client.HTTPConnection("127.0.0.1", server.server_port)
                link.request("POST", "/", json.dumps({"number": number}))
                link.getresponse().read()  # planted
                link.close()
        server.shutdown()


@planted("python_between_steps")
def results_leave_under_the_models_lock(fixed):
    """Three requests at a time, one model: its lock is held while a result is sent away."""
    lock = threading.Lock()

    def request(number):
        with strobe.generation(frames=FRAMES):
            with lock:  # planted
                with strobe.section("denoise"):
                    compute(0.06)
                if not fixed:
                    time.sleep(0.12)  # planted

    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        list(pool.map(request, range(15)))


@planted("repeated_work", stage="text_encode")
def prompt_encoded_for_every_chunk(fixed):
    """A long video in chunks of frames, one prompt."""
    def encode():
        with strobe.section("text_encode"):
            return compute(0.03)  # planted

    for _ in range(VIDEOS):
        with strobe.generation(frames=FRAMES * 6):
            text = encode() if fixed else None
            for _ in range(6):
                text = text if fixed else encode()
                for _ in strobe.steps(range(3)):
                    with strobe.section("transformer"):
                        compute(0.01)
            with strobe.section("vae_decode"):
                compute(0.02)


@planted(healthy=True)
def healthy_batch(fixed):
    """A list of prompts, each with a line of log and a small file: what has to be between two generations."""
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "log"), "w") as log:
            for number in range(VIDEOS * 2):
                video()
                log.write("video %d\n" % number)
                with open(os.path.join(folder, "%d.json" % number), "w") as out:
                    json.dump({"number": number, "frames": FRAMES}, out)
