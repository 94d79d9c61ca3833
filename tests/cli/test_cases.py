"""Every command as a user types it: tests/cli/<command>/<case>.case is what a terminal shows.

A case begins with comment lines (`# mask: …` among them), then come `$ command` lines, each
followed by all it prints, and `[exit N]` where that is not 0. A new case is a file with the
command lines alone; `make accept` (STROBE_ACCEPT=1) writes what they print below them.

Each case has a folder of its own with the recordings of make_recordings, the recordings of
tests/golden, the files of tests/data and a job of eight ranks. They have fixed clocks: their
numbers are compared as they are. Only what cannot be fixed is masked:
    paths     always: the folder, the build, the source
    numbers   `# mask: numbers`: runs of digits, their units and the blanks around them
    run       `# mask: run`: dates, process ids and names of run folders
"""
import os
import pathlib
import re
import shutil
import subprocess

import pytest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ["STROBE_BUILD"])
CASES = SOURCE / "tests" / "cli"
ACCEPT = os.environ.get("STROBE_ACCEPT")
FOREIGN = ("STROBE_", "RANK", "LOCAL_RANK", "WORLD_SIZE", "SLURM", "OMPI", "PMI", "COLUMNS", "XDG_")


@pytest.fixture(scope="session")
def material(tmp_path_factory):
    folder = tmp_path_factory.mktemp("material")
    subprocess.run([BUILD / "tests" / "make_recordings", folder], check=True)
    subprocess.run([BUILD / "tests" / "make_ranks", folder / "job", "8", "200", "3", "2", "3"], check=True)
    for path in [*(SOURCE / "tests/golden").glob("*.strobe"), *(SOURCE / "tests/data").iterdir()]:
        shutil.copy(path, folder / path.name)
        os.utime(folder / path.name, (1767225600, 1767225600))  # a log begins when its file was written
    return folder


@pytest.fixture(scope="session")
def tools(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tools")
    (folder / "strobe").symlink_to(BUILD / "strobe")
    (folder / "tests").symlink_to(BUILD / "tests")
    return f"{CASES / 'bin'}:{folder}:/usr/local/bin:/usr/bin:/bin"


@pytest.fixture
def terminal(material, tools, tmp_path):
    home = tmp_path / "home"
    shutil.copytree(material, home)
    kept = {k: v for k, v in os.environ.items() if not k.startswith(FOREIGN)}
    environment = {**kept, "PATH": tools, "HOME": str(home), "TMPDIR": str(home), "TZ": "UTC", "LC_ALL": "C.UTF-8", "NO_COLOR": "1",
                   "STROBE_HISTORY": str(home / "history.db"), "TESTS": str(BUILD / "tests"), "SOURCE": str(SOURCE)}

    def type_in(line):
        done = subprocess.run(["/bin/sh", "-c", line], cwd=home, env=environment, stdin=subprocess.DEVNULL, timeout=120,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="backslashreplace")
        text = done.stdout
        for path, word in (home, "HOME"), (BUILD, "BUILD"), (SOURCE, "SOURCE"):
            text = re.sub(r"(?<![\w.])%s(?![\w-])" % re.escape(str(path)), word, text)  # a whole path, no part of ./strobe-runs
        if text and not text.endswith("\n"):
            text += "\n[no newline at the end]\n"
        return text, f"[exit {done.returncode}]\n" if done.returncode else ""

    return type_in


def masked(text, masks):
    if "run" in masks:
        text = re.sub(r"\d{8}-\d{6}-\d+", "DATE-PID", text)
        text = re.sub(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d(\.\d+)?)?(\+\d\d:\d\d)?", "DATE", text)
        text = re.sub(r"(pid |\.)\d{3,}\b", r"\1PID", text)
    if "numbers" in masks:
        text = re.sub("={9,}", "=====", text)  # a line's filling gives way to its numbers
        text = re.sub(r" *(< )?[+-]?\b\d+(\.\d+)?(e[+-]?\d+)?( ?(ns|us|ms|s|min|h|%|[KMGT]?B|[KMGT]i?B|x|Wh|J|GHz|MHz)(?![\w/]))? *", " N ", text)
    return "\n".join(line.rstrip() for line in text.split("\n"))


def replayed(text, type_in):
    """The case with what its commands print now."""
    head = re.match(r"(#.*\n)*", text).group()
    masks = " ".join(re.findall(r"^# mask: (.*)$", head, re.M)).replace(",", " ").split()
    lines = re.findall(r"^\$ (.*)$", text[len(head):], re.M)
    assert lines, "a case needs a line that begins with '$ '"
    now = head
    for line in lines:
        printed, code = type_in(line)
        now += f"$ {line}\n" + masked(printed, masks) + code
    return now


@pytest.mark.parametrize("case", sorted(CASES.glob("*/*.case")), ids=lambda p: f"{p.parent.name}/{p.stem}")
def test_case(case, terminal):
    text = case.read_text()
    now = replayed(text, terminal)
    if ACCEPT:
        case.write_text(now)
    assert now == case.read_text()


def test_every_command_has_cases_of_help_and_of_mistakes():
    names = subprocess.run([BUILD / "strobe", "--generate", "names"], capture_output=True, text=True, check=True).stdout.split()
    missing = [f"{name}/{case}" for name in names for case in ("help", "mistakes") if not (CASES / name / f"{case}.case").exists()]
    assert missing == []
