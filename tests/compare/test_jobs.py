"""A job where a RUN is expected: report, diff, export, history and the gate take its folder."""
import csv
import json
import re
import shutil
import subprocess

import pytest

from conftest import BUILD

MARKED = BUILD / "tests" / "marked"


def make(folder, ranks=8, zones=400, straggler=-1, hosts=2, skew_ms=3):
    subprocess.run([BUILD / "tests" / "make_ranks", folder, *map(str, (ranks, zones, straggler, hosts, skew_ms))], check=True)


@pytest.fixture(scope="module")
def jobs(tmp_path_factory):
    """Two jobs of 8 ranks on 2 hosts whose clocks are 3 ms apart; in the second, rank 5 is slow."""
    folder = tmp_path_factory.mktemp("jobs")
    make(folder / "before")
    make(folder / "after", straggler=5)
    return folder


def test_the_report_of_a_job_is_on_its_ranks(strobe, jobs, tmp_path):
    assert strobe("report", jobs / "after").stdout == strobe("aggregate", jobs / "after").stdout
    report = json.loads(strobe("report", jobs / "after", "--format", "json").stdout)
    assert report["schema"] == "strobe.aggregate/1" and report["rank_count"] == 8
    strobe("report", jobs / "after", "--format", "all", "-o", tmp_path / "out")
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == [
        "aggregated_report.html", "aggregated_report.json", "aggregated_report.txt"]
    assert "rank_0" in strobe("report", jobs / "after", "--last", "1s", code=2).stderr


def test_diff_of_jobs_names_the_rank_that_came_and_the_spread(strobe, jobs):
    text = strobe("diff", jobs / "before", jobs / "after").stdout
    assert "Straggler rank 5 on node001 came" in text and "the others wait for rank 5 on node001 now" in text
    diff = json.loads(strobe("diff", jobs / "before", jobs / "after", "--format", "json").stdout)
    assert (diff["jobs"]["base_rank_count"], diff["jobs"]["new_host_count"]) == (8, 2)
    (late,) = diff["jobs"]["stragglers"]
    assert (late["rank"], late["change"], late["stage"]) == (5, "came", "forward")
    stages = {s["name"]: s for s in diff["stages"]}
    forward = stages["forward"]  # the median rank does the same; one rank does not
    assert forward["verdict"] == "same" and forward["judged"] == "ranks"
    assert forward["new_spread_s"] > 20 * forward["base_spread_s"] and forward["new_slowest_rank"] == 5
    back = json.loads(strobe("diff", jobs / "after", jobs / "before", "--format", "json").stdout)
    assert back["jobs"]["stragglers"][0]["change"] == "went"
    assert diff["total"]["new_value"] == pytest.approx(
        json.loads(strobe("aggregate", jobs / "after", "--format", "json").stdout)["metrics"]["wall_s"]["max_value"])


def test_the_gate_judges_a_job(strobe, jobs):
    assert "FAIL" in strobe("diff", jobs / "before", jobs / "after", "--fail-above", "5%", code=1).stdout
    assert "PASS" in strobe("diff", jobs / "before", jobs / "after", "--fail-above", "backward=5%").stdout
    assert "PASS" in strobe("diff", jobs / "before", jobs / "before", "--fail-above", "5%").stdout


def test_a_job_is_one_row_of_the_history_with_its_ranks_below(strobe, jobs):
    for rank in (0, 1, 5):  # as the ranks add themselves
        strobe("history", "add", jobs / "after" / f"rank_{rank}")
    rows = json.loads(strobe("history", "list", "--format", "json").stdout)
    assert [(r["rank"], r["world_size_count"]) for r in rows] == [(0, 8)]
    assert "8 ranks" in strobe("history", "add", jobs / "after").stdout
    (row,) = json.loads(strobe("history", "list", "--format", "json").stdout)
    assert row["rank_count"] == 8 and row["metrics"]["wall_s"] > 0
    shown = strobe("history", "show").stdout
    assert "straggler in forward" in shown and len([line for line in shown.splitlines() if " node00" in line]) >= 8
    kept = strobe("diff", jobs / "before", f"history:{row['id']}").stdout
    assert "Straggler rank 5 on node001 came" in kept


def test_a_job_with_more_collectives_than_are_kept_says_so(strobe, jobs, tmp_path):
    make(tmp_path / "long", ranks=2, zones=12000, hosts=1)
    ranks = json.loads(strobe("report", "long", "--format", "json").stdout)["reports_summary"]
    total = ranks[0]["collective_total_count"]
    assert total == ranks[1]["collective_total_count"] == 3000
    assert re.search(rf"^looked at \d+ of the {total} collectives of rank 0, the same ones on every rank: ", strobe("report", "long").stdout, re.MULTILINE)
    assert "looked at " not in strobe("report", jobs / "after").stdout
    assert "collective_total_count" not in strobe("report", jobs / "after", "--format", "json").stdout


def test_the_timeline_of_a_job_has_lanes_by_node_and_rank_on_one_clock(strobe, jobs, tmp_path):
    strobe("export", jobs / "after", "--to", "chrome", "-o", "t.json")
    trace = json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    names = {e["pid"]: e["args"]["name"] for e in trace if e["name"] == "process_name"}
    order = {e["pid"]: e["args"]["sort_index"] for e in trace if e["name"] == "process_sort_index"}
    lanes = [names[pid] for pid in sorted(order, key=order.get)]
    assert lanes == [f"node{rank // 4:03d} rank {rank}: train" for rank in range(8)]
    ends = {}
    for e in trace:
        if e["name"] == "all_reduce":
            ends.setdefault(e["pid"], []).append(e["ts"] + e["dur"])
    for together in zip(*ends.values()):  # 3 ms apart by the hosts' clocks
        assert max(together) - min(together) < 200
    strobe("export", jobs / "after", "--to", "perfetto", "-o", "t.pftrace")
    assert b"node001 rank 7: train" in (tmp_path / "t.pftrace").read_bytes()
    strobe("export", jobs / "after", "--to", "speedscope", "-o", "t.speedscope.json")
    profiles = json.loads((tmp_path / "t.speedscope.json").read_text())["profiles"]
    assert {p["name"].rpartition(": ")[0] for p in profiles} == set(lanes)
    rows = csv.DictReader(strobe("export", jobs / "after", "--to", "csv", "-o", "-").stdout.splitlines())
    assert {(row["host"], row["rank"]) for row in rows if row["kind"] == "zone"} == {(f"node{rank // 4:03d}", str(rank)) for rank in range(8)}


def record(strobe, rank, job, size=2, code=0, port="1", command=(str(MARKED), "3")):
    strobe("run", "-q", "-o", "out", "--name", "t", "--", *command, RANK=str(rank), LOCAL_RANK=str(rank), code=code,
           WORLD_SIZE=str(size), TORCHELASTIC_RUN_ID=job, MASTER_PORT=port)


def test_the_last_complete_attempt_is_the_job_and_earlier_ones_are_listed(strobe, tmp_path):
    for port in ("1", "2"):
        for rank in range(2):
            record(strobe, rank, "j", port=port)
    record(strobe, 1, "j", port="3")  # the third never got its rank 0
    report = json.loads(strobe("report", "out/t-j", "--format", "json").stdout)
    assert [r["run"] for r in report["reports_summary"]] == ["out/t-j.2/rank_0", "out/t-j.2/rank_1"]
    assert [(a["attempt_index"], a.get("taken", False)) for a in report["attempts"]] == [(1, False), (2, True), (3, False)]
    assert report["attempts"][2]["state"] == "1 of 2 ranks ended in order" and not report["left_out"]
    assert json.loads(strobe("aggregate", "out", "--format", "json").stdout) == report
    text = strobe("aggregate", "out/t-j").stdout
    assert "Attempt 2, this report" in text
    named = re.search(r"^Attempt 1: .* \((.*)\)$", text, re.MULTILINE).group(1)  # the words lead to that attempt, not back to the job
    assert "Attempt 1, this report" in strobe("aggregate", named).stdout
    one = json.loads(strobe("report", "out/t-j.1", "--format", "json").stdout)
    assert [r["run"] for r in one["reports_summary"]] == ["out/t-j/rank_0", "out/t-j/rank_1"]
    assert [a["attempt_index"] for a in one["attempts"] if a.get("taken")] == [1]
    assert json.loads(strobe("report", "out/t-j.3", "--format", "json").stdout)["missing_ranks"] == [0]


def test_ranks_that_failed_are_named_with_how(strobe):
    record(strobe, 0, "j")
    record(strobe, 1, "j", code=3, command=("sh", "-c", f"{MARKED} 3; exit 3"))
    report = json.loads(strobe("report", "out/t-j", "--format", "json").stdout)
    assert [r.get("failure") for r in report["reports_summary"]] == [None, "exit 3"]
    assert "Failed: rank 1 (out/t-j/rank_1): exit 3; what was recorded counts\n" in strobe("report", "out/t-j").stdout
    brief = strobe("report", "--brief", "out/t-j").stdout
    assert "Rank 1 failed: exit 3\n" in brief and re.search(r"^ +1 .* failed$", brief, re.MULTILINE)


def test_the_screen_says_whose_processor_time_it_is(strobe):
    def end(rank):
        return strobe("run", "-o", "out", "--name", "t", "--", str(MARKED), "3", RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE="2",
                      TORCHELASTIC_RUN_ID="j", MASTER_PORT="1").stderr
    end(0)
    assert "\nRank 1 alone: CPU " in end(1)


def test_a_link_to_a_later_attempt_is_the_job_with_all_its_attempts(strobe, tmp_path):
    for port in ("1", "2"):
        for rank in range(2):
            record(strobe, rank, "j", port=port)
    assert (tmp_path / "out" / "last").readlink().name == "t-j.2"
    report = json.loads(strobe("report", "out/last", "--format", "json").stdout)
    assert [(a["attempt_index"], a["run"], a.get("taken", False)) for a in report["attempts"]] == [(1, "out/t-j", False), (2, "out/t-j.2", True)]
    written = json.loads((tmp_path / "out" / "t-j.2" / "aggregated_report.json").read_text())  # by the rank that ended last
    assert [a["attempt_index"] for a in written["attempts"]] == [1, 2]


def test_the_screen_of_a_job_says_how_earlier_attempts_ended(strobe, tmp_path):
    def end(rank, port):
        return strobe("run", "-o", "out", "--name", "t", "--", str(MARKED), "3", RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE="2",
                      TORCHELASTIC_RUN_ID="j", MASTER_PORT=port).stderr
    record(strobe, 0, "j", port="1")  # its other rank never came
    end(0, "2")
    assert "Attempt 2 of 2; attempt 1: 1 of 2 ranks ended in order\n" in end(1, "2")


def test_of_two_ranks_each_is_compared_with_the_other(strobe, tmp_path):
    make(tmp_path / "two", ranks=2, straggler=1, hosts=1)
    report = json.loads(strobe("report", "two", "--format", "json").stdout)
    work = [r["work_s"] for r in report["reports_summary"]]
    assert [r["behind_s"] for r in report["reports_summary"]] == pytest.approx([work[0] - work[1], work[1] - work[0]])
    late = report["reports_summary"][1]
    forward = next(s for s in report["stages"] if s["name"] == "forward")
    assert late["straggler"] and late["slow_stage_median_s"] == pytest.approx(forward["total_s"]["min_value"])
    assert "more than the other rank; forward took" in strobe("report", "two").stdout


def test_a_foreign_rank_of_another_job_is_never_taken(strobe, tmp_path):
    for rank in range(3):
        record(strobe, rank, "mine", size=4)
    record(strobe, 3, "theirs", size=4)
    shutil.move(tmp_path / "out" / "t-theirs" / "rank_3", tmp_path / "out" / "t-mine" / "rank_3")
    report = json.loads(strobe("report", "out/t-mine", "--format", "json").stdout)
    assert report["job"] == "mine" and report["missing_ranks"] == [3]
    (left,) = report["left_out"]
    assert left["run"].endswith("rank_3") and "is of job 'theirs', not of 'mine'" in left["why"]


def test_of_two_jobs_in_a_folder_the_newer_is_taken_and_the_other_named(strobe):
    for job in ("j4", "j2"):  # the later one has the smaller name
        for rank in range(2):
            record(strobe, rank, job)
    report = json.loads(strobe("aggregate", "out", "--format", "json").stdout)
    assert report["job"] == "j2" and {left["why"] for left in report["left_out"]} == {"is of job 'j4', not of 'j2'"}


def test_runs_that_say_no_rank_have_no_stragglers_and_are_not_said_to_have_none(strobe):
    for seconds in (2, 3, 40):
        strobe("run", "-q", "-o", "runs", "--name", f"exp{seconds}", "--", str(MARKED), str(seconds))
    text = strobe("aggregate", "runs").stdout
    assert "=== Stragglers ===\nnot judged: these runs do not say which ranks of a job they are\n" in text


SHELL = "for r in 0 1; do RANK=$r LOCAL_RANK=$r WORLD_SIZE=2 TORCHELASTIC_RUN_ID=j {} {}; done"


def test_ranks_in_one_folder_are_named_like_folders(strobe, tmp_path):
    strobe("run", "-q", "-o", "out", "--", "sh", "-c", SHELL.format(MARKED, 3) + "; " + SHELL.format(MARKED, 5))
    (run,) = [p for p in (tmp_path / "out").iterdir() if not p.is_symlink()]
    report = json.loads(strobe("report", run, "--format", "json").stdout)
    assert [r["run"] for r in report["reports_summary"]] == [f"{run}/rank_0", f"{run}/rank_1"]
    assert [a["attempt_index"] for a in report["attempts"]] == [1, 2] and report["attempts"][1]["taken"]
    assert [a["run"] for a in report["attempts"]] == [f"{run}.1", str(run)]
    first = json.loads(strobe("report", f"{run}.1", "--format", "json").stdout)  # it has no folder of its own
    assert [r["run"] for r in first["reports_summary"]] == [f"{run}.1/rank_0", f"{run}.1/rank_1"]
    assert [a.get("taken", False) for a in first["attempts"]] == [True, False]
    earlier = json.loads(strobe("report", f"{run}.1/rank_1", "--format", "json").stdout)
    assert next(s for s in earlier["stage_analysis"]["stages"] if s["name"] == "work")["count"] == 3
    assert f"{run}.3" in strobe("report", f"{run}.3", code=2).stderr
    assert "report" not in strobe("export", f"{run}.1", "--to", "chrome").stderr  # what has no folder goes into the run's
    whole = json.loads((run / "attempt_1.trace.json").read_text())["traceEvents"]
    assert len([e for e in whole if e.get("name") == "work" and e["ph"] in "XB"]) == 2 * 3
    strobe("export", f"{run}.1", "--to", "packed", "-o", "packed")
    strobe("share", f"{run}.1", "-o", "shared.html")
    for copy in ("packed", "shared.html"):
        stages = json.loads(strobe("report", copy, "--format", "json").stdout)["stages"]
        assert next(s for s in stages if s["name"] == "work")["count"] == 2 * 3
    one = json.loads(strobe("report", run / "rank_1", "--format", "json").stdout)
    assert one["session_info"]["rank"] == 1
    assert next(s for s in one["stage_analysis"]["stages"] if s["name"] == "work")["count"] == 5
    assert "rank_2" in strobe("report", run / "rank_2", code=2).stderr
