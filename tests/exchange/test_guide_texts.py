"""What profilers print, pasted: each form comes out with its own figures."""
import json
import subprocess

import pytest

from conftest import BUILD

SUMMARY = """================================================================================
PROFILING SUMMARY - Top Operations by Total Time
================================================================================
Operation                                          Count      Total       Mean        Min        Max
--------------------------------------------------------------------------------
vae_decode                                            12     45.234s     3.769s     3.102s     4.521s
text_encoder_forward                                   2     12.456s     6.228s     6.100s     6.356s
transformer_forward                                  150      8.234s     0.055s     0.048s     0.072s
image_encoder_forward                                  1      2.103s     2.103s     2.103s     2.103s
================================================================================
"""

MEMORY = """================================================================================
MEMORY USAGE SUMMARY
================================================================================
Label                                          Allocated     Reserved    Max Alloc
--------------------------------------------------------------------------------
worker_start                                      1024.5M     2048.0M     1024.5M
after_text_encoding                               4096.2M     6144.0M     4100.3M
during_sampling                                  12288.4M    16384.0M    14336.2M
after_vae_decode                                  2048.1M     4096.0M    14336.2M
================================================================================
"""

ITERATIONS = """============================================================
ITERATION SUMMARY: denoising_steps
============================================================
Iterations: 25
Total:      0.940s
Mean:       0.038s
Median:     0.037s
Min:        0.030s
Max:        0.050s
Std:        0.002s
Speed:      26.60 it/s
============================================================
"""

DISPLAY = """=== Profiling Metrics (session_abc123) ===
GPU: Memory 8420MB / 24564MB (34.3%), Util 85.2%, Temp 72.1\u00b0C
CPU: 45.3%, Memory 12840MB / 32768MB (39.2%)
"""

AGGREGATION = """=== Aggregation Summary ===
Total reports processed: 8
Ranks: 8

=== GPU Metrics (Aggregated) ===
GPU Memory - Min: 7200.0MB, Max: 9800.0MB, Avg: 8420.0MB
GPU Utilization - Min: 75.2%, Max: 92.1%, Avg: 85.2%
"""

BEFORE = """BEFORE BetterTransformer:
vae_decode          12 ops    45s total    (with SSD offloading)
ssd_read_events               2.1 GB/s     (active)
gpu_memory_peak               8.2 GB       (efficient)
"""

AFTER = """AFTER BetterTransformer:
vae_decode          12 ops    428s total   (blocked offloading)
ssd_read_events               0.03 GB/s    (!!!)
gpu_memory_peak               23.8 GB      (!!!)
sdpa_overhead                 +380s total  (forced GPU residency)
"""


def stages(report):
    return {s["name"]: s for s in report["stage_analysis"]["stages"]}


def test_a_summary_table_keeps_its_counts_and_extremes(strobe):
    report = strobe.report(strobe.write("a.txt", SUMMARY))
    rows = stages(report)
    assert {n: (r["count"], r["total_s"]) for n, r in rows.items()} == {
        "vae_decode": (12, 45.234), "text_encoder_forward": (2, 12.456), "transformer_forward": (150, 8.234), "image_encoder_forward": (1, 2.103)}
    assert (rows["vae_decode"]["min_s"], rows["vae_decode"]["max_s"]) == (3.102, 4.521)
    assert rows["vae_decode"]["mean_s"] == pytest.approx(3.7695)
    assert "p95_s" not in rows["vae_decode"]  # the table does not say it
    assert report["stage_analysis"]["wall_s"] == pytest.approx(68.027) and report["stage_analysis"]["bottlenecks"][0] == "vae_decode"


def test_a_table_whose_heading_has_the_units(strobe):
    text = SUMMARY.replace("Total       Mean        Min        Max", "Total (s)   Mean (ms)   Min (ms)   Max (ms)")
    rows = {"vae_decode": (12, 45.234), "text_encoder_forward": (2, 12.456)}
    lines = [line for line in text.splitlines() if not any(line.startswith(name) for name in ("transformer", "image"))]
    for i, line in enumerate(lines):
        if line.split(" ")[0] in rows:
            name, (count, total) = line.split(" ")[0], rows[line.split(" ")[0]]
            lines[i] = "%-50s %5d %10.3f %10.2f %10.2f %10.2f" % (name, count, total, 1e3 * total / count, 3102, 4521)
    (strobe.folder / "ms.txt").write_text("\n".join(lines))
    stages = {s["name"]: s for s in json.loads(strobe("report", "ms.txt", "--format", "json"))["stage_analysis"]["stages"]}
    assert stages["vae_decode"]["total_s"] == pytest.approx(45.234) and stages["vae_decode"]["count"] == 12
    assert stages["vae_decode"]["min_s"] == pytest.approx(3.102) and stages["text_encoder_forward"]["total_s"] == pytest.approx(12.456)


def test_a_heading_without_rows_is_no_run(strobe):
    (strobe.folder / "empty.txt").write_text("\n".join(SUMMARY.splitlines()[:5]) + "\n" + "=" * 80 + "\n")
    assert "none of its" in strobe("report", "empty.txt", code=2)


def test_a_memory_table_keeps_its_snapshots(strobe):
    report = strobe.report(strobe.write("a.txt", MEMORY))
    taken = report["memory"]["snapshots"]
    assert [s["label"] for s in taken] == ["worker_start", "after_text_encoding", "during_sampling", "after_vae_decode"]
    assert [s["allocated_mb"] for s in taken] == pytest.approx([1024.5, 4096.2, 12288.4, 2048.1])
    assert taken[2]["reserved_mb"] == pytest.approx(16384) and taken[2]["peak_mb"] == pytest.approx(14336.2)


def test_memory_of_a_process_is_not_called_memory_of_a_gpu(strobe):
    table = strobe.write("a.txt", SUMMARY + MEMORY.replace("SUMMARY", "SUMMARY (process memory: no CUDA device in use)"))
    both = strobe.write("b.txt", table.read_text() + MEMORY)
    rows = [{"label": label, "timestamp": 100.0 + at, "device": "host", "allocated_mb": mb, "max_allocated_mb": mb, "peak_mb": mb}
            for at, (label, mb) in enumerate([("worker_start", 19.5), ("after", 20.25)])]
    log = strobe.write("memory_log.json", {"snapshots": rows})
    plain = strobe.write("plain.json", [{**row, "device": "cpu"} for row in rows])
    for path in (table, log, plain):
        report, text = strobe.report(path), strobe("report", path) + strobe("report", "--brief", path) + strobe("diff", path, path)
        assert {s["device"] for s in report["memory"]["snapshots"]} == {"host"}
        assert "gpu_memory_peak_bytes" not in report["summary"] and "VRAM" not in text and "GPU memory" not in text
        assert report["memory"]["host"]["rss_peak_mb"] == max(s["peak_mb"] for s in report["memory"]["snapshots"]) and "Peak process memory" in text
    assert [s["device"] for s in strobe.report(both)["memory"]["snapshots"]] == ["host"] * 4 + ["gpu:0"] * 4


@pytest.mark.parametrize("device, name", [("gpu:1", "gpu:1"), ("cuda:3", "gpu:3"), ("cuda", "gpu:0"), (2, "gpu:2"), ("gpu:99999999999999", "gpu:0"), (None, "gpu:0")])
def test_a_memory_log_names_its_gpu(strobe, device, name):
    row = {"label": "a", "timestamp": 100.0, "device": device, "allocated_mb": 512, "peak_mb": 1024}
    report = strobe.report(strobe.write("memory_log.json", {"snapshots": [row, {**row, "timestamp": 101.0}]}))
    assert {s["device"] for s in report["memory"]["snapshots"]} == {name}
    assert report["summary"]["gpu_memory_peak_bytes"] == 1 << 30


@pytest.mark.parametrize("text", [SUMMARY + MEMORY, MEMORY + SUMMARY])
def test_memory_beside_a_table_of_sums_is_in_no_stage(strobe, text):
    path = strobe.write("a.txt", text)
    assert "in no stage" in strobe("report", path)
    assert not any("peak" in key for row in stages(strobe.report(path)).values() for key in row), "when a row ran is not known"


def test_an_iteration_block_keeps_its_figures(strobe):
    report = strobe.report(strobe.write("a.txt", ITERATIONS))
    loop, = report["iterations"]
    assert (loop["name"], loop["count"]) == ("denoising_steps", 25)
    assert [loop[k] for k in ("mean_s", "median_s", "min_s", "max_s", "std_s")] == pytest.approx([0.0376, 0.037, 0.03, 0.05, 0.002])
    assert loop["per_second"] == pytest.approx(26.6, rel=1e-3) and report["stage_analysis"]["wall_s"] == pytest.approx(0.94)


@pytest.mark.parametrize("heading", ["denoising_steps - Iteration Statistics:", "ITERATION PROFILE: denoising_steps", "=== Iteration Summary: denoising_steps ==="])
def test_headings_of_iteration_blocks(strobe, heading):
    loop, = strobe.report(strobe.write("a.txt", heading + "\n  Count:  4\n  Total:  2.000s\n  Mean:   0.500s\n  Min:    0.400s\n  Max:    0.600s\n"))["iterations"]
    assert (loop["name"], loop["count"], loop["mean_s"]) == ("denoising_steps", 4, 0.5)


def test_saved_summaries_compare_operation_by_operation(strobe):
    base = strobe.write("base.txt", "vae.py started\n" + SUMMARY.replace("45.234s", " 0.240s") + ITERATIONS)
    new = strobe.write("new.txt", "vae.py started\n" + SUMMARY.replace("45.234s", " 0.800s") + ITERATIONS.replace("0.940s", "0.938s"))
    text = strobe("diff", base, new)
    row = next(line for line in text.splitlines() if line.strip().startswith("vae_decode"))
    assert "slower" in row and "+233.3 %" in row


def test_iterations_beside_a_table_do_not_add_to_it(strobe):
    report = strobe.report(strobe.write("a.txt", SUMMARY + ITERATIONS))
    assert report["stage_analysis"]["wall_s"] == pytest.approx(68.027)


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


def test_a_text_without_times_has_no_total_that_could_be_compared(strobe):
    """Readings stand a second apart in the recording: that second is not the program's."""
    fewer = "".join(line for line in MEMORY.splitlines(True) if not line.startswith("after_text"))
    less, more = strobe.write("less.txt", fewer), strobe.write("more.txt", MEMORY)
    text = strobe("diff", less, more)
    assert "Neither has a total time" in text and "slower" not in text and "Peak GPU memory" in text
    assert "neither run has a total time" in strobe("diff", less, more, "--format", "json", "--fail-above", "5%", code=1, both=True)
    strobe("diff", less, more, "--fail-above", "peak_memory=5%")
    for name, form in (("memory", MEMORY), ("display", DISPLAY), ("aggregation", AGGREGATION)):
        report = strobe.report(strobe.write(name + ".txt", form))
        assert report["session_info"]["no_times"] is True and report["session_info"]["duration"] == "no times"
        assert ", no times\n" in strobe("report", name + ".txt")
    assert "no_times" not in strobe.report(strobe.write("timed.txt", SUMMARY))["session_info"]


def test_a_sheet_that_is_not_filled_in_has_its_stages_by_name(strobe):
    sheet = ("BASELINE:\n- [3b] RAFT:        95.32s\n- [4c] VAE encode:  20.00s\n- Total Inpainting: 115.32s\n\n"
             "AFTER OPTIMIZATION X:\n- [3b] RAFT:        80.00s (\u0394: ___)\n- [4c] VAE encode:  ___s (\u0394: ___)\n- Total Inpainting: ___s (\u0394: ___)\n")
    rows = stages(strobe.report(strobe.write("sheet.txt", sheet)))
    assert set(rows) == {"RAFT", "VAE encode"}
    assert rows["RAFT"]["total_s"] == pytest.approx(80) and rows["VAE encode"]["state"] == "untimed"


def test_a_difference_that_a_text_names_is_kept(strobe):
    event, = [e for e in strobe.report(strobe.write("after.txt", AFTER))["events"] if e["name"] == "sdpa_overhead"]
    assert event["attributes"] == {"more_s": 380}


def test_a_gpu_of_which_only_memory_is_known_is_not_called_unused(strobe):
    path = strobe.write("a.txt", BEFORE)
    assert strobe.report(path)["gpu_metrics"]["devices"][0]["used"] is True
    assert "not used" not in strobe("report", path)


def test_a_regression_in_words_is_explained(strobe):
    text = strobe("diff", strobe.write("before.txt", BEFORE), strobe.write("after.txt", AFTER))
    assert "Total 45.00 s -> 428.00 s" in text
    assert "disk reads fell 2.10 GB/s -> 30.0 MB/s while peak GPU memory rose 8.20 GB -> 23.8 GB" in text


def test_before_and_after_in_one_text_are_two_runs(strobe):
    both = strobe.write("both.txt", BEFORE + "\n" + AFTER)
    text = strobe("diff", both)
    assert "both.txt#1 -> " in text and "Total 45.00 s -> 428.00 s" in text and "disk reads fell 2.10 GB/s -> 30.0 MB/s" in text
    last, first = strobe.report(both), strobe.report(str(both) + "#1")
    assert (stages(last)["vae_decode"]["count"], last["stage_analysis"]["wall_s"]) == (12, pytest.approx(428))
    assert (stages(first)["vae_decode"]["count"], first["stage_analysis"]["wall_s"]) == (12, pytest.approx(45))
    assert last["session_info"]["name"] == "AFTER BetterTransformer"
    assert "the text has 2 runs: this is number 2, 'AFTER BetterTransformer'" in strobe("report", both)
    assert "has 2 runs, not 3" in strobe("report", str(both) + "#3", code=2)


def test_a_tracking_sheet_of_three_steps_is_three_runs_as_strobe_writes_it_too(strobe):
    sheet = "".join("%s:\n- [3b] RAFT: %ss\n- Total Inpainting: %ss\n\n" % row for row in (
        ("BASELINE", "95.32", "150.00"), ("AFTER OPTIMIZATION 1", "63.55", "118.23"), ("AFTER OPTIMIZATION 2", "40.00", "94.68")))
    path = strobe.write("sheet.txt", sheet + "AFTER OPTIMIZATION 3:\n")  # a heading with nothing below it
    text = strobe("diff", path)
    assert [line.split()[2] for line in text.splitlines()[1:4]] == ["150.00s", "118.23s", "94.68s"]
    again = strobe("diff", strobe.write("again.txt", strobe("diff", path, "--template")))
    assert [line.split()[2] for line in again.splitlines()[1:4]] == ["150.00s", "118.23s", "94.68s"]
    assert strobe.report(path)["stage_analysis"]["wall_s"] == pytest.approx(94.68)


def test_a_logger_around_a_table_changes_nothing(strobe):
    plain = strobe.report(strobe.write("a.txt", SUMMARY + ITERATIONS))
    dressed = strobe.report(strobe.write("b.txt", "".join("2026-01-01 12:00:00,123 - app - INFO - " + line + "\n" for line in (SUMMARY + ITERATIONS).splitlines())))
    assert dressed["stage_analysis"]["stages"] == plain["stage_analysis"]["stages"] and dressed["iterations"] == plain["iterations"]


def test_words_that_only_look_like_forms_are_no_run(strobe):
    assert "is a stage line" in strobe("import", strobe.write("a.txt", "see the memory 3 times\nFP32 is slow\nGPU: none\n"), code=2)


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


# ---- what a reader makes of them -------------------------------------------

def readings(report):
    return {r["id"]: r["text"] for r in report.get("readings", [])}


def findings(report):
    return {r["id"]: r for r in report["recommendations"]}


def test_a_memory_table_is_read_peak_offloading_fragmentation(strobe):
    report = strobe.report(strobe.write("a.txt", MEMORY))
    said = readings(report)
    assert said["memory_peak"] == "The memory peak is 14.0 GB, reached at 'during_sampling'"
    assert said["offloading_works"] == "Memory falls from 14.0 GB to 2.0 GB at 'after_vae_decode': offloading works"
    assert "Reserved memory jumps from 6.0 to 16.0 GB" in said["reserved_jump"]
    found = findings(report)["fragmentation"]
    assert found["issue"].startswith("50 %") and "'after_vae_decode'" in found["evidence"]


def test_memory_that_stays_is_not_called_offloaded(strobe):
    report = strobe.report(strobe.write("a.txt", MEMORY.replace("after_vae_decode                                  2048.1M     4096.0M", "after_vae_decode                                 13048.1M    14096.0M")))
    assert "offloading_works" not in readings(report) and "nothing is offloaded" in readings(report)["nothing_offloaded"]


def test_a_summary_table_is_read_bottleneck_seldom_often(strobe):
    report = strobe.report(strobe.write("a.txt", SUMMARY))
    assert report["stage_analysis"]["bottlenecks"][0] == "vae_decode"
    assert readings(report) == {"slow_but_seldom": "'text_encoder_forward' is slow (6.23 s a call) but runs only 2 times: keep its results",
                                "fast_enough": "'transformer_forward' takes 0.055 s a call, 12.1 % of the time in 150 calls: fast enough for now"}
    what = {s["stage"]: s["what"] for s in report["strategies"]}
    assert "in chunks" in what["vae_decode"] and "keep the embeddings" in what["text_encoder_forward"]


def test_a_live_display_is_read(strobe):
    assert "85.2 %" in readings(strobe.report(strobe.write("a.txt", DISPLAY)))["gpu_well_used"]


def test_a_stage_log_is_read_at_two_levels_with_its_strategies(strobe):
    log = ("[3b] RAFT optical flow (12 iters): 95.32s  \u2190 BOTTLENECK\n[3c] Flow completion: 12.45s\n"
           "[4f.2] UNet+BrushNet+VAE pipeline (2 steps, 1320 frames): 187.54s  \u2190 MAJOR BOTTLENECK\n")
    report = strobe.report(strobe.write("a.txt", log))
    assert {s.get("code"): s.get("bottleneck_level") for s in report["stage_analysis"]["stages"]} == {"3b": "other", "3c": None, "4f.2": "major"}
    raft = next(s for s in report["strategies"] if s.get("code") == "3b")
    assert raft["what"] == "12 iterations of 7.94 s; 8 would save about 31.77 s" and raft["effort"] == "< 1 day" and raft["trade_off"] == "flow accuracy"
    assert strobe("report", "a.txt").count("93.77 s/step, 142 ms/frame") == 1


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
    assert "no stage of it is timed" in strobe("report", "d.json", code=2)


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


def test_a_memory_log_of_the_process_says_its_peak_on_the_first_screen(strobe):
    rows = "".join(f"{label}   {mb:.1f}M   {mb:.1f}M   {peak:.1f}M\n" for label, mb, peak in [("start", 500, 500), ("sampling", 700, 740), ("end", 600, 740)])
    path = strobe.write("memory.txt", "MEMORY USAGE SUMMARY (process memory: no CUDA device in use)\nLabel   Allocated   Reserved   Max Alloc\n" + rows)
    assert "Program: RSS peak 740.0 MB at sampling" in strobe("report", "--brief", path)
