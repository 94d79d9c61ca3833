"""strobe fit over real runs of a small Wan pipeline on the CPU, with a size held back: memory is the host's then."""
import json
import os
import subprocess
import sys

from conftest import HERE, TOOL, environment, strobe_run

PROGRAM = os.path.join(HERE, "program_sizes.py")
KNOWN = (("9x128x128", "9x192x192", "17x192x192"), ("9x256x256", "33x192x192"), ("17x256x320",))


def test_a_held_back_size(tmp_path):
    history = str(tmp_path / "history.db")
    for sizes in KNOWN:
        strobe_run(tmp_path, sys.executable, PROGRAM, *sizes, options=("-n", "wan", "--cpu-monitor-interval", "0.05"), STROBE_HISTORY=history)
    told = subprocess.run([TOOL, "fit", "runs/last", "--frames", "25", "--width", "256", "--height", "256", "--format", "json"],
                          cwd=tmp_path, stdout=subprocess.PIPE, check=True, env=environment(STROBE_HISTORY=history))
    told = json.loads(told.stdout)
    assert told["model"].startswith("WanPipeline") and told["run_count"] == 3 and told["size_count"] == 6
    assert told["memory_of"] == "host" and told["more_count"] == 0
    held = strobe_run(tmp_path, sys.executable, PROGRAM, "25x256x256", options=("--cpu-monitor-interval", "0.05"), STROBE_HISTORY="off").report()
    (size,) = held["generation_sizes"]["sizes"]
    assert {key: size["attributes"][key] for key in ("frames", "width", "height", "steps")} == \
        {"frames": 25, "width": 256, "height": 256, "steps": 2}
    memory, seen = told["memory"], size["rss_bytes"]
    assert abs(memory["predicted_bytes"] / seen - 1) < 0.1 or memory["low_bytes"] <= seen <= memory["high_bytes"]
    # In the order of the first one; what the pipeline does around them (`before_steps` and the like) stands between.
    models = ("text_encode", "denoise", "vae_decode")
    assert [stage["stage"] for stage in size["stages"] if stage["stage"] in models] == list(models)
