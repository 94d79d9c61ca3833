"""tests/real: unmodified programs with the real frameworks, once as they are and once under `strobe run`."""
import json
import os
import subprocess
import sys

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
BUILD = os.environ.get("STROBE_BUILD", os.path.join(ROOT, "build"))
TOOL = os.path.join(BUILD, "strobe")
sys.path[:0] = [HERE, os.path.join(ROOT, "tests", "python"), os.path.join(ROOT, "tests", "gpu")]

import strobe_file  # noqa: E402

GENERATION, STEP, IMPORT, LOAD, COMPILE, OFFLOAD, FORWARD = 1, 3, 6, 7, 8, 9, 11


def environment(**more):
    clean = {key: value for key, value in os.environ.items() if not key.startswith("STROBE_") and key != "PYTHONPATH"}
    clean.update({"STROBE_FLOPS": "60", **more}, HF_HUB_OFFLINE="1", TOKENIZERS_PARALLELISM="false", PYTHONDONTWRITEBYTECODE="1",
                 OMP_NUM_THREADS="1", PYTHONPATH=HERE)  # a busy machine counts operations all the same
    return clean


class Run:
    """One program under `strobe run`: what it wrote itself, and what strobe recorded of it."""

    def __init__(self, folder, done):
        self.folder, self.stdout, self.stderr, self.code = str(folder), done.stdout, done.stderr, done.returncode
        self.recordings = strobe_file.read(os.path.join(self.folder, "runs", "last"))

    @property
    def recording(self):
        return max(self.recordings, key=lambda recording: len(recording.zones))

    def faults(self):
        """Of strobe itself, as the report tells them."""
        return [one for one in self.report().get("not_recorded", []) if "fault" in one.get("why", "")]

    def report(self):
        shown = subprocess.run([TOOL, "report", "runs/last", "--format", "json"], cwd=self.folder, check=True,
                               stdout=subprocess.PIPE, env=environment())
        return json.loads(shown.stdout)


def strobe_run(folder, *command, options=(), check=True, **more):
    done = subprocess.run([TOOL, "run", "-o", "runs", *options, "--", *map(str, command)], cwd=folder, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=900, env=environment(STROBE_DEBUG="1", **more))
    assert not check or done.returncode == 0, done.stderr[-4000:]
    assert "strobe: fault" not in done.stderr, done.stderr[-4000:]
    run = Run(folder, done)
    assert not run.faults()
    return run


def both_ways(folder, program, *arguments, options=(), python=None, **more):
    """(what the program found without strobe, with it, its Run)."""
    program, python = os.path.join(HERE, program), python or sys.executable
    alone = subprocess.run([python, program, "alone.json", *arguments], cwd=folder, text=True, env=environment(**more),
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=900)
    assert alone.returncode == 0, alone.stderr[-4000:]
    run = strobe_run(folder, python, program, "watched.json", *arguments, options=options, **more)
    found = [json.loads((folder / name).read_text()) for name in ("alone.json", "watched.json")]
    return (*found, run)


def of_role(zones, role):
    return [zone for zone in zones if zone.attrs.get("strobe.role") == role]


def inside(zone):
    """Every zone below, depth first."""
    for child in zone.children:
        yield child
        yield from inside(child)


@pytest.fixture
def run(tmp_path):
    return lambda *command, **options: strobe_run(tmp_path, *command, **options)


# What each file of tests found, for the table of docs/frameworks.md (matrix.py).
_outcomes = {}


def pytest_runtest_logreport(report):
    if report.when == "call" or report.outcome != "passed":
        name = os.path.splitext(os.path.basename(report.nodeid.split("::")[0]))[0]
        count = _outcomes.setdefault(name, {"passed": 0, "failed": 0, "skipped": 0})
        count[report.outcome] += 1


def pytest_sessionfinish(session):
    if session.config.option.keyword or session.config.option.collectonly or any("::" in arg for arg in session.config.args):
        return  # a part of a file says nothing about it
    from importlib import metadata
    import matrix
    versions = {}
    for package in matrix.PACKAGES:
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            pass
    os.makedirs(os.path.join(BUILD, "real-results"), exist_ok=True)
    for name, count in _outcomes.items():
        with open(os.path.join(BUILD, "real-results", name + ".json"), "w") as file:
            json.dump(dict(count, versions=versions), file, indent=1, sort_keys=True)
