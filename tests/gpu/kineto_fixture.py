"""Makes tests/data/kineto-h200.json.gz and the facts beside it, on a machine with a GPU.

usage: kineto_fixture.py OUT_DIR [STEPS]

The facts are computed here from the JSON with Python alone, so that the importer has
something to be held against that shares no code with it.
"""
import gzip
import json
import os
import sys
from collections import defaultdict

import torch
from torch.profiler import ProfilerActivity, profile, record_function

from dit import denoise, make


def union(spans):
    total, end = 0, None
    for a, b in sorted(spans):
        if end is None or a > end:
            total += b - a
            end = b
        elif b > end:
            total += b - end
            end = b
    return total


def facts(trace):
    """ts and dur are microseconds with three decimals: count in whole nanoseconds."""
    names, kinds, spans, kernel_spans, copies = defaultdict(lambda: [0, 0]), defaultdict(int), [], [], {}
    annotations = defaultdict(lambda: [0, 0])
    first, last = None, None
    for e in trace["traceEvents"]:
        kinds[e.get("cat", "ph:" + e["ph"])] += 1
        if e["ph"] != "X":
            continue
        start = round(float(e["ts"]) * 1000)
        dur = round(float(e["dur"]) * 1000)
        cat = e.get("cat")
        if cat in ("kernel", "gpu_memcpy", "gpu_memset"):
            spans.append((start, start + dur))
            first = start if first is None else min(first, start)
            last = start + dur if last is None else max(last, start + dur)
        if cat == "kernel":
            names[e["name"]][0] += 1
            names[e["name"]][1] += dur
            kernel_spans.append((start, start + dur))
        elif cat == "gpu_memcpy":
            row = copies.setdefault(e["name"], {"count": 0, "bytes": 0, "total_ns": 0})
            row["count"] += 1
            row["bytes"] += e["args"].get("bytes", 0)
            row["total_ns"] += dur
        elif cat == "user_annotation":
            annotations[e["name"].split("#")[0]][0] += 1
            annotations[e["name"].split("#")[0]][1] += dur
    return {
        "device": trace["deviceProperties"][0]["name"],
        "event_count": len(trace["traceEvents"]),
        "events_by_category": dict(sorted(kinds.items())),
        "kernel_count": len(kernel_spans),
        "kernel_total_ns": sum(b - a for a, b in kernel_spans),
        "kernel_busy_ns": union(kernel_spans),
        "device_busy_ns": union(spans),
        "device_span_ns": last - first,
        "copies": copies,
        "kernels": {k: {"count": v[0], "total_ns": v[1]} for k, v in
                    sorted(names.items(), key=lambda kv: -kv[1][1])},
        "user_annotations": {k: {"count": v[0], "total_ns": v[1]} for k, v in sorted(annotations.items())},
    }


def main():
    out, steps = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 20
    os.makedirs(out, exist_ok=True)
    model = make()
    weights = torch.randn(4 << 20)
    pinned = torch.randn(1 << 20).pin_memory()
    denoise(model, 3)
    torch.cuda.synchronize()
    path = os.path.join(out, "kineto-h200.json")
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as prof:
        with record_function("load"):
            gpu = weights.cuda()
            gpu2 = pinned.cuda(non_blocking=True)
        with record_function("denoise"):
            x = denoise(model, steps, around_step=lambda: record_function("step"))
        with record_function("vae_decode"):
            y = torch.nn.functional.interpolate(x.view(1, 1, model.tokens, 64).float(), scale_factor=4)
            y = (y * gpu[0] + gpu2[0]).clamp(0, 1).cpu()
    prof.export_chrome_trace(path)
    with open(path) as f:
        trace = json.load(f)
    with open(os.path.join(out, "kineto-h200.facts.json"), "w") as f:
        json.dump(facts(trace), f, indent=1)
    with open(path, "rb") as f, gzip.GzipFile(path + ".gz", "wb", 9, mtime=0) as z:
        z.write(f.read())
    print("kineto fixture: %d bytes, %d compressed" % (os.path.getsize(path), os.path.getsize(path + ".gz")))
    os.remove(path)


main()
