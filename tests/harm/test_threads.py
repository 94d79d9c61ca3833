"""Threads that begin together, are cancelled, and fork: a zone is recorded or counted as
lost (H4, H7, R2). The `scheduled` build gives the processor away at random at every atomic
operation of the recorder; `make fuzz` runs it for longer."""
import os

import pytest

from conftest import BUILD, report

PLAIN, SCHEDULED, CHECKED = "threads", "threads_scheduled", "threads_under_thread"
ROUNDS = int(os.environ.get("STROBE_HARM_ROUNDS", "1"))


def counted(tmp_path):
    recording = report(tmp_path / "strobe-runs" / "last")["recording"]
    return recording["zones"], recording["dropped_count"]


def check(ran, tmp_path, closed_zones=None):
    assert ran.returncode == 0, ran.stdout + ran.stderr
    zones, dropped = counted(tmp_path)
    done = closed_zones if closed_zones is not None else int(ran.stdout)
    assert zones + dropped // 2 >= done  # a zone is two words
    return zones, dropped, done


@pytest.mark.parametrize("build,threads", [(PLAIN, 2), (PLAIN, 16), (PLAIN, 32), (SCHEDULED, 8)])
def test_threads_that_begin_together_open_one_session_and_lose_nothing(harm, tmp_path, build, threads):
    for _ in range(5 * ROUNDS):
        ran = harm(build, "armed", threads, env={"STROBE_ENABLED": "1"})
        zones, dropped, done = check(ran, tmp_path)
        assert (zones, dropped) == (done, 0)


@pytest.mark.parametrize("build,children", [(PLAIN, 30), (SCHEDULED, 8)])
def test_threads_of_a_forked_child_lose_nothing(harm, tmp_path, build, children):
    for _ in range(ROUNDS):
        ran = harm(build, "fork", children, 8)
        zones, dropped, done = check(ran, tmp_path)
        assert (zones, dropped) == (done, 0)


@pytest.mark.parametrize("how", ["HARM_UNWIPED", "HARM_HEEDLESS"])
def test_a_child_is_told_from_its_parent_where_pages_are_not_wiped(harm, tmp_path, how):
    ran = harm(PLAIN, "fork", 20, 4, env={"LD_PRELOAD": str(BUILD / "tests" / "harm_refuse.so"), how: "1"})
    zones, dropped, done = check(ran, tmp_path)
    assert (zones, dropped) == (done, 0)


def test_a_cloned_child_loses_nothing(harm, tmp_path):
    """clone() without the C library's knowledge, which leaves locks of its own held where
    another thread held them: here none does."""
    zones, dropped, done = check(harm(PLAIN, "clone", 20, env={"STROBE_MONITOR": "0"}), tmp_path)
    assert (zones, dropped) == (done, 0)


@pytest.mark.parametrize("build", [PLAIN, SCHEDULED])
def test_cancelled_threads_leave_nothing_locked(harm, tmp_path, build):
    ran = harm(build, "cancel", 40 * ROUNDS)
    check(ran, tmp_path)


@pytest.mark.parametrize("build", [PLAIN, SCHEDULED])
def test_a_thread_cancelled_while_it_opens_the_session_opens_it(harm, tmp_path, build):
    for _ in range(5 * ROUNDS):
        ran = harm(build, "cancel-first", env={"STROBE_ENABLED": "1"})
        zones, dropped, done = check(ran, tmp_path)
        assert (zones, dropped) == (done, 0)


@pytest.mark.parametrize("build", [PLAIN, SCHEDULED])
def test_sessions_come_and_go_under_threads_that_record(harm, tmp_path, build):
    ran = harm(build, "sessions", 8 * ROUNDS, 3)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    stages = report(tmp_path / "strobe-runs" / "last")["stage_analysis"]["stages"]
    assert sum(s["count"] for s in stages if s["name"] == "zone") == 100


@pytest.mark.skipif(not (BUILD / "tests" / f"harm_{CHECKED}").exists(), reason="no build under the thread sanitizer here")
@pytest.mark.parametrize("what", [("armed", 8), ("cancel", 20), ("cancel-first",), ("sessions", 5, 3)])
def test_the_thread_sanitizer_finds_nothing(harm, what):
    ran = harm(CHECKED, *what, env={"STROBE_ENABLED": "1", "TSAN_OPTIONS": "halt_on_error=1:die_after_fork=0"})
    assert ran.returncode == 0, ran.stdout + ran.stderr
