#!/usr/bin/env python3
"""How long reports, exports and packing take, and that they grow linearly. usage: report_bench.py BUILD"""
from json import loads
import os
import pathlib
import shutil
import subprocess
import sys

import rows
from rows import run

BUILD = pathlib.Path(sys.argv[1])
STROBE = BUILD / "strobe"
ROUNDS = 5


def several(*command):
    """Of several rounds: CPU seconds in order, and the most MiB."""
    all = [run(*command) for _ in range(ROUNDS)]
    return sorted(cpu for cpu, _, _ in all), max(memory for _, _, memory in all)


def text_and_json(folder):
    """Both files, made by one command that reads the recording once: median and worst CPU seconds, and the most MiB."""
    cpu, memory = several(STROBE, "report", folder, "--format", "json", "--write", "-o", "both")
    shutil.rmtree("both")
    return cpu[ROUNDS // 2], cpu[-1], memory


def text_then_json(folder):
    """Of several pairs of commands, each of which reads the recording: median CPU seconds."""
    pairs = [run(STROBE, "report", folder)[0] + run(STROBE, "report", folder, "--format", "json")[0] for _ in range(ROUNDS)]
    return sorted(pairs)[ROUNDS // 2]


def recording(zones, shape="steps"):
    return subprocess.run([BUILD / "bench/make_recording", str(zones), shape], capture_output=True, text=True, check=True).stdout.strip()


def reading(files):
    """Median CPU seconds of the least that reads them: decode, match, add to a histogram."""
    return several(BUILD / "bench/read_floor", *files)[0][ROUNDS // 2]


def job_of_many_ranks(ranks=1024, zones=10000):
    """Wall time: all cores read ranks."""
    folder = pathlib.Path("job")
    for rank in range(ranks):
        env = dict(os.environ, RANK=str(rank), LOCAL_RANK=str(rank % 8), WORLD_SIZE=str(ranks), TORCHELASTIC_RUN_ID="bench",
                   STROBE_OUTPUT_DIR=str(folder))
        subprocess.run([BUILD / "bench/make_recording", str(zones)], env=env, stdout=subprocess.DEVNULL, check=True)
    floor = reading(sorted((folder / "last").rglob("*.strobe")))
    walls = sorted(run(STROBE, "aggregate", folder / "last")[1:] for _ in range(5))
    rows.head("Aggregate of %d ranks x %d zones, load %.1f on %d cores" % (ranks, zones, os.getloadavg()[0], os.cpu_count()))
    rows.row("wall time, median", walls[2][0], "s", 2)
    rows.row("wall time, worst", walls[-1][0], "s")
    rows.row("reading them, CPU time, the floor", floor, "s")
    rows.row("its memory", max(memory for _, memory in walls), "MiB", 200)
    shutil.rmtree(folder)


def folder_bytes(folder):
    return sum(p.stat().st_size for p in pathlib.Path(folder).glob("*.strobe"))


def kineto(path, events):
    """A trace of torch.profiler's shape: operators two deep, launches, kernels on a stream."""
    with open(path, "w") as out:
        out.write('{"traceEvents":[{"ph":"M","name":"process_name","pid":1,"args":{"name":"python"}}')
        for i in range(events // 4):
            t = i * 40.0
            for name, cat, at, lasts, tid, more in (
                    ("aten::linear", "cpu_op", 0, 30, 1, ""), ("aten::addmm", "cpu_op", 4, 22, 1, ""),
                    ("cudaLaunchKernel", "cuda_runtime", 8, 10, 1, '"correlation":%d' % (i + 1)),
                    ("sm90_gemm_%d" % (i % 50), "kernel", 20, 15, 7, '"correlation":%d,"device":0,"stream":7' % (i + 1))):
                out.write(',\n{"ph":"X","cat":"%s","name":"%s","pid":%d,"tid":%d,"ts":%.1f,"dur":%d,"args":{%s}}'
                          % (cat, name, 0 if cat == "kernel" else 1, tid, t + at, lasts, more))
        out.write("]}")


def page_speed(path, size="1920x1080@2"):
    """First picture and frames a second, where a browser and the page's packages are."""
    web = BUILD / "web"
    shutil.copytree(pathlib.Path(__file__).resolve().parent.parent / "web" / "test", web / "test", dirs_exist_ok=True)
    if not (web / "node_modules/.strobe-lock").exists() or not shutil.which("node") or not os.path.exists(
            os.environ.get("STROBE_CHROMIUM", "/usr/bin/chromium")):
        print("  not measured: no Chromium, node, or packages (ctest -R page/install)")
        return
    done = subprocess.run(["node", web / "test" / "measure.mjs", os.path.abspath(path), size], capture_output=True, text=True,
                          check=True, timeout=300)
    found = loads(done.stdout.splitlines()[-1])
    rows.row("first picture at %s" % size, found["first_picture_ms"] / 1000, "s", 1)
    rows.row("frames per second, panning", found["pan_fps"], "1/s", 50, ">=")
    rows.row("frames per second, zooming", found["zoom_fps"], "1/s", 50, ">=")


def main():
    cpu, worst = {}, {}
    for millions in (1, 3, 10):
        folder = recording(millions * 1000000)
        cpu[millions], worst[millions], memory = text_and_json(folder)
        if millions < 10:
            shutil.rmtree(folder)
    rows.head("Reports (CPU time of one core), load %.1f on %d cores" % (os.getloadavg()[0], os.cpu_count()))
    for millions in cpu:
        rows.row("text + JSON of %d M zones, median" % millions, cpu[millions], "s", 1.2 if millions == 10 else None)
        rows.row("text + JSON of %d M zones, worst" % millions, worst[millions], "s")
    rows.row("text + JSON of 10 M zones, to the floor of reading them", cpu[10] / reading(pathlib.Path(folder).glob("*.strobe")), "x")
    rows.row("the same by two commands, 10 M zones, median", text_then_json(folder), "s")
    rows.row("memory", memory, "MiB", 200)
    rows.row("per zone, 10 M to 1 M (linear is 1)", cpu[10] / 10 / cpu[1], "x", 1.3)
    rows.head("Other shapes, 3 M zones: 64 deep, 2 000 names in random order, 16 threads")
    for shape in ("deep", "names", "threads"):
        other = recording(3000000, shape)
        taken, most, _ = text_and_json(other)
        rows.row("%s, text + JSON, median" % shape, taken, "s")
        rows.row("%s, text + JSON, worst" % shape, most, "s")
        rows.row("%s, to the loop of steps" % shape, taken / cpu[3], "x", 2)
        shutil.rmtree(other)
    job_of_many_ranks()
    rows.head("Exports of 10 M zones")
    for to, bar in (("chrome", 5), ("perfetto", 3)):
        taken, memory = several(STROBE, "export", folder, "--to", to, "--no-findings", "-o", "/dev/null")
        rows.row("%s, zones per second of CPU, median" % to, 10 / taken[ROUNDS // 2], "M/s", bar, ">=")
        rows.row("%s, zones per second of CPU, worst" % to, 10 / taken[-1], "M/s")
        rows.row("%s, memory" % to, memory, "MiB", 64)
    packed = pathlib.Path("packed.strobe")
    run(STROBE, "export", folder, "--to", "packed", "-o", packed)
    rows.row("packed, bytes per zone", packed.stat().st_size / 1e7, "bytes", 5.2)
    rows.head("The page of 10 M zones")
    _, wall, memory = run(STROBE, "report", folder, "--format", "html", "-o", "page.html")
    rows.row("file", pathlib.Path("page.html").stat().st_size / 1e6, "MB", 10)
    rows.row("time to make it", wall, "s")
    page_speed("page.html")
    rows.head("The page of a Kineto trace of 400 000 events")
    kineto("trace.json", 400000)
    run(STROBE, "report", "trace.json", "--format", "html", "-o", "trace.html")
    page_speed("trace.html")
    shutil.rmtree(folder)


main()
