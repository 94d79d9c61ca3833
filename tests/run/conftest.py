"""Runs the built tool as a user would, each test in a folder of its own."""
import os
import pathlib
import shutil
import subprocess
import sys
import time

import pytest

BUILD = pathlib.Path(os.environ.get("STROBE_BUILD", "build")).resolve()
TOOL = str(BUILD / "strobe")
PYTHON = sys.executable
LIMIT_S = 120  # only matters when a test fails


class Recorded:
    """What tests/tools/recorded shows of a run."""

    def __init__(self, run):
        text = subprocess.run([str(BUILD / "tests" / "recorded"), str(run)], check=True, capture_output=True,
                              text=True, timeout=LIMIT_S).stdout
        self.metas, self.samples, self.processes, self.events = {}, {}, [], []
        for line in text.splitlines():
            kind, rest = line.split(" ", 1)
            if kind == "meta":
                scope, rest = rest.split(" ", 1)
                if scope == "missing":
                    what, why = _split_missing(rest)
                    self.metas.setdefault(scope, {})[what] = why
                else:
                    key, _, value = rest.partition(" ")
                    self.metas.setdefault(scope, {})[key] = value
            elif kind == "sample":
                source, device, column, count, first, last, peak = rest.split(" ")
                self.samples[source, int(device), column] = (int(count), float(first), float(last), float(peak))
            elif kind == "process":
                pid, what, status = rest.split(" ")
                self.processes.append((int(pid), what, int(status)))
            elif kind == "event":
                self.events.append(rest)

    def meta(self, scope, key):
        return self.metas.get(scope, {}).get(key)

    def last(self, source, column, device=-1):
        return self.samples[source, device, column][2]

    def sources(self):
        return {source for source, _, _ in self.samples}


def _split_missing(text):
    """"what why|how": what has blanks too, so the known ones are tried first."""
    for what in ("Python start-up hook", "GPU metrics", "stages of inner runs", "stages", "kernels", "pressure (PSI)", "disk traffic of the machine"):
        if text.startswith(what + " "):
            return what, text[len(what) + 1:]
    return text, text


class Runner:
    def __init__(self, folder):
        self.folder = folder
        self.environment = {k: v for k, v in os.environ.items() if not k.startswith(("STROBE_", "PYTHONPATH"))}
        self.environment["PYTHONDONTWRITEBYTECODE"] = "1"
        self.environment["STROBE_NVML_PATH"] = "/nonexistent/libnvidia-ml.so"

    def __call__(self, *arguments, **more):
        return subprocess.run([TOOL, *arguments], cwd=self.folder, env=self.environment, capture_output=True,
                              text=True, timeout=LIMIT_S, **more)

    def run(self, *arguments, **more):
        return self("run", *arguments, **more)

    def start(self, *arguments, **more):
        return subprocess.Popen([TOOL, *arguments], cwd=self.folder, env=self.environment, **more)

    def runs(self):
        folder = self.folder / "strobe-runs"
        return sorted(p for p in folder.iterdir() if p.name != "last") if folder.exists() else []

    def last(self):
        return (self.folder / "strobe-runs" / "last").resolve()

    def recorded(self):
        return Recorded(self.last())

    def fake_nvml(self, script):
        self.environment["STROBE_NVML_PATH"] = str(BUILD / "tests" / "fake" / "libnvidia-ml.so")
        self.environment["FAKE_NVML"] = str(self.folder / "nvml")
        self.say_nvml(script)

    def say_nvml(self, script):
        fresh = self.folder / "nvml.new"
        fresh.write_text(script)
        fresh.rename(self.folder / "nvml")

    def script(self, text, name="script.py"):
        path = self.folder / name
        path.write_text(text)
        return str(path)


@pytest.fixture
def strobe(tmp_path):
    return Runner(tmp_path)


class Screen:
    """A tmux session of its own server: nothing of the user's is touched."""

    def __init__(self, strobe, *command, columns=110, rows=30):
        self.socket = str(strobe.folder / "tmux")
        environment = dict(strobe.environment, LC_ALL="C.UTF-8", TERM="xterm")
        environment.pop("TMUX", None)
        subprocess.run(["tmux", "-S", self.socket, "-f", "/dev/null", "new-session", "-d", "-x", str(columns),
                        "-y", str(rows), *command], check=True, cwd=strobe.folder, env=environment, timeout=LIMIT_S)

    def tmux(self, *arguments):
        return subprocess.run(["tmux", "-S", self.socket, *arguments], capture_output=True, text=True, timeout=LIMIT_S)

    def text(self):
        return self.tmux("capture-pane", "-p").stdout

    def until(self, *words):
        end = time.monotonic() + LIMIT_S
        while True:
            seen = self.text()
            if all(word in seen for word in words):
                return seen
            assert time.monotonic() < end, "never saw %r in\n%s" % (words, seen)

    def until_gone(self):
        end = time.monotonic() + LIMIT_S
        while self.tmux("has-session").returncode == 0:
            assert time.monotonic() < end
        return True

    def close(self):
        self.tmux("kill-server")


@pytest.fixture
def screen(strobe):
    if not shutil.which("tmux"):
        pytest.skip("no tmux here")
    opened = []

    def open_screen(*command, **size):
        opened.append(Screen(strobe, *command, **size))
        return opened[-1]

    yield open_screen
    for one in opened:
        one.close()
