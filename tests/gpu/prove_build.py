"""What needs no GPU but is proved on the same machine: the build, its tests with this torch, the cost of zones."""
import glob
import json
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

from proving import BUILD, ROOT, left_out, row

SECONDS = 150
# Groups that take minutes, a browser, or the frameworks' own environment. planted/ runs alone, one program after the other.
OTHER_GROUPS = ("docs", "first", "fuzz", "page", "planted", "python", "real", "sanitize", "serve", "tidy", "tools", "walk")
ENDED = re.compile(r"^\s*\d+/\d+ Test\s+#\d+: (\S+) \.*\s*(Passed|\*\*\*\S+)")


def seconds():
    """What prove.py gives this check, less what ending it in order takes."""
    return float(os.environ.get("STROBE_PROVE_S", SECONDS)) - 6


def run(command, **environment):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=SECONDS,
                          env=dict(os.environ, **environment), cwd=tempfile.mkdtemp(prefix="strobe-prove-"))
    print(done.stdout[-6000:])
    return done


def until(end, command, **environment):
    """(exit status, output) of a command; its whole group is ended when the time is up, and the status is None."""
    with tempfile.TemporaryFile("w+", errors="replace") as out:
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, env=dict(os.environ, **environment),
                                   cwd=tempfile.mkdtemp(prefix="strobe-prove-"), start_new_session=True)
        try:
            code = process.wait(max(0.1, end - time.monotonic()))
        except subprocess.TimeoutExpired:
            code = None
        finally:
            if process.returncode is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        out.seek(0)
        text = out.read()
    print(text[-6000:])
    return code, text


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
    """What CTest has here, less what takes minutes or a browser, as far as the time goes."""
    if not os.path.exists(os.path.join(BUILD, "tests", "gpu_zone_test")):
        left_out("unit tests in C", "cmocka was not found when this was built")
    if not shutil.which("npm"):
        left_out("the page's tests", "npm is not installed")
    command = ["ctest", "--test-dir", BUILD, "-E", "^(%s)(/|$)" % "|".join(OTHER_GROUPS)]
    wanted = re.findall(r"Test +#\d+: (\S+)", subprocess.run([*command, "-N"], capture_output=True, text=True).stdout)
    code, text = until(time.monotonic() + seconds(), [*command, "-j", str(os.cpu_count()), "--timeout", "60", "--output-on-failure"])
    ended = dict(found.groups() for found in map(ENDED.match, text.splitlines()) if found)
    bad = sorted(name for name, how in ended.items() if how not in ("Passed", "***Skipped"))
    row("CTest: tests passed", "%d of %d" % (sum(how == "Passed" for how in ended.values()), len(ended)),
        "all that ended%s" % (" but " + ", ".join(bad) if bad else ""), not bad if ended else None)
    late = [name for name in wanted if name not in ended]
    if late:
        left_out("CTest: %s" % shortened(late), "the time was up (--limit)" if code is None else "CTest ended before")
    left_out("CTest: groups %s" % ", ".join(OTHER_GROUPS), "take minutes, a browser or other frameworks: make test runs them")


def shortened(names):
    return ", ".join(names[:5]) + (" and %d more" % (len(names) - 5) if len(names) > 5 else "")


def python_tests():
    """tests/python with this interpreter and this torch, one process for each file."""
    if not has("pytest"):
        left_out("tests/python", "pytest is not installed (a folder that holds it may be in PYTHONPATH)")
        return
    version = subprocess.run([sys.executable, "-c", "import torch; print(torch.__version__)"], capture_output=True, text=True).stdout.strip()

    end = time.monotonic() + seconds()

    def one(path):
        if time.monotonic() >= end:
            return None, ""
        return until(end, [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", path], STROBE_TOOL=os.path.join(BUILD, "strobe"),
                     PYTHONDONTWRITEBYTECODE="1")
    files = sorted(glob.glob(os.path.join(ROOT, "tests", "python", "test_*.py")))
    with ThreadPoolExecutor(max(1, (os.cpu_count() or 2) * 3 // 4)) as pool:
        results = dict(zip(map(os.path.basename, files), pool.map(one, files)))
    whole = {name: result for name, result in results.items() if result[0] is not None}
    counts = {word: sum(int(n) for _, text in whole.values() for n in re.findall(r"(\d+) %s" % word, text.splitlines()[-1] if text else ""))
              for word in ("passed", "failed", "skipped", "error")}
    bad = [name for name, (code, _) in whole.items() if code not in (0, 5)]
    row("tests/python, Python %d.%d, torch %s" % (*sys.version_info[:2], version or "absent"),
        "%(passed)d passed, %(skipped)d skipped" % counts, "none fails%s" % (": " + ", ".join(bad) if bad else ""),
        not bad and counts["passed"] > 0 if whole else None)
    if len(whole) < len(results):
        left_out("tests/python: %s" % shortened([name for name in results if name not in whole]), "the time was up (--limit)")
