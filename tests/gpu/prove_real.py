"""Real diffusers pipelines with random weights: what everything that is on by default costs, and how much of a generation no
stage covers. Left out where diffusers cannot be imported."""
import gc
import os
import statistics
import sys
import time
import types

from proving import left_out, recorded, report, row

HERE = os.path.dirname(os.path.abspath(__file__))
LARGE = dict(num_attention_heads=12, attention_head_dim=128, ffn_dim=8960, num_layers=30, rope_max_seq_len=1024)
ROUNDS, ROUNDS_S, STEPS, GENERATIONS = 25, 80, 10, 3


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
    pipeline = tiny.wan(transformer=tiny.wan_transformer(**LARGE)).to("cuda", torch.bfloat16)
    pipeline.set_progress_bar_config(disable=True)

    def generate(steps=STEPS):
        pipeline(prompt="w1 w2", negative_prompt="w3", max_sequence_length=16, num_inference_steps=steps, output_type="np",
                 generator=torch.Generator().manual_seed(0), **size)
        torch.cuda.synchronize()
    return generate


def default_overhead():
    """In turns, each form between two plain generations; a form's ratio is to the mean of its neighbours."""
    import strobe
    found = pipelines("overhead on a launch-bound Wan")
    if not found:
        return
    generate = wan(*found, height=128, width=128, num_frames=9)
    forms = {"null": None, "on": {}, "no sampler": {"sample_hz": 0}}
    ratios = {name: [] for name in forms}

    def once(config):
        generate(1)
        gc.collect()
        if config is None:
            return timed(generate)
        with recorded("cost"):
            return timed(generate)

    def timed(call):
        begin = time.perf_counter()
        call()
        return time.perf_counter() - begin
    generate()
    end = time.perf_counter() + ROUNDS_S
    for i in range(ROUNDS):
        if time.perf_counter() > end:
            break
        before = once(None)
        for name in list(forms) if i % 2 else list(forms)[::-1]:
            if forms[name] and "sample_hz" in forms[name]:
                os.environ["STROBE_SAMPLE_HZ"] = "0"
            took = once(forms[name])
            os.environ.pop("STROBE_SAMPLE_HZ", None)
            after = once(None)
            ratios[name].append(took / ((before + after) / 2))
            before = after
    median = {name: statistics.median(values) for name, values in ratios.items()}
    row("null (A/A), launch-bound Wan, %d rounds, generation of %.2f s" % (len(ratios["null"]), before), "%.3f x" % median["null"], "1.00")
    row("everything that is on by default", "%.3f x" % median["on"], "<= 1.02 x", median["on"] <= 1.02)
    row("  the same without the sampler", "%.3f x" % median["no sampler"], "")


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
