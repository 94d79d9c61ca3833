#!/usr/bin/env python3
"""Proves strobe's GPU recording on this machine: truth first, then what it costs.

usage: prove.py [--build DIR] [--out FILE.json] [CHECK...]

Needs an NVIDIA GPU, PyTorch with CUDA and a build of strobe. Each check runs in a
process of its own; the last lines are a table of pass and FAIL. Overheads are
medians of interleaved pairs in one process.
"""
import argparse
import json
import os
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
CHECKS = ["async_work", "sleep_and_tiny_kernel", "offload", "counts_equal_profiler", "after_profiler",
          "during_profiler", "no_driver_calls", "fork_worker", "compile_and_graphs", "streams",
          "nvtx_injection", "unmodified_program", "steps_and_signal", "zone_overhead", "trace_overhead", "million_kernels", "nvml_values"]


def run(name, build, timeout):
    env = dict(os.environ, PYTHONPATH=os.pathsep.join([os.path.join(build, "python"), HERE]), STROBE_BUILD=build)
    env.pop("STROBE_ENABLED", None)
    began = time.time()
    try:
        done = subprocess.run([sys.executable, os.path.join(HERE, "prove_checks.py"), name], env=env, timeout=timeout,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        text, code = done.stdout, done.returncode
    except subprocess.TimeoutExpired as e:
        text, code = (e.stdout or b"").decode() if isinstance(e.stdout, bytes) else e.stdout or "", 124
    rows = [json.loads(line[5:]) for line in text.splitlines() if line.startswith("ROW: ")]
    if code:
        rows.append({"what": name, "seen": "exit %d" % code, "want": "exit 0", "ok": False})
    return rows, text, time.time() - began


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--build", default=os.path.join(HERE, "..", "..", "build"))
    ap.add_argument("--out")
    ap.add_argument("--timeout", type=float, default=120)
    ap.add_argument("checks", nargs="*", default=CHECKS)
    args = ap.parse_args()
    build = os.path.abspath(args.build)
    table, log = [], []
    for name in args.checks:
        rows, text, took = run(name, build, args.timeout)
        failed = any(r["ok"] is False for r in rows)
        log.append("== %s (%.1f s)\n%s" % (name, took, text))
        print("%-26s %5.1f s  %s" % (name, took, "FAIL" if failed else "ok"), flush=True)
        if failed:
            print("\n".join("    " + line for line in text.splitlines()[-25:] if not line.startswith("ROW: ")))
        table += [dict(r, check=name) for r in rows]
    if args.out:
        with open(args.out, "w") as f:
            json.dump(table, f, indent=1)
        with open(args.out + ".log", "w") as f:
            f.write("\n".join(log))
    print()
    for r in table:
        mark = {True: "pass", False: "FAIL", None: "    "}[r["ok"]]
        print("%s  %-62s %18s  %s" % (mark, r["what"], r["seen"], r["want"]))
    return 1 if any(r["ok"] is False for r in table) else 0


if __name__ == "__main__":
    sys.exit(main())
