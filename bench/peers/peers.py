#!/usr/bin/env python3
"""The same pipeline under strobe and under other profilers: time, memory, bytes, and whether the answer was right.

usage: peers.py BUILD ENVIRONMENT [TORCH_ENVIRONMENT]    (make peers)

Each is run as its own documentation says, in turns with the plain program. The answer: what shares of `generate`
the stages attention, mlp and vae_decode took, against the timers of the plain program.
"""
import json
import marshal
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import rows  # noqa: E402

BUILD, ENVIRONMENT = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2])
TORCH = pathlib.Path(sys.argv[3]) if len(sys.argv) > 3 else None
PIPELINE = str(HERE / "pipeline.py")
STAGES = ("attention", "mlp", "vae_decode")
STEPS, ROUNDS = os.environ.get("PEERS_STEPS", "100"), int(os.environ.get("PEERS_ROUNDS", "5"))
RIGHT_POINTS = 3  # a share may be off by so much


def wall_and_memory(command, env):
    begin = time.perf_counter()
    pid = subprocess.Popen([str(c) for c in command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                           env=dict(os.environ, **env)).pid
    _, status, usage = os.wait4(pid, 0)
    if status:
        raise RuntimeError("status %d: %s" % (status, " ".join(map(str, command))))
    return time.perf_counter() - begin, usage.ru_maxrss / 1024


def shares(seconds):
    return {name: seconds.get(name, 0) / (seconds.get("generate") or 1) for name in STAGES}


# ---- what each one answers, in seconds by function ----

def strobe_answer(folder):
    done = subprocess.run([BUILD / "strobe", "report", folder / "runs" / "last", "--format", "json"], stdout=subprocess.PIPE, check=True)
    return {s["name"]: s["total_s"] for s in json.loads(done.stdout)["stage_analysis"]["stages"]}


def cprofile_answer(folder):
    with open(folder / "out.prof", "rb") as file:
        return {name: row[3] for (_, _, name), row in marshal.load(file).items()}


def chrome_answer(folder):
    seconds = {}
    with open(folder / "out.json") as file:
        for event in json.load(file)["traceEvents"]:
            if event.get("ph") == "X":
                name = event["name"].split(" ")[0]
                seconds[name] = seconds.get(name, 0) + event["dur"] / 1e6
    return seconds


def pyinstrument_answer(folder):
    seconds = {}

    def add(frame):
        seconds[frame["function"]] = seconds.get(frame["function"], 0) + frame["time"]
        for child in frame["children"]:
            add(child)
    add(json.loads((folder / "out.json").read_text())["root_frame"])
    return seconds


def scalene_answer(folder):
    """It counts functions by themselves: what a stage calls is added; the total is the program's."""
    found = json.loads((folder / "out.json").read_text())
    percent = {}
    for file in found["files"].values():
        for f in file["functions"]:
            name = f["line"].split(".")[-1]
            percent[name] = percent.get(name, 0) + f["n_cpu_percent_python"] + f["n_cpu_percent_c"] + f["n_sys_percent"]
    percent["attention"] = percent.get("attention", 0) + percent.get("tiny", 0)
    return dict(percent, generate=sum(percent.get(n, 0) for n in (*STAGES, "timed", "denoise", "generate", "main")))


def line_profiler_answer(folder):
    code = ("import json, sys, line_profiler as l; s = l.load_stats(sys.argv[1]); "
            "print(json.dumps({k[2].split('.')[-1]: sum(t for _, _, t in v) * s.unit for k, v in s.timings.items()}))")
    done = subprocess.run([ENVIRONMENT / "bin/python", "-c", code, folder / "out.lprof"], stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


def peers(folder):
    """name, command, environment variables, how its answer is read."""
    python = ENVIRONMENT / "bin/python"
    program = [PIPELINE, STEPS]
    out = folder / "out.json"
    stages = [word for name in ("generate", *STAGES) for word in ("--stage", "pipeline:%s=%s" % (name, name))]
    ours = {"PYTHONPATH": str(BUILD / "python")}
    yield "strobe run --stage", [BUILD / "strobe", "run", "-q", "-o", folder / "runs", *stages, "--", python, *program], ours, strobe_answer
    yield "cProfile", [python, "-m", "cProfile", "-o", folder / "out.prof", *program], {}, cprofile_answer
    yield "viztracer", [python, "-m", "viztracer", "--quiet", "--tracer_entries", "10000000", "-o", out, *program], {}, chrome_answer
    yield "pyinstrument", [python, "-m", "pyinstrument", "-r", "json", "-o", out, *program], {}, pyinstrument_answer
    yield "scalene", [python, "-m", "scalene", "run", "-o", out, *program], {}, scalene_answer
    yield "line_profiler", [python, "-m", "kernprof", "-l", "-q", "-p", PIPELINE, "-o", folder / "out.lprof", *program], {}, line_profiler_answer
    if TORCH:
        yield "torch.profiler", [TORCH / "bin/python", *program], {"PEER": "torch", "PEER_OUT": str(out)}, chrome_answer


def measure(name, command, env, answer, plain, folder):
    ratios, memory, size, said = [], 0, 0, {}
    for _ in range(ROUNDS):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        before, base = wall_and_memory(plain, {})
        took, mib = wall_and_memory(command, env)
        ratios.append(took / before)
        memory = max(memory, mib - base)
        size = sum(p.stat().st_size for p in folder.rglob("*") if p.is_file() and not p.is_symlink())
        with ProcessPoolExecutor(1) as reader:  # a trace of gigabytes would otherwise count as the next program's memory
            said = shares(reader.submit(answer, folder).result())
    return statistics.median(ratios), max(ratios), memory, size, said


def main():
    folder = pathlib.Path("peers.work").resolve()
    folder.mkdir(exist_ok=True)
    python = ENVIRONMENT / "bin/python"
    true_shares = []
    for _ in range(ROUNDS):
        wall_and_memory([python, PIPELINE, STEPS, folder / "truth.json"], {})
        true_shares.append(shares(json.loads((folder / "truth.json").read_text())))
    truth = {name: statistics.median(s[name] for s in true_shares) for name in STAGES}
    torch_plain = [TORCH / "bin/python", "-c", "import sys, torch, runpy; sys.argv = sys.argv[1:]; runpy.run_path(sys.argv[0], run_name='__main__')",
                   PIPELINE, STEPS] if TORCH else None
    rows.head("The same pipeline under profilers, load %.1f; true shares: %s" % (
        os.getloadavg()[0], ", ".join("%s %.1f %%" % (n, 100 * truth[n]) for n in STAGES)))
    for name, command, env, answer in peers(folder):
        try:
            plain = torch_plain if name.startswith("torch") else [python, PIPELINE, STEPS]
            median, worst, memory, size, said = measure(name, command, env, answer, plain, folder)
        except (RuntimeError, OSError, KeyError, ValueError) as problem:
            print("  %-58s not run: %s" % (name, problem))
            continue
        off = max(abs(said[n] - truth[n]) for n in STAGES) * 100
        rows.row("%s, time, median" % name, median, "x")
        rows.row("%s, time, worst" % name, worst, "x")
        rows.row("%s, memory added" % name, memory, "MiB")
        rows.row("%s, written" % name, size / 1e6, "MB")
        rows.row("%s, its answer is off by" % name, off, "points", RIGHT_POINTS if name.startswith("strobe") else None)
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
