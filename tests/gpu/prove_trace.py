"""The kernel trace against torch.profiler, and everything else that records from outside."""
import glob
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time

import wire
from proving import BUILD, HERE, TOOL, gpu_zone_s, near, recorded, report, row, spin, until

def offload():
    """Weights that come from pageable memory at every step."""
    import strobe
    import torch
    weights = [torch.randn(16 << 20) for _ in range(4)]
    gpu = [w.cuda() for w in weights]
    torch.cuda.synchronize()
    moved = sum(w.numel() * 4 for w in weights) * 5
    with recorded("offload") as r, strobe.gpu_trace():
        for _ in range(5):
            with strobe.section("offload:transformer", gpu=True):
                for w, g in zip(weights, gpu):
                    g.copy_(w)
            with strobe.section("denoise", gpu=True):
                spin(torch, 0.005)
        torch.cuda.synchronize()
    rec = r.recording
    copies = [g for g in rec.of("h2d") if g.flags & 1]
    total = sum(g.bytes for g in copies)
    seconds = sum(rec.s(g.duration) for g in copies)
    zones = [z for z in rec.zones if z.name == "offload:transformer"]
    inside = sum(any(z.begin <= c.launch <= z.end for z in zones) for c in copies)
    row("offload: pageable H2D bytes recorded", "%.3f GB" % (total / 1e9), "%.3f GB" % (moved / 1e9), total == moved)
    row("offload: copies launched in their stage", "%d of %d" % (inside, len(copies)), "all", inside == len(copies) > 0)
    row("offload: rate", "%.1f GB/s" % (total / 1e9 / max(seconds, 1e-9)), "")
    j = report(r.folder)
    advice = [a for a in j.get("recommendations", []) if "cop" in a["id"] or "offload" in a["id"] or "pageable" in a["id"]]
    row("offload: advice", ", ".join(a["id"] for a in advice) or "none", "names copies", bool(advice))


def profiled(model):
    """The kernels that torch.profiler sees in 20 steps."""
    import torch
    from dit import denoise
    from torch.profiler import ProfilerActivity, profile
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as p:
        denoise(model, 20)
        torch.cuda.synchronize()
    return [e for e in p.events() if e.device_type.name == "CUDA" and not e.name.startswith("Mem")]


def totals_equal_profiler():
    """The same work seven times by each, in turn: one run's kernels take some percent longer than
    another's (clocks, caches), whoever watches. The sums of kernel durations are compared, not busy
    time, which counts overlapping kernels once; the medians must agree."""
    import strobe
    import torch
    from dit import denoise, make
    model, ours, theirs = make(), [], []
    denoise(model, 40)
    torch.cuda.synchronize()
    for _ in range(7):
        with recorded("totals") as r, strobe.gpu_trace():
            denoise(model, 20)
            torch.cuda.synchronize()
        ours.append(sum(r.recording.s(k.duration) for k in r.recording.of("kernel")))
        theirs.append(sum(e.device_time_total if hasattr(e, "device_time_total") else e.cuda_time_total for e in profiled(model)) / 1e6)
    a, b = statistics.median(ours), statistics.median(theirs)
    row("kernel total, median of 7: strobe / torch.profiler", "%.5f / %.5f s" % (a, b), "equal within 1 %", near(a, b, 0.01))
    row("  from run to run: strobe / torch.profiler", "+-%.1f / +-%.1f %%" % tuple(50 * (max(x) - min(x)) / statistics.median(x) for x in (ours, theirs)))


def counts_equal_profiler():
    import strobe
    import torch
    from dit import denoise, make
    model = make()
    denoise(model, 5)
    torch.cuda.synchronize()
    with recorded("counts") as r, strobe.gpu_trace():
        with strobe.section("denoise", gpu=True):
            for _ in strobe.steps(range(1), name="outer"):
                denoise(model, 20, lambda: strobe.section("step", gpu=True))
        torch.cuda.synchronize()
    rec = r.recording
    ours = rec.of("kernel")
    theirs = profiled(model)
    row("kernel count, strobe / torch.profiler", "%d / %d" % (len(ours), len(theirs)), "equal within 1 %", near(len(ours), len(theirs), 0.01))
    names = lambda xs: {x for x in xs}
    mine, other = names(k.name for k in ours), names(e.name for e in theirs)
    row("kernel names in common", "%d of %d" % (len(mine & other), len(other)), "most", len(mine & other) >= 0.8 * len(other))
    launched = sum(1 for k in ours if k.launch)
    row("kernels with their launch", "%d of %d" % (launched, len(ours)), "all", launched == len(ours))
    early = sum(1 for k in ours if k.launch and k.start < k.launch)
    row("kernels that start before their launch", early, "0", early == 0)
    zones = [z for z in rec.zones if z.name == "step"]
    attributed = sum(1 for k in ours if any(z.begin <= k.launch <= z.end for z in zones))
    row("kernels launched inside a step", "%d of %d" % (attributed, len(ours)), ">= 99 %", attributed >= 0.99 * len(ours))
    work = rec.of("kernel", "h2d", "d2h", "d2d", "memset")
    wall = max(g.start + g.duration for g in work) - min(g.start for g in work)
    used = wire.busy([(g.start, g.start + g.duration) for g in work])
    whole = report(r.folder)
    j = whole.get("gpu_trace", {})
    for stage in whole.get("stage_analysis", {}).get("stages", []):
        if stage["name"] in ("denoise", "step"):
            row("report: gpu_busy_s of %s / all busy" % stage["name"], "%s / %.5f s" % (stage.get("gpu_busy_s"), rec.s(used)), "within 1 %",
                near(stage.get("gpu_busy_s") or 0, rec.s(used), 0.01))
    if j:
        row("report: kernel_count", j.get("kernel_count"), "as recorded", j.get("kernel_count") == len(ours))
        row("report: busy_s + idle_s / first to last record", "%.4f + %.4f / %.4f s" % (j.get("busy_s", 0), j.get("idle_s", 0), rec.s(wall)), "within 1 %",
            near(j.get("busy_s", 0) + j.get("idle_s", 0), rec.s(wall), 0.01))
        row("report: busy_s / union of records", "%.5f / %.5f s" % (j.get("busy_s", 0), rec.s(used)), "within 1 %", near(j.get("busy_s", 0), rec.s(used), 0.01))
    else:
        row("report: gpu_trace section", "absent", "present", False)
    row("GPU zone step: span sum / busy of its kernels", "%.4f / %.4f s" % (gpu_zone_s(rec, "step"), rec.s(used)), "span >= busy", gpu_zone_s(rec, "step") > 0.98 * rec.s(used))
    row("bytes per kernel in the file", "%.1f" % (rec.stream_bytes[3] / max(1, len(rec.gpu))), "<= 48", rec.stream_bytes[3] <= 48 * len(rec.gpu))


def after_profiler():
    """The trace after torch.profiler was used: works, or says why not."""
    import strobe
    import torch
    from torch.profiler import ProfilerActivity, profile
    x = torch.zeros(64, device="cuda")
    with profile(activities=[ProfilerActivity.CUDA]):
        x.add_(1)
        torch.cuda.synchronize()
    with recorded("after") as r, strobe.gpu_trace():
        with strobe.section("work", gpu=True):
            for _ in range(10):
                x.add_(1)
        torch.cuda.synchronize()
    kernels = r.recording.of("kernel")
    said = [m for m in r.recording.missing if "kernels" in m[0] or "launch" in m[0]]
    row("after torch.profiler: kernels recorded (of 10)", len(kernels), "10", len(kernels) == 10)
    row("after torch.profiler: unknown launches are said", len(said), "1", len(said) == 1)
    zones = [z for z in r.recording.zones if z.name == "work"]
    if kernels and zones:
        off = min(k.start - zones[0].begin for k in kernels) / r.recording.hz
        row("after torch.profiler: first kernel after its zone's begin", "%.1f us" % (off * 1e6), "0 .. 1 ms", 0 <= off < 1e-3)
    print(said)
    with profile(activities=[ProfilerActivity.CUDA]) as p:
        for _ in range(10):
            x.add_(1)
        torch.cuda.synchronize()
    seen = sum(1 for e in p.events() if e.device_type.name == "CUDA")
    row("torch.profiler after the trace: kernels (of 10)", seen, "10", seen == 10)


def during_profiler():
    """torch.profiler starts while our trace runs: it must get its records."""
    import strobe
    import torch
    from torch.profiler import ProfilerActivity, profile
    x = torch.zeros(64, device="cuda")
    with recorded("during") as r, strobe.gpu_trace():
        for _ in range(10):
            x.add_(1)
        torch.cuda.synchronize()
        try:
            with profile(activities=[ProfilerActivity.CUDA]) as p:
                for _ in range(10):
                    x.add_(1)
                torch.cuda.synchronize()
            seen = sum(1 for e in p.events() if e.device_type.name == "CUDA")
        except Exception as e:
            seen = repr(e)
    row("torch.profiler starts during our trace: kernels it sees (of 10)", seen, "10", seen == 10)
    row("torch.profiler starts during our trace: kernels we have", len(r.recording.of("kernel")), "10", len(r.recording.of("kernel")) == 10)
    said = [m for m in r.recording.missing if "torch.profiler" in m[1]]
    row("torch.profiler starts during our trace: said in the recording", len(said), "1", len(said) == 1)
    with profile(activities=[ProfilerActivity.CUDA]) as p:
        for _ in range(10):
            x.add_(1)
        torch.cuda.synchronize()
    seen = sum(1 for e in p.events() if e.device_type.name == "CUDA")
    row("torch.profiler after that: kernels (of 10)", seen, "10", seen == 10)


def nvtx_injection():
    load = "import torch, ctypes; ctypes.CDLL(%r)" % glob.glob(os.path.join(BUILD, "libstrobe.so*"))[0]
    done = subprocess.run([sys.executable, "-c", load], capture_output=True, text=True)
    row("libstrobe.so loads late, into a process full of torch", done.stderr.strip()[-60:] or "yes", "yes", done.returncode == 0)
    code = "import torch\nfor i in range(100):\n  torch.cuda.nvtx.range_push('nvtx_zone'); torch.cuda.nvtx.mark('m'); torch.cuda.nvtx.range_pop()\n"
    folder = tempfile.mkdtemp()
    done = subprocess.run([TOOL, "run", "-o", os.path.join(folder, "run"), "--", sys.executable, "-c", code], capture_output=True, text=True, timeout=100)
    print(done.stdout[-1500:], done.stderr[-1500:])
    recs = wire.load_all(folder)
    zones = sum(1 for rec in recs for z in rec.zones if z.name == "nvtx_zone")
    print([m for rec in recs for m in rec.missing])
    row("NVTX ranges of an unmodified program under strobe run", zones, "100", zones == 100)


def unmodified_program():
    code = "import torch\nx = torch.zeros(64, device='cuda')\nfor i in range(1000): x.add_(1)\ntorch.cuda.synchronize()\n"
    folder = tempfile.mkdtemp()
    done = subprocess.run([TOOL, "run", "--gpu-trace", "-o", os.path.join(folder, "run"), "--", sys.executable, "-c", code], capture_output=True, text=True, timeout=100)
    print(done.stdout[-2500:], done.stderr[-1500:])
    recs = wire.load_all(folder)
    kernels = [k for rec in recs for k in rec.of("kernel")]
    row("strobe run --gpu-trace: kernels of an unmodified program", len(kernels), "1001", len(kernels) == 1001)
    print([m for rec in recs for m in rec.missing])


def steps_and_signal():
    """steps:N after one of warm-up, in an unmodified loop of strobe.steps; SIGUSR2."""
    folder = tempfile.mkdtemp()
    code = """
import os, signal, sys, strobe, torch
sys.path.insert(0, %r)
import wire
from dit import denoise, make
from proving import until

def said(key):
    return sum(k == key for rec in wire.load_all(%r) for k, _ in rec.metas)

model = make()
denoise(model, 2)
for _ in strobe.steps(range(8), name="denoise"):
    denoise(model, 1)
torch.cuda.synchronize()
until(lambda: said("gpu_trace_kernel_count") == 1, "the end of the trace of steps")
os.kill(os.getpid(), signal.SIGUSR2)
until(lambda: said("gpu_trace_begin_ticks") == 2, "the signalled trace")
with strobe.section("signalled"):
    denoise(model, 1)
torch.cuda.synchronize()
os.kill(os.getpid(), signal.SIGUSR2)
until(lambda: said("gpu_trace_kernel_count") == 2, "the end of the signalled trace")
denoise(model, 1)
torch.cuda.synchronize()
""" % (HERE, folder)
    done = subprocess.run([TOOL, "run", "--gpu-trace=steps:3", "-o", os.path.join(folder, "run"), "--", sys.executable, "-c", code], capture_output=True, text=True, timeout=100)
    print(done.stdout[-2500:], done.stderr[-2500:])
    rec = wire.load(folder)
    zones = [z for z in rec.zones if z.name == "denoise"]
    at = [sum(z.begin <= k.launch <= z.end for k in rec.of("kernel")) for z in sorted(zones, key=lambda z: z.begin)]
    row("steps:3: kernels in each of 8 steps", at, "0, 3 x about 248, 0...", at[0] == 0 and all(x > 240 for x in at[1:4]) and not any(at[4:]))
    signalled = [z for z in rec.zones if z.name == "signalled"]
    n = sum(any(z.begin <= k.launch <= z.end for z in signalled) for k in rec.of("kernel"))
    row("SIGUSR2: kernels of the step between two signals", "%d of %d more" % (n, len(rec.of("kernel")) - sum(at)), "about 248, and no more", 240 < n == len(rec.of("kernel")) - sum(at))


def memory_kb():
    fields = dict(line.split(":") for line in open("/proc/self/status") if line.startswith(("Rss", "VmRSS")))
    return {k: int(v.split()[0]) for k, v in fields.items()}


def million_kernels():
    import strobe
    import torch
    x = torch.zeros(64, device="cuda")
    for _ in range(1000):
        x.add_(1)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(500):
            x.add_(1)
    graph.replay()
    torch.cuda.synchronize()
    most = {}
    with recorded("million", max_trace_bytes="512 MiB") as r:
        before = memory_kb()
        with strobe.gpu_trace():
            for i in range(100):
                with strobe.section("batch", gpu=True):
                    for _ in range(2000):
                        x.add_(1)
                now = memory_kb()
                most = {k: max(v, most.get(k, 0)) for k, v in now.items()}
            for i in range(1600):
                graph.replay()
                if i % 100 == 99:
                    torch.cuda.synchronize()
                    now = memory_kb()
                    most = {k: max(v, most.get(k, 0)) for k, v in now.items()}
            torch.cuda.synchronize()
    rec = r.recording
    n = len(rec.of("kernel"))
    grew = {k: (most[k] - before[k]) / 1024 for k in most}
    row("1 M kernels: recorded", n, "1000000", n == 1000000)
    row("1 M kernels: memory added (RSS anonymous / file)", "%.1f / %.1f MiB" % (grew["RssAnon"], grew["RssFile"]), "<= 64 MiB", grew["VmRSS"] <= 64)
    beside = rec.stream_bytes[3] - 48 * n  # names, shapes, the clock's anchors: however many kernels there are
    row("1 M kernels: bytes beside 48 for each kernel", beside, "<= 65536", beside <= 65536)
    missing = [m for m in rec.missing if "kernel" in m[0] or "launch" in m[0]]
    print(missing, rec.meta.get("gpu_trace_kernel_count"))
    shutil.rmtree(r.folder, ignore_errors=True)


def nvml_values():
    """What the monitors recorded against what nvidia-smi says."""
    import torch
    hold = torch.empty(2 << 30, dtype=torch.uint8, device="cuda")
    with recorded("nvml") as r:
        end = time.time() + 3
        while time.time() < end:
            spin(torch, 0.02)
            torch.cuda.synchronize()
        ask = "memory.used,temperature.gpu,power.draw"
        smi = subprocess.run(["nvidia-smi", "--query-gpu=" + ask, "--format=csv,noheader,nounits", "-i", "0"], capture_output=True, text=True).stdout.split(",")
    del hold
    g = report(r.folder).get("gpu_metrics") or {}
    text = json.dumps(g)
    print(text[:3000])
    devices = g.get("gpus") or g.get("devices") or []
    series = (devices[0].get("series") if devices else None) or g.get("series") or {}
    for key, value in series.items():
        if key != "t_s" and value:
            print(key, value[-1])
    row("nvidia-smi: memory MB, temperature, power", ", ".join(s.strip() for s in smi), "see gpu_metrics", None)
    row("gpu_metrics in the report", "%d bytes" % len(text), "present", len(text) > 10)


def captures():
    """CUDA graphs that one thread captures while traces and the sampling of counters begin and end on another: a call of the driver
    that is not allowed meanwhile would break each of them."""
    import strobe
    import torch
    x, seen, done = torch.zeros(4096, device="cuda"), {"captured": 0, "broken": "none"}, threading.Event()

    def capture():
        try:
            while not done.is_set():
                graph = torch.cuda.CUDAGraph()
                with torch.cuda.graph(graph):
                    y = x
                    for _ in range(500):
                        y = y + 1
                graph.replay()
                assert float(y.sum()) == 500 * 4096
                seen["captured"] += 1
        except Exception as error:
            seen["broken"] = str(error)[:80]
    thread = threading.Thread(target=capture)
    with recorded("captures") as r:
        thread.start()
        until(lambda: seen["captured"] or seen["broken"] != "none", "the first capture")
        for _ in range(5):
            with strobe.gpu_trace(), strobe.gpu_counters():
                time.sleep(0.3)
        done.set()
        thread.join()
    rows = len(r.recording.sampled("gpu_pm"))
    row("graphs captured while traces and sampling began and ended", "%d, broken: %s" % (seen["captured"], seen["broken"]), ">= 20, none",
        seen["captured"] >= 20 and seen["broken"] == "none")
    row("  kernels and samples meanwhile", "%d, %d" % (len(r.recording.of("kernel")), rows), "some", rows > 0 and len(r.recording.of("kernel")) > 0)
