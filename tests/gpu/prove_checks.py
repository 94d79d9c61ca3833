"""One check of prove.py per function; each runs in a process of its own."""
import ctypes
import glob
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager, nullcontext

import wire

BUILD = os.environ["STROBE_BUILD"]
HERE = os.path.dirname(os.path.abspath(__file__))
TOOL = os.path.join(BUILD, "strobe")


def row(what, seen, want="", ok=None):
    print("ROW: " + json.dumps({"what": what, "seen": str(seen), "want": want, "ok": ok}), flush=True)


def near(a, b, ratio):
    return abs(a - b) <= ratio * max(abs(a), abs(b), 1e-12)


@contextmanager
def recorded(name, **kw):
    """A session in a fresh folder; yields an object whose .recording appears afterwards."""
    import strobe
    folder = tempfile.mkdtemp(prefix="strobe-prove-")
    out = type("Result", (), {})()
    strobe.start(name, output_dir=folder, config={"generate_final_report": False}, **kw)
    yield out
    strobe.stop()
    out.folder = glob.glob(os.path.join(folder, "*"))[0]
    out.recording = wire.load(out.folder)


def report(folder):
    done = subprocess.run([TOOL, "report", folder, "--format", "json"], capture_output=True, text=True, timeout=60)
    if done.returncode:
        print("report failed:", done.stderr)
        return {}
    return json.loads(done.stdout)


def find(tree, key):
    """Every value of a key, anywhere in a JSON tree."""
    if isinstance(tree, dict):
        for k, v in tree.items():
            if k == key:
                yield v
            yield from find(v, key)
    elif isinstance(tree, list):
        for v in tree:
            yield from find(v, key)


def zone_s(rec, name):
    return sum(rec.s(z.end - z.begin) for z in rec.zones if z.name == name)


def gpu_zone_s(rec, name):
    return sum(rec.s(g.duration) for g in rec.of("zone") if g.name == name)


def spin(torch, seconds):
    torch.cuda._sleep(int(seconds * 1.98e9))


# ---- truth ------------------------------------------------------------------

def async_work():
    """Zone A launches a second of kernels, zone B waits for them."""
    import strobe
    import torch
    torch.zeros(1, device="cuda")
    with recorded("async") as r:
        for _ in range(2):
            with strobe.section("A", gpu=True):
                for _ in range(100):
                    spin(torch, 0.01)
            with strobe.section("B", gpu=True):
                torch.cuda.synchronize()
    rec = r.recording
    cpu_a, cpu_b, gpu_a, gpu_b = zone_s(rec, "A"), zone_s(rec, "B"), gpu_zone_s(rec, "A"), gpu_zone_s(rec, "B")
    row("async: CPU time of A (launches) / B (synchronizes)", "%.3f / %.3f s" % (cpu_a, cpu_b), "B holds it", cpu_a < 0.2 * cpu_b)
    row("async: GPU time of A / B", "%.3f / %.3f s" % (gpu_a, gpu_b), "A holds it", gpu_b < 0.02 * gpu_a and near(gpu_a, cpu_a + cpu_b, 0.05))
    stages = {s["name"]: s for s in report(r.folder).get("stage_analysis", {}).get("stages", [])}
    if "A" in stages:
        row("async: report's gpu_span_s of A", stages["A"].get("gpu_span_s"), "as above", near(stages["A"].get("gpu_span_s") or 0, gpu_a, 0.01))
    for g in rec.of("zone"):
        inside = [z for z in rec.zones if z.name == g.name and z.begin <= g.launch <= z.end and z.tid == g.tid]
        if len(inside) != 1:
            row("async: GPU zone lies in one CPU zone", len(inside), "1", False)


def sleep_and_tiny_kernel():
    import strobe
    import torch
    x = torch.zeros(64, device="cuda")
    x.add_(1)
    with recorded("sleepy") as r, strobe.gpu_trace():
        for _ in range(4):
            with strobe.section("loop", gpu=True):
                time.sleep(0.5)
                x.add_(1)
        torch.cuda.synchronize()
    rec = r.recording
    kernels = rec.of("kernel")
    used = rec.s(wire.busy([(k.start, k.start + k.duration) for k in kernels]))
    row("sleep + tiny kernel: kernels", len(kernels), "4", len(kernels) == 4)
    row("sleep + tiny kernel: GPU busy of the wall", "%.4f %%" % (100 * used / zone_s(rec, "loop")), "< 1 %", used < 0.01 * zone_s(rec, "loop"))
    j = report(r.folder)
    verdict = [v for v in find(j, "bound_by")]
    row("sleep + tiny kernel: what the report says bounds the run", ", ".join(verdict) or "nothing", "not the GPU", bool(verdict) and "gpu" not in verdict)


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


def counts_equal_profiler():
    import strobe
    import torch
    from dit import denoise, make
    from torch.profiler import ProfilerActivity, profile
    model = make()
    denoise(model, 5)
    torch.cuda.synchronize()
    with recorded("counts") as r, strobe.gpu_trace():
        with strobe.section("denoise", gpu=True):
            for _ in strobe.steps(range(1), name="outer"):
                denoise(model, 20, lambda: strobe.section("step", gpu=True))
        torch.cuda.synchronize()
    rec = r.recording
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as p:
        denoise(model, 20)
        torch.cuda.synchronize()
    theirs = [e for e in p.events() if e.device_type.name == "CUDA" and not e.name.startswith("Mem")]
    ours = rec.of("kernel")
    a, b = sum(rec.s(k.duration) for k in ours), sum(e.device_time_total if hasattr(e, "device_time_total") else e.cuda_time_total for e in theirs) / 1e6
    row("kernel count, strobe / torch.profiler", "%d / %d" % (len(ours), len(theirs)), "equal within 1 %", near(len(ours), len(theirs), 0.01))
    row("kernel total, strobe / torch.profiler", "%.4f / %.4f s" % (a, b), "equal within 1 % (two runs)", near(a, b, 0.03))
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
        row("report: busy_s + idle_s / traced wall", "%.4f + %.4f / %.4f s" % (j.get("busy_s", 0), j.get("idle_s", 0), rec.s(wall)), "within 1 %",
            near(j.get("busy_s", 0) + j.get("idle_s", 0), rec.s(wall), 0.01))
        row("report: busy_s / union of records", "%.5f / %.5f s" % (j.get("busy_s", 0), rec.s(used)), "within 1 %", near(j.get("busy_s", 0), rec.s(used), 0.01))
    else:
        row("report: gpu_trace section", "absent", "present", False)
    row("GPU zone step: span sum / busy of its kernels", "%.4f / %.4f s" % (gpu_zone_s(rec, "step"), rec.s(used)), "span >= busy", gpu_zone_s(rec, "step") > 0.98 * rec.s(used))
    row("bytes per kernel in the file", "%.1f" % (rec.lane_bytes[3] / max(1, len(rec.gpu))), "<= 48", rec.lane_bytes[3] <= 48 * len(rec.gpu))


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
        time.sleep(0.3)
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


def bare_library():
    source, target = os.path.join(HERE, "bare_cupti.c"), os.path.join(tempfile.mkdtemp(), "libbare.so")
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-I", os.path.join(HERE, "..", "..", "src"), source, "-o", target, "-ldl"], check=True)
    bare = ctypes.CDLL(target)
    mapped = [line.split()[-1] for line in open("/proc/self/maps") if "libcupti" in line]
    if not mapped:
        import nvidia
        mapped = sorted(glob.glob(os.path.join(list(nvidia.__path__)[0], "*", "lib", "libcupti.so*")))
    assert bare.bare_open(mapped[0].encode()) > 0
    return bare


def bare_stop(bare):
    out = (ctypes.c_uint64 * 9)()
    bare.bare_stop(out)
    return list(out)


def no_driver_calls():
    """Nothing of CUDA before the program asks; the same synchronizes and contexts with and without strobe."""
    import strobe
    mapped = lambda: any("libcuda.so" in line for line in open("/proc/self/maps"))
    os.environ["STROBE_MONITOR"] = "0"  # NVML may map libcuda for itself
    strobe.start("nothing", output_dir=tempfile.mkdtemp(), config={"generate_final_report": False})
    with strobe.section("before torch", gpu=True):
        pass
    row("libcuda mapped by strobe alone", mapped(), "False", not mapped())
    import torch
    for _ in range(200):
        with strobe.section("before cuda", gpu=True):
            time.sleep(0.001)
    cuda = ctypes.CDLL("libcuda.so.1")
    here = ctypes.c_void_p()
    code = cuda.cuCtxGetCurrent(ctypes.byref(here))
    row("after import torch and 200 sections: driver state", code, "3 (not initialised)", code == 3)
    x = torch.zeros(64, device="cuda")
    strobe.stop()
    from dit import denoise, make
    model = make()
    denoise(model, 3)
    torch.cuda.synchronize()
    bare = bare_library()
    names = (ctypes.c_char_p * 4096)()
    counts = (ctypes.c_uint64 * 4096)()

    def count(sections):
        bare.bare_count_start()
        denoise(model, 20, sections, sections)
        x.add_(1).cpu()
        time.sleep(0.3)
        n = bare.bare_count_stop(names, counts)
        return {names[i].decode(): counts[i] for i in range(n)}

    without = count(None)
    with recorded("counted"):
        with_strobe = count(lambda: strobe.section("zone", gpu=True))
    for key in sorted(set(without) | set(with_strobe)):
        if without.get(key) != with_strobe.get(key):
            print("driver call %-40s %6d without, %6d with" % (key, without.get(key, 0), with_strobe.get(key, 0)))
    wrong = [k for k in with_strobe if ("Synchronize" in k or k.startswith("cuInit") or "CtxCreate" in k or "PrimaryCtx" in k)
             and with_strobe[k] != without.get(k, 0)]
    row("driver: synchronize, init, context calls added by strobe", ", ".join(wrong) or "none", "none", not wrong)
    row("driver: cuEventRecord calls of 500 GPU zones", with_strobe.get("cuEventRecord", 0) - without.get("cuEventRecord", 0), "<= 1010",
        0 < with_strobe.get("cuEventRecord", 0) - without.get("cuEventRecord", 0) <= 1010)


def fork_worker():
    code = """
import os, sys, strobe
strobe.start("forking", output_dir=%r, config={"generate_final_report": False})
import torch
with strobe.section("parent", gpu=True): pass
pid = os.fork()
if pid == 0:
    x = torch.ones(1000, device="cuda")
    with strobe.section("child", gpu=True):
        y = float((x + 1).sum())
    torch.cuda.synchronize()
    import time; time.sleep(0.1)
    strobe.stop()
    os._exit(0 if y == 2000 else 3)
status = os.waitpid(pid, 0)[1]
sys.exit(os.waitstatus_to_exitcode(status))
"""
    folder = tempfile.mkdtemp()
    done = subprocess.run([sys.executable, "-c", code % folder], timeout=100)
    row("forked worker initialises CUDA under strobe", "exit %d" % done.returncode, "exit 0", done.returncode == 0)
    rec = wire.load(folder)
    row("forked worker: its GPU zone is recorded", len([g for g in rec.of("zone") if g.name == "child"]), "1", any(g.name == "child" for g in rec.of("zone")))


def compile_and_graphs():
    import strobe
    import torch
    from torch._dynamo.utils import counters

    def work(use):
        torch._dynamo.reset()
        counters.clear()
        lin = torch.nn.Linear(64, 64, device="cuda")

        def f(x):
            with strobe.section("inside") if use else nullcontext():
                return torch.relu(lin(x)) * 2
        g = torch.compile(f, fullgraph=True)
        x = torch.randn(8, 64, device="cuda")
        for _ in range(3):
            with strobe.section("outside", gpu=True) if use else nullcontext():
                g(x)
        torch.cuda.synchronize()
        made = {k: dict(v) for k, v in counters.items() if k in ("frames", "graph_break", "stats")}
        graph, s = torch.cuda.CUDAGraph(), torch.cuda.Stream()
        with torch.no_grad():
            s.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(s):
                lin(x)
            torch.cuda.current_stream().wait_stream(s)
            with torch.cuda.graph(graph):
                with strobe.section("captured", gpu=True) if use else nullcontext():
                    y = torch.relu(lin(x)) + 1
        for _ in range(10):
            with strobe.section("replay", gpu=True) if use else nullcontext():
                graph.replay()
        torch.cuda.synchronize()
        return made, float(y.sum())

    torch.manual_seed(0)
    plain = work(False)
    torch.manual_seed(0)
    with recorded("compiled") as r:
        mine = work(True)
    plain, mine = [({k: v for k, v in w[0].items() if v}, w[1]) for w in (plain, mine)]
    row("torch.compile(fullgraph) counters, plain and under strobe", "equal" if plain[0] == mine[0] else "%s / %s" % (plain[0], mine[0]), "equal", plain[0] == mine[0])
    row("captured graph: result", "%.4f / %.4f" % (plain[1], mine[1]), "same kind", plain[1] == plain[1] and mine[1] == mine[1])
    captured = [g for g in r.recording.of("zone") if g.name == "captured"]
    replays = [g for g in r.recording.of("zone") if g.name == "replay"]
    row("captured graph: section inside the capture is not timed", len(captured), "0", not captured)
    row("captured graph: replays timed", len(replays), "10", len(replays) == 10)
    with recorded("graph trace") as r, strobe.gpu_trace():
        mine = work(True)
    graph_kernels = [k for k in r.recording.of("kernel") if k.flags & 4]
    row("kernel trace of 10 replays: kernels flagged as a graph's", len(graph_kernels), ">= 20", len(graph_kernels) >= 20)


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
    code = """
import os, signal, sys, time, strobe, torch
sys.path.insert(0, %r)
from dit import denoise, make
model = make()
denoise(model, 2)
for _ in strobe.steps(range(8), name="denoise"):
    denoise(model, 1)
torch.cuda.synchronize()
time.sleep(0.3)
os.kill(os.getpid(), signal.SIGUSR2)
time.sleep(0.5)
with strobe.section("signalled"):
    denoise(model, 1)
torch.cuda.synchronize()
os.kill(os.getpid(), signal.SIGUSR2)
time.sleep(0.5)
denoise(model, 1)
torch.cuda.synchronize()
""" % HERE
    folder = tempfile.mkdtemp()
    done = subprocess.run([TOOL, "run", "--gpu-trace=steps:3", "-o", os.path.join(folder, "run"), "--", sys.executable, "-c", code], capture_output=True, text=True, timeout=100)
    print(done.stdout[-2500:], done.stderr[-2500:])
    rec = wire.load(folder)
    zones = [z for z in rec.zones if z.name == "denoise"]
    at = [sum(z.begin <= k.launch <= z.end for k in rec.of("kernel")) for z in sorted(zones, key=lambda z: z.begin)]
    row("steps:3: kernels in each of 8 steps", at, "0, 3 x about 248, 0...", at[0] == 0 and all(x > 240 for x in at[1:4]) and not any(at[4:]))
    signalled = [z for z in rec.zones if z.name == "signalled"]
    n = sum(any(z.begin <= k.launch <= z.end for z in signalled) for k in rec.of("kernel"))
    row("SIGUSR2: kernels of the step between two signals", "%d of %d more" % (n, len(rec.of("kernel")) - sum(at)), "about 248, and no more", 240 < n == len(rec.of("kernel")) - sum(at))


def streams():
    """Zones on two streams at once, and on the default stream."""
    import strobe
    import torch
    torch.zeros(1, device="cuda")
    side = torch.cuda.Stream()
    with recorded("streams") as r:
        for _ in range(3):
            with torch.cuda.stream(side):
                with strobe.section("side", gpu=True):
                    spin(torch, 0.2)
            with strobe.section("main", gpu=True):
                spin(torch, 0.05)
        torch.cuda.synchronize()
    rec = r.recording
    a, b = [g for g in rec.of("zone") if g.name == "side"], [g for g in rec.of("zone") if g.name == "main"]
    row("two streams: GPU time of side / main", "%.3f / %.3f s" % (gpu_zone_s(rec, "side"), gpu_zone_s(rec, "main")), "0.6 / 0.15",
        near(gpu_zone_s(rec, "side"), 0.6, 0.05) and near(gpu_zone_s(rec, "main"), 0.15, 0.1))
    row("two streams: numbers", "%s / %s" % (sorted({g.stream for g in a}), sorted({g.stream for g in b})), "differ", {g.stream for g in a}.isdisjoint({g.stream for g in b}))


# ---- cost -------------------------------------------------------------------

class Bench:
    """Interleaved timings of the same work done in several ways, in one process.

    Every round times the plain work before and after each form; a form's ratio is its time over
    the mean of its two neighbours. Rounds go through the forms forwards and backwards in turn, so
    that none always follows the same other one.
    """

    def __init__(self, torch, model, steps):
        import gc
        gc.collect()
        gc.freeze()
        gc.disable()
        self.torch, self.model, self.steps, self.ratios, self.plain = torch, model, steps, {}, []

    def once(self, *around):
        from dit import denoise
        denoise(self.model, 1)
        self.torch.cuda.synchronize()
        t = time.perf_counter()
        denoise(self.model, self.steps, *around)
        self.torch.cuda.synchronize()
        return time.perf_counter() - t

    def rounds(self, forms, count):
        """forms: name -> (context manager around the timing, zones of step and block)."""
        order = list(forms)
        for i in range(count):
            before = self.once()
            for name in order if i % 2 else order[::-1]:
                context, around = forms[name]
                with context():
                    took = self.once(*around)
                after = self.once()
                self.ratios.setdefault(name, []).append(took / ((before + after) / 2))
                self.plain.append(after)
                before = after

    def step_pairs(self, name, step, count):
        """Finer: a plain step beside a step of the form, hundreds of times, without waiting for
        the GPU (it waits for us). For forms that can change from one step to the next."""
        import random
        x = self.torch.randn(1, self.model.tokens, 64, device="cuda", dtype=self.torch.bfloat16)
        pair = [self.model, step or self.model]
        ratios = self.ratios.setdefault(name, [])
        for i in range(count + 5):
            first = random.random() < 0.5
            times = [0, 0]
            for which in (first, not first):
                t = time.perf_counter()
                pair[which](x, 0.5)
                times[which] = time.perf_counter() - t
            if i >= 5:
                ratios.append(times[1] / times[0])
                self.plain.append(times[0] * self.steps)
            if i % 50 == 49:
                self.torch.cuda.synchronize()
                time.sleep(0.02)
                pair[0](x, 0.5)

    def ratio(self, name):
        return statistics.median(self.ratios[name])

    def spread(self, name):
        """Half the width of a 95 % interval of the median, by order statistics."""
        r, n = sorted(self.ratios[name]), len(self.ratios[name])
        k = int(0.98 * n ** 0.5)
        return (r[min(n - 1, n // 2 + k)] - r[max(0, n // 2 - k)]) / 2

    def text(self, name):
        return "%.3f x +-%.3f" % (self.ratio(name), self.spread(name))

    def step_ms(self):
        return statistics.median(self.plain) / self.steps * 1e3


def zone_overhead():
    import strobe
    import torch
    from dit import denoise, make, zoned

    def sync():
        @contextmanager
        def c():
            torch.cuda.synchronize()
            yield
            torch.cuda.synchronize()
        return c()

    with recorded("zones") as r, torch.no_grad():
        for label, rich, want in (("250", False, 1.04), ("1000", True, 1.02)):
            model = make(rich=rich)
            denoise(model, 6)
            b = Bench(torch, model, 1)
            b.step_pairs("gpu", zoned(model, strobe.section, True), 800)
            b.step_pairs("null", None, 300)
            b.step_pairs("cpu", zoned(model, strobe.section, False), 300)
            b.step_pairs("default", zoned(model, strobe.section, None), 300)
            b.step_pairs("empty", zoned(model, lambda name, gpu: nullcontext(), None), 300)
            row("null (A/A), %s kernels per step of %.2f ms" % (label, b.step_ms()), b.text("null"), "1.00")
            row("GPU zones on every step and block, %s kernels per step" % label, b.text("gpu"), "<= %.2f x" % want, b.ratio("gpu") <= want)
            row("  default: GPU time where it is cheap", b.text("default"), "")
            row("  CPU time only", b.text("cpu"), "")
            row("  contextlib.nullcontext in their place", b.text("empty"), "")
            if not rich:
                b.rounds({"sync": (nullcontext, (sync, sync))}, 12)
                row("  synchronizing timers in their place", b.text("sync"), "")

        def each(f, n=200):
            best = 1e9
            for _ in range(20):
                torch.cuda.synchronize()
                time.sleep(0.03)
                t = time.perf_counter()
                for _ in range(n):
                    f()
                best = min(best, (time.perf_counter() - t) / n)
            return best * 1e6

        def gpu_section():
            with strobe.section("cost", gpu=True):
                pass

        def cpu_section():
            with strobe.section("cost_cpu", gpu=False):
                pass
        row("one empty section with GPU time / without, Python", "%.2f / %.2f us" % (each(gpu_section), each(cpu_section)), "")
    row("GPU zones recorded", len(r.recording.of("zone")), "> 10000", len(r.recording.of("zone")) > 10000)


def trace_overhead():
    import strobe
    import torch
    from dit import denoise, make
    from torch.profiler import ProfilerActivity, profile
    model = make()
    denoise(model, 6)
    torch.cuda.synchronize()
    bare = bare_library()

    @contextmanager
    def bare_with(flags):
        assert bare.bare_start(flags) == 0
        yield
        bare_stop(bare)

    @contextmanager
    def ours(launches):
        os.environ["STROBE_GPU_TRACE_LAUNCHES"] = launches
        with strobe.gpu_trace():
            yield
        time.sleep(0.1)  # until CUPTI is let go of

    forms = {"null": (nullcontext, ()),
             "bare": (lambda: bare_with(8), ()), "ours": (lambda: ours("0"), ()),
             "bare+": (lambda: bare_with(8 | 2), ()), "ours+": (lambda: ours("1"), ())}
    with recorded("traces", max_trace_bytes="512 MiB"):
        b = Bench(torch, model, 4)
        b.rounds(forms, 60)
    row("null (A/A), kernel trace, step of %.2f ms" % b.step_ms(), b.text("null"), "1.00")
    row("bare CUPTI, kernels", b.text("bare"), "")
    row("strobe GPU trace, kernels", b.text("ours"), "<= 1.10 x", b.ratio("ours") <= 1.10)
    row("bare CUPTI, kernels + launch callbacks", b.text("bare+"), "")
    row("strobe GPU trace with launch attribution", b.text("ours+"), "<= 1.14 x", b.ratio("ours+") <= 1.14)
    for mark, what in (("", "kernels"), ("+", "kernels + launches")):
        q = statistics.median(y / x for x, y in zip(b.ratios["bare" + mark], b.ratios["ours" + mark]))
        row("strobe over bare CUPTI, " + what, "%.3f x" % q, "<= 1.02 x", q <= 1.02)
    b.rounds({"profiler": (lambda: profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]), ())}, 3)
    row("torch.profiler CPU + CUDA", b.text("profiler"), "")


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
            time.sleep(0.5)
    rec = r.recording
    n = len(rec.of("kernel"))
    grew = {k: (most[k] - before[k]) / 1024 for k in most}
    row("1 M kernels: recorded", n, "1000000", n == 1000000)
    row("1 M kernels: memory added (RSS anonymous / file)", "%.1f / %.1f MiB" % (grew["RssAnon"], grew["RssFile"]), "<= 64 MiB", grew["VmRSS"] <= 64)
    row("1 M kernels: bytes per kernel in the file", "%.2f" % (rec.lane_bytes[3] / n), "<= 48", rec.lane_bytes[3] <= 48 * n)
    missing = [m for m in rec.missing if "kernel" in m[0] or "launch" in m[0]]
    print(missing, rec.meta.get("gpu_trace_kernel_count"))
    shutil.rmtree(r.folder, ignore_errors=True)


def nvml_values():
    """What the monitors recorded against what nvidia-smi says."""
    import strobe
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


globals()[sys.argv[1]]()
