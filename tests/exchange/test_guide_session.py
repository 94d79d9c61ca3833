"""A live display, a summary over ranks and the report of a session (guides 002 and 003), pasted."""
import json

import pytest

from guide_forms import DISPLAY, AGGREGATION, stages, readings


def test_a_live_display_becomes_samples(strobe):
    report = strobe.report(strobe.write("a.txt", DISPLAY + DISPLAY.replace("8420MB", "9420MB")))
    device = report["gpu_metrics"]["devices"][0]
    assert (device["memory_used_max_mb"], device["memory_used_mean_mb"], device["memory_total_mb"]) == (9420, 8920, 24564)
    assert device["utilization_mean_percent"] == pytest.approx(85.2) and device["temperature_max_c"] == pytest.approx(72.1)
    assert report["cpu_metrics"]["usage_mean_percent"] == pytest.approx(45.3)
    assert report["session_info"]["name"] == "session_abc123"


def test_the_lines_that_strobe_adds_to_its_display_change_nothing(strobe):
    more = DISPLAY + "Stage: [3b] RAFT optical flow\nSpeed: 12.0 FPS, 4.0 BPS, 16.0 steps/s (36 frames, 12 blocks, 48 steps)\n"
    one, two = (json.loads(strobe("report", strobe.write(name, text), "--format", "json")) for name, text in (("a.txt", DISPLAY), ("b.txt", more)))
    for key in ("gpu_metrics", "cpu_metrics", "stage_analysis", "summary"):
        assert one.get(key) == two.get(key)


def test_a_display_among_stage_lines_belongs_to_the_stage_that_ran(strobe):
    log = "[1a] Load: 4.00s\n" + DISPLAY + "[1b] Denoise: 6.00s\nTOTAL TIME: 10.00s\n"
    text = strobe("report", strobe.write("a.txt", log))
    assert "in Denoise" in text


def test_an_aggregation_summary_keeps_min_max_and_average(strobe):
    device = strobe.report(strobe.write("a.txt", AGGREGATION))["gpu_metrics"]["devices"][0]
    assert [device[k] for k in ("memory_used_max_mb", "memory_used_mean_mb", "utilization_mean_percent")] == pytest.approx([9800, 8420, 85.2])


def test_an_aggregation_summary_says_of_how_many_ranks_it_is(strobe):
    path = strobe.write("a.txt", AGGREGATION.replace("processed: 8", "processed: 16"))
    report, text = strobe.report(path), strobe("report", path)
    assert report["session_info"]["tags"] == {"ranks": 8, "reports": 16}
    assert any("minimum, maximum and average" in m["why"] for m in report["not_recorded"])
    assert "Steepest rise" not in text, "ranks do not follow one another"


def test_the_gpu_section_of_an_aggregation_alone(strobe):
    for text in (AGGREGATION[AGGREGATION.index("=== GPU"):], AGGREGATION[AGGREGATION.index("GPU Memory"):]):
        device = strobe.report(strobe.write("a.txt", text))["gpu_metrics"]["devices"][0]
        assert [device[k] for k in ("memory_used_max_mb", "memory_used_mean_mb", "utilization_mean_percent")] == pytest.approx([9800, 8420, 85.2])


def test_an_average_near_one_end_is_kept(strobe):
    device = strobe.report(strobe.write("a.txt", AGGREGATION.replace("Avg: 8420.0MB", "Avg: 9790.0MB").replace("Avg: 85.2%", "Avg: 75.9%")))["gpu_metrics"]["devices"][0]
    assert [device[k] for k in ("memory_used_max_mb", "memory_used_mean_mb", "utilization_mean_percent")] == pytest.approx([9800, 9790, 75.9])


COMPAT = {
    "session_info": {"id": "video_generation", "start_time": "2026-01-01T00:00:00", "end_time": "2026-01-01T00:00:02", "duration": 2.0, "tags": {}},
    "stage_analysis": {"total_stages": 3, "total_time": 2.3, "bottlenecks": ["video_generation"], "stages": {
        name: {"total_time": seconds, "call_count": 1, "avg_time": seconds, "min_time": seconds, "max_time": seconds, **more}
        for name, seconds, more in (("video_generation", 1.9, {}), ("vae_decode", 0.23, {"parent": "video_generation"}), ("model_initialization", 0.1, {}))}},
    "diffusion_analysis": {"total_steps": 40, "total_frames": 30, "blocks": 10, "total_time_ms": 1620.5, "avg_step_time_ms": 40.51,
                           "min_step_time_ms": 20.0, "max_step_time_ms": 107.9, "median_step_time_ms": 33.9, "fps": 18.5},
    "block_analysis": {"total_blocks": 10, "total_frames": 30, "total_time_ms": 1623.4, "avg_block_time_ms": 162.3, "min_block_time_ms": 90.2,
                       "max_block_time_ms": 291.9, "median_block_time_ms": 150.4, "fps": 18.5}}


def test_no_share_of_a_report_with_steps_and_blocks_is_larger_than_its_run(strobe):
    report = strobe.report(strobe.write("profiling_report.json", json.dumps(COMPAT)))
    shares = {part["part"]: part["wall_ratio"] for part in report["diffusion_analysis"]["split"]}
    assert sum(shares.values()) == pytest.approx(1, abs=1e-4)
    assert all(share <= 1.00001 for share in shares.values()), shares


def tree(report):
    return {s["name"]: s.get("parent") for s in report["stage_analysis"]["stages"]}


def test_steps_and_blocks_of_a_report_stand_in_the_stage_they_ran_in(strobe):
    report = strobe.report(strobe.write("profiling_report.json", json.dumps(COMPAT)))
    assert tree(report) == {"video_generation": None, "vae_decode": "video_generation", "model_initialization": None,
                            "block": "video_generation", "diffusion_step": "block"}
    assert "overlap_s" not in report["stage_analysis"] or report["stage_analysis"]["overlap_s"] == 0
    assert {i["name"]: i["count"] for i in report["iterations"]} == {"diffusion_step": 40, "block": 10}
    assert report["diffusion_analysis"]["rates"][0]["compute_fps"] == pytest.approx(30 / 1.6205, rel=1e-3)
    assert any("most closely" in m["why"] for m in report["not_recorded"])


def test_a_report_that_says_where_its_steps_ran_is_believed(strobe):
    known = json.loads(json.dumps(COMPAT))
    known["stage_analysis"]["stages"]["sampling"] = {"total_time": 1.65, "call_count": 1, "parent": "video_generation"}
    del known["block_analysis"]
    known["diffusion_analysis"]["parent"] = "sampling"
    report = strobe.report(strobe.write("profiling_report.json", json.dumps(known)))
    assert tree(report)["diffusion_step"] == "sampling"
    assert not any("most closely" in m["why"] for m in report["not_recorded"])


def test_steps_that_no_stage_can_hold_stand_beside_them(strobe):
    short = json.loads(json.dumps(COMPAT))
    short["stage_analysis"]["stages"]["video_generation"]["total_time"] = 1.0
    report = strobe.report(strobe.write("profiling_report.json", json.dumps(short)))
    assert tree(report)["block"] is None and report["stage_analysis"]["overlap_s"] > 0


def test_a_live_display_is_read(strobe):
    assert "85.2 %" in readings(strobe.report(strobe.write("a.txt", DISPLAY)))["gpu_well_used"]


LIVE = """=== Profiling Metrics (session_abc123) ===
GPU 0: Memory 8420MB / 24564MB (34.3%), Util 85.2%, Temp 72.1\u00b0C
GPU 1: Memory 9000MB / 24564MB (36.6%), Util 70.0%, Temp 60.0\u00b0C
CPU: 45.3%, Memory 12840MB / 32768MB (39.2%)
Stage: [3b] RAFT optical flow
Speed: 6.0 FPS, 2.0 BPS, 8.0 steps/s (18 frames, 6 blocks, 24 steps)
=== Profiling Metrics (session_abc123) ===
GPU 0: Memory 8520MB / 24564MB (34.7%), Util 85.2%, Temp 72.1\u00b0C
GPU 1: Memory 9100MB / 24564MB (37.0%), Util 70.0%, Temp 60.0\u00b0C
CPU: 45.3%, Memory 12840MB / 32768MB (39.2%)
Speed: 12.0 FPS, 4.0 BPS, 16.0 steps/s (36 frames, 12 blocks, 48 steps)
"""


def test_the_speed_of_a_live_display_is_read_back(strobe):
    report = strobe.report(strobe.write("live.log", LIVE))
    speeds = [e["attributes"] for e in report["events"] if e["name"] == "speed"]
    assert speeds == [{"fps": 6, "bps": 2, "steps_per_s": 8, "frames": 18, "blocks": 6, "steps": 24},
                      {"fps": 12, "bps": 4, "steps_per_s": 16, "frames": 36, "blocks": 12, "steps": 48}]
    assert {r["id"]: r["text"] for r in report["readings"]}["speed"] == \
        "When it was displayed last: 12.0 frames/s (36 so far), 4.0 blocks/s (12 so far), 16.0 steps/s (48 so far)"


def test_each_gpu_of_a_live_display_is_kept(strobe):
    text = strobe("report", strobe.write("live.log", LIVE))
    assert "GPU 0, 24564.0 MB\n    memory used                  8420.0     8470.0     8520.0" in text
    assert "GPU 1, 24564.0 MB\n    memory used                  9000.0     9050.0     9100.0" in text


def test_steps_handed_in_with_their_blocks_are_inside_them(strobe):
    """A session's own JSON, with no stage around either."""
    session = {"session_info": {"session_id": "s", "duration": 2.4}, "stage_analysis": {"stages": {"vae_decode": {"count": 3, "total_time": 0.3, "avg_time": 0.1,
                                                                                                       "min_time": 0.1, "max_time": 0.1}}},
               "diffusion_analysis": {"total_steps": 12, "total_time_ms": 2000.0, "avg_step_time_ms": 166.7, "min_step_time_ms": 160.0,
                                      "max_step_time_ms": 204.1, "median_step_time_ms": 161.0},
               "block_analysis": {"total_blocks": 3, "total_frames": 9, "total_time_ms": 2001.0, "avg_block_time_ms": 667.0, "min_block_time_ms": 644.0,
                                  "max_block_time_ms": 745.0, "median_block_time_ms": 650.0}}
    report = strobe.report(strobe.write("session.json", json.dumps(session)))
    rows = report["stage_analysis"]["stages"]
    step, = [s for s in rows if s["name"] == "diffusion_step"]
    assert rows[step["parent_index"]]["name"] == "block"
    assert abs(step["max_s"] - 0.2041) < 1e-9


def test_a_display_without_a_clock_shows_no_times_of_its_events(strobe):
    text = strobe("report", strobe.write("live.txt", DISPLAY))
    assert "no times" in text.splitlines()[0] and "No stage" not in text and "nattributed" not in text
    assert not any(line.split()[1:2] == ["s"] for line in text.splitlines())
