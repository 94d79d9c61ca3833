"""Benchmark rows of Python scripts: printed for people, appended to $STROBE_BENCH_ROWS for machines."""
import json
import os


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
