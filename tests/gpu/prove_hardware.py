"""Is what the report says of the GPU's parts true: what bounds a stage, operations, families?"""
import glob
import json
import os
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager, nullcontext

from proving import TOOL, left_out, near, recorded, report, row

SECONDS = 3.0
COPIES_GB_S = 5.0  # from here on copies bound a stage: COPIES_RUN in src/analyze/gpu/counters.c


@contextmanager
def counted(name, every_s=0.2):
    """A session whose counters are read so often (0: never); yields an object whose .report appears afterwards."""
    import strobe
    folder = tempfile.mkdtemp(prefix="strobe-prove-")
    out = type("Result", (), {})()
    strobe.start(name, output_dir=folder, config={"generate_final_report": False, "gpu_monitor_interval": 0.2, "gpu_counters_interval": every_s})
    yield out
    strobe.stop()
    out.folder = glob.glob(os.path.join(folder, "*"))[0]
    out.report = report(out.folder)
    out.stages = {s["name"]: s for s in out.report.get("stage_analysis", {}).get("stages", [])}


def keep_busy(torch, name, work, seconds=SECONDS):
    """Calls per second of work() inside a stage, by the GPU's own events."""
    import strobe
    work()
    torch.cuda.synchronize()
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    calls, until = 0, time.monotonic() + seconds
    with strobe.section(name):
        begin.record()
        while time.monotonic() < until:
            for _ in range(10):
                work()
            calls += 10
            torch.cuda.synchronize()
        end.record()
        torch.cuda.synchronize()
    return calls / begin.elapsed_time(end) * 1e3


def bounds():
    """One kind of work after the other: each says what bounds it, half and half both."""
    import strobe
    import torch
    a = torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16)
    f = torch.randn(4096, 4096, device="cuda")
    source = torch.empty(1 << 29, device="cuda", dtype=torch.bfloat16).normal_()
    target, small = torch.empty_like(source), torch.zeros(8, device="cuda")

    def copy():
        torch.add(source, 1, out=target)

    with counted("bounds") as r:
        keep_busy(torch, "bf16 matmul", lambda: a @ a)
        keep_busy(torch, "fp32 matmul", lambda: f @ f)
        keep_busy(torch, "1 GB copy kernel", copy)
        keep_busy(torch, "tiny kernels", lambda: small.add_(1))
        with strobe.section("half and half"):
            keep_busy(torch, "first half", lambda: a @ a)
            keep_busy(torch, "second half", copy)
    if not any(s.get("gpu_counters") for s in r.stages.values()):
        return left_out("what bounds a stage", "this GPU counts no activity (Hopper and newer do)")
    for name, want in (("bf16 matmul", "tensor"), ("fp32 matmul", "FP32"), ("1 GB copy kernel", "DRAM"), ("tiny kernels", "launch")):
        seen = r.stages[name].get("gpu_work", {}).get("bound")
        row("%s: bound by" % name, seen, want, seen == want)
    seen = r.stages["half and half"].get("gpu_work", {}).get("bound", "")
    row("half matmul, half copies: bound by", seen, "tensor and DRAM", set(seen.split(" and ")) == {"tensor", "DRAM"})


def copied_alone(torch, source, target, seconds=1.0):
    """GB/s of copies and nothing else, by the GPU's own events: what this link gives."""
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    count, until = 0, time.monotonic() + seconds
    begin.record()
    while time.monotonic() < until:
        target.copy_(source, non_blocking=True)
        count += 1
        torch.cuda.synchronize()
    end.record()
    torch.cuda.synchronize()
    return source.nbytes * count / begin.elapsed_time(end) / 1e6


def bound_by_copies():
    """Copies over PCIe: alone, most of a stage's time, half of it, and as little as every program has."""
    import torch
    size = 64 << 20
    device = torch.empty(size, dtype=torch.uint8, device="cuda")
    pinned, pageable = torch.empty(size, dtype=torch.uint8, pin_memory=True), torch.empty(size, dtype=torch.uint8)
    a, small = torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16), torch.zeros(8, device="cuda")
    frame = pinned[:1 << 20]

    def tiny(count):
        for _ in range(count):
            small.add_(1)

    def took_s(work):
        """The median of several: a single one is often slow."""
        times = []
        for _ in range(15):
            torch.cuda.synchronize()
            t = time.perf_counter()
            work()
            torch.cuda.synchronize()
            times.append(time.perf_counter() - t)
        return sorted(times)[len(times) // 2]

    def kernels_like(copy):
        """As many tiny kernels as take the time of one copy."""
        return max(1, round(100 * took_s(copy) / took_s(lambda: tiny(100))))

    def upload():
        device.copy_(pinned, non_blocking=True)

    def slow_upload():
        device.copy_(pageable)

    upload(), slow_upload(), tiny(100)
    like, slow_like = kernels_like(upload), kernels_like(slow_upload)

    def then_kernels(copy, count):
        copy()
        torch.cuda.synchronize()
        tiny(count)
        torch.cuda.synchronize()

    def frames():
        device[:1 << 20].copy_(frame, non_blocking=True)

    # What a call does, the bytes it copies, and what bounds it; None: copies or launches, by the GB/s it reached on this machine.
    stages = {
        "uploads": (upload, size, "copies"),
        "uploads, not pinned": (slow_upload, size, None),
        "downloads": (lambda: pinned.copy_(device, non_blocking=True), size, "copies"),
        "uploads, three quarters": (lambda: then_kernels(lambda: [upload() for _ in range(3)], like), 3 * size, None),
        "not pinned, three quarters": (lambda: then_kernels(lambda: [slow_upload() for _ in range(3)], slow_like), 3 * size, None),
        "uploads, a quarter": (lambda: then_kernels(upload, 3 * like), size, None),
        "not pinned, a quarter": (lambda: then_kernels(slow_upload, 3 * slow_like), size, None),
        "a frame of 1 MB and tiny kernels": (lambda: (frames(), tiny(800)), frame.nbytes, None),
        "matmuls and a frame": (lambda: (frames(), a @ a), frame.nbytes, "tensor"),
    }
    with counted("copies") as r:
        rates = {name: copied * keep_busy(torch, name, work, 2.0) / 1e9 for name, (work, copied, _) in stages.items()}
    if not any(s.get("gpu_counters") for s in r.stages.values()):
        return left_out("bound by copies", "this GPU counts no activity (Hopper and newer do)")
    row("copies alone, GB/s: pinned, not pinned, to the host", ", ".join("%.1f" % copied_alone(torch, *of) for of in (
        (pinned, device), (pageable, device), (device, pinned))))
    for name, (_, _, want) in stages.items():
        work = r.stages[name].get("gpu_work", {})
        near_limit = want is None and 0.8 <= rates[name] / COPIES_GB_S <= 1.25
        want = want or ("copies" if rates[name] > COPIES_GB_S else "launch")
        row("%s, %.1f GB/s: bound by" % (name, rates[name]), work.get("bound"), "either: near the limit" if near_limit else want,
            None if near_limit else want in (work.get("bound") or "").split(" and "))
        row("  shares", ", ".join("%s %.0f %%" % (b["bound"], 100 * b["share_ratio"]) for b in work.get("bounds", [])))
    if torch.cuda.device_count() < 2:
        left_out("bound by communication", "one GPU: nothing goes over NVLink")


def offloaded_decode():
    """Two models that accelerate fetches for each call and sends away: the GPU waits for their weights for most of the decode, which
    the counters tell, a trace, and, without both, the zones alone; a decode whose weights stay is not bound by copies."""
    from strobe import auto
    auto.install()  # as `strobe run` does, before accelerate is imported
    import strobe
    import torch
    try:
        from accelerate import cpu_offload_with_hook
    except ImportError as error:
        return left_out("an offloaded decode", str(error))

    def model():
        """1.6 GB; random weights would take half a minute."""
        layers = [torch.nn.utils.skip_init(torch.nn.Linear, 8192, 8192, bias=False, dtype=torch.bfloat16) for _ in range(12)]
        for layer in layers:
            layer.weight.fill_(0.01)
        return torch.nn.Sequential(*layers)

    x = torch.randn(4096, 8192, device="cuda", dtype=torch.bfloat16)
    with torch.no_grad():
        net, hook = cpu_offload_with_hook(model(), "cuda")
        vae, vae_hook = cpu_offload_with_hook(model(), "cuda", prev_module_hook=hook)
        resident = model().to("cuda")

        def video():
            with strobe.section("denoise"):
                net(x)
            with strobe.section("vae_decode"):
                for _ in range(4):
                    vae(x)
                torch.cuda.synchronize()
            with strobe.section("maybe_free_model_hooks"):
                vae_hook.offload()
            with strobe.section("resident decode"):
                for _ in range(100):
                    resident(x)
                torch.cuda.synchronize()

        video()
        for what, every_s, traced, bases in (("counters", 0.2, False, ("counters",)), ("a trace", 0, True, ("trace",)), ("zones alone", 0, False, ("zones",))):
            with counted("offloaded, " + what, every_s) as r:
                for _ in range(2):
                    video()
                with strobe.gpu_trace() if traced else nullcontext():
                    for _ in range(4):
                        video()
            work = r.stages["vae_decode"].get("gpu_work", {})
            # The same calls without moves take as long as those of the model that stays; what the decode takes beyond them is the moves.
            share = 1 - 4 / 100 * r.stages["resident decode"]["total_s"] / r.stages["vae_decode"]["total_s"]
            row("offloaded decode, %s: weights move" % what, "%.0f %% of it" % (100 * share), "> 50 %, or the check says nothing", share > 0.5 or None)
            row("offloaded decode, %s: bound by" % what, "%s (%s, %s calls)" % (work.get("bound"), work.get("bound_basis"), work.get("bound_calls")),
                "copies first", (work.get("bound") or "").split(" and ")[0] == "copies" and work.get("bound_basis") in bases if share > 0.5 else None)
            row("  shares", ", ".join("%s %.0f %%" % (b["bound"], 100 * b["share_ratio"]) for b in work.get("bounds", [])))
            stays = r.stages["resident decode"].get("gpu_work", {}).get("bound") or "n/a"
            row("decode whose weights stay, %s: bound by" % what, stays, "not copies, not launch", not {"copies", "launch"} & set(stays.split(" and ")))


WARM_STEPS = """
import json, sys, torch, strobe

class Product(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16), requires_grad=False)

    def forward(self, x):
        for _ in range(40):
            x = x @ self.weight
        return x

model, took_ms = Product(), []
x = torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16)
heat = torch.randn(8192, 8192, device="cuda", dtype=torch.float16)
for _ in range(4000):  # power and clocks settle at what such products take, so that all steps but the first are alike; bfloat16's kernels are not loaded yet
    heat @ heat
torch.cuda.synchronize()
for _ in strobe.steps(range(12), name="step"):
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    begin.record()
    model(x)
    end.record()
    torch.cuda.synchronize()
    took_ms.append(begin.elapsed_time(end))
with open(sys.argv[1], "w") as out:
    json.dump(took_ms, out)
"""


def warm_mfu():
    """The same steps, traced and not: the warm ones have one MFU, whatever the first and those of the trace took."""
    seen = {}
    for what, options in (("not traced", []), ("traced", ["--gpu-trace=steps:3"])):
        folder = tempfile.mkdtemp(prefix="strobe-prove-")
        times = os.path.join(folder, "times.json")
        done = subprocess.run([TOOL, "run", *options, "-o", os.path.join(folder, "run"), "--", sys.executable, "-c", WARM_STEPS, times],
                              capture_output=True, text=True, timeout=120)
        print(done.stdout[-1500:], done.stderr[-1500:])
        stages = report(os.path.join(folder, "run")).get("stage_analysis", {}).get("stages", [])
        work = next((s.get("gpu_work", {}) for s in stages if s["name"] == "step"), {})
        if not work.get("peak_tflop_per_s"):
            return left_out("MFU of warm steps", "the peak rate of this GPU is not in the table, or nothing was counted")
        with open(times) as f:
            took_ms = json.load(f)
        print("steps, ms: " + ", ".join("%.1f" % ms for ms in took_ms))
        warm_ms = took_ms[1:] if not options else sorted(took_ms)[:work.get("rate_call_count", 1)]  # a trace's own steps are among the longest
        truth = 40 * 2 * 8192 ** 3 / (sum(warm_ms) / len(warm_ms) / 1e3) / 1e12 / work["peak_tflop_per_s"]
        seen[what] = work.get("mfu_ratio", -1)
        row("MFU of warm steps, %s" % what, "%.1f %% of %d %s calls" % (100 * seen[what], work.get("rate_call_count", 0), work.get("rate_calls")),
            "%.1f %% +- 3 points, warm" % (100 * truth), abs(seen[what] - truth) <= 0.03 and work.get("rate_calls") == "warm")
        row("  bound by, %s" % what, "%s (%s)" % (work.get("bound"), work.get("bound_calls")), "tensor, of warm calls",
            work.get("bound") == "tensor" and work.get("bound_calls") == "warm")
    row("MFU of warm steps: traced / not", "%.1f / %.1f %%" % (100 * seen["traced"], 100 * seen["not traced"]), "within 3 points",
        abs(seen["traced"] - seen["not traced"]) <= 0.03)


def mfu():
    """A model of one matrix product: its MFU is operations over event time over the peak."""
    from strobe import auto
    auto.install()  # as `strobe run` does, before torch is imported
    import torch

    class Product(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16), requires_grad=False)

        def forward(self, x):
            return x @ self.weight

    x = torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16)
    with counted("mfu") as r:
        model = Product()
        rate = keep_busy(torch, "product", lambda: model(x))
    work = r.stages["product"].get("gpu_work", {})
    peak = work.get("peak_tflop_per_s")
    if not peak:
        return left_out("MFU", "the peak rate of this GPU is not in the table")
    truth = 2 * 8192 ** 3 * rate / 1e12 / peak
    seen = work.get("mfu_ratio", 0)
    row("bf16 matmul of 8192: MFU", "%.1f %%" % (100 * seen), "%.1f %% +- 3 points" % (100 * truth), abs(seen - truth) <= 0.03)


def families():
    """Every kernel has a family; their times add up."""
    import strobe
    import torch
    import torch.nn.functional as F
    x, q = torch.randn(2, 64, 128, 128, device="cuda", dtype=torch.bfloat16), torch.randn(1, 16, 1024, 128, device="cuda", dtype=torch.bfloat16)
    weight = torch.randn(64, 64, 3, 3, device="cuda", dtype=torch.bfloat16)
    with counted("families") as r, strobe.gpu_trace():
        with strobe.section("block"):
            for _ in range(20):
                F.scaled_dot_product_attention(q, q, q)
                F.conv2d(x, weight, padding=1)
                F.layer_norm(F.silu(x @ x), (128,))
        torch.cuda.synchronize()
    trace = r.report.get("gpu_trace", {})
    total = sum(k["total_s"] for k in trace.get("families", []))
    row("families: their time / all kernels'", "%.9f / %.9f s" % (total, trace.get("kernel_total_s", 0)), "equal", near(total, trace.get("kernel_total_s", 0), 1e-6))
    named = {k["family"] for k in r.stages["block"].get("kernel_families", [])}
    row("families of a block", ", ".join(sorted(named)), "GEMM, attention, convolution, normalisation, element-wise",
        {"GEMM", "attention", "convolution", "normalisation", "element-wise"} <= named)
    lost = sum(k["share_ratio"] for k in trace.get("families", []) if k["family"] == "not recognised")
    row("families: not recognised", "%.2f %%" % (100 * lost), "< 5 %", lost < 0.05)


def pm_sampling():
    """The same steady work sampled and not: samples and the driver's means agree, and none is lost uncounted."""
    import strobe
    import torch
    a = torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16)
    source = torch.empty(1 << 29, device="cuda", dtype=torch.bfloat16).normal_()
    target = torch.empty_like(source)
    works = (("bf16 matmul", lambda: a @ a), ("1 GB copy kernel", lambda: torch.add(source, 1, out=target)))
    with counted("pm sampling") as r:
        for name, work in works:
            keep_busy(torch, name, work)
            with strobe.gpu_counters(), strobe.gpu_trace():
                keep_busy(torch, name + ", sampled", work)
    sampled = r.report.get("sampled_counters")
    if not sampled:
        said = [m for m in r.report.get("not_recorded", []) if "sampled counters" in m["what"]]
        return left_out("sampled counters", said[0]["why"] if said else "none in the report")
    for name, _ in works:
        plain, pm = (r.stages[n].get("gpu_counters", {}) for n in (name, name + ", sampled"))
        row("%s: who counted" % name, "%s, %s" % (plain.get("source"), pm.get("source")), "gpm, pm sampling", (plain.get("source"), pm.get("source")) == ("gpm", "pm sampling"))
        for key in ("sm_active_percent", "tensor_active_percent", "dram_active_percent"):
            seen, want = pm.get(key, -100), plain.get(key, 100)
            row("%s: %s, sampled" % (name, key[:-15]), "%.1f %%" % seen, "%.1f %% +- 5 points" % want, abs(seen - want) <= 5)
    row("samples: mean length", "%.3f ms" % (1e3 * sampled["interval_s"]), "<= 1 ms", sampled["interval_s"] <= 1e-3)
    # sampling begins before these stages and ends after them: nothing of their time may be missing without being counted
    expected = sum(r.stages[name + ", sampled"]["total_s"] for name, _ in works) / sampled["interval_s"]
    told = sampled["sample_count"] + sampled["lost_count"]
    row("samples: written and counted as lost", "%d + %d" % (sampled["sample_count"], sampled["lost_count"]), ">= %.0f, lost < 2 %%" % expected,
        told >= 0.995 * expected and sampled["lost_count"] < 0.02 * told)
    row("samples: clocks", sampled.get("clocks", "n/a"), "as usual, or said", sampled.get("clocks") is not None)
    families = {f["family"]: f["gpu_counters"]["covered_ratio"] for f in sampled.get("families", [])}
    row("samples: families", ", ".join("%s %.0f %%" % (k, 100 * v) for k, v in families.items()), "GEMM and element-wise, 50 % covered",
        all(families.get(f, 0) > 0.5 for f in ("GEMM", "element-wise")))


def pm_overhead():
    """A launch-bound model with and without sampling beside it."""
    import strobe
    import torch
    from dit import denoise, make
    from prove_cost import Bench

    @contextmanager
    def sampled():
        with strobe.gpu_counters():
            yield
        time.sleep(0.3)  # the hardware is given back beside the program; that is not what is measured

    with recorded("pm overhead") as r, torch.no_grad():
        model = make()
        denoise(model, 6)
        b = Bench(torch, model, 40)
        b.rounds({"sampled": (sampled, ())}, 24)
    counts = [v for k, v in r.recording.metas if k == "gpu_counters_sample_count"]
    row("sampling: overhead, %.1f ms steps, %d samples a time" % (b.step_ms(), sorted(counts)[len(counts) // 2] if counts else 0), b.text("sampled"), "<= 1.02 x",
        bool(counts) and b.ratio("sampled") <= 1.02)
