#!/usr/bin/env python3
"""Proves strobe's GPU recording on this machine: truth first, then what it costs.

usage: prove.py [--build DIR] [--out FILE.json] [CHECK...]

Needs an NVIDIA GPU and PyTorch with CUDA; builds strobe first where there is no build. Each
check runs in a process of its own, those that measure no time side by side (--jobs); the last
lines are a table of every measure, what was seen, its bar, and pass or FAIL. Overheads are
medians of interleaved pairs in one process.
What cannot be tried here is left out and said; exit status 77 where nothing could be.
"""
import argparse
import concurrent.futures
import importlib
import json
import os
import shutil
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
SKIPPED = 77  # the exit status where nothing was checked
# What has moved most comes first: time may run out.
CHECKS = {
    "prove_cost": ["zone_overhead", "trace_overhead"],
    "prove_memory": ["memory_overhead", "memory_by_stage"],
    "prove_offloaded": ["memory_offloaded"],
    "prove_truth": ["between_zones", "async_work", "sleep_and_tiny_kernel", "streams", "no_driver_calls", "fork_worker",
                    "compile_and_graphs"],
    "prove_trace": ["counts_equal_profiler", "totals_equal_profiler", "offload", "after_profiler", "during_profiler",
                    "nvtx_injection", "unmodified_program", "steps_and_signal", "million_kernels", "nvml_values", "captures"],
    "prove_real": ["default_overhead", "unattributed_share", "slow_moments"],
    "prove_hardware": ["bounds", "bound_by_copies", "offloaded_decode", "mfu", "warm_mfu", "families", "pm_sampling", "pm_overhead"],
    "prove_operations": ["operations", "products", "wan_shares"],
    "prove_build": ["zone_cost", "section_cost", "python_tests", "native_tests"],
}
NEEDS_GPU = ("prove_cost", "prove_memory", "prove_offloaded", "prove_truth", "prove_trace", "prove_real", "prove_hardware", "prove_operations")
# What other work on the GPU does not change: counts, order, shares of one program's own kernels. The GPU serves processes in
# turns of milliseconds: no length of a kernel, a span or a wait is among these.
SIDE_BY_SIDE = ("operations", "wan_shares", "families", "memory_by_stage", "unattributed_share", "unmodified_program", "steps_and_signal",
                "during_profiler", "counts_equal_profiler", "no_driver_calls", "fork_worker", "compile_and_graphs", "offload", "nvtx_injection")
MODULE = {name: module for module, names in CHECKS.items() for name in names}


def build(folder):
    """With the interpreter that runs this: the extension must fit its torch."""
    if os.path.exists(os.path.join(folder, "strobe")):
        return
    print("building into %s" % folder, flush=True)
    generator = ["-G", "Ninja"] if shutil.which("ninja") else []
    subprocess.run(["cmake", "-S", ROOT, "-B", folder, "-DCMAKE_BUILD_TYPE=RelWithDebInfo", "-DPython_EXECUTABLE=" + sys.executable,
                    "--log-level=NOTICE", *generator], check=True)
    subprocess.run(["cmake", "--build", folder, "--parallel", str(os.cpu_count())], check=True, stdout=subprocess.DEVNULL)


def why_no_gpu():
    """None when torch has a GPU; else why not, in a process of its own."""
    code = "import torch\nassert torch.cuda.is_available(), 'torch %s sees no CUDA device' % torch.__version__\n"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    return None if done.returncode == 0 else done.stderr.strip().splitlines()[-1].replace("AssertionError: ", "")


def run(name, folder, timeout, cut):
    path = [os.path.join(folder, "python"), HERE] + [p for p in [os.environ.get("PYTHONPATH")] if p]
    env = dict(os.environ, PYTHONPATH=os.pathsep.join(path), STROBE_BUILD=folder, STROBE_PROVE_S=str(timeout))
    env.pop("STROBE_ENABLED", None)
    began = time.monotonic()
    try:
        done = subprocess.run([sys.executable, os.path.abspath(__file__), "--in-this-process", name], env=env, timeout=timeout,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        text, code = done.stdout, done.returncode
    except subprocess.TimeoutExpired as e:
        text, code = (e.stdout or b"").decode() if isinstance(e.stdout, bytes) else e.stdout or "", 124
    rows = [json.loads(line[5:]) for line in text.splitlines() if line.startswith("ROW: ")]
    if code == 124 and cut:
        rows.append(no_time(name))
    elif code:
        rows.append({"what": name, "seen": "exit %d" % code, "want": "exit 0", "ok": False})
    return rows, text, time.monotonic() - began


def no_time(name):
    return {"what": name, "seen": "left out", "want": "the time was up (--limit)", "ok": None, "left_out": True}


def attempt(name, args, no_gpu, end):
    """The rows of one check, having said how it went."""
    left_s = end - time.monotonic()
    if no_gpu and MODULE[name] in NEEDS_GPU:
        return [{"what": name, "seen": "left out", "want": no_gpu, "ok": None, "left_out": True}], ""
    if left_s < 5:
        return [no_time(name)], ""
    rows, text, took = run(name, args.build, min(args.timeout, left_s), left_s < args.timeout)
    failed = any(r["ok"] is False for r in rows)
    print("%-26s %5.1f s  %s" % (name, took, "FAIL" if failed else "ok"), flush=True)
    if failed:
        print("\n".join("    " + line for line in text.splitlines()[-25:] if not line.startswith("ROW: ")), flush=True)
    return rows, "== %s (%.1f s)\n%s" % (name, took, text)


def attempts(args, no_gpu, end):
    """What each check had to say, in the order asked for: first those side by side, then the others, alone."""
    beside = [name for name in args.checks if name in SIDE_BY_SIDE and args.jobs > 1]
    with concurrent.futures.ThreadPoolExecutor(max(1, args.jobs)) as pool:
        done = dict(zip(beside, pool.map(lambda name: attempt(name, args, no_gpu, end), beside)))
    for name in args.checks:
        if name not in done:
            done[name] = attempt(name, args, no_gpu, end)
    return [done[name] for name in args.checks]


def show(table, no_gpu):
    def mark(r):
        return {True: "pass", False: "FAIL", None: "----" if r.get("left_out") else "    "}[r["ok"]]
    print("\n%-4s  %-66s %22s  %s" % ("", "measure", "seen", "bar"))
    for r in table:
        print("%s  %-66s %22s  %s" % (mark(r), r["what"], r["seen"], r["want"]))
    passed, failed = (sum(r["ok"] is ok for r in table) for ok in (True, False))
    print("\n%d passed, %d failed, %d left out" % (passed, failed, sum(bool(r.get("left_out")) for r in table)))
    if no_gpu:
        print("NO CLAIM ABOUT A GPU WAS CHECKED: %s. What passed ran without one or against stand-ins." % no_gpu)
    if failed or passed:
        return 1 if failed else 0
    print("skipped: %s" % (no_gpu or "nothing was checked"))
    return SKIPPED


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--build", default=os.path.join(ROOT, "build"))
    ap.add_argument("--out", help="the table as JSON here, and what the checks printed beside it")
    ap.add_argument("--timeout", type=float, default=200, help="seconds for one check")
    ap.add_argument("--limit", type=float, default=540, help="seconds for all of them")
    ap.add_argument("--jobs", type=int, default=min(4, max(1, (os.cpu_count() or 1) // 4)), help="checks side by side that measure no time (here %(default)s)")
    ap.add_argument("--in-this-process", action="store_true", help=argparse.SUPPRESS)
    ap.add_argument("checks", nargs="*", default=list(MODULE), metavar="CHECK", help=", ".join(MODULE))
    args = ap.parse_args()
    unknown = [name for name in args.checks if name not in MODULE]
    if unknown:
        ap.error("no such check: %s" % ", ".join(unknown))
    if args.in_this_process:
        for name in args.checks:
            getattr(importlib.import_module(MODULE[name]), name)()
        return 0
    args.build = os.path.abspath(args.build)
    end = time.monotonic() + args.limit
    build(args.build)
    no_gpu = why_no_gpu()
    table, log = [], []
    for name, (rows, text) in zip(args.checks, attempts(args, no_gpu, end)):
        table += [dict(r, check=name) for r in rows]
        log.append(text)
    if args.out:
        with open(args.out, "w") as f:
            json.dump(table, f, indent=1)
        with open(args.out + ".log", "w") as f:
            f.write("\n".join(log))
    return show(table, no_gpu)


if __name__ == "__main__":
    sys.exit(main())
