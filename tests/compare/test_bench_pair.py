"""bench --compare and --commits: two commands in turns, and their diff."""
import json
import os
import pathlib
import subprocess
import sys

import pytest

from conftest import TOOL, environment

PYTHON = sys.executable
# Two thousand times the work in one stage: no machine is noisy enough to hide it.
PROGRAM = """
import os, sys, strobe
name, work = sys.argv[1], int(sys.argv[2])
with open("order", "a") as order:
    order.write(name)
for _ in range(2):
    with strobe.generation(frames=16):
        with strobe.section("vae_decode"):
            for i in range(work):
                pass
"""


@pytest.fixture
def bench(tmp_path):
    (tmp_path / "gen.py").write_text(PROGRAM)
    package = str(pathlib.Path(TOOL).parent / "python")

    def run(*args, code=0, cwd=tmp_path):
        done = subprocess.run([TOOL, "bench", *map(str, args)], cwd=cwd, capture_output=True, text=True, timeout=300,
                              env=environment(tmp_path, PYTHONPATH=package, TMPDIR=str(tmp_path)))
        assert done.returncode == code, (done.returncode, done.stdout, done.stderr)
        return done
    return run


def test_two_commands_take_turns_and_a_slower_one_fails_the_gate(bench, tmp_path):
    slow, fast = f"{PYTHON} gen.py B 2000000", f"{PYTHON} gen.py A 1000"
    done = bench("-n", 4, "-w", 1, "--compare", fast, slow, "--fail-above", "50%", "--format", "json", code=1)
    assert (tmp_path / "order").read_text() == "AB" * 5
    found = json.loads(done.stdout)
    assert found["base"] == [fast] * 4 and found["new"] == [slow] * 4
    stages = {stage["name"]: stage for stage in found["stages"]}
    assert stages["vae_decode"]["verdict"] == "worse" and found["total"]["verdict"] == "worse"
    assert found["per_generation"] and "FAIL: " in done.stderr
    assert not list(tmp_path.glob("strobe-bench-*")) and not (tmp_path / "strobe-runs").exists()


def test_the_other_way_round_it_passes(bench):
    text = bench("-n", 4, "-w", 0, "--compare", f"{PYTHON} gen.py B 2000000", f"{PYTHON} gen.py A 1000", "--fail-above", "50%").stdout
    assert text.startswith("== strobe diff: 4 runs (%s gen.py B 2000000) -> 4 runs (%s gen.py A 1000)\n" % (PYTHON, PYTHON))
    assert "faster" in text and "PASS" in text


def test_one_command_at_two_commits(bench, tmp_path):
    repo = tmp_path / "repo"
    repo.mkdir()
    run = lambda *words: subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@example.org", *words], cwd=repo, check=True,
                                        stdout=subprocess.DEVNULL)
    run("init", "-q")
    for work in ("1000", "2000000"):
        (repo / "gen.py").write_text(PROGRAM.replace("int(sys.argv[2])", work).replace('"order"', 'os.environ["PLACE"]'))
        run("add", "-A")
        run("commit", "-qm", work)
    for words, code, said in [
            (["no-such", "HEAD"], 2, "strobe bench: cannot check out 'no-such': "), (["HEAD", "no-such"], 2, "cannot check out 'no-such': "),
            (["HEAD~1", "HEAD", "--prepare", "echo no rule >&2; exit 1"], 3, "strobe bench: --prepare at HEAD~1: exit 1: no rule\n"),
            (["HEAD~1", "HEAD", "--prepare", "exit 2"], 3, "--prepare at HEAD~1: exit 2")]:
        done = bench("-n", 1, "--commits", *words, "--", "true", code=code, cwd=repo)
        assert said in done.stderr and done.stderr.count("\n") == 1 and not done.stdout
    os.environ["PLACE"] = str(tmp_path / "order")
    try:
        text = bench("-n", 4, "-w", 0, "--commits", "HEAD~1", "HEAD", "--prepare", "cp gen.py built.py", "--fail-above", "50%",
                     "--", PYTHON, "built.py", "X", "0", code=1, cwd=repo).stdout
    finally:
        del os.environ["PLACE"]
    assert "4 runs (HEAD~1) -> 4 runs (HEAD)" in text and "vae_decode" in text and "FAIL" in text
    assert (tmp_path / "order").read_text() == "X" * 8
    left = subprocess.run(["git", "worktree", "list"], cwd=repo, capture_output=True, text=True).stdout
    assert len(left.splitlines()) == 1 and not list(tmp_path.glob("strobe-bench-*")) and not (repo / "built.py").exists()


@pytest.mark.parametrize("words, code, said", [
    (["--compare", "true"], 2, "--compare takes two commands"),
    (["--compare", "a 'b", "true"], 2, "a quote is not closed"),
    (["--compare", "true", "  "], 2, "command 2 is empty"),
    (["--compare", "true", "true", "--", "true"], 2, "each as one word"),
    (["--compare", "true", "true", "--sweep", "a=1,2"], 2, "--sweep is not for a pair"),
    (["--compare", "true", "true", "--format", "csv"], 2, "text, json, markdown or html"),
    (["--compare", "true", "sh -c 'echo broken; exit 3'"], 3, "broken"),
    (["--compare", "true", "sh -c 'echo broken; exit 1'"], 3, "exit 1: broken"),
    (["--compare", "sh -c 'exit 2'", "true"], 3, "exit 2"),
    (["--compare", "true", "no-such-program"], 127, "no-such-program"),
    (["--commits", "HEAD", "HEAD", "--", "true"], 2, "cannot check out 'HEAD': exit 128: fatal: not a git repository"),
    (["--target-fps", "5", "--frames", "1", "--", "sh", "-c", "exit 1"], 3, None),
    (["--", "sh", "-c", "exit 1"], 1, None),
    (["--commits", "--upload-pack=x", "HEAD", "--", "true"], 2, "unknown option"),
    (["--fail-above", "5%", "--", "true"], 2, "goes with --compare"),
])
def test_what_cannot_be_compared_is_said(bench, tmp_path, words, code, said):
    done = bench("-n", 1, "-w", 0, *words, code=code)
    if said:
        assert said in done.stderr and not done.stdout
    assert not list(tmp_path.glob("strobe-bench-*"))


@pytest.mark.parametrize("words", [["-o", "no/such/x.md"], ["-o", "."], ["-o", "x.md", "-o", "no/such/x.json"], ["--fail-above", "lots"],
                                   ["--tolerance", "lots"], ["--format", "csv"]])
def test_a_slip_is_said_before_anything_is_measured(bench, tmp_path, words):
    done = bench("-n", 1, "-w", 0, "--compare", "touch ran", "touch ran", *words, code=2)
    assert done.stderr.count("\n") == 1 and not done.stdout and not (tmp_path / "ran").exists()
    assert {path.name for path in tmp_path.iterdir()} == {"gen.py"}


def test_a_single_benchmark_checks_its_file_first_too(bench, tmp_path):
    bench("-n", 1, "-o", "no/such/x.json", "--", "touch", "ran", code=2)
    assert not (tmp_path / "ran").exists()


def test_a_limit_that_names_nothing_does_not_cost_the_measurement(bench, tmp_path):
    done = bench("-n", 1, "-w", 0, "--compare", "true", "true", "--fail-above", "vae_encode=5%", "-o", "diff.md", "-o", "diff.json", code=2)
    assert "--fail-above vae_encode: neither a metric nor a stage" in done.stderr
    assert json.loads((tmp_path / "diff.json").read_text())["total"] and "Total" in (tmp_path / "diff.md").read_text()
    assert "PASS" not in (tmp_path / "diff.md").read_text()
