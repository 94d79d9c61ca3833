"""The commit of the folder that a command is started in, read from git's files alone."""
import os

import pytest

from conftest import Recorded

COMMIT = "c0ffee0123456789c0ffee0123456789c0ffee01"
REF = "ref: refs/heads/main\n"


def branch(git):
    return {git + "/HEAD": REF, git + "/refs/heads/main": COMMIT + "\n"}


def packed(git):
    return {git + "/HEAD": REF, git + "/packed-refs": "# pack-refs with: peeled\n" + "0" * 40 + " refs/heads/other\n" + COMMIT + " refs/heads/main\n"}


def linked(git):
    """A linked worktree: .git is a file, branches are in the main folder."""
    return {git: "gitdir: ../main/.git/worktrees/w\n", "../main/.git/worktrees/w/HEAD": REF,
            "../main/.git/worktrees/w/commondir": "../..\n", "../main/.git/refs/heads/main": COMMIT + "\n"}


def write(folder, files):
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def commit_of(strobe):
    done = strobe.run("-q", "-o", "o", "--", "true")
    assert done.returncode == 0, done.stderr
    return Recorded(strobe.folder / "o" / "last").meta("run", "commit")


@pytest.mark.parametrize("files", [branch, packed, linked])
def test_a_run_has_the_commit_of_its_folder(strobe, files):
    write(strobe.folder, files(".git"))
    assert commit_of(strobe) == COMMIT


def test_a_detached_head_is_a_commit(strobe):
    write(strobe.folder, {".git/HEAD": COMMIT + "\n"})
    assert commit_of(strobe) == COMMIT


@pytest.mark.parametrize("files", [{}, {".git/HEAD": REF}, {".git/HEAD": "ref: \n"}, {".git": "gitdir: nowhere\n"}, {".git/HEAD": "rubbish\n"}, {".git": ""}])
def test_without_a_commit_there_is_none(strobe, files):
    write(strobe.folder, files)
    assert commit_of(strobe) is None


@pytest.mark.parametrize("name", [".git", ".git/HEAD", ".git/packed-refs"])
@pytest.mark.parametrize("make", [os.mkfifo, lambda path: os.symlink("/dev/zero", path)])
def test_a_pipe_or_a_device_in_a_folder_above_holds_nothing_up(strobe, name, make):
    """Anyone may have made it, in /tmp for one."""
    write(strobe.folder, {} if name == ".git" else {".git/HEAD": REF})
    (strobe.folder / name).unlink(missing_ok=True)
    make(strobe.folder / name)
    assert commit_of(strobe) is None
