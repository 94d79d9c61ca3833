"""Import by the clock on all cores and by CPU time, export by CPU time. usage: exchange_bench.py BUILD"""
import gzip
import json
import os
import pathlib
import re
import resource
import subprocess
import sys
import tempfile
import time

BUILD = pathlib.Path(sys.argv[1])
SOURCE = pathlib.Path(__file__).resolve().parent.parent
STROBE = BUILD / "strobe"
ROUNDS = 7
ZONES = int(os.environ.get("STROBE_BENCH_ZONES", 10_000_000))
MEGABYTES = float(os.environ.get("STROBE_BENCH_MEGABYTES", 200))

LOAD = "import gzip,json,sys; f=sys.argv[1]; json.load((gzip.open if f.endswith('.gz') else open)(f))"
SHAPES = (("plain", "k.json", ()), ("gzip", "k.json.gz", ()), ("any order", "shuffled.json", ("--shuffle",)), ("48 blocks", "deep.json", ("--blocks", "48")))
REAL = (("torch 2.11 on an H200", "data/kineto-h200"), ("torch 2.15, plain", "exchange/traces/torch-2.15-plain"), ("torch 2.15, Python stacks", "exchange/traces/torch-2.15-stacks"),
        ("torch 2.3, shapes and memory", "exchange/traces/torch-2.3-shapes-memory"),
        ("torch 2.15, shapes and memory", "exchange/traces/torch-2.15-shapes-memory"))


def repeated(source, out, megabytes):
    """A real trace as its profiler wrote it, again and again: later each time, with numbers of its own."""
    with gzip.open(source, "rt") as f:
        head, events = re.split(r'(?<="traceEvents": \[)', f.read(), maxsplit=1)
        events, tail = events[:events.rindex("]")].rstrip(), events[events.rindex("]"):]
    at = [int(t) for t in re.findall(r'"ts": (\d+)', events)]
    lasts_us = max(at) - min(at) + 1000
    with open(out, "w") as f:
        f.write(head + events)
        for k in range(1, int(megabytes * 1e6 / len(events))):
            more = re.sub(r'"ts": (\d+)', lambda m: f'"ts": {int(m[1]) + k * lasts_us}', events)
            more = re.sub(r'"(correlation|External id|id)": (\d+)', lambda m: f'"{m[1]}": {int(m[2]) + k * 1000000}', more)
            f.write("," + more)
        f.write(tail)


def row(what, value, unit, bar=None, least=True):
    ok = None if bar is None else value >= bar if least else value <= bar
    against = "" if bar is None else f"{'>=' if least else '<='} {bar:g}{'' if ok else '   MISSED'}"
    print(f"  {what:<58} {value:>9.2f} {unit:<8} {against}")
    rows = os.environ.get("STROBE_BENCH_ROWS")
    if rows:
        with open(rows, "a") as out:
            out.write(json.dumps({"what": what, "value": value, "unit": unit, "bar": bar, "ok": ok}) + "\n")


def taken(*command):
    """CPU and wall seconds of a command: of the first, other programs on the machine do not count."""
    begin = time.perf_counter()
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([str(c) for c in command], check=True, stdout=subprocess.DEVNULL)
    wall = time.perf_counter() - begin
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, wall


def cpu_s(*command):
    return taken(*command)[0]


def peak_mib(*command):
    """The largest resident size of one command."""
    code = "import resource,subprocess,sys; subprocess.run(sys.argv[1:],check=True,stdout=subprocess.DEVNULL); print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    return int(subprocess.run([sys.executable, "-c", code, *map(str, command)], check=True, stdout=subprocess.PIPE).stdout) / 1024


def median(values):
    return sorted(values)[len(values) // 2]


def against_json_load(what, trace, run):
    cpu, wall, tokens = [], [], []
    for _ in range(ROUNDS):
        python = taken(sys.executable, "-c", LOAD, trace)
        subprocess.run(["rm", "-rf", run], check=True)
        ours = taken(STROBE, "import", trace, "-q", "-o", run)
        cpu.append(python[0] / ours[0])
        wall.append(python[1] / ours[1])
        tokens.append(python[1] / taken(BUILD / "bench/token_floor", trace)[1])
    what = f"Kineto import of {what}, json.load / import"
    row(f"{what}, wall, median, load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores", median(wall), "x", 8)
    row(f"{what}, wall, worst", min(wall), "x")
    row(f"{what}, CPU, median", median(cpu), "x", 6)
    row(f"{what}, CPU, worst", min(cpu), "x")
    row(f"{what}, wall, if it only read the tokens, median", median(tokens), "x")


def main():
    print("\nimport and export")
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR", "/var/tmp")) as folder:
        folder = pathlib.Path(folder)
        trace, run = folder / "k.json", folder / "run"
        for shape, name, more in SHAPES:
            size = MEGABYTES if shape == "plain" else MEGABYTES / 4
            subprocess.run([sys.executable, SOURCE / "tests/exchange/make_kineto.py", folder / name, "--megabytes", str(size), *more], check=True)
            against_json_load(f"{size:.0f} MB, {shape}", folder / name, run)
        for what, name in REAL:
            repeated(SOURCE / "tests" / f"{name}.json.gz", folder / "real.json", MEGABYTES / 4)
            against_json_load(f"{MEGABYTES / 4:.0f} MB, {what}", folder / "real.json", run)
        trace = folder / SHAPES[0][1]
        subprocess.run(["rm", "-rf", run], check=True)
        row("its memory", peak_mib(STROBE, "import", trace, "-q", "-o", run), "MiB", 64, least=False)
        zones = folder / "zones.strobe"
        subprocess.run([BUILD / "tests/make_zones", str(ZONES), zones], check=True)
        for name, bar in (("chrome", 5), ("perfetto", 3)):
            out = folder / "out"
            rates = [ZONES / 1e6 / cpu_s(STROBE, "export", zones, "--to", name, "--no-findings", "-q", "-o", out) for _ in range(3)]
            row(f"{name} export of {ZONES / 1e6:g} M zones, median", median(rates), "M/s", bar)
            row(f"{name} export of {ZONES / 1e6:g} M zones, worst", min(rates), "M/s")
            row("its memory", peak_mib(STROBE, "export", zones, "--to", name, "--no-findings", "-q", "-o", out), "MiB", 64, least=False)


main()
