"""tools/release refuses what is not ready, before it builds anything."""
import os
import pathlib
import shutil
import subprocess

import pytest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "tools" / "release"
pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not there")


@pytest.fixture
def release(tmp_path):
    """A repository that is ready, whose build says that it was reached."""
    files = {"include/strobe.h": '#define STROBE_VERSION "1.2.0"\n', "python/strobe/_inert.py": 'version = "1.2.0"\n',
             "CHANGELOG.md": "# Changes\n\n## Unreleased\n\n## 1.2.0\n\n- cli: something\n",
             "Makefile": "dist:\n\t@echo built; exit 1\n"}

    def git(*words):
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@example.org", *words], cwd=tmp_path, check=True, stdout=subprocess.DEVNULL)

    def run(changed=None, commit=True, tag=None):
        for name, text in {**files, **(changed or {})}.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(text)
        if commit:
            git("add", "-A")
            git("commit", "-qm", "x", "--allow-empty")
        if tag:
            git("tag", tag)
        done = subprocess.run(["tools/release"], cwd=tmp_path, capture_output=True, text=True, timeout=60,
                              env={**os.environ, "STROBE_RELEASE_TESTS": "off"})
        assert done.returncode, done.stdout
        return done

    (tmp_path / "tools").mkdir()
    shutil.copy(SCRIPT, tmp_path / "tools" / "release")
    git("init", "-q")
    run()
    return run


def test_what_is_ready_is_built(release):
    assert "built" in release().stdout


@pytest.mark.parametrize("how, said", [
    ({"changed": {"new.txt": "x"}, "commit": False}, "commit first"),
    ({"tag": "v1.2.0"}, "v1.2.0 is tagged already"),
    ({"changed": {"CHANGELOG.md": "## Unreleased\n\n## 1.1.0\n\n- cli: x\n"}}, "no heading '## 1.2.0'"),
    ({"changed": {"CHANGELOG.md": "## Unreleased\n\n- cli: late\n\n## 1.2.0\n\n- cli: x\n"}}, "lines under 'Unreleased'"),
    ({"changed": {"python/strobe/_inert.py": 'version = "1.1.0"\n'}}, "_inert.py names another version"),
])
def test_what_is_not_ready_is_refused(release, how, said):
    done = release(**how)
    assert said in done.stderr and done.stderr.count("\n") == 1 and "built" not in done.stdout
