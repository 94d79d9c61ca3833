"""`pytest --strobe`: tests that measure, against a baseline of the same kind of machine.

    def test_decode(strobe_bench):
        frames = strobe_bench(lambda: vae.decode(latents), frames=16)

Without --strobe the function is called once and nothing is measured. docs/ci.md has the rest.
"""
import json
import os
import re
import shutil
import subprocess
import zlib

import pytest

from . import _tool
from ._core import recording, run_dir
from ._record import generation
from ._session import start, stop

WORDS = {"worse": "slower", "better": "faster", "uncertain": "inside the noise", "too_few": "too few repetitions to judge"}
SHOWN = 40  # lines of a diff in a failure
REPEATS = 10


def pytest_addoption(parser):
    group = parser.getgroup("strobe", "measuring with strobe")
    group.addoption("--strobe", action="store_true", help="measure the tests that use strobe_bench, and compare them with their baselines")
    group.addoption("--strobe-update", action="store_true", help="--strobe, and what is measured becomes the baseline")
    group.addoption("--strobe-fail-above", metavar="LIMIT", help="a test fails when a generation takes more: 5%%, or NAME=10%%,peak_memory=2%% (5%%)")
    group.addoption("--strobe-baselines", metavar="FOLDER", help="where baselines are kept (.strobe-baselines beside the configuration)")
    parser.addini("strobe_fail_above", "as --strobe-fail-above", default="5%")
    parser.addini("strobe_baselines", "as --strobe-baselines", default=".strobe-baselines")


AMOUNT = r"(\d+(\.\d+)?%|0(\.\d+)?)"
LIMIT = re.compile("([^=,]+=)?%s(,[^=,]+=%s)*" % (AMOUNT, AMOUNT))


def check_limit(limit, what):
    """Says what is wrong with a limit, None: nothing. Names are those of the tests, and known later."""
    return None if LIMIT.fullmatch(limit) else "%s takes 5%% or NAME=10%%,peak_memory=2%%, not %r" % (what, limit)


def option(config, name):
    given = config.getoption("strobe_" + name)
    return given if given is not None else config.getini("strobe_" + name)


def pytest_configure(config):
    config.stash[MEASURED] = []
    wrong = check_limit(option(config, "fail_above"), "--strobe-fail-above")
    if wrong:
        raise pytest.UsageError(wrong)


MEASURED = pytest.StashKey()


class ToolError(Exception):
    """The command is missing, or refused."""


def tool(*words, codes=(0,), cwd=None):
    path = _tool.path()
    if path is None:
        raise ToolError("the strobe command is not installed beside the package")
    environment = dict(os.environ, STROBE_HISTORY="off", NO_COLOR="1", COLUMNS="100")
    done = subprocess.run([path, *map(str, words)], capture_output=True, text=True, env=environment, cwd=cwd)
    if done.returncode not in codes:
        raise ToolError(done.stderr.strip() or "strobe %s ended with %d" % (words[0], done.returncode))
    return done


def machine_kind(report):
    """What a duration depends on, as a folder's name: "2x-intel-r-xeon-r-processor", "nvidia-h200-16x-…"."""
    facts = report["system"]["facts"]
    gpus = sorted({str(value) for key, value in facts.items() if re.fullmatch(r"gpu\d+\.name", key)})
    text = " ".join([*gpus, "%sx" % facts.get("cpu.count", "?"), str(facts.get("cpu.model", os.uname().machine))])
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:120]


def file_name(node_id):
    """Readable; where a parameter ("[1.3b/480p]") loses characters or the id is long, with a checksum that makes it unique."""
    plain = re.compile(r"[^A-Za-z0-9_.\[\]=-]+")
    name = plain.sub("-", node_id).strip("-")
    if plain.search(node_id.partition("[")[2]) or len(name) > 180:
        name = "%s-%08x" % (name[-170:], zlib.crc32(node_id.encode()))
    return name + ".json"


def without_names(value, root):
    """A report that people commit: without what names the machine, its user or its folders."""
    if isinstance(value, dict):
        return {key: without_names(inner, root) for key, inner in value.items()
                if key not in ("host", "uuid", "run", "output_dir") and not key.endswith(".uuid")}
    if isinstance(value, list):
        return [without_names(inner, root) for inner in value]
    if isinstance(value, str) and os.path.isabs(value):
        return os.path.relpath(value, root) if value.startswith(root + os.sep) else os.path.basename(value)
    return value


def write_baseline(report, path):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path + ".new", "w") as file:
        json.dump(report, file, indent=1)
        file.write("\n")
    os.replace(path + ".new", path)


class Bench:
    """Measures one function of a test; what the fixture strobe_bench gives."""

    def __init__(self, request, folder):
        self.config = request.config
        self.node_id = request.node.nodeid
        self.folder = folder
        self.calls = 0

    def __call__(self, function, *, repeat=REPEATS, warmup=1, frames=None, name=None, fail_above=None):
        """Calls function warmup + repeat times and returns its last result. Fails the test when it became slower."""
        if repeat < 1 or warmup < 0:
            raise ValueError("repeat is 1 or more, warmup 0 or more, not %r and %r" % (repeat, warmup))
        limit = option(self.config, "fail_above") if fail_above is None else fail_above
        wrong = check_limit(limit, "fail_above")
        if wrong:
            raise ValueError(wrong)
        if not (self.config.getoption("strobe") or self.config.getoption("strobe_update")):
            return function()
        if recording():
            pytest.skip("strobe records already: a measured test opens its own session")
        self.calls += 1
        label = name or (self.node_id if self.calls == 1 else "%s-%d" % (self.node_id, self.calls))
        result = self.record(function, label, repeat, warmup, frames)
        self.judge(label, limit)
        return result

    def record(self, function, label, repeat, warmup, frames):
        for _ in range(warmup):  # before the session: its stages would stand beside the measured ones
            function()
        start("test", output_dir=str(self.folder), config={"generate_final_report": False})
        if not recording():
            pytest.fail("strobe records nothing here: `strobe doctor` says why", pytrace=False)
        self.run = run_dir()
        try:
            for _ in range(repeat):
                with generation("test", **({} if frames is None else {"frames": frames})):
                    result = function()
        finally:
            stop()
        return result

    def judge(self, label, limit):
        measured = os.path.join(self.folder, "measured.json")
        report = self.report(label, measured)
        kind, root = machine_kind(report), str(self.config.rootpath)
        baseline = os.path.join(root, option(self.config, "baselines"), kind, file_name(label))
        if self.config.getoption("strobe_update"):
            try:
                write_baseline(without_names(report, root), baseline)
            except OSError as error:
                pytest.fail("strobe cannot write the baseline of %s: %s" % (label, error), pytrace=False)
            return self.note(label, "baseline written", kind)
        if not os.path.exists(baseline):
            return self.note(label, "no baseline: --strobe-update writes one", kind)
        return self.compare(label, baseline, measured, limit, kind)

    def report(self, label, measured):
        try:
            tool("report", self.run, "--format", "json", "-o", measured)
        except ToolError as error:
            pytest.fail("strobe cannot report %s: %s" % (label, error), pytrace=False)
        with open(measured) as file:
            return json.load(file)

    def compare(self, label, baseline, measured, limit, kind):
        shutil.copy(baseline, os.path.join(self.folder, "baseline.json"))
        words = ("diff", "baseline.json", "measured.json")
        try:  # a short run has no samples of memory: that is no regression
            text = tool(*words, "--fail-above", limit, "--allow-missing", codes=(0, 1), cwd=self.folder)
            found = json.loads(tool(*words, "--format", "json", cwd=self.folder).stdout)["total"]
        except ToolError as error:
            found, why = None, str(error)
        if found is None:
            hint = "for one test alone: strobe_bench(…, fail_above=…)" if "--fail-above" in why else "--strobe-update renews it"
            pytest.fail("strobe cannot compare %s with %s: %s\n%s" % (label, baseline, why, hint), pytrace=False)
        change = "" if found.get("change_ratio") is None else percentage(found["change_ratio"])
        self.note(label, "%s -> %s %s: %s" % (duration(found["base_value"]), duration(found["new_value"]), change,
                                               WORDS.get(found["verdict"], found["verdict"])), kind)
        if text.returncode:
            lines = text.stdout.splitlines()
            more = ["… %d lines more: strobe diff %s %s" % (len(lines) - SHOWN, baseline, measured)] if len(lines) > SHOWN else []
            verdict = [line for line in lines[SHOWN:] if line.startswith("FAIL")]
            pytest.fail("\n".join(lines[:SHOWN] + more + verdict), pytrace=False)

    def note(self, label, text, kind):
        self.config.stash[MEASURED].append((label, text, kind))


def duration(seconds):
    for unit, size in (("s", 1), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            break
    return "%.3g %s" % (seconds / size, unit)


def percentage(ratio):
    return "< 0.1 %" if 0 < abs(ratio) < 0.0005 else "%+.1f %%" % (100 * ratio)


@pytest.fixture
def strobe_bench(request, tmp_path_factory):
    """Call it with a function: it is repeated, recorded, and compared with its baseline (pytest --strobe)."""
    return Bench(request, tmp_path_factory.mktemp("strobe"))


def pytest_terminal_summary(terminalreporter, config):
    measured = config.stash[MEASURED]
    if measured:
        terminalreporter.section("strobe, " + measured[0][2])
        for label, text, _ in measured:
            terminalreporter.write_line("%s  %s" % (label, text))
