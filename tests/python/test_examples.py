"""The examples that need torch, as docs/guides types them but smaller; the others are run by docs/blocks."""
import json
import os
import pathlib
import subprocess
import sys

import pytest

pytest.importorskip("torch")
BUILD = pathlib.Path(os.environ["STROBE_TOOL"]).parent
EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"


def run(folder, *command):
    environment = {**os.environ, "PYTHONPATH": str(BUILD / "python"), "STROBE_HISTORY": "off", "NO_COLOR": "1"}
    done = subprocess.run([str(c) for c in command], cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_block_diffusion_is_recorded_and_its_steps_predicted(tmp_path):
    run(tmp_path, BUILD / "strobe", "run", "--", sys.executable, EXAMPLES / "causal_video.py", "--blocks", "2", "--steps", "4")
    report = json.loads(run(tmp_path, BUILD / "strobe", "report", "last", "--format", "json"))
    assert report["diffusion_analysis"]["steps"] == 8 and report["diffusion_analysis"]["blocks"] == 2
    change = json.loads(run(tmp_path, BUILD / "strobe", "whatif", "last", "denoise.steps=3", "--format", "json"))["changes"][0]
    assert change["basis"] == "steps" and change["then_value"] == 3


def test_an_encoder_benchmark_is_a_run(tmp_path):
    out = run(tmp_path, sys.executable, EXAMPLES / "profile_video_model.py", "--model-size", "tiny", "--img-size", "32", "--num-frames", "2",
              "--iterations", "3", "--skip-detailed", "--device", "cpu")
    (tmp_path / "tiny.txt").write_text(out)
    report = json.loads(run(tmp_path, BUILD / "strobe", "report", "tiny.txt", "--format", "json"))
    assert report["iterations"][0]["count"] == 3
    printed_ms = float(out.split("Mean:")[1].split()[0])
    assert report["iterations"][0]["mean_s"] == pytest.approx(printed_ms / 1e3, rel=0.01)
