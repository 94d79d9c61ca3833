"""Real diffusers pipelines with random weights: what everything that is on by default costs, and how much of a generation no
stage covers, and which slow moments are caught. Left out where diffusers cannot be imported."""
import ctypes
import gc
import itertools
import json
import os
import random
import shutil
import statistics
import struct
import sys
import tempfile
import time
import types

from proving import below, left_out, recorded, report, row

HERE = os.path.dirname(os.path.abspath(__file__))
LARGE = dict(num_attention_heads=12, attention_head_dim=128, ffn_dim=8960, num_layers=30, rope_max_seq_len=1024)
ROUNDS_S = 0.6 * float(os.environ.get("STROBE_PROVE_S", "160"))  # the rest is for imports, the model and a last round
EACH, SHORT_STEPS, STEPS, GENERATIONS = 4, 2, 10, 3


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

    def generate(steps=STEPS, guidance_scale=5.0, **more):
        pipeline(prompt="w1 w2", negative_prompt="w3", max_sequence_length=16, num_inference_steps=steps, output_type="np",
                 guidance_scale=guidance_scale, generator=torch.Generator().manual_seed(0), **size, **more)
        if device == "cuda":
            torch.cuda.synchronize()
    generate.pipeline = pipeline
    return generate


class Instructions:
    """Instructions of the calling thread, in its own code, as the processor counts them: neither its clock nor other programs
    play a part. None where the machine does not let us."""
    OPEN = {"x86_64": 298, "aarch64": 241}.get(os.uname().machine)

    def __init__(self):
        attributes = struct.pack("IIQQQQQ", 0, 112, 1, 0, 0, 0, 1 << 5 | 1 << 6).ljust(112, b"\0")  # hardware, instructions; neither kernel nor hypervisor
        self.fd = ctypes.CDLL(None, use_errno=True).syscall(self.OPEN, attributes, 0, -1, -1, 0) if self.OPEN else -1

    def read(self):
        return struct.unpack("Q", os.read(self.fd, 8))[0] if self.fd >= 0 else 0


class Interleaved:
    """Short generations in turns: plain, plain again (null) and recorded, EACH of them at a time, in all six orders one after the
    other, so that each stands in each place equally often: the machine is faster at one time than at another. A turn is
    compared with the others of its round alone. A machine that others use too only ever adds time to a generation: of a turn
    its fastest counts. A session is opened and closed outside of what is timed, and one step goes before it: what a session
    does once is not what a video costs. The interval: 95 % of what the rounds give when they are drawn again."""
    KINDS = ("plain", "again", "recorded")

    def __init__(self, generate):
        self.generate, self.rounds, self.folder = generate, [], tempfile.mkdtemp(prefix="strobe-prove-")
        self.instructions = Instructions()
        generate()
        gc.collect()
        gc.freeze()

    def timed(self, kind):
        import strobe
        if kind == "recorded":
            strobe.start("cost", output_dir=self.folder, config={"generate_final_report": False})
        self.generate(1, 1.0)
        took = [self.once() for _ in range(EACH)]
        if kind == "recorded":
            strobe.stop()
            shutil.rmtree(self.folder, ignore_errors=True)
        return took

    def once(self):
        """What one generation took: by the clock, and of this thread, which launches all there is to launch."""
        wall, thread, count = time.perf_counter(), time.thread_time(), self.instructions.read()
        self.generate(SHORT_STEPS, 1.0)
        return {"instructions": self.instructions.read() - count, "thread": time.thread_time() - thread,
                "wall": time.perf_counter() - wall}

    def run(self, seconds):
        end, orders = time.perf_counter() + seconds, list(itertools.permutations(self.KINDS))
        self.rounds = []
        while time.perf_counter() < end:
            order = orders[len(self.rounds) % len(orders)]
            self.rounds.append({kind: self.timed(kind) for kind in order})

    def clocks(self):
        return ["wall", "thread"] + ["instructions"] * (self.instructions.fd >= 0)

    def seen(self, clock):
        """(ratio, half the width of its interval) of null and of recorded."""
        def fastest(generations):
            return min(g[clock] for g in generations)
        found = [{kind: fastest(took) for kind, took in r.items()} for r in self.rounds]
        return [with_width([r[kind] / r["plain"] for r in found]) for kind in ("again", "recorded")]

    def plain_ms(self):
        return 1e3 * statistics.median(g["wall"] for r in self.rounds for g in r["plain"])


def with_width(ratios):
    chance = random.Random(1)
    drawn = sorted(statistics.median(chance.choices(ratios, k=len(ratios))) for _ in range(400))
    return statistics.median(ratios), (drawn[389] - drawn[10]) / 2


WORDS = {"wall": "by the clock", "thread": "CPU time of the launching thread", "instructions": "instructions of the launching thread"}


def default_overhead():
    found = pipelines("overhead on a launch-bound Wan")
    if not found:
        return
    from strobe._models import flops
    flops.say = lambda: None  # after a session, not in its generations, and it takes a second
    b = Interleaved(wan(*found, height=128, width=128, num_frames=9))
    b.run(ROUNDS_S)
    if os.environ.get("STROBE_PROVE_RAW"):
        with open(os.environ["STROBE_PROVE_RAW"], "w") as out:
            json.dump(b.rounds, out)
    for clock in b.clocks():
        null, on = b.seen(clock)
        row("null (A/A), launch-bound Wan, %d rounds, generation of %.0f ms, %s" % (len(b.rounds), b.plain_ms(), WORDS[clock]),
            "%.3f x +-%.3f" % null, "1.000 +-0.01")
        row("everything that is on by default, %s" % WORDS[clock], "%.3f x +-%.3f" % on, "<= 1.02 x", below(*on, 1.02))


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


# ---- the slow moment, caught ----

SLOW_VIDEO, SLOW_STEP = 1, 6  # of GENERATIONS and STEPS


def much_work(torch):
    """About half a second of an H200, that nothing waits for here."""
    side, times = (8192, 24) if torch.cuda.is_available() else (2048, 12)
    a = torch.rand(side, side, device="cuda" if torch.cuda.is_available() else "cpu")
    for _ in range(times):
        a = a @ a * 1e-4


def watched(torch, generate, where):
    """(what a watch caught, step index -> times the median that this clock saw) while videos were made; in one step of one of
    them there is more work."""
    import strobe
    forwards, video, took, last = itertools.count(), None, {}, None

    def after_forward(*_):
        if where == "in a step" and video == SLOW_VIDEO and next(forwards) == 2 * SLOW_STEP:
            much_work(torch)

    def after_step(pipeline, index, timestep, tensors):
        nonlocal last
        if where == "after a step" and video == SLOW_VIDEO and index == SLOW_STEP:
            much_work(torch)
        now = time.perf_counter()
        if index:
            took.setdefault(index, []).append(now - last)
        last = now
        return {}

    hook = generate.pipeline.transformer.register_forward_hook(after_forward)
    with recorded(where) as r, strobe.gpu_trace("slow:1.5"):
        for video in range(GENERATIONS):
            generate(callback_on_step_end=after_step)
    hook.remove()
    median = statistics.median(one for all_of_it in took.values() for one in all_of_it)
    return report(r.folder).get("slow_moments", []), {index: max(all_of_it) / median for index, all_of_it in took.items()}


def steps_of(moment):
    """The indexes of its steps: of a row of slow ones all of them."""
    row, index = moment.get("row", {}), moment.get("step_index")
    if index is None:
        return []
    return list(range(row.get("first_step_index", index), row.get("last_step_index", index) + 1))


def in_words(moment):
    row = moment.get("row", {})
    return "%s by %s%s" % (moment.get("step_index", moment["what"]), moment["judged_by"], " of " + row["words"] if row else "")


def slow_moments():
    found = pipelines("slow moments of Wan")
    if not found:
        return
    for what, size in (("launch-bound", dict(height=128, width=128, num_frames=9)),
                       ("GPU-bound", dict(height=480, width=832, num_frames=33))):
        generate = wan(*found, **size)
        generate(2)
        for where in ("nowhere", "in a step", "after a step"):
            moments, times = watched(found[0], generate, where)
            planted = [] if where == "nowhere" else [SLOW_STEP]
            # on a machine that others use too a step may really be slow, also those before it in a row: then this clock has seen it
            false = [index for moment in moments for index in steps_of(moment) if index not in planted and times.get(index, 0) < 1.4]
            missed = [index for index in planted if index not in [moment.get("step_index") for moment in moments]]
            row("moments caught in a %s Wan, slow %s" % (what, where), "; ".join(map(in_words, moments)) or "none",
                "step %d, and none that was not slow" % SLOW_STEP if planted else "none that was not slow", not false and not missed)
