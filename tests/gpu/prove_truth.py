"""Is what the GPU zones say true, and does the program stay as it was?"""
import ctypes
import os
import subprocess
import sys
import tempfile
import time
from contextlib import nullcontext

import wire
from proving import bare_library, find, gpu_zone_s, near, recorded, report, row, spin, zone_s

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
                time.sleep(0.5)  # what is proven: a program that does nothing is not bound by the GPU
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


def between_zones():
    """A kernel between two zones belongs to neither, however soon the second one begins."""
    import strobe
    import torch
    x = torch.zeros(64, device="cuda")
    x.add_(1)  # a kernel's first launch loads it, which takes long, and would be the zone's
    spin(torch, 0.001)
    rounds, between_s = 100, 0.004
    with recorded("between") as r:
        for _ in range(rounds):
            with strobe.section("before", gpu=True):
                x.add_(1)
            spin(torch, between_s)
            with strobe.section("after", gpu=True):
                x.add_(1)
            torch.cuda.synchronize()
    spans = [g for g in r.recording.of("zone") if g.name in ("before", "after")]
    worst = max((r.recording.s(g.duration) for g in spans), default=9)
    row("kernel of %.0f ms between two zones: zones timed" % (between_s * 1e3), len(spans), str(2 * rounds), len(spans) == 2 * rounds)
    row("kernel of %.0f ms between two zones: longest span of either" % (between_s * 1e3), "%.3f ms" % (worst * 1e3), "< 1 ms", worst < 1e-3)


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
    end, sections = time.monotonic() + 0.3, 0  # strobe looks for a driver ten times a second
    while time.monotonic() < end:
        sections += 1
        with strobe.section("before cuda", gpu=True):
            pass
    cuda = ctypes.CDLL("libcuda.so.1")
    here = ctypes.c_void_p()
    code = cuda.cuCtxGetCurrent(ctypes.byref(here))
    row("after import torch and %d sections: driver state" % sections, code, "3 (not initialised)", code == 3)
    x = torch.zeros(64, device="cuda")
    strobe.stop()
    from dit import denoise, make
    model = make()
    denoise(model, 3)
    torch.cuda.synchronize()
    bare = bare_library()
    names = (ctypes.c_char_p * 4096)()
    counts = (ctypes.c_uint64 * 4096)()

    def work(sections):
        denoise(model, 20, sections, sections)
        x.add_(1).cpu()

    def work_recorded():
        with recorded("counted"):  # its end has looked at every event
            work(lambda: strobe.section("zone", gpu=True))

    def count(f):
        bare.bare_count_start()
        f()
        n = bare.bare_count_stop(names, counts)
        return {names[i].decode(): counts[i] for i in range(n)}

    without, with_strobe = count(lambda: work(None)), count(work_recorded)
    for key in sorted(set(without) | set(with_strobe)):
        if without.get(key) != with_strobe.get(key):
            print("driver call %-40s %6d without, %6d with" % (key, without.get(key, 0), with_strobe.get(key, 0)))
    wrong = [k for k in with_strobe if ("Synchronize" in k or k.startswith("cuInit") or "CtxCreate" in k or "PrimaryCtx" in k)
             and with_strobe[k] != without.get(k, 0)]
    row("driver: synchronize, init, context calls added by strobe", ", ".join(wrong) or "none", "none", not wrong)
    events = with_strobe.get("cuEventRecord", 0) - without.get("cuEventRecord", 0)
    row("driver: cuEventRecord calls of 500 GPU zones", events, "<= 1010", 0 < events <= 1010)
    row("  for each zone; 1.08 when all blocks back to back share theirs", "%.2f" % (events / 500))


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
