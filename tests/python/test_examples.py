"""Examples as docs/guides types them but smaller, and what they show; those without torch are run by docs/blocks too."""
import importlib.util
import json
import os
import pathlib
import subprocess
import sys

import pytest

BUILD = pathlib.Path(os.environ["STROBE_TOOL"]).parent
EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"


def run(folder, *command):
    environment = {**os.environ, "PYTHONPATH": str(BUILD / "python"), "STROBE_HISTORY": "off", "NO_COLOR": "1", "EXAMPLE_SCALE": "0.02"}
    done = subprocess.run([str(c) for c in command], cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


needs_torch = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed")


@needs_torch
def test_block_diffusion_is_recorded_and_its_steps_predicted(tmp_path):
    run(tmp_path, BUILD / "strobe", "run", "--", sys.executable, EXAMPLES / "causal_video.py", "--blocks", "2", "--steps", "4")
    report = json.loads(run(tmp_path, BUILD / "strobe", "report", "last", "--format", "json"))
    assert report["diffusion_analysis"]["steps"] == 8 and report["diffusion_analysis"]["blocks"] == 2
    change = json.loads(run(tmp_path, BUILD / "strobe", "whatif", "last", "denoise.steps=3", "--format", "json"))["changes"][0]
    assert change["basis"] == "steps" and change["then_value"] == 3


@needs_torch
def test_an_encoder_benchmark_is_a_run(tmp_path):
    out = run(tmp_path, sys.executable, EXAMPLES / "profile_video_model.py", "--model-size", "tiny", "--img-size", "32", "--num-frames", "2",
              "--iterations", "3", "--skip-detailed", "--device", "cpu")
    (tmp_path / "tiny.txt").write_text(out)
    report = json.loads(run(tmp_path, BUILD / "strobe", "report", "tiny.txt", "--format", "json"))
    assert report["iterations"][0]["count"] == 3
    printed_ms = float(out.split("Mean:")[1].split()[0])
    assert report["iterations"][0]["mean_s"] == pytest.approx(printed_ms / 1e3, rel=0.01)


def test_a_generation_is_bound_by_its_transformer_and_the_warm_up_is_left_out(tmp_path):
    out = run(tmp_path, sys.executable, EXAMPLES / "generation.py", "--enable-profiling", "--profiling-iterations", "3", "--profiling-warmup", "1")
    assert "Iterations: 24" in out and "(not counted: 1 warm-up iteration)" in out
    report = json.loads((tmp_path / "profiling_results" / "profiling_report.json").read_text())
    loop = next(loop for loop in report["iterations"] if loop["name"] == "denoising_steps")
    assert (loop["count"], loop["marked_warmup_count"]) == (24, 8)


def test_ranks_write_where_the_configuration_says(tmp_path):
    (tmp_path / "p.yaml").write_text("profiling:\n  enabled: true\n  output_dir: chosen\n  report_format: json\n")
    run(tmp_path, sys.executable, EXAMPLES / "distributed.py", "--ranks", "2", "--blocks", "1", "--profiling_config", "p.yaml")
    assert sorted(path.name for path in (tmp_path / "chosen").iterdir()) == ["rank_0", "rank_1"]
    assert "Ranks: 2" in run(tmp_path, BUILD / "strobe", "aggregate", "--reports_dir", "chosen")
