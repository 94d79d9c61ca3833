"""The steps of action.yml, as scripts: install, measure, comment; `gh` is a stand-in that keeps what it is told."""
import json
import os
import pathlib
import re
import subprocess
import sys

import pytest

from conftest import SOURCE, TOOL, environment
from test_bench_pair import PROGRAM

GH = """#!%s
import json, os, sys
words = sys.argv[1:]
kept = os.environ["KEPT"]
comments = json.load(open(kept)) if os.path.exists(kept) else []
if "--jq" in words:
    print("\\n".join(str(i) for i, body in enumerate(comments) if body.startswith("<!-- strobe -->")))
    sys.exit()
body = open(words[words.index("-F") + 1].partition("=@")[2]).read()
at = words[words.index("api") + 1:]
if "PATCH" in words:
    comments[int(at[2].rpartition("/")[2])] = body
else:
    comments.append(body)
json.dump(comments, open(kept, "w"))
""" % sys.executable


@pytest.fixture
def repo(tmp_path):
    folder = tmp_path / "repo"
    folder.mkdir()
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org"]
    subprocess.run([*git, "init", "-q"], cwd=folder, check=True)
    for work in ("1000", "2000000"):
        (folder / "gen.py").write_text(PROGRAM.replace("int(sys.argv[2])", work))
        subprocess.run([*git, "add", "-A"], cwd=folder, check=True)
        subprocess.run([*git, "commit", "-qm", work], cwd=folder, check=True)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "gh").write_text(GH)
    (tmp_path / "bin" / "gh").chmod(0o755)
    (tmp_path / "bin" / "strobe").symlink_to(TOOL)
    return folder


def step(repo, name, code=0, **more):
    env = environment(repo.parent, PYTHONPATH=str(pathlib.Path(TOOL).parent / "python"), KEPT=str(repo.parent / "comments.json"),
                      PATH="%s:%s" % (repo.parent / "bin", os.environ["PATH"]), **more)
    done = subprocess.run([SOURCE / "tools" / "ci" / name], cwd=repo, env=env, capture_output=True, text=True, timeout=300)
    assert done.returncode == code, done.stdout + done.stderr
    return done


def test_a_slower_pull_request_fails_with_its_comment_and_page(repo):
    assert "strobe " in step(repo, "install").stdout
    measured = dict(STROBE_CI_COMMAND=sys.executable + " gen.py X 0", STROBE_CI_RUNS="4", STROBE_CI_FAIL_ABOVE="50%",
                    STROBE_CI_PREPARE="true", GITHUB_STEP_SUMMARY=str(repo.parent / "summary.md"))
    text = step(repo, "measure", code=1, **measured).stdout
    assert "vae_decode" in text and "**FAIL**" in text
    assert (repo.parent / "summary.md").read_text() == text == (repo / "strobe-ci" / "diff.md").read_text()
    assert (repo / "strobe-ci" / "diff.html").read_text().startswith("<!doctype html>")
    assert json.loads((repo / "strobe-ci" / "diff.json").read_text())["total"]["verdict"] == "worse"
    for _ in range(2):  # the second push writes the same comment anew
        step(repo, "comment", STROBE_CI_PULL="7")
    [comment] = json.loads((repo.parent / "comments.json").read_text())
    assert comment.startswith("<!-- strobe -->\n") and text in comment


def test_the_same_commit_passes(repo):
    step(repo, "measure", STROBE_CI_COMMAND=sys.executable + " gen.py X 0", STROBE_CI_RUNS="2", STROBE_CI_BASE="HEAD",
         STROBE_CI_FAIL_ABOVE="100000%")


def test_a_failure_takes_the_place_of_an_earlier_result(repo):
    (repo / "strobe-ci").mkdir()
    (repo / "strobe-ci" / "diff.md").write_text("### of yesterday: PASS")
    (repo / "strobe-ci" / "diff.json").write_text("{}")
    step(repo, "comment", STROBE_CI_PULL="7")
    done = step(repo, "measure", code=2, STROBE_CI_COMMAND="true", STROBE_CI_BASE="no-such-commit")
    assert "yesterday" not in done.stdout and "cannot check out 'no-such-commit'" in done.stderr
    assert not (repo / "strobe-ci" / "diff.json").exists()
    step(repo, "comment", STROBE_CI_PULL="7")
    [comment] = json.loads((repo.parent / "comments.json").read_text())
    assert "not measured (exit 2)" in comment and "cannot check out 'no-such-commit'" in comment and "yesterday" not in comment


def test_a_command_that_fails_is_named_in_the_comment(repo):
    step(repo, "measure", code=3, STROBE_CI_COMMAND="false", STROBE_CI_RUNS="2", STROBE_CI_BASE="HEAD")
    assert "not measured (exit 3)" in (repo / "strobe-ci" / "diff.md").read_text()


def test_nothing_to_measure_is_said(repo):
    assert "STROBE_CI_COMMAND" in step(repo, "measure", code=2).stderr
    assert "nothing was measured" in step(repo, "comment").stderr


def test_the_action_calls_these_scripts_with_their_variables():
    text = (SOURCE / "action.yml").read_text()
    called = re.findall(r"tools/ci/(\w+)$", text, re.M)
    assert called == ["install", "measure", "comment"]
    used = set()
    for name in called:
        path = SOURCE / "tools" / "ci" / name
        assert os.access(path, os.X_OK)
        used |= set(re.findall(r"\$\{?(STROBE_CI_\w+)", path.read_text()))
    assert used == set(re.findall(r"^ +(STROBE_CI_\w+):", text, re.M))
    inputs = set(re.findall(r"^  ([a-z-]+):$", text[text.index("inputs:"):text.index("runs:\n  using")], re.M))
    assert {name for name in re.findall(r"inputs\.([a-z-]+)", text)} == inputs
