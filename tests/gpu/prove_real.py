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
ROUNDS_S, EACH, SHORT_STEPS, STEPS, GENERATIONS = 100, 8, 3, 10, 3


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
    """Short generations, in turns plain and recorded, EACH of them in a round of a few seconds. A round is compared with itself alone,
    for the machine is faster at one time than at another: its median recorded generation with its median plain one, and the
    odd plain ones with the even ones (null). The median of the rounds counts. Each generation is long enough for the sampler
    to look a few times. A session is opened and closed outside of what is timed, and one step goes before it: what a session
    does once is not what a video costs. The interval: 95 % of what the rounds give when they are drawn again."""

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
        took = [self.once() for _ in range(EACH)]
        if is_recorded:
            strobe.stop()
            shutil.rmtree(self.folder, ignore_errors=True)
        return took

    def once(self):
        """Seconds of one generation: by the clock, and of this thread, which launches all there is to launch."""
        wall, thread = time.perf_counter(), time.thread_time()
        self.generate(SHORT_STEPS, 1.0)
        return {"wall": time.perf_counter() - wall, "thread": time.thread_time() - thread}

    def run(self, seconds):
        end = time.perf_counter() + seconds
        self.rounds = []
        while time.perf_counter() < end:
            order = (False, True) if len(self.rounds) % 2 else (True, False)
            self.rounds.append({recorded: self.timed(recorded) for recorded in order})

    def seen(self, clock):
        """(ratio, half the width of its interval) of null and of recorded."""
        def middle(generations):
            return statistics.median(g[clock] for g in generations)
        pairs = [(middle(r[False][1::2]) / middle(r[False][::2]), middle(r[True]) / middle(r[False])) for r in self.rounds]
        return [with_width(ratios) for ratios in zip(*pairs)]

    def plain_ms(self):
        return 1e3 * statistics.median(g["wall"] for r in self.rounds for g in r[False])


def with_width(ratios):
    chance = random.Random(1)
    drawn = sorted(statistics.median(chance.choices(ratios, k=len(ratios))) for _ in range(400))
    return statistics.median(ratios), (drawn[389] - drawn[10]) / 2


def default_overhead():
    found = pipelines("overhead on a launch-bound Wan")
    if not found:
        return
    from strobe import _flops
    _flops.say = lambda: None  # after a session, not in its generations, and it takes a second
    b = Interleaved(wan(*found, height=128, width=128, num_frames=9))
    b.run(ROUNDS_S)
    over = False
    for clock, words in (("wall", "by the clock"), ("thread", "CPU time of the launching thread")):
        null, on = b.seen(clock)
        row("null (A/A), launch-bound Wan, %d rounds, generation of %.0f ms, %s" % (len(b.rounds), b.plain_ms(), words),
            "%.3f x +-%.3f" % null, "1.000 +-0.005")
        row("everything that is on by default, %s" % words, "%.3f x +-%.3f" % on, "<= 1.02 x", below(*on, 1.02))
        over = over or on[0] > 1.02
    if over:
        os.environ["STROBE_SAMPLE_HZ"] = "0"
        b.run(ROUNDS_S / 3)
        del os.environ["STROBE_SAMPLE_HZ"]
        for clock in ("wall", "thread"):
            row("  the same without the sampler, %s" % clock, "%.3f x +-%.3f" % b.seen(clock)[1], "")


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
