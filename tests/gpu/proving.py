"""What the checks of prove.py are made of: rows of the table, sessions, reports, waiting."""
import ctypes
import glob
import json
import os
import statistics
import subprocess
import tempfile
import time
from contextlib import contextmanager

import wire

BUILD = os.environ.get("STROBE_BUILD", "")
HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
TOOL = os.path.join(BUILD, "strobe")

def row(what, seen, want="", ok=None):
    print("ROW: " + json.dumps({"what": what, "seen": str(seen), "want": want, "ok": ok}), flush=True)


def below(ratio, spread, bar):
    """Is a ratio within its bar? None: its interval is too wide to tell."""
    if ratio + spread <= bar or (ratio <= bar and spread <= 0.01):
        return True
    return False if ratio - spread > bar else None


def left_out(what, why):
    """Says what could not be tried here; neither pass nor FAIL."""
    print("ROW: " + json.dumps({"what": what, "seen": "left out", "want": why, "ok": None, "left_out": True}), flush=True)


def until(condition, what, seconds=20):
    """Waits for a condition, never for a time."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited %d s for %s" % (seconds, what)
        os.sched_yield()


def near(a, b, ratio):
    return abs(a - b) <= ratio * max(abs(a), abs(b), 1e-12)


class Ratios:
    """Ratios of paired timings, by the name of what was timed."""

    def __init__(self):
        self.ratios = {}

    def ratio(self, name):
        return statistics.median(self.ratios[name])

    def spread(self, name):
        """Half the width of a 95 % interval of the median, by order statistics."""
        r, n = sorted(self.ratios[name]), len(self.ratios[name])
        k = int(0.98 * n ** 0.5)
        return (r[min(n - 1, n // 2 + k)] - r[max(0, n // 2 - k)]) / 2

    def text(self, name):
        return "%.3f x +-%.3f" % (self.ratio(name), self.spread(name))


@contextmanager
def recorded(name, config=(), **kw):
    """A session in a fresh folder; yields an object whose .recording appears afterwards."""
    import strobe
    folder = tempfile.mkdtemp(prefix="strobe-prove-")
    out = type("Result", (), {})()
    strobe.start(name, output_dir=folder, config={"generate_final_report": False, **dict(config)}, **kw)
    yield out
    strobe.stop()
    out.folder = glob.glob(os.path.join(folder, "*"))[0]
    out.recording = wire.load(out.folder)


def report(folder):
    done = subprocess.run([TOOL, "report", folder, "--format", "json"], capture_output=True, text=True, timeout=60)
    if done.returncode:
        print("report failed:", done.stderr)
        return {}
    return json.loads(done.stdout)


def find(tree, key):
    """Every value of a key, anywhere in a JSON tree."""
    if isinstance(tree, dict):
        for k, v in tree.items():
            if k == key:
                yield v
            yield from find(v, key)
    elif isinstance(tree, list):
        for v in tree:
            yield from find(v, key)


def zone_s(rec, name):
    return sum(rec.s(z.end - z.begin) for z in rec.zones if z.name == name)


def gpu_zone_s(rec, name):
    return sum(rec.s(g.duration) for g in rec.of("zone") if g.name == name)


def spin(torch, seconds):
    torch.cuda._sleep(int(seconds * 1.98e9))


def bare_library(cupti=None):
    """bare_cupti.c over the CUPTI at a path, or over the program's."""
    source, target = os.path.join(HERE, "bare_cupti.c"), os.path.join(tempfile.mkdtemp(), "libbare.so")
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-I", os.path.join(HERE, "..", "..", "src"), source, "-o", target, "-ldl"], check=True)
    bare = ctypes.CDLL(target)
    mapped = [cupti] if cupti else [line.split()[-1] for line in open("/proc/self/maps") if "libcupti" in line]
    if not mapped:
        import nvidia
        mapped = sorted(glob.glob(os.path.join(list(nvidia.__path__)[0], "*", "lib", "libcupti.so*")))
    assert bare.bare_open(mapped[0].encode()) > 0
    return bare


def bare_events():
    """The module of bare_events.c: Bare(calls, stream)."""
    import importlib.util
    import sysconfig
    source, target = os.path.join(HERE, "bare_events.c"), os.path.join(tempfile.mkdtemp(), "bare_events.so")
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-I", sysconfig.get_paths()["include"], source, "-o", target, "-ldl"], check=True)
    spec = importlib.util.spec_from_file_location("bare_events", target)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def bare_stop(bare):
    out = (ctypes.c_uint64 * 9)()
    bare.bare_stop(out)
    return list(out)
