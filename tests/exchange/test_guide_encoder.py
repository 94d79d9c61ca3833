"""What a benchmark of a video encoder prints (guide 004, and examples/profile_video_model.py), pasted."""
import json
import re

import pytest

HEADER = """Using device: cuda
GPU: NVIDIA GeForce RTX 4090
Loading large model...
Total parameters: 304,714,240
Model size: ~1161.1 MB (FP32)
"""

BENCHMARK = HEADER + """
============================================================
Simple Benchmark (Average over runs)
============================================================
Running benchmark (50 iterations)...

Results:
  Mean:   45.23 ms
  Median: 44.87 ms
  Std:    2.14 ms
  Min:    43.12 ms
  Max:    52.34 ms
  FPS:    22.11
"""

LAYERS = """
============================================================
Layer-by-Layer Profiling
============================================================

Component timings:
  Patch Embedding:      3.45 ms
  Transformer (tot):   40.12 ms  (24 blocks)
  - Per block (avg):    1.67 ms
  - Per block (std):    0.12 ms
  Normalization:        0.08 ms

Total: 43.65 ms

Slowest 5 transformer blocks:
  Block 23: 1.89 ms
  Block 22: 1.84 ms
  Block 21: 1.79 ms
  Block 20: 1.75 ms
  Block 19: 1.72 ms
"""

PRECISION = "FP32: 45.23 ms\nFP16: 28.45 ms\nSpeedup: 1.59x\n"

# What examples/profile_video_model.py prints.
EXAMPLE = """Using device: cpu
Model: VideoEncoder
Total parameters: 2,081,088 (2.1M)
Model size: 7.9 MB (float32 2.1M)

============================================================
Simple Benchmark (6 iterations after 5 warm-ups)
============================================================
  Mean:      194.41 ms
  Median:    136.88 ms
  Std:       164.57 ms
  Min:        57.15 ms
  Max:       463.70 ms
  Rate:        5.14 clips/s
              20.57 frames/s

============================================================
Layer-by-Layer Profiling
============================================================
Component timings (CPU time, mean per call):
  patch_embed:                 29.68 ms    7.6 %
  pos_embed:                    0.13 ms    0.0 %
  blocks:                     347.43 ms   89.1 %  (4 blocks)
  - per block (mean):          86.86 ms
  - per block (std):            5.04 ms
  norm:                        11.98 ms    3.1 %
  other:                        0.86 ms
  Total:                      390.07 ms

Slowest 4 blocks:
  blocks 3: 93.69 ms
  blocks 1: 87.45 ms
  blocks 0: 84.07 ms
  blocks 2: 82.23 ms

============================================================
Memory Profile
============================================================
Memory of one call (process; no CUDA device in use):
  Memory before:        557.8 MB
  Memory after:         560.8 MB
  Peak memory:          571.5 MB
  Overhead:              13.7 MB
  Parameters:             7.9 MB
  Input:                  0.2 MB
  Output:                 0.1 MB

============================================================
Precision Comparison (6 iterations each)
============================================================
FP32:         13.92 \u00b1 7.30 ms
BF16:         55.53 \u00b1 28.95 ms   Speedup: 0.25x
compiled:      9.28 \u00b1 0.50 ms   Speedup: 1.50x
quantised: failed: RuntimeError: no

============================================================
Detailed Profile
============================================================
-----------------------  ------------  ------------  ------------  ------------  ------------  ------------
                   Name    Self CPU %      Self CPU   CPU total %     CPU total  CPU time avg    # of Calls
-----------------------  ------------  ------------  ------------  ------------  ------------  ------------
           aten::linear         0.17%     540.953us        49.87%     160.195ms      10.012ms            16
            aten::addmm        49.44%     158.801ms        49.57%     159.226ms       9.952ms            16
-----------------------  ------------  ------------  ------------  ------------  ------------  ------------
Self CPU time total: 321.212ms

Trace: profiling_results/video_model.json
"""


def stages(report):
    return {s["name"]: s for s in report["stage_analysis"]["stages"]}


def findings(report):
    return {r["id"]: r for r in report["recommendations"]}


def readings(report):
    return {r["id"]: r["text"] for r in report.get("readings", [])}


# ---- the guide's output ------------------------------------------------------

def test_a_benchmark_is_about_one_call(strobe):
    path = strobe.write("a.txt", BENCHMARK)
    report = strobe.report(path)
    loop, = report["iterations"]
    assert loop["count"] == 50 and [loop[k] for k in ("mean_s", "median_s", "std_s", "min_s", "max_s")] == pytest.approx([.04523, .04487, .00214, .04312, .05234])
    assert loop["per_second"] == pytest.approx(22.11, rel=1e-3) and loop["aside"] is True and "fps" not in loop
    assert set(stages(report)) == {"forward"} and report["stage_analysis"]["wall_s"] == pytest.approx(.04523)
    assert "stage_dominates" not in findings(report), "that the call takes all of its time says nothing"
    assert "Not worth tuning" not in strobe("report", path)


def test_the_header_of_a_benchmark_is_kept(strobe):
    path = strobe.write("a.txt", BENCHMARK)
    analysis = strobe.report(path)["model_analysis"]
    model, = analysis["models"]
    assert (model["name"], model["parameters"], model["parameter_count"], model["type"]) == ("large", "304.7M", 304714240, "FP32")
    assert model["size_mb"] == pytest.approx(1161.1)
    assert (analysis["device"], analysis["gpu_name"]) == ("cuda", "NVIDIA GeForce RTX 4090")
    text = strobe("report", path)
    assert "large: 304.7M parameters (304714240), FP32, 1161.1 MB" in text and "on cuda: NVIDIA GeForce RTX 4090" in text


def test_a_layer_table_keeps_its_components(strobe):
    path = strobe.write("a.txt", LAYERS)
    report = strobe.report(path)
    rows = stages(report)
    assert report["stage_analysis"]["wall_s"] == pytest.approx(0.04365)
    assert rows["Transformer blocks"]["count"] == 24 and rows["Transformer blocks"]["mean_s"] == pytest.approx(0.0016717, rel=1e-3)
    assert rows["Patch Embedding"]["total_s"] == pytest.approx(0.00345)
    text = strobe("report", path)
    assert "per block 1.67 ms \u00b1 0.12" in text and "91.9 %" in text
    assert "slowest: Block 23 1.89 ms, Block 22 1.84 ms" in text, "the row of all blocks is none of them"
    assert "Layers (as printed), " in text and "timed_on" not in report["model_analysis"]["layers"], "the text does not say where it was measured"


def test_a_layer_table_has_no_time_of_a_run(strobe):
    """Its whole is one call of the model: nothing is unattributed or the wall time of a run."""
    path = strobe.write("a.txt", LAYERS)
    again = strobe.write("again.json", strobe("report", path, "--format", "json"))
    for table in path, again, strobe.write("both.txt", BENCHMARK + LAYERS):
        for form in (), ("--brief",), ("--format", "md"):
            text = strobe("report", table, *form)
            assert "forward" in text and "unattributed" not in text, form
        assert not re.search(r"^wall ", strobe("report", table), re.M)
    run = strobe("report", strobe.write("run.txt", "[3b] RAFT: 95.32s\n" + LAYERS))
    assert "unattributed" in run and re.search(r"^wall ", run, re.M), "beside a stage the run has a time"


def test_a_layer_table_is_read_blocks_are_where_it_should_be(strobe):
    found = findings(strobe.report(strobe.write("a.txt", LAYERS)))
    assert "91.9 %" in found["blocks_dominate"]["issue"] and "block_variance" not in found and "patch_embedding" not in found
    assert "layer_dominates" not in found, "a row that stands for 24 blocks is no layer"


def test_precisions_get_their_speedup(strobe):
    text = strobe("report", strobe.write("a.txt", PRECISION))
    assert "FP16: 28.45 ms" in text and "1.59 times as fast: good GPU use" in text
    assert "1 runs" not in text, "the text does not say of how many runs it is the mean"


@pytest.mark.parametrize("fp16, words", [(38.45, "CPU- or memory-bound"), (28.45, "good GPU use"), (20.0, "tensor-core")])
def test_a_speedup_of_precisions_is_read(strobe, fp16, words):
    text = f"FP32: 45.23 ms\nFP16: {fp16:.2f} ms\nSpeedup: {45.23 / fp16:.2f}x\n"
    assert words in readings(strobe.report(strobe.write("a.txt", text)))["precision"]


def test_a_whole_benchmark_output(strobe):
    report = strobe.report(strobe.write("a.txt", BENCHMARK + LAYERS + PRECISION))
    rows = stages(report)
    assert report["stage_analysis"]["wall_s"] == pytest.approx(.04365), "the benchmark's 50 calls are no part of the call that has layers"
    assert {"forward", "Transformer blocks", "Patch Embedding", "Normalization"} <= set(rows) and not {"FP32", "benchmark"} & set(rows)
    assert [(i["name"], i["count"], i["mean_s"]) for i in report["iterations"]] == [("benchmark", 50, pytest.approx(.04523))]
    assert report["stage_analysis"]["bottlenecks"][0] == "Transformer blocks" and rows["Transformer blocks"]["wall_ratio"] == pytest.approx(.919, abs=1e-3)
    assert report["model_analysis"]["layers"]["timed_on"] == "gpu"
    assert not report["recording"].get("warnings")


def test_stages_beside_a_benchmark_keep_its_time(strobe):
    report = strobe.report(strobe.write("a.txt", "[1a] Load: 4.00s\n" + BENCHMARK))
    assert report["stage_analysis"]["wall_s"] == pytest.approx(4 + 50 * .04523) and set(stages(report)) == {"Load", "benchmark"}


# ---- comparing ---------------------------------------------------------------

def diff(strobe, base, new):
    return json.loads(strobe("diff", strobe.write("base.txt", base), strobe.write("new.txt", new), "--format", "json"))


def test_precisions_and_layers_compare_by_their_means(strobe):
    rows = {s["name"]: s for s in diff(strobe, PRECISION, PRECISION.replace("28.45", "20.45").replace("1.59", "2.21"))["stages"]}
    assert (rows["FP16"]["base_s"], rows["FP16"]["new_s"], rows["FP16"]["verdict"]) == (pytest.approx(.02845), pytest.approx(.02045), "better")
    assert rows["FP32"]["verdict"] == "same"
    rows = {s["name"]: s for s in diff(strobe, LAYERS, LAYERS.replace("3.45 ms", "4.45 ms").replace("43.65", "44.65"))["stages"]}
    assert rows["Patch Embedding"]["verdict"] == "worse" and rows["Transformer blocks"]["verdict"] == "same"


def test_texts_without_a_total_do_not_say_that_it_stayed(strobe):
    text = strobe("diff", strobe.write("a.txt", PRECISION), strobe.write("b.txt", PRECISION.replace("45.23", "95.23")))
    assert "Neither has a total time" in text and "total stayed" not in text and "+110.5 %" in text


def test_benchmarks_compare_by_their_means_whatever_they_repeat(strobe):
    """20 iterations instead of 50 are no gain, and 10 ms are one."""
    fewer = BENCHMARK.replace("(50 iterations)", "(20 iterations)")
    assert diff(strobe, BENCHMARK, fewer)["total"]["verdict"] == "same"
    report = diff(strobe, BENCHMARK + LAYERS, (fewer + LAYERS).replace("45.23", "38.23").replace("40.12", "33.12").replace("43.65", "36.65"))
    rows = {s["name"]: s for s in report["stages"]}
    assert report["total"]["verdict"] == "better" and report["total"]["new_value"] == pytest.approx(.03665)
    assert rows["benchmark"]["new_s"] == pytest.approx(.03823) and rows["benchmark"]["verdict"] == "better"
    assert not report.get("new_overlap_s")


# ---- the example's output ----------------------------------------------------

def test_the_example_keeps_its_rates(strobe):
    path = strobe.write("a.txt", EXAMPLE)
    loop, = strobe.report(path)["iterations"]
    assert (loop["count"], loop["fps"]) == (6, pytest.approx(20.57)) and loop["per_second"] == pytest.approx(5.14, rel=1e-3)
    assert "20.57 frames/s" in strobe("report", path)


def test_the_example_keeps_its_layers_and_slowest_blocks(strobe):
    report = strobe.report(strobe.write("a.txt", EXAMPLE))
    layers = report["model_analysis"]["layers"]
    assert stages(report)["blocks"]["total_s"] == pytest.approx(.34743, rel=1e-4) and "blocks blocks" not in stages(report)
    assert (layers["block_count"], layers["block_std_s"], layers["timed_on"]) == (4, pytest.approx(.00504), "cpu")
    assert [(s["name"], s["mean_s"]) for s in layers["slowest"]] == [
        ("blocks 3", pytest.approx(.09369, abs=5e-6)), ("blocks 1", pytest.approx(.08745, abs=5e-6)), ("blocks 0", pytest.approx(.08407, abs=5e-6)), ("blocks 2", pytest.approx(.08223, abs=5e-6))]
    assert {c["name"]: c["model_ratio"] for c in layers["components"]}["blocks"] == pytest.approx(.891, abs=1e-3)


def test_the_example_keeps_the_memory_of_a_call(strobe):
    report = strobe.report(strobe.write("a.txt", EXAMPLE))
    before, after = report["memory"]["snapshots"]
    assert (before["label"], before["device"], before["allocated_mb"]) == ("before VideoEncoder", "host", pytest.approx(557.8))
    assert (after["label"], after["allocated_mb"], after["peak_mb"]) == ("after VideoEncoder", pytest.approx(560.8), pytest.approx(571.5))
    assert {"input_mb", "output_mb"} <= set(stages(report)["forward"]["attributes"])
    gpu = EXAMPLE.replace("(process; no CUDA device in use)", "(cuda:0)").replace("Input:  ", "Reserved:          600.0 MB\n  Input:  ")
    after = strobe.report(strobe.write("gpu.txt", gpu))["memory"]["snapshots"][1]
    assert (after["device"], after["reserved_mb"]) == ("gpu:0", pytest.approx(600))


def test_the_example_keeps_its_variants(strobe):
    report = strobe.report(strobe.write("a.txt", EXAMPLE))
    rows = {v["name"]: v for v in report["model_analysis"]["variants"]}
    assert {n: (v["mean_s"], v["std_s"], v["count"]) for n, v in rows.items()} == {
        "FP32": (pytest.approx(.01392), pytest.approx(.0073), 6), "BF16": (pytest.approx(.05553), pytest.approx(.02895), 6),
        "compiled": (pytest.approx(.00928), pytest.approx(.0005), 6)}
    assert rows["compiled"]["reading"] == "a good gain", "nothing of a GPU: it ran on the CPU"


def test_the_example_keeps_its_operators(strobe):
    path = strobe.write("a.txt", EXAMPLE)
    report = strobe.report(path)
    first, second = report["model_analysis"]["operators"]
    assert (first["name"], first["count"], first["self_s"], first["total_s"], first["self_ratio"]) == (
        "aten::addmm", 16, pytest.approx(.158801), pytest.approx(.159226), pytest.approx(.4944, abs=1e-4))
    assert second["name"] == "aten::linear" and "aten::addmm" not in stages(report)
    assert report["stage_analysis"]["wall_s"] == pytest.approx(.39007) and "aten::addmm" in strobe("report", path)


def test_a_json_report_keeps_its_models_variants_and_operators(strobe):
    report = {"session_info": {"duration_s": 2.0}, "stage_analysis": {"wall_s": 2.0, "unattributed_s": 0.0, "stages": [
                  {"name": "encode", "count": 1, "total_s": 2.0, "min_s": 2.0, "max_s": 2.0}]},
              "model_analysis": {"models": [{"name": "large", "type": "VideoEncoder", "parameter_count": 304714240, "size_mb": 1161.1},
                                            {"name": "text", "parameter_count": 1000}],
                                 "variants": [{"name": "FP32", "count": 50, "mean_s": 0.04523, "std_s": 0.002}, {"name": "FP16", "count": 50, "mean_s": 0.02845}],
                                 "operators": [{"name": "aten::addmm", "count": 96, "self_s": 0.03, "total_s": 0.04}]}}
    models = strobe.report(strobe.write("profiling_report.json", json.dumps(report)))["model_analysis"]
    assert [(m["name"], m["parameter_count"]) for m in models["models"]] == [("large", 304714240), ("text", 1000)]
    assert [(v["name"], v["count"], round(v["mean_s"], 5)) for v in models["variants"]] == [("FP32", 50, 0.04523), ("FP16", 50, 0.02845)]
    assert models["variants"][1]["reading"] == "good GPU use"
    assert [(o["name"], o["count"], o["self_s"], o["total_s"]) for o in models["operators"]] == [("aten::addmm", 96, 0.03, 0.04)]


def test_a_sessions_json_keeps_its_models(strobe):
    session = {"session_info": {"session_id": "s", "duration": 1.0}, "stage_analysis": {"stages": {"decode": {"count": 1, "total_time": 1.0}}},
               "model_analysis": {"models": {"denoiser": {"parameters_count": 1300000000, "model_type": "dit"}}, "total_parameters": 1300000000}}
    model, = strobe.report(strobe.write("session.json", json.dumps(session)))["model_analysis"]["models"]
    assert (model["name"], model["type"], model["parameter_count"]) == ("denoiser", "dit", 1300000000)
