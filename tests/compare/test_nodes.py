"""A job of several nodes without a folder of its own: the nodes' runs lie in one folder, copied there or on a shared disk."""
import json
import shutil
import sqlite3

import pytest

from conftest import BUILD
from test_jobs import make

MARKED = BUILD / "tests" / "marked"
COPIES = ("runs_of_ranks", "runs_of_nodes", "folders_of_nodes", "one_folder")


@pytest.fixture(scope="module")
def nodes(tmp_path_factory):
    """One job of 8 ranks on 2 hosts, as a folder and as it arrives from two nodes; rank 5 is slow."""
    folder = tmp_path_factory.mktemp("nodes")
    make(folder / "job", straggler=5)
    for rank in range(8):
        recording, node = folder / "job" / f"rank_{rank}" / "run.strobe", rank // 4
        for copy in (f"runs_of_ranks/t-20261116-15500{rank}-4{rank}/run.strobe",  # strobe run below a launcher that gives no id
                     f"runs_of_nodes/t-20261116-155005-4{node}/run.{rank}.strobe",  # strobe run above the launcher
                     f"folders_of_nodes/node{node}/t-7/rank_{rank}/run.strobe",  # with an id, on two disks
                     f"one_folder/run.{rank}.strobe"):
            (folder / copy).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(recording, folder / copy)
    return folder


def summary(strobe, run):
    report = json.loads(strobe("report", run, "--format", "json").stdout)
    late = [r["rank"] for r in report["reports_summary"] if r["straggler"]]
    return [r["rank"] for r in report["reports_summary"]], report["missing_ranks"], report["host_count"], late


@pytest.mark.parametrize("copy", COPIES)
def test_the_runs_of_all_nodes_are_the_one_job(strobe, nodes, copy):
    assert summary(strobe, nodes / copy) == (list(range(8)), [], 2, [5])
    assert strobe("report", nodes / copy).stdout == strobe("aggregate", nodes / copy).stdout
    diff = json.loads(strobe("diff", nodes / "job", nodes / copy, "--format", "json").stdout)
    assert (diff["jobs"]["base_rank_count"], diff["jobs"]["new_rank_count"]) == (8, 8) and diff["total"]["verdict"] == "same"


@pytest.mark.parametrize("copy", COPIES)
def test_the_timeline_has_lanes_by_node_and_rank(strobe, nodes, copy, tmp_path):
    strobe("export", nodes / copy, "--to", "chrome", "-o", "t.json")
    trace = json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    names = {e["args"]["name"] for e in trace if e["name"] == "process_name"}
    assert names == {f"node{rank // 4:03d} rank {rank}: train" for rank in range(8)}


@pytest.mark.parametrize("copy", COPIES)
def test_each_rank_opens_by_its_number(strobe, nodes, copy):
    for name in (nodes / copy / "rank_6", f"{nodes / copy}.rank_6"):
        assert ", rank 6 of 8" in strobe("report", name).stdout
    assert strobe("report", nodes / copy / "rank_8", code=2).stderr


@pytest.mark.parametrize("copy", COPIES[:3])
def test_what_copies_a_job_takes_all_nodes(strobe, nodes, copy, tmp_path):
    strobe("export", nodes / copy, "--to", "packed", "-o", "packed")
    strobe("share", nodes / copy, "-o", "job.html")
    for made in ("packed", "job.html"):
        assert summary(strobe, made) == (list(range(8)), [], 2, [5])
    assert "8 ranks" in strobe("history", "add", nodes / copy).stdout
    with sqlite3.connect(tmp_path / "history.db") as db:
        assert db.execute("SELECT count(*) FROM runs").fetchone() == (1,)


def test_reports_written_beside_the_nodes_change_nothing(strobe, nodes, tmp_path):
    shutil.copytree(nodes / "runs_of_nodes", tmp_path / "runs")
    before = summary(strobe, "runs")
    strobe("report", "runs", "--format", "all")
    assert (tmp_path / "runs" / "aggregated_report.html").exists() and summary(strobe, "runs") == before


def record_node(strobe, node, ranks="0 1", folder="runs", size=4):
    strobe("run", "-q", "-o", folder, "--name", f"node{node}", "--", "sh", "-c", f"for r in {ranks}; do RANK=$r WORLD_SIZE={size} {MARKED} 3; done")


def test_a_shared_folder_of_runs_means_its_newest_job_on_all_nodes(strobe, tmp_path):
    """As `strobe run -- torchrun --nnodes 2` leaves them: a run by each node."""
    strobe("run", "-q", "-o", "runs", "--name", "before", "--", str(MARKED), "3")
    record_node(strobe, 0)
    record_node(strobe, 1, "2 3")
    ran = {p.name.split("-")[0]: p for p in (tmp_path / "runs").iterdir() if not p.is_symlink()}
    for whole in ("runs", "runs/last", ran["node0"], ran["node1"], f"{ran['node1']}/"):
        assert summary(strobe, whole)[:2] == ([0, 1, 2, 3], []), whole
    assert summary(strobe, f"{ran['node1']}/.")[:2] == ([2, 3], [0, 1])  # that node alone
    last = json.loads(strobe("report", "last", "--format", "json", STROBE_OUTPUT_DIR="runs").stdout)
    assert last["rank_count"] == 4
    earlier = json.loads(strobe("report", "last~1", "--format", "json", STROBE_OUTPUT_DIR="runs").stdout)
    assert earlier["session_info"]["name"] == "before"


def test_a_node_in_its_jobs_folder_is_that_node(strobe, nodes, tmp_path):
    for rank in range(8):
        folder = tmp_path / "job" / f"rank_{rank // 4}"
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copy(nodes / "job" / f"rank_{rank}" / "run.strobe", folder / f"run.{rank}.strobe")
    assert json.loads(strobe("aggregate", "job/rank_1", "--format", "json").stdout)["missing_ranks"] == [0, 1, 2, 3]
    assert summary(strobe, "job")[:2] == (list(range(8)), [])


def test_runs_that_are_no_nodes_of_one_job_stay_apart(strobe, tmp_path):
    record_node(strobe, 0, "0 1")  # the same ranks twice: two starts
    record_node(strobe, 1, "0 1")
    assert summary(strobe, "runs")[:2] == ([0, 1], [2, 3])
    record_node(strobe, 2, "2 3", "worlds", 8)  # another world
    record_node(strobe, 3, "0 1", "worlds", 4)
    assert summary(strobe, "worlds")[0] == [0, 1]
    record_node(strobe, 4, "0 1 2 3", "whole")  # nothing is missing
    record_node(strobe, 5, "0 1 2 3", "whole")
    assert summary(strobe, "whole")[:2] == ([0, 1, 2, 3], [])
    record_node(strobe, 6, "2 3", "newer")
    strobe("run", "-q", "-o", "newer", "--name", "single", "--", str(MARKED), "3")
    assert json.loads(strobe("report", "newer", "--format", "json").stdout)["session_info"]["name"] == "single"
