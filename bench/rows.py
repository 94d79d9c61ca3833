"""What Python benchmarks share: a command and what it took; rows printed for people, appended to $STROBE_BENCH_ROWS for machines."""
import json
import os
import subprocess
import sys
import time


def run(*command):
    """CPU seconds, wall seconds and peak MiB of a command."""
    begin = time.perf_counter()
    pid = subprocess.Popen([str(c) for c in command], stdout=subprocess.DEVNULL).pid
    _, status, usage = os.wait4(pid, 0)
    if status:
        sys.exit("failed: " + " ".join(map(str, command)))
    return usage.ru_utime + usage.ru_stime, time.perf_counter() - begin, usage.ru_maxrss / 1024


def head(title):
    print("\n" + title, flush=True)


def row(what, value, unit, bar=None, relation="<="):
    ok = None if bar is None else (value <= bar if relation == "<=" else value >= bar)
    line = "  %-58s %9.3f %-8s" % (what, value, unit)
    if bar is not None:
        line += " %s %-7g %s" % (relation, bar, "ok" if ok else "MISSED")
    print(line, flush=True)
    path = os.environ.get("STROBE_BENCH_ROWS")
    if not path:
        return
    entry = {"what": what, "value": value, "unit": unit}
    if bar is not None:
        entry.update(bar=bar, relation=relation, ok=ok)
    with open(path, "a") as file:
        file.write(json.dumps(entry) + "\n")
