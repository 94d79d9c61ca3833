"""What needs no GPU but is proved on the same machine: the build, its tests with this torch, the cost of zones."""
import glob
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

from proving import BUILD, ROOT, left_out, row

SECONDS = 150


def run(command, **environment):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=SECONDS,
                          env=dict(os.environ, **environment), cwd=tempfile.mkdtemp(prefix="strobe-prove-"))
    print(done.stdout[-6000:])
    return done


def has(module):
    return subprocess.run([sys.executable, "-c", "import " + module], capture_output=True).returncode == 0


def bench(what, command, **environment):
    """A benchmark of bench/: those of its rows that have a bar."""
    path = os.path.join(tempfile.mkdtemp(prefix="strobe-prove-"), "rows")
    done = run(command, STROBE_BENCH_ROWS=path, STROBE_BUILD=BUILD, **environment)
    if done.returncode or not os.path.exists(path):
        row(what, "exit %d" % done.returncode, "exit 0", False)
        return
    for line in open(path):
        r = json.loads(line)
        if "bar" in r:
            row("%s: %s" % (what, r["what"]), "%.3f %s" % (r["value"], r["unit"]), "%s %g" % (r["relation"], r["bar"]), r["ok"])


def zone_cost():
    bench("zones in C, " + platform.machine(), [os.path.join(BUILD, "bench", "zone_bench")])


def section_cost():
    for script in ("python_bench.py", "gpu_bench.py"):
        bench("sections in Python %d.%d" % sys.version_info[:2], [sys.executable, os.path.join(ROOT, "bench", script)])


def native_tests():
    """Everything that CTest has here, less what takes minutes or a browser."""
    if not os.path.exists(os.path.join(BUILD, "tests", "gpu_zone_test")):
        left_out("unit tests in C", "cmocka was not found when this was built")
    if not shutil.which("npm"):
        left_out("the page's tests", "npm is not installed")
    done = run(["ctest", "--test-dir", BUILD, "-j", str(os.cpu_count()), "-E", "^(fuzz|sanitize|page|python|serve|tools)(/|$)",
                "--timeout", "100", "--output-on-failure"])
    found = re.search(r"\d+% tests passed(?:, (\d+) tests? failed)? out of (\d+)", done.stdout)
    if not found:
        row("CTest", done.stdout.strip()[-60:], "runs", False)
        return
    failed = re.findall(r"^\s*\d+ - (\S+) \((?!Skipped)", done.stdout, re.M)
    bad = int(found[1] or 0)
    row("CTest: tests passed", "%d of %s" % (int(found[2]) - bad, found[2]), "all%s" % (" but " + ", ".join(failed) if failed else ""), bad == 0)


def python_tests():
    """tests/python with this interpreter and this torch, one process for each file."""
    if not has("pytest"):
        left_out("tests/python", "pytest is not installed (a folder that holds it may be in PYTHONPATH)")
        return
    version = subprocess.run([sys.executable, "-c", "import torch; print(torch.__version__)"], capture_output=True, text=True).stdout.strip()

    def one(path):
        return run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", path], STROBE_TOOL=os.path.join(BUILD, "strobe"),
                   PYTHONDONTWRITEBYTECODE="1")
    files = sorted(glob.glob(os.path.join(ROOT, "tests", "python", "test_*.py")))
    with ThreadPoolExecutor(max(1, (os.cpu_count() or 2) // 2)) as pool:
        results = list(pool.map(one, files))
    counts = {word: sum(int(n) for r in results for n in re.findall(r"(\d+) %s" % word, r.stdout.splitlines()[-1] if r.stdout else ""))
              for word in ("passed", "failed", "skipped", "error")}
    bad = [os.path.basename(f) for f, r in zip(files, results) if r.returncode not in (0, 5)]
    row("tests/python, Python %d.%d, torch %s" % (*sys.version_info[:2], version or "absent"),
        "%(passed)d passed, %(skipped)d skipped" % counts, "none fails%s" % (": " + ", ".join(bad) if bad else ""), not bad and counts["passed"] > 0)
