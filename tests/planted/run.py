#!/usr/bin/env python3
"""Runs the planted problems under strobe and says which were named.

    tests/planted/run.py --list
    tests/planted/run.py --only slow_png --json out.json
    tests/planted/run.py --needs cuda --shard 0/3 --at-once 4 --json shard0.json
    tests/planted/run.py --merge shard*.json
    tests/planted/run.py --keep folder --again --measured measured.jsonl

Those of issue trackers that are known best and the healthy ones run first; --json and the table are written after each
program, so that a run that is cut keeps what it has. --again reports recordings that --keep left, without a GPU.

Each problem runs three times: with --gpu-trace=steps:3 where there is a GPU, without any flag, and fixed, without any
flag (what only a trace shows is fixed with one, too, and need not be named without). A problem is named when one of the first two findings has one of its ids and its place: the planted line (three
lines off at most), or its stage. The measured saving is the time of the generations, planted minus fixed; as for what is
predicted, the first of three or more is left out: it is cold, and takes as long as some problems cost."""
import argparse
import concurrent.futures
import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import beside  # noqa: E402
import problem as problems  # noqa: E402

LINES_OFF = 3
IMPORTS_MOST_S = 1200  # and the turns of all before it
FIRST = ("isnan_in_every_block", "attention_is_math", "vae_in_fp32", "numpy_in_the_callback", "empty_cache_every_step", "cudnn_is_off",
         "offloaded_every_step", "latents_to_the_host_and_back", "gc_with_a_large_heap", "vram_leaks", "recompiles_by_shape", "png_of_every_frame")


def table(python, environment):
    code = ("import sys, json; sys.path.insert(0, %r); import problem\n"
            "for family in %r:\n"
            "    try: __import__(family)\n"
            "    except ImportError as error: print(error, file=sys.stderr)\n"
            "print(json.dumps([dict(name=p.name, ids=p.ids, healthy=p.healthy, stage=p.stage, needs=p.needs, traced=p.traced, file=p.file, lines=p.lines)"
            " for p in problem.TABLE.values()]))" % (HERE, problems.FAMILIES))
    made = subprocess.run([python, "-c", code], env=environment, stdout=subprocess.PIPE, check=True)
    return json.loads(made.stdout.splitlines()[-1])


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--only", help="names, with commas")
    parser.add_argument("--family", help="those of one file: %s" % ", ".join(problems.FAMILIES))
    parser.add_argument("--needs", help="those that need this and no more: none, torch, diffusers, cuda")
    parser.add_argument("--shard", default="0/1")
    parser.add_argument("--json", dest="out")
    parser.add_argument("--keep", help="a folder for the recordings")
    parser.add_argument("--again", action="store_true", help="report the recordings in the folder of --keep; run nothing")
    parser.add_argument("--measured", help="what measure.py wrote: its savings in place of plain minus fixed")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--strobe", default=shutil.which("strobe") or "strobe")
    parser.add_argument("--at-once", type=int, default=1, help="programs that import side by side; they still run one by one")
    parser.add_argument("--variants", default="", help="of: traced, plain, fixed; all that apply")
    parser.add_argument("--timeout", type=float, default=120)
    parser.add_argument("--least", type=float, help="fail when a smaller share is named, a healthy program is told HIGH, or a fixed one its problem")
    parser.add_argument("--merge", nargs="*", help="tables of shards")
    return parser.parse_args()


def chosen(all_of_them, options):
    index, count = (int(part) for part in options.shard.split("/"))
    only = options.only.split(",") if options.only else None
    names = [p for p in all_of_them if (only is None or p["name"] in only)
             and (options.family is None or os.path.basename(p["file"]) == options.family + ".py")
             and (options.needs is None or p["needs"] == options.needs.replace("none", ""))]
    names.sort(key=lambda p: not p["healthy"] and p["name"] not in FIRST)
    return names[index::count]


def variants_of(problem, options):
    if options.variants:
        wanted = options.variants.split(",")
    else:
        wanted = ["traced", "plain", "fixed"]
    gpu = problem["needs"] == "cuda"
    return [v for v in wanted if (v != "traced" or gpu) and (v != "fixed" or not problem["healthy"])]


def run_one(problem, variant, folder, options, turn=None):
    """The report of one run; a line of why not in its place."""
    base = os.path.join(folder, problem["name"] + "." + variant)
    if options.again:
        return told(base, options)
    command = [options.strobe, "run", "-o", base]
    command += ["--gpu-trace=steps:3"] if variant == "traced" or variant == "fixed" and problem.get("traced") else []
    command += ["--", options.python, os.path.join(HERE, "program.py"), problem["name"]] + turn.arguments()
    command += ["--fixed"] if variant == "fixed" else []
    with open(base + ".out", "w+b") as out:
        made = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, start_new_session=True)
        RUNNING.add(made.pid)
        try:
            turn.watch(made, options.timeout)
            made.wait(options.timeout)
        except subprocess.TimeoutExpired:
            os.killpg(made.pid, signal.SIGKILL)
            made.wait()
            return {"failed": "timeout"}
        finally:
            RUNNING.discard(made.pid)
            turn.pass_on()
        out.seek(0)
        if made.returncode:
            return {"failed": out.read().decode(errors="replace")[-1500:]}
    return told(base, options)


RUNNING = set()  # sessions of processes that a cut run must not leave on the GPU


def end_all(number, frame):
    for pid in list(RUNNING):
        os.killpg(pid, signal.SIGKILL)
    os._exit(128 + number)


class Turns:
    """Programs run one after the other, in order, however many of them import meanwhile."""

    def __init__(self, folder, count):
        self.all = []
        for number in range(count):
            lock = open(os.path.join(folder, "turn.%d" % number), "w")
            fcntl.flock(lock, fcntl.LOCK_EX)
            if os.path.exists(lock.name + ".taken"):
                os.unlink(lock.name + ".taken")
            self.all.append(Turn(self, number, lock))
        self.open(0)

    def open(self, number):
        if number < len(self.all):
            self.all[number].lock.close()
            self.all[number].opened.set()


class Turn:
    def __init__(self, turns, number, lock):
        self.turns, self.number, self.lock, self.opened = turns, number, lock, threading.Event()

    def arguments(self):
        return ["--turn", self.lock.name]

    def program(self):
        """The process that has taken it; 0: none has yet."""
        try:
            with open(self.lock.name + ".taken") as taken:
                return int(taken.read())
        except OSError:
            return 0

    def watch(self, process, most_s):
        """Passes the turn on when the program's process is gone; what strobe does after it needs no GPU."""
        deadline = time.monotonic() + IMPORTS_MOST_S
        taken = 0
        other = beside.Beside(self.lock.name)
        try:
            self._watch(process, most_s, deadline, taken, other)
        finally:
            other.end()
        self.pass_on()

    def _watch(self, process, most_s, deadline, taken, other):
        while process.poll() is None and not (taken and is_gone(taken)):
            other.look()
            if not taken:
                taken = self.program()
                deadline = time.monotonic() + most_s if taken else deadline
            if time.monotonic() > deadline:
                raise subprocess.TimeoutExpired("the program", most_s)
            time.sleep(0.02)

    def pass_on(self):
        """Once it has come: a program that dies while it imports lets none run beside the one before it."""
        self.opened.wait()
        self.turns.open(self.number + 1)


def is_gone(pid):
    """A zombie is: its files and its GPU memory are."""
    try:
        with open("/proc/%d/stat" % pid) as stat:
            return stat.read().rpartition(")")[2].split()[0] in "ZX"
    except OSError:
        return True


def told(base, options):
    made = subprocess.run([options.strobe, "report", base, "--format", "json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        report = json.loads(made.stdout)
        return report if report["recording"]["complete"] else {"failed": "the recording was cut"}
    except ValueError:
        return {"failed": made.stderr.decode(errors="replace")[-1500:]}


# ---- what was said ----

def has_place(problem, finding):
    where = finding.get("where", {})
    if problem["lines"] and os.path.basename(where.get("file", "")) == os.path.basename(problem["file"]):
        if any(abs(where.get("line", -99) - line) <= LINES_OFF for line in problem["lines"]):
            return True
    if problem["stage"]:
        return bool(set(problem["stage"].split("|")) & {where.get("stage"), where.get("module"), finding.get("subject")})
    return not problem["lines"]


def said(report):
    return [f for f in report.get("recommendations", []) if not f.get("startup")]


def naming(problem, report):
    """The finding among the first two that names the problem; None: none does."""
    return next((f for f in said(report)[:2] if f["id"] in problem["ids"] and has_place(problem, f)), None)


def short(finding):
    where = finding.get("where", {})
    line = "%s:%s" % (os.path.basename(where["file"]), where.get("line")) if "file" in where else where.get("stage", "")
    return {"id": finding["id"], "priority": finding["priority"], "issue": finding["issue"], "cause": finding.get("cause"),
            "place": line, "gain_s": finding.get("gain_s"), "gain_basis": finding.get("gain_basis")}


WARM_LEAST = 3  # generations, from which on the first is left out


def generation_s(report):
    made = report.get("generations", {}).get("items", [])
    if len(made) < WARM_LEAST:
        return report.get("summary", {}).get("generation_s")
    return sum(one["wall_s"] for one in made[1:])


def loop_s(report):
    """From the first generation's end to the last one's, with what lies between them."""
    made = report.get("generations", {}).get("items", [])
    return made[-1]["start_s"] + made[-1]["wall_s"] - made[0]["start_s"] - made[0]["wall_s"] if made else None


def time_of(problem, report):
    return loop_s(report) if {"between_generations", "input_starved"} & set(problem["ids"]) else generation_s(report)


ALWAYS = ("id", "priority", "issue", "cause", "where", "suggestion", "evidence", "effort", "confidence", "explains")


def lacking(report):
    """Keys that a finding has to have and has not; gain_s and gain_basis come together or not at all."""
    made = ["%s: %s" % (f["id"], key) for f in report["recommendations"] for key in ALWAYS if not isinstance(f.get(key), (str, dict, list))]
    return made + ["%s: gain_basis" % f["id"] for f in report["recommendations"] if ("gain_s" in f) != ("gain_basis" in f)]


def row(problem, reports, measured):
    made = {"name": problem["name"], "healthy": problem["healthy"], "ids": problem["ids"], "needs": problem["needs"], "traced_only": problem.get("traced", False)}
    for variant, report in reports.items():
        if "failed" in report:
            made[variant] = {"failed": report["failed"]}
            continue
        found = naming(problem, report)
        made[variant] = {"generation_s": time_of(problem, report), "lacking": lacking(report), "said": [short(f) for f in said(report)[:5]],
                         "named": found is not None, "gain_s": found.get("gain_s") if found else None}
    plain, fixed = (made.get(v, {}).get("generation_s") for v in ("plain", "fixed"))
    made["measured_s"] = measured.get(problem["name"], plain - fixed if plain is not None and fixed is not None else None)
    return made


def text_of(rows):
    lines = []
    for r in rows:
        for variant in ("traced", "plain"):
            one = r.get(variant)
            if one is None:
                continue
            if "failed" in one:
                lines.append("%-34s %-7s FAILED %s" % (r["name"], variant, one["failed"].strip().splitlines()[-1:]))
                continue
            first, second = (one["said"] + [{"id": "nothing", "place": "", "priority": ""}] * 2)[:2]
            lines.append("%-34s %-7s %-4s first: %-46s second: %-46s predicted %s measured %s%s" % (
                r["name"], variant, "" if r["healthy"] else "yes" if one["named"] else "NO" if is_to_be_named(r, variant) else "-", in_short(first), in_short(second),
                number(one["gain_s"]), number(r["measured_s"]), ratio(one["gain_s"], r["measured_s"])))
    return "\n".join(lines + totals(rows)) + "\n"


def is_to_be_named(row, variant):
    return variant == "traced" or not row["traced_only"]


def in_short(finding):
    return " ".join(part for part in (finding["priority"].upper(), finding["id"], finding["place"]) if part)


def ratio(predicted, measured):
    return " (%.2f x)" % (predicted / measured) if predicted and measured and measured > 0 else ""


def number(value):
    return "-" if value is None else "%.2f s" % value


def totals(rows):
    lines = []
    for variant in ("traced", "plain"):
        sick = [r for r in rows if not r["healthy"] and "said" in r.get(variant, {}) and is_to_be_named(r, variant)]
        named = [r for r in sick if r[variant].get("named")]
        stated = [r for r in named if r[variant].get("gain_s") and r["measured_s"]]
        near = [r for r in stated if 0.5 <= r[variant]["gain_s"] / r["measured_s"] <= 2]
        well = [r for r in rows if r["healthy"] and "said" in r.get(variant, {})]
        high = sum(any(f["priority"] == "high" for f in r[variant]["said"]) for r in well)
        medium = sum(sum(f["priority"] == "medium" for f in r[variant]["said"]) > 1 for r in well)
        failed = sum("failed" in r.get(variant, {}) for r in rows)
        lines.append("%s: %d of %d named, %d more failed; saving within 2x for %d of %d; of %d healthy %d with a HIGH, %d with two MEDIUM"
                     % (variant, len(named), len(sick), failed, len(near), len(stated), len(well), high, medium))
    return lines


def main():
    options = arguments()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, end_all)
    if options.merge:
        rows = [r for path in options.merge for r in json.load(open(path))]
        print(text_of(rows), end="")
        return
    problems = chosen(table(options.python, dict(os.environ)), options)
    if options.list:
        for p in problems:
            print("%-34s %-6s %s" % (p["name"], p["needs"] or "-", "healthy" if p["healthy"] else ", ".join(p["ids"])))
        return
    folder = options.keep or tempfile.mkdtemp(prefix="planted-")
    os.makedirs(folder, exist_ok=True)
    rows = rows_of(problems, folder, options)
    if not options.keep:
        shutil.rmtree(folder, ignore_errors=True)
    print(text_of(rows), end="")
    if options.least is not None and not good_enough(rows, options.least):
        sys.exit(1)


def rows_of(problems, folder, options):
    """Runs the programs; the JSON and the table beside it (.txt) are written anew after each."""
    jobs = [(p, v) for p in problems for v in variants_of(p, options)
            if not options.again or os.path.exists(os.path.join(folder, p["name"] + "." + v))]
    measured, reports, rows = savings(options.measured), {}, []
    turns = Turns(folder, 0 if options.again else len(jobs)).all or [None] * len(jobs)
    with concurrent.futures.ThreadPoolExecutor(options.at_once) as pool:
        running = {pool.submit(run_one, p, v, folder, options, turn): (p["name"], v) for (p, v), turn in zip(jobs, turns)}
        for done in concurrent.futures.as_completed(running):
            name, variant = running[done]
            reports.setdefault(name, {})[variant] = done.result()
            rows = [row(p, reports[p["name"]], measured) for p in problems if p["name"] in reports]
            write(rows, options.out)
    return rows


def savings(path):
    if not path:
        return {}
    with open(path) as lines:
        made = [json.loads(line) for line in lines if line.endswith("}\n")]
    return {one["name"]: one["measured_s"] for one in made if "measured_s" in one}


def write(rows, path):
    if not path:
        return
    for name, text in ((path, json.dumps(rows, indent=1)), (os.path.splitext(path)[0] + ".txt", text_of(rows))):
        with open(name + ".new", "w") as out:
            out.write(text)
        os.replace(name + ".new", name)


def good_enough(rows, least):
    lacks = [(r["name"], one["lacking"]) for r in rows for one in r.values() if isinstance(one, dict) and one.get("lacking")]
    if lacks:
        print("findings without a key:", lacks)
        return False
    sick = [r["plain"] for r in rows if not r["healthy"] and "plain" in r and is_to_be_named(r, "plain")]
    well = [r["plain"] for r in rows if r["healthy"] and "plain" in r]
    mended = [(r["ids"], r["fixed"]) for r in rows if "fixed" in r]
    if any("failed" in one for one in sick + well + [one for _, one in mended]):
        return False
    if any(f["id"] in ids for ids, one in mended for f in one["said"]):
        return False  # a finding that stays when its problem is gone
    return sum(one["named"] for one in sick) >= least * len(sick) and not any(f["priority"] == "high" for one in well for f in one["said"])


if __name__ == "__main__":
    main()
