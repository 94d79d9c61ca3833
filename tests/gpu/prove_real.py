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

from proving import Ratios, left_out, recorded, report, row

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


class Interleaved(Ratios):
    """Short generations in rounds of three in a random order: plain, plain again (null), and recorded. A round is short
    beside the machine's better and worse seconds, and a median of many rounds is left of the rest. A session is opened
    and closed outside of what is timed, and one step goes before it: what a session does once is not what a video costs."""

    def __init__(self, generate):
        super().__init__()
        self.generate, self.plain, self.folder = generate, [], tempfile.mkdtemp(prefix="strobe-prove-")
        generate()
        gc.collect()
        gc.freeze()

    def timed(self, is_recorded):
        import strobe
        if is_recorded:
            strobe.start("cost", output_dir=self.folder, config={"generate_final_report": False})
        self.generate(1, 1.0)
        begin = time.perf_counter()
        self.generate(SHORT_STEPS, 1.0)
        took = time.perf_counter() - begin
        if is_recorded:
            strobe.stop()
            shutil.rmtree(self.folder, ignore_errors=True)
        return took

    def rounds(self, name, seconds):
        end, order = time.perf_counter() + seconds, random.Random(1)
        while time.perf_counter() < end:
            took = {form: self.timed(form == name) for form in order.sample(["plain", "null", name], 3)}
            self.plain.append(took["plain"])
            self.ratios.setdefault("null", []).append(took["null"] / took["plain"])
            self.ratios.setdefault(name, []).append(2 * took[name] / (took["plain"] + took["null"]))


def default_overhead():
    found = pipelines("overhead on a launch-bound Wan")
    if not found:
        return
    b = Interleaved(wan(*found, height=128, width=128, num_frames=9))
    b.rounds("on", ROUNDS_S)
    null = "null (A/A), launch-bound Wan, %d rounds, generation of %.0f ms"
    row(null % (len(b.plain), statistics.median(b.plain) * 1e3), b.text("null"), "1.000 +-0.005", abs(b.ratio("null") - 1) <= 0.005)
    row("everything that is on by default", b.text("on"), "<= 1.02 x", b.ratio("on") <= 1.02)
    if b.ratio("on") > 1.02:
        os.environ["STROBE_SAMPLE_HZ"] = "0"
        b.rounds("no sampler", ROUNDS_S / 4)
        del os.environ["STROBE_SAMPLE_HZ"]
        row("  the same without the sampler", b.text("no sampler"), "")


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
