"""What strobe and strobe.compat write is read by the commands."""
import json
import subprocess

import pytest

from conftest import BUILD
from guide_forms import stages


@pytest.fixture(scope="module")
def recordings(tmp_path_factory):
    folder = tmp_path_factory.mktemp("recordings")
    subprocess.run([BUILD / "tests" / "make_recordings", folder], check=True)
    return folder


@pytest.mark.parametrize("name", ["rich", "traced", "blocks"])
@pytest.mark.parametrize("form", ["text", "json"])
def test_what_strobe_writes_comes_back_with_its_numbers(strobe, recordings, name, form):
    """Nested rows stay in their parents, the run keeps its length; threads beside each other (rich) too."""
    source = recordings / (name + ".strobe")
    whole = strobe.report(source)["stage_analysis"]
    again = strobe.report(strobe.write("timing_summary.txt" if form == "text" else "profiling_report.json",
                                       strobe("report", source, "--format", form)))["stage_analysis"]

    def rows(analysis):
        return {(s.get("code"), s["name"], s.get("parent"), s.get("state")): (s["count"], s.get("total_s", 0), s.get("min_s"), s.get("max_s"))
                for s in analysis["stages"]}

    assert rows(again).keys() == rows(whole).keys()
    for key, numbers in rows(whole).items():
        assert rows(again)[key] == pytest.approx(numbers, rel=0.01), key
    for key in ("wall_s", "unattributed_s"):
        assert again[key] == pytest.approx(whole[key], rel=0.01, abs=1e-3), key
    assert again.get("overlap_s", 0) == pytest.approx(whole.get("overlap_s", 0), rel=0.01)


@pytest.fixture
def written(strobe):
    """What strobe writes about several runs, each as JSON."""
    base = strobe.write("base.log", "  [3b] RAFT (12 iters): 95.00s\n  [4c] VAE: 5.00s\nTOTAL TIME: 101.00s\n")
    fast = strobe.write("fast.log", "  [3b] RAFT (8 iters): 65.00s\n  [4c] VAE: 5.00s\nTOTAL TIME: 71.00s\n")
    strobe("diff", base, fast, "-o", "diff.json")
    strobe("journal", "start", base, "-F", "journal.json", "--commit", "1")
    strobe("journal", "add", fast, "fewer", "-F", "journal.json", "--commit", "2")
    strobe.write("bench.json", {"command": "x", "warmup_count": 1, "rows": [{"name": "a", "count": 4, "mean_s": 2.0, "median_s": 2.0, "min_s": 1.5, "max_s": 2.5}]})
    strobe.write("aggregate.json", {"schema": "strobe.aggregate/1", "rank_count": 2, "metrics": {"wall_s": {"avg_value": 10}}, "stages": [{"name": "denoise", "count": 8, "total_s": {"avg_value": 6.5}}]})
    return strobe


@pytest.mark.parametrize("name, wall, stage, total, count", [
    ("diff", 71, "RAFT", 65, 1), ("journal", 71, "RAFT", 65, 1), ("bench", 8, "a", 8, 4), ("aggregate", 10, "denoise", 6.5, 4)])
def test_what_strobe_writes_about_several_runs_is_a_run(written, name, wall, stage, total, count):
    report = json.loads(written("report", name + ".json", "--format", "json"))
    assert report["stage_analysis"]["wall_s"] == pytest.approx(wall)
    assert stages(report)[stage]["total_s"] == pytest.approx(total) and stages(report)[stage]["count"] == count
    assert "Total" in written("diff", "base.log", name + ".json")
    assert written("import", name + ".json", "-o", name + "-run")


def test_a_diff_of_nothing_timed_is_no_run(strobe):
    strobe.write("d.json", {"schema": "strobe.diff/1", "stages": [{"name": "a"}]})
    assert "has no stage with a time" in strobe("report", "d.json", code=2)


def test_stages_of_an_aggregate_stay_inside_their_parents(strobe):
    ranks = []
    for rank in range(2):
        events = [("block", 0, 2000 + 400 * rank), ("denoise", 0, 1900 + 400 * rank), ("vae", 3000, 500)] + [("only_here", 100, 300)] * rank
        ranks.append(strobe.imported({"distributedInfo": {"rank": rank, "world_size": 2}, "traceEvents": [
            {"ph": "X", "pid": 1, "tid": 1, "name": n, "ts": t * 1000, "dur": d * 1000} for n, t, d in events]}))
    strobe("aggregate", *ranks, "-o", "aggregated_report.json")
    rows = json.loads((strobe.folder / "aggregated_report.json").read_text())["stages"]
    assert {r["name"]: rows[r["parent_index"]]["name"] for r in rows if "parent_index" in r} == {"denoise": "block", "only_here": "denoise"}
    analysis = strobe.report("aggregated_report.json")["stage_analysis"]
    assert {s["name"]: s.get("parent") for s in analysis["stages"]} == {"block": None, "denoise": "block", "only_here": "denoise", "vae": None}
    assert [stages({"stage_analysis": analysis})[n]["total_s"] for n in ("block", "denoise", "only_here", "vae")] == pytest.approx([2.2, 2.1, 0.15, 0.5])
    assert not analysis.get("overlap_s") and "overlap" not in strobe("report", "--brief", "aggregated_report.json")


@pytest.mark.parametrize("parents", [(1, 0), (0, 1), (1, 2, 0), (-5, 10**12), ("x", None)])
def test_parents_of_an_aggregate_that_make_no_tree_are_left_out(strobe, parents):
    rows = [{"name": f"s{chr(97 + i)}", "count": 2, "total_s": {"avg_value": 1.0}, "parent_index": p} for i, p in enumerate(parents)]
    strobe.write("a.json", {"schema": "strobe.aggregate/1", "rank_count": 2, "metrics": {"wall_s": {"avg_value": 10}}, "stages": rows})
    assert {s["name"] for s in strobe.report("a.json")["stage_analysis"]["stages"]} == {r["name"] for r in rows}


NESTED = {"slow": "  [3b] RAFT (12 iters): 95.00s\n  [4f] Main inference: Starting...\n    [4f.1] Add noise: 1.00s\n    [4f.2] UNet: 60.00s\n  [4f] Main inference TOTAL: 62.00s\nTOTAL TIME: 160.00s\n",
          "fast": "  [3b] RAFT (8 iters): 65.00s\n  [4f] Main inference: Starting...\n    [4f.1] Add noise: 1.00s\n    [4f.2] UNet: 40.00s\n  [4f] Main inference TOTAL: 42.00s\nTOTAL TIME: 110.00s\n"}


@pytest.mark.parametrize("name", ["diff", "journal"])
def test_stages_of_a_diff_and_of_a_journal_stay_inside_their_parents(strobe, name):
    slow, fast = (strobe.write(n + ".log", text) for n, text in NESTED.items())
    strobe("diff", slow, fast, "-o", "diff.json")
    strobe("journal", "start", slow, "-F", "journal.json", "--commit", "1")
    strobe("journal", "add", fast, "fewer", "-F", "journal.json", "--commit", "2")
    written = json.loads((strobe.folder / (name + ".json")).read_text())
    rows = written["stages"] if name == "diff" else written["steps"][1]["stages"]
    assert {r["code"]: rows[r["parent_index"]]["code"] for r in rows if "parent_index" in r} == {"4f.1": "4f", "4f.2": "4f"}
    analysis = strobe.report(name + ".json")["stage_analysis"]
    assert {s["code"]: (s["total_s"], s["self_s"], s["depth"]) for s in analysis["stages"]} == {
        "3b": (65, 65, 0), "4f": (42, 1, 0), "4f.1": (1, 1, 1), "4f.2": (40, 40, 1)}
    assert analysis["wall_s"] == 110 and not analysis.get("overlap_s")


def test_a_journal_of_an_older_strobe_is_read_without_parents(strobe):
    strobe.write("journal.json", {"schema": "strobe.journal/1", "per_generation": False, "steps": [
        {"title": "a", "run": "a", "total_s": 9, "wall_s": 9, "stages": [{"name": "b", "key": "b", "total_s": 3}, {"name": "c", "key": "c", "total_s": 5}]}]})
    strobe("journal", "add", strobe.write("b.log", "[1a] b: 2.00s\n"), "less", "-F", "journal.json", "--commit", "2")
    first = json.loads((strobe.folder / "journal.json").read_text())["steps"][0]
    assert all("parent_index" not in s for s in first["stages"])
    assert {s["name"]: s["depth"] for s in strobe.report("journal.json")["stage_analysis"]["stages"]} == {"b": 0}


BASE = "[3b] RAFT optical flow (12 iters): 95.00s\n[4f] Main inference: Starting...\n  [4f.2] UNet: 60.00s\n[4f] Main inference TOTAL: 62.00s\nTOTAL TIME: 160.00s\n"


def test_the_report_in_markdown_is_a_run(strobe):
    strobe("report", strobe.write("base.log", BASE), "-o", "r.md")
    report = strobe.report("r.md")
    assert report["stage_analysis"]["wall_s"] == pytest.approx(160)
    assert {s.get("code"): (s["total_s"], s["depth"]) for s in report["stage_analysis"]["stages"]} == {"3b": (95, 0), "4f": (62, 0), "4f.2": (60, 1)}
    assert "160.00 s" in strobe("diff", "base.log", "r.md") and strobe("import", "r.md", "-o", "run")


@pytest.mark.parametrize("form", ["text", "markdown"])
def test_the_table_of_a_journal_is_its_newest_step(strobe, form):
    strobe("journal", "start", strobe.write("base.log", BASE), "-F", "j.json", "--commit", "1")
    strobe("journal", "add", strobe.write("fast.log", BASE.replace("95.00", "65.00").replace("160", "130")), "12 -> 8, 30s less", "-F", "j.json", "--commit", "2")
    strobe.write("j.txt", strobe("journal", "show", "-F", "j.json", "--format", form))
    analysis = strobe.report("j.txt")["stage_analysis"]
    rows = {s.get("code"): s["total_s"] for s in analysis["stages"]}
    assert analysis["wall_s"] == pytest.approx(130) and rows["3b"] == 65 and rows["4f.2"] == 60


def test_the_text_of_an_aggregate_is_the_mean_rank(strobe):
    for rank, seconds in enumerate((90, 100)):
        strobe("import", "-q", strobe.write(f"{rank}.log", f"[3b] RAFT optical flow: {seconds}.00s\n[3c] Flow: 5.00s\nTOTAL TIME: {seconds + 10}.00s\n"), "-o", f"job/rank_{rank}")
    strobe.write("agg.txt", strobe("aggregate", "job"))
    report = strobe.report("agg.txt")
    assert report["stage_analysis"]["wall_s"] == pytest.approx(105)
    assert {s.get("code"): s["total_s"] for s in report["stage_analysis"]["stages"]} == {"3b": 95, "3c": 5}
    assert report["session_info"]["tags"]["reports"] == 2


def test_a_timeline_of_a_cache_is_read_with_its_advice(strobe):
    rows = "".join(f"| {i / 10:.2f} | {i}.0 | semantic | chunk {i}, score=0.91, threshold=0.95, miss |\n" for i in range(45)) + 5 * "| 9.00 | 99.5 | semantic | chunk 9, score=0.97, threshold=0.95 |\n"
    report = strobe.report(strobe.write("cache.md", "| Time (s) | Frame | Cache | Details |\n|---|---|---|---|\n" + rows))
    cache, = report["cache_analysis"]["caches"]
    assert (cache["name"], cache["hit_count"], cache["miss_count"], cache["hit_ratio"]) == ("semantic", 5, 45, pytest.approx(0.1))
    assert cache["threshold_value"] == pytest.approx(0.95) and cache["timeline"][45]["frame_index"] == pytest.approx(99.5)
    assert any("threshold" in (r["suggestion"] + r["issue"]) for r in report["recommendations"])


@pytest.mark.parametrize("form", ["json", "text"])
def test_whatif_takes_a_report(strobe, form):
    strobe.write("report." + ("json" if form == "json" else "txt"), strobe("report", strobe.write("base.log", BASE), "--format", form))
    text = strobe("whatif", "report." + ("json" if form == "json" else "txt"), "3b.iters=6")
    assert "12 -> 6" in text and "95.00 s -> 47.50 s" in text


def test_a_folder_without_a_recording_says_what_to_name(strobe):
    (strobe.folder / "traces").mkdir()
    strobe.write("traces/my_trace.json", {"traceEvents": []})
    assert "name a file of it, 'traces/my_trace.json'" in strobe("report", "traces", code=2)
    (strobe.folder / "empty").mkdir()
    assert "nothing was recorded there" in strobe("report", "empty", code=2)
