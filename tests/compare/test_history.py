"""strobe history."""
import json
import pathlib
import shutil
import sqlite3
import subprocess

import pytest

from conftest import BUILD, TOOL, environment


def test_history_adds_lists_shows_and_draws(strobe):
    strobe("history", "add", "before.txt", "after.txt")
    strobe("history", "add", "after.txt")  # again: the same run
    runs = json.loads(strobe("history", "list", "--format", "json").stdout)
    assert sorted((r["name"], r["metrics"]["wall_s"]) for r in runs) == [
        ("after.txt", pytest.approx(299.88)), ("before.txt", pytest.approx(281.96))]
    assert "[4f.2] UNet" in strobe("history", "show", str(runs[0]["id"])).stdout
    trend = json.loads(strobe("history", "trend", "[3b]", "--format", "json").stdout)
    assert sorted(p["point_value"] for p in trend["points"]) == [pytest.approx(10.05), pytest.approx(14.02)]
    plot = strobe("history", "trend").stdout
    assert "299.88 s |" in plot and "281.96 s |" in plot
    assert "no run" in strobe("history", "trend", "no_such_stage", code=2).stderr


def test_what_would_mislead_is_said(strobe, tmp_path):
    strobe("history", "add", "before.txt", "after.txt")
    assert "runs of several names" in strobe("history", "trend").stdout
    assert "several names" not in strobe("history", "trend", "--name", "before.txt").stdout
    assert "no history 'typo.db'" in strobe("history", "list", "--db", "typo.db", code=2).stderr
    assert not (tmp_path / "typo.db").exists()
    strobe("run", "-q", "--", BUILD / "tests" / "marked", "3")
    assert "it is compared with itself" in strobe("diff", "best", "last").stderr


def test_run_adds_itself_unless_history_is_off(strobe, tmp_path):
    strobe("run", "-q", "-n", "remembered", "--", BUILD / "tests" / "marked", "3")
    strobe("run", "-q", "-n", "forgotten", "--", BUILD / "tests" / "marked", "3", STROBE_HISTORY="off")
    (run,) = json.loads(strobe("history", "--format", "json").stdout)
    assert run["name"] == "remembered" and pathlib.Path(run["run"]).is_dir()
    shutil.rmtree(tmp_path / "strobe-runs")
    assert "remembered" in strobe("history", "show", "last").stdout
    strobe("diff", "history:last", "history:last")  # from what is kept
    assert "no runs in" in strobe("diff", "last", "last", code=2).stderr  # 'last' is of this folder, or nothing


def test_a_damaged_history_does_not_stop_a_run(strobe, tmp_path):
    (tmp_path / "history.db").write_text("garbage" * 100)
    assert "damaged" in strobe("run", "-q", "--", BUILD / "tests" / "marked", "3").stderr


def test_diff_with_the_history_needs_no_folder(strobe, tmp_path):
    strobe("history", "add", "before.txt")
    run = json.loads(strobe("history", "--format", "json").stdout)[0]["id"]
    (tmp_path / "before.txt").unlink()
    out = strobe("diff", f"history:{run}", "after.txt", "--fail-above", "5%", code=1).stdout
    assert "Total 281.96 s -> 299.88 s" in out and "[4f.2]" in out
    strobe("history", "add", "after.txt")
    assert "Total 299.88 s -> 299.88 s" in strobe("diff", "best", "after.txt").stdout


def test_history_prunes_what_it_is_told(strobe, tmp_path):
    strobe("history", "add", "before.txt", "after.txt")
    (tmp_path / "before.txt").unlink()
    assert strobe("history", "prune", "--gone", "--dry-run").stdout.startswith("1 run would")
    strobe("history", "prune", "--gone")
    assert len(json.loads(strobe("history", "--format", "json").stdout)) == 1
    assert "nothing to prune" in strobe("history", "prune", code=2).stderr


def test_history_never_touches_what_is_not_its_own(strobe, tmp_path):
    (tmp_path / "garbage").write_bytes(b"garbage" * 100)
    newer, other = tmp_path / "newer", tmp_path / "other"
    strobe("history", "add", "before.txt", "--db", newer)
    for path, statement in ((newer, "PRAGMA user_version = 99"), (other, "CREATE TABLE mine (a)")):
        with sqlite3.connect(path) as db:
            db.execute(statement)
        db.close()
    for name, words in (("garbage", "damaged"), ("newer", "newer strobe"), ("other", "not a strobe history")):
        before = (tmp_path / name).read_bytes()
        assert words in strobe("history", "add", "after.txt", "--db", name, code=2).stderr
        assert (tmp_path / name).read_bytes() == before


def test_history_takes_concurrent_runs(tmp_path, strobe):
    tools = []
    for i in range(8):
        folder = tmp_path / f"r{i}"
        folder.mkdir()
        shutil.copy(tmp_path / "before.txt", folder / f"log{i}.txt")
        tools.append(subprocess.Popen([TOOL, "history", "add", folder / f"log{i}.txt"], env=environment(tmp_path),
                                      stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True))
    for tool in tools:
        _, errors = tool.communicate(timeout=60)
        assert tool.returncode == 0, errors
    assert len(json.loads(strobe("history", "--format", "json").stdout)) == 8
