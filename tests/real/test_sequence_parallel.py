"""Sequence parallel on four ranks: a slow rank, a late group and uneven frames are each named."""
import json
import os
import subprocess
import sys

import pytest

from conftest import HERE, TOOL, environment

PROGRAM = os.path.join(HERE, "program_sequence_parallel.py")
TORCHRUN = [os.path.join(os.path.dirname(sys.executable), "torchrun"), "--nproc_per_node", "4", "--rdzv_backend", "c10d",
            "--rdzv_endpoint", "localhost:0"]


@pytest.fixture(scope="module")
def planted(tmp_path_factory):
    reports = {}
    for name in ("slow", "late", "frames"):
        folder = tmp_path_factory.mktemp(name)
        done = subprocess.run([TOOL, "run", "-o", "runs", "--", *TORCHRUN, PROGRAM, name], cwd=folder, capture_output=True, text=True,
                              env=environment(STROBE_HISTORY="off"), timeout=900)
        assert done.returncode == 0, done.stderr
        assert "4 ranks on 1 host" in done.stderr, done.stderr
        reports[name + " screen"] = done.stderr
        reports[name] = json.loads(subprocess.run([TOOL, "report", "runs/last", "--format", "json"], cwd=folder, check=True,
                                                  stdout=subprocess.PIPE, env=environment()).stdout)
        reports[name + " text"] = subprocess.run([TOOL, "aggregate", "runs/last"], cwd=folder, check=True, text=True,
                                                 stdout=subprocess.PIPE, env=environment()).stdout
    return reports


def late(report):
    return {r["rank"]: r for r in report["reports_summary"] if r["straggler"]}


def test_the_slow_rank_is_named_with_its_stage(planted):
    assert late(planted["slow"])[2]["slow_stage"] == "attention"
    assert "The others wait for rank 2: " in planted["slow screen"] and ", in attention\n" in planted["slow screen"]


def test_the_late_group_is_named(planted):
    assert [g["group"].split(":")[:2] for g in planted["late"]["late_groups"]] == [["gloo", "2-3"]]
    assert "comes late as a whole" in planted["late text"]
    assert "The others wait for group gloo:2-3" in planted["late screen"]


def test_uneven_frames_are_named(planted):
    report = planted["frames"]
    assert late(report)[1]["slow_stage"] == "vae_decode"
    decode = next(s for s in report["stages"] if s["name"] == "vae_decode")
    assert decode["total_s"]["max_rank"] == 1
    assert "made 36 frames, the median rank 12" in planted["frames text"]


def test_asynchronous_collectives_are_hidden_or_waited_for(planted):
    for name in ("slow", "late", "frames"):
        report = planted[name]
        assert report["hidden_s"] > 4 * 12 * 0.004  # 5 ms of other work beside each
        assert report["late_wait_s"] > 0 and report["transfer_s"] > 0


def test_the_waiting_is_that_of_the_calls(planted):
    """What the ranks waited, by their zones, is what was split into waiting for the last one and transferring, but for
    collectives with a root, which are not split."""
    report = planted["late"]
    split = report["late_wait_s"] + report["transfer_s"]
    whole = sum(s["total_s"]["sum_value"] for s in report["stages"] if s["name"] in ("collective:all_reduce", "collective:barrier"))
    assert split == pytest.approx(whole, rel=0.02)
