"""Real diffusers pipelines with random weights: what everything that is on by default costs, and how much of a generation no
stage covers. Left out where diffusers cannot be imported."""
import gc
import os
import random
import shutil
import statistics
import sys
import tempfile
import time
import types

from proving import below, left_out, recorded, report, row

HERE = os.path.dirname(os.path.abspath(__file__))
LARGE = dict(num_attention_heads=12, attention_head_dim=128, ffn_dim=8960, num_layers=30, rope_max_seq_len=1024)
ROUNDS_S, SHORT_STEPS, STEPS, GENERATIONS = 70, 3, 10, 3


def pipelines(what):
    """(torch, tiny), with strobe's hooks installed before the frameworks come; None: they are not here."""
    from strobe.auto import install
    install()
    sys.path.insert(0, os.path.join(os.path.dirname(HERE), "real"))
    try:
        import diffusers  # noqa: F401
        import tiny
        import torch
    except ImportError as error:
        left_out(what, str(error))
        return None
    for name in ("pipeline_wan", "pipeline_wan_i2v"):  # ftfy is optional, and not everywhere
        module = __import__("diffusers.pipelines.wan." + name, fromlist=["x"])
        if not hasattr(module, "ftfy"):
            module.ftfy = types.SimpleNamespace(fix_text=lambda text: text)
    return torch, tiny


def wan(torch, tiny, **size):
    """A call that makes one video. On a CPU, where the proof itself is tried, the model is tiny."""
    device, dtype, large = ("cuda", torch.bfloat16, LARGE) if torch.cuda.is_available() else ("cpu", torch.float32, {})
    pipeline = tiny.wan(transformer=tiny.wan_transformer(**large)).to(device, dtype)
    pipeline.set_progress_bar_config(disable=True)

    def generate(steps=STEPS, guidance_scale=5.0):
        pipeline(prompt="w1 w2", negative_prompt="w3", max_sequence_length=16, num_inference_steps=steps, output_type="np",
                 guidance_scale=guidance_scale, generator=torch.Generator().manual_seed(0), **size)
        if device == "cuda":
            torch.cuda.synchronize()
    return generate


class Interleaved:
    """Short generations, in turns plain and recorded. What else runs on the machine only ever makes one slower: the fastest
    tenth of many is compared, and the same of the plain ones of every second round with the others (null). Each is long enough for the
    sampler to look a few times. A session is opened and closed outside of what is timed, and one step goes before it: what
    a session does once is not what a video costs. The interval: 95 % of what the rounds give when they are drawn again."""

    def __init__(self, generate):
        self.generate, self.rounds, self.folder = generate, [], tempfile.mkdtemp(prefix="strobe-prove-")
        generate()
        gc.collect()
        gc.freeze()

    def timed(self, is_recorded):
        import strobe
        if is_recorded:
            strobe.start("cost", output_dir=self.folder, config={"generate_final_report": False})
        self.generate(1, 1.0)
        took = [self.once(), self.once()]
        if is_recorded:
            strobe.stop()
            shutil.rmtree(self.folder, ignore_errors=True)
        return took

    def once(self):
        begin = time.perf_counter()
        self.generate(SHORT_STEPS, 1.0)
        return time.perf_counter() - begin

    def run(self, seconds):
        end = time.perf_counter() + seconds
        self.rounds = []
        while time.perf_counter() < end:
            order = (False, True) if len(self.rounds) // 2 % 2 else (True, False)
            self.rounds.append(dict({recorded: self.timed(recorded) for recorded in order}, half=len(self.rounds) % 2))

    def ratios(self, rounds):
        plain, on = ([t for r in rounds for t in r[recorded]] for recorded in (False, True))
        halves = [[t for r in rounds if r["half"] == half for t in r[False]] for half in (0, 1)]
        return fastest(halves[1]) / fastest(halves[0]), fastest(on) / fastest(plain)

    def seen(self):
        """(ratio, half the width of its interval) of null and of recorded."""
        drawn, chance = [], random.Random(1)
        halves = [[r for r in self.rounds if r["half"] == half] for half in (0, 1)]
        for _ in range(400):
            drawn.append(self.ratios([r for half in halves for r in chance.choices(half, k=len(half))]))
        return [(ratio, half_width(sorted(all_drawn))) for ratio, all_drawn in zip(self.ratios(self.rounds), zip(*drawn))]


def fastest(times):
    """The mean of the fastest tenth."""
    return statistics.mean(sorted(times)[:max(1, len(times) // 10)])


def half_width(values):
    return (values[int(0.975 * len(values))] - values[int(0.025 * len(values))]) / 2


def default_overhead():
    found = pipelines("overhead on a launch-bound Wan")
    if not found:
        return
    from strobe import _flops
    _flops.say = lambda: None  # after a session, not in its generations, and it takes a second
    b = Interleaved(wan(*found, height=128, width=128, num_frames=9))
    b.run(ROUNDS_S)
    null, on = b.seen()
    plain_ms = fastest([t for r in b.rounds for t in r[False]]) * 1e3
    row("null (A/A), launch-bound Wan, %d rounds, generation of %.0f ms" % (len(b.rounds), plain_ms), "%.3f x +-%.3f" % null,
        "1.000 +-0.005")
    row("everything that is on by default", "%.3f x +-%.3f" % on, "<= 1.02 x", below(*on, 1.02))
    if on[0] > 1.02:
        os.environ["STROBE_SAMPLE_HZ"] = "0"
        b.run(ROUNDS_S / 4)
        del os.environ["STROBE_SAMPLE_HZ"]
        row("  the same without the sampler", "%.3f x +-%.3f" % b.seen()[1], "")


def unattributed_share():
    found = pipelines("unattributed time of Wan")
    if not found:
        return
    for what, size in (("launch-bound", dict(height=128, width=128, num_frames=9)),
                       ("GPU-bound", dict(height=480, width=832, num_frames=33))):
        generate = wan(*found, **size)
        generate(2)
        with recorded(what) as r:
            for _ in range(GENERATIONS):
                generate()
        seen = report(r.folder)
        share = seen["summary"]["unattributed_s"] / seen["summary"]["generation_s"]
        functions = seen.get("unattributed", {}).get("generations", {}).get("functions", [])
        row("unattributed inside a %s Wan" % what, "%.1f %%" % (100 * share), "<= 5 %, or named", share <= 0.05 or bool(functions))
        for function in functions[:3]:
            row("  %s:%d" % (function["function"], function["line"]), "%.0f %%" % (100 * function["share_ratio"]))
