"""Summaries, memory tables and iteration blocks of a generation (guide 001), pasted."""
import json

import pytest

from guide_forms import SUMMARY, MEMORY, ITERATIONS, DISPLAY, AGGREGATION, BEFORE, AFTER, stages, readings, findings


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


def test_a_logger_around_a_table_changes_nothing(strobe):
    plain = strobe.report(strobe.write("a.txt", SUMMARY + ITERATIONS))
    dressed = strobe.report(strobe.write("b.txt", "".join("2026-01-01 12:00:00,123 - app - INFO - " + line + "\n" for line in (SUMMARY + ITERATIONS).splitlines())))
    assert dressed["stage_analysis"]["stages"] == plain["stage_analysis"]["stages"] and dressed["iterations"] == plain["iterations"]


def test_words_that_only_look_like_forms_are_no_run(strobe):
    assert "is a stage line" in strobe("import", strobe.write("a.txt", "see the memory 3 times\nFP32 is slow\nGPU: none\n"), code=2)


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
                                "fast_enough": "'transformer_forward' takes 54.9 ms a call, 12.1 % of the time in 150 calls: fast enough for now"}
    what = {s["stage"]: s["what"] for s in report["strategies"]}
    assert "in chunks" in what["vae_decode"] and "keep the embeddings" in what["text_encoder_forward"]


def test_a_memory_log_of_the_process_says_its_peak_on_the_first_screen(strobe):
    rows = "".join(f"{label}   {mb:.1f}M   {mb:.1f}M   {peak:.1f}M\n" for label, mb, peak in [("start", 500, 500), ("sampling", 700, 740), ("end", 600, 740)])
    path = strobe.write("memory.txt", "MEMORY USAGE SUMMARY (process memory: no CUDA device in use)\nLabel   Allocated   Reserved   Max Alloc\n" + rows)
    assert "Program: RSS peak 740.0 MB at sampling" in strobe("report", "--brief", path)


def test_a_memory_table_alone_is_no_program_without_stages(strobe):
    """Nobody measured a time: none is said, of the run, of snapshots or unattributed, and no advice to record stages."""
    path = strobe.write("memory.txt", MEMORY)
    for text in (strobe("report", path), strobe("report", "--brief", path), strobe("report", "--format", "markdown", path)):
        assert "no times" in text and "o stage" not in text and "--labels" not in text and "nattributed" not in text and "at s" not in text
        assert "Started" not in text
    report = strobe.report(path)
    assert report["stage_analysis"]["unattributed_s"] == 0 and "unattributed_ratio" not in report["stage_analysis"]
    assert "has no total time" in strobe("journal", "start", path, code=2, both=True)


EXPORT = {
    "timestamp": "2026-01-01T00:00:01",
    "timing_stats": {name: {"count": 1, "total": t, "mean": t, "min": t, "max": t, "last": t} for name, t in (("load", 0.1), ("sampling", 0.2), ("vae_decode", 0.05))},
    "memory_snapshots": [{"label": label, "timestamp": 1794835360.0 + at, "allocated_mb": mb, "reserved_mb": mb, "max_allocated_mb": mb, "device": "cuda:0"}
                         for label, at, mb in (("start", 0, 10.0), ("after_load", 0.1, 3000.0), ("end", 0.4, 2000.0))],
    "iteration_stats": {"denoising_steps": {"count": 5, "total": 0.19, "mean": 0.038, "min": 0.03, "max": 0.05, "median": 0.037, "std": 0.002}}}


def test_an_exported_report_keeps_its_total_and_every_snapshot(strobe):
    report = strobe.report(strobe.write("rep.json", EXPORT))
    analysis = report["stage_analysis"]
    assert analysis["wall_s"] == pytest.approx(0.35) and not analysis.get("overlap_s")
    assert {s["name"]: s.get("parent") for s in analysis["stages"]} == {"load": None, "sampling": None, "denoising_steps": "sampling", "vae_decode": None}
    assert [(s["label"], s["allocated_mb"]) for s in report["memory"]["snapshots"]] == [("start", 10), ("after_load", 3000), ("end", 2000)]
    assert report["summary"]["gpu_memory_peak_bytes"] == 3000 << 20
    assert not any("peak" in key for row in stages(report).values() for key in row), "when a row ran is not known"


def test_a_memory_log_with_times_is_as_long_as_its_snapshots(strobe):
    rows = [{"label": "a", "timestamp": 100.0, "allocated_mb": 512}, {"label": "b", "timestamp": 101.5, "allocated_mb": 256}]
    report = strobe.report(strobe.write("memory_log.json", {"snapshots": rows}))
    assert [s["label"] for s in report["memory"]["snapshots"]] == ["a", "b"] and report["stage_analysis"]["wall_s"] == pytest.approx(1.5)


def test_a_regression_is_read_as_the_guide_reads_it(strobe):
    path = strobe.write("both.txt", BEFORE + "\n" + AFTER)
    assert readings(strobe.report(path))["named_difference"] == "'sdpa_overhead' takes 380 s more than before, as the text says"
    assert "what was offloaded now stays on the GPU" in " ".join(strobe("diff", path).split())


def test_what_the_disk_read_is_the_machines_not_a_gpus(strobe):
    text = strobe("report", strobe.write("after.txt", AFTER))
    rows = [line for line in text.splitlines() if line.startswith("  GPU 0") or line == "  Machine" or "disk read" in line]
    assert [row.split()[0] for row in rows] == ["GPU", "Machine", "disk"]


def test_a_text_without_a_date_is_not_said_to_have_started(strobe):
    path = strobe.write("summary.txt", SUMMARY)
    text = strobe("report", path)
    assert "started" not in text and "imported; it does not say when it ran, its file is from 20" in text
    assert strobe.report(path)["session_info"]["file_date"] is True


def test_short_calls_are_judged_once_and_their_time_is_said(strobe):
    """Twenty calls in a hundred of the time: worth the work, so not "fast enough" as well."""
    events = [{"ph": "X", "cat": "cpu_op", "name": name, "pid": 1, "tid": 1, "ts": i * 100 + at, "dur": dur}
              for i in range(600) for name, at, dur in (("step", 0, 90), ("norm", 5, 20), ("act", 40, 5))]
    found = [r["text"] for r in strobe.report(strobe.write("t.json", json.dumps({"traceEvents": events})))["readings"]]
    assert found == ["'norm' takes only 20.0 us a call, but 600 calls are 12.0 ms: worth optimising",
                     "'act' takes 5.00 us a call, 5.0 % of the time in 600 calls: fast enough for now"]


def test_a_table_without_a_clock_has_no_seconds(strobe):
    text = strobe("report", strobe.write("memory.txt", MEMORY))
    assert "Steepest rise 8192.2 MB at during_sampling\n" in text and "seen at" not in text
