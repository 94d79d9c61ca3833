"""Collectives that torch starts by itself: DDP's reducer with and without a hook of the program's, functional ones. What was
recorded is what torch's own counts say, and results are bit-equal."""
import json
import os
import subprocess
import sys

import pytest

import strobe_file
from conftest import HERE, TOOL, environment

PROGRAM = os.path.join(HERE, "program_ddp.py")
RANKS, STEPS = 3, 6
TORCHRUN = [os.path.join(os.path.dirname(sys.executable), "torchrun"), "--nproc_per_node", str(RANKS), "--rdzv_backend", "c10d",
            "--rdzv_endpoint", "localhost:0"]


def run(folder, out, mode, *before):
    done = subprocess.run([*before, *TORCHRUN, PROGRAM, out, mode], cwd=folder, capture_output=True, text=True, timeout=900,
                          env=environment(STROBE_HISTORY="off", STROBE_DEBUG="1"))
    assert done.returncode == 0, done.stderr[-4000:]
    assert "strobe: fault" not in done.stderr, done.stderr[-4000:]
    return [json.loads((folder / ("%s.%d" % (out, rank))).read_text()) for rank in range(RANKS)]


@pytest.fixture(scope="module", params=["plain", "hooked", "functional"])
def ways(request, tmp_path_factory):
    """(mode, what each rank found alone, with strobe, collectives of each rank, the job's report)."""
    folder = tmp_path_factory.mktemp(request.param)
    alone = run(folder, "alone", request.param)
    watched = run(folder, "watched", request.param, TOOL, "run", "-o", "runs", "--")
    report = json.loads(subprocess.run([TOOL, "report", "runs/last", "--format", "json"], cwd=folder, check=True,
                                       stdout=subprocess.PIPE, env=environment()).stdout)
    ranks = {}
    for recording in strobe_file.read(str(folder / "runs" / "last")):
        met = [zone for zone in recording.zones if zone.name.startswith("collective:")]
        if met:
            ranks[len(ranks)] = met
    return request.param, alone, watched, ranks, report


def test_results_are_bit_equal(ways):
    _, alone, watched, _, _ = ways
    assert [found["digest"] for found in alone] == [found["digest"] for found in watched]


def test_every_collective_is_there_once_with_its_bytes(ways):
    mode, _, watched, ranks, _ = ways
    assert len(ranks) == RANKS
    for met in ranks.values():
        numbers = [zone.attrs["seq"] for zone in met]
        assert sorted(numbers) == list(range(len(met)))
        if mode == "functional":
            assert len(met) == watched[0]["calls"]
            assert {zone.name for zone in met} == {"collective:all_gather_into_tensor", "collective:all_reduce"}
            continue
        reduced = [zone.attrs["bytes"] for zone in met if zone.name == "collective:all_reduce"]
        first, rest = reduced[0], reduced[1:]
        assert first == sum(watched[0]["bucket_bytes"])  # before the buckets are made anew
        assert rest == watched[0]["bucket_bytes"] * (STEPS - 1)
        if mode == "hooked":
            assert reduced == watched[0]["hooked"]


def test_the_job_says_what_was_waited_for(ways):
    mode, _, _, ranks, report = ways
    assert report["collective_count"] == sum(zone.name != "collective:broadcast" for zone in ranks[0])  # those with no root
    assert report["late_wait_s"] > 0
    if mode == "plain":
        slow = {r["rank"]: r for r in report["reports_summary"]}[1]
        assert slow["last_count"] >= STEPS  # it slept before every backward pass
