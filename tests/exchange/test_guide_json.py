"""A JSON report of what was pasted is the same report when it is read again, for every form that the guides show."""
import os

import pytest

from guide_forms import AGGREGATION, BEFORE, DISPLAY, ITERATIONS, MEMORY, SUMMARY
from test_guide_encoder import BENCHMARK, LAYERS, PRECISION

STAGES = """[3b] RAFT optical flow (12 iters): 95.32s
[3c] Flow completion: 12.45s
[4f.2] UNet+BrushNet+VAE pipeline (2 steps, 1320 frames): 187.54s
"""
COARSE = """[3b] RAFT:        95.3s
[4f.2] UNet:      187.5s
Total Inpainting: 340.0s
"""
FORMS = {"stages": STAGES, "coarse": COARSE, "summary": SUMMARY, "memory": MEMORY, "iterations": ITERATIONS, "display": DISPLAY,
         "aggregation": AGGREGATION, "before": BEFORE, "benchmark": BENCHMARK, "layers": BENCHMARK + LAYERS, "precision": PRECISION}


@pytest.mark.parametrize("form", FORMS)
def test_a_json_report_says_what_its_text_said(strobe, form):
    text, json = strobe.write("pasted.txt", FORMS[form]), "pasted.json"
    strobe("report", text, "--format", "json", "-o", json)
    for name in (text, os.path.join(os.path.dirname(str(text)), json)):
        os.utime(name, (1_790_000_000, 1_790_000_000))
    assert strobe("report", json) == strobe("report", text)
