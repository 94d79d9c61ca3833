"""Jobs of four ranks with real collectives, in ClickHouse: every number that the engine gives is that of the folders."""
import json
import os
import subprocess
import sys

import pytest

from conftest import HERE, ROOT, TOOL, environment

sys.path.insert(0, os.path.join(ROOT, "tests", "compare"))
from alike import differences  # noqa: E402
from clickhouse_server import SERVER, Server, free_port  # noqa: E402

pytestmark = pytest.mark.skipif(not SERVER, reason="no clickhouse-server here")

PROGRAM = os.path.join(HERE, "program_sequence_parallel.py")
TORCHRUN = [os.path.join(os.path.dirname(sys.executable), "torchrun"), "--nproc_per_node", "4", "--rdzv_backend", "c10d",
            "--rdzv_endpoint", "localhost:0"]
NAMES_OF_RUNS = ("run", "job")  # folders and torchrun's id, what the warehouse calls them
NAMES = ("even", "slow")  # in the second one rank 2 is slow


def strobe(*words, **more):
    return subprocess.run([TOOL, *map(str, words)], check=True, stdout=subprocess.PIPE, text=True, timeout=900,
                          env=environment(NO_COLOR="1", **more)).stdout


@pytest.fixture(scope="module")
def jobs(tmp_path_factory):
    """(their folders, their addresses in the warehouse, the warehouse, a history that has them too)."""
    top = tmp_path_factory.mktemp("engine")
    ports = free_port(), free_port()
    server = Server(top / "clickhouse", *ports, [ports[1]])
    folders, urls = [], []
    for name in NAMES:
        done = subprocess.run([TOOL, "run", "-o", name, "--", *TORCHRUN, PROGRAM, name], cwd=top, capture_output=True, text=True,
                              env=environment(STROBE_HISTORY="off"), timeout=900)
        assert done.returncode == 0, done.stderr[-4000:]
        folders.append(os.path.realpath(top / name / "last"))
        urls.append(server.url("db?job=" + name))
    server.start()
    try:
        for folder, url in zip(folders, urls):
            assert strobe("export", folder, "--to", url).startswith("4 runs, ")
        strobe("history", "add", *folders, STROBE_HISTORY=str(top / "history.db"))
        yield folders, urls, server.url("db"), str(top / "history.db")
    finally:
        server.kill()


def test_aggregate_says_the_same_from_the_engine(jobs):
    for folder, url in zip(*jobs[:2]):
        local, remote = (json.loads(strobe("aggregate", where, "--format", "json")) for where in (folder, url))
        assert local["rank_count"] == 4 and len(local["stages"]) > 5 and local["collective_count"] > 20
        assert list(differences(local, remote, but=NAMES_OF_RUNS)) == []


def test_the_text_of_aggregate_is_the_same(jobs):
    for folder, url in zip(*jobs[:2]):
        local, remote = (strobe("aggregate", where).splitlines() for where in (folder, url))
        assert [line for line in local if not line.startswith("Job: ")] == [line for line in remote if not line.startswith("Job: ")]


def test_diff_says_the_same_from_the_engine(jobs):
    local, remote = (json.loads(strobe("diff", *sides, "--format", "json")) for sides in jobs[:2])
    assert local["jobs"]["base_rank_count"] == local["jobs"]["new_rank_count"] == 4
    for side in (local, remote):
        del side["base"], side["new"]  # what they are called
    assert list(differences(local, remote, but=("label",))) == []


def trend(metric, *where, **more):
    points = json.loads(strobe("history", "trend", metric, *where, "--format", "json", **more))["points"]
    return [(p["start_s"], pytest.approx(p["point_value"], rel=1e-9)) for p in points]


@pytest.mark.parametrize("metric", ["wall_s", "rss_peak_bytes", "unattributed_s", "collective_s", "attention", "collective:all_reduce"])
def test_a_trend_says_the_same_from_the_engine(jobs, metric):
    local = trend(metric, STROBE_HISTORY=jobs[3])
    assert len(local) == 2 and trend(metric, "--from", jobs[2]) == local
