#!/usr/bin/env python3
"""What a Python section costs, as ratios measured side by side in one run.

    PYTHONPATH=build/python python3 bench/python_bench.py
"""
import collections
import contextlib
import shutil
import statistics
import tempfile
import time

import rows
import strobe

ROUNDS, COUNT = 15, 20000
BARS = {"section_to_contextmanager_ratio": 1 / 10, "section_to_record_function_active_ratio": 1 / 40}
_stats = collections.defaultdict(list)


@contextlib.contextmanager
def timer(name):
    begin = time.perf_counter()
    try:
        yield
    finally:
        _stats[name].append(time.perf_counter() - begin)


class Bare:
    def __enter__(self):
        return self

    def __exit__(self, *error):
        return None


def empty(n):
    for _ in range(n):
        pass


def section(n):
    make = strobe.section
    for _ in range(n):
        with make("work"):
            pass


def section_by_attribute(n):
    for _ in range(n):
        with strobe.section("work"):
            pass


def section_with_attributes(n):
    for _ in range(n):
        with strobe.section("work", frames=16):
            pass


def contextmanager_timer(n):
    for _ in range(n):
        with timer("work"):
            pass
    _stats.clear()


def bare_python_with(n):
    bare = Bare()
    for _ in range(n):
        with bare:
            pass


def bare_c_with(n):
    import threading
    lock = threading.RLock()
    for _ in range(n):
        with lock:
            pass


@strobe.profile
def decorated():
    pass


def plain():
    pass


def call_decorated(n):
    for _ in range(n):
        decorated()


def call_plain(n):
    for _ in range(n):
        plain()


def steps(n):
    for _ in strobe.steps(range(n)):
        pass


def measure(cases, count=COUNT, rounds=ROUNDS):
    """Median ns per turn of each case, the cases interleaved. A case may return its own ns."""
    seen = {case: [] for case in cases}
    for _ in range(rounds):
        for case in cases:
            begin = time.perf_counter_ns()
            own_ns = case(count)
            seen[case].append((own_ns or time.perf_counter_ns() - begin) / count)
    return {case.__name__: statistics.median(values) for case, values in seen.items()}


def record_function_cases():
    """torch's record_function, idle and active; None without torch."""
    try:
        import torch
    except ImportError:
        return None

    def record_function(n):
        for _ in range(n):
            with torch.profiler.record_function("work"):
                pass

    def record_function_active(n):
        # What the profiler does with its events afterwards is not counted.
        with torch.autograd.profiler.profile():
            begin = time.perf_counter_ns()
            record_function(n)
            return time.perf_counter_ns() - begin

    return record_function, record_function_active


def main():
    folder = tempfile.mkdtemp(prefix="strobe-bench-")
    off = measure([empty, section, call_decorated, call_plain])
    strobe.start("bench", output_dir=folder, config={"generate_final_report": False})
    on = measure([empty, section, section_by_attribute, section_with_attributes, contextmanager_timer,
                  bare_python_with, bare_c_with, call_decorated, call_plain, steps])
    figures = {
        "section_off_ns": off["section"] - off["empty"],
        "section_ns": on["section"] - on["empty"],
        "strobe.section_ns": on["section_by_attribute"] - on["empty"],
        "section_with_attribute_ns": on["section_with_attributes"] - on["empty"],
        "profile_adds_ns": on["call_decorated"] - on["call_plain"],
        "profile_off_adds_ns": off["call_decorated"] - off["call_plain"],
        "steps_ns": on["steps"] - on["empty"],
        "bare_c_with_ns": on["bare_c_with"] - on["empty"],
        "bare_python_with_ns": on["bare_python_with"] - on["empty"],
        "contextmanager_timer_ns": on["contextmanager_timer"] - on["empty"],
    }
    figures["section_to_contextmanager_ratio"] = figures["section_ns"] / figures["contextmanager_timer_ns"]
    cases = record_function_cases()
    if cases:
        # Fewer turns: the active one keeps every event.
        torch_rows = measure([empty, section, *cases], 2000, 5)
        figures["record_function_idle_ns"] = torch_rows["record_function"] - torch_rows["empty"]
        figures["record_function_active_ns"] = torch_rows["record_function_active"] - torch_rows["empty"]
        figures["section_to_record_function_active_ratio"] = \
            (torch_rows["section"] - torch_rows["empty"]) / figures["record_function_active_ns"]
    strobe.stop()
    shutil.rmtree(folder, ignore_errors=True)
    rows.head("A section in Python")
    for name, value in figures.items():
        if name.endswith("_ratio"):
            rows.row(name[:-6].replace("_", " "), value, "x", BARS[name])
        else:
            rows.row(name[:-3].replace("_", " "), value, "ns")


if __name__ == "__main__":
    main()
