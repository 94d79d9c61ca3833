"""What a real pipeline computes and nobody sees: frames it was padded to, and the passes of guidance."""
import sys

import pytest

PROGRAM = """
import strobe
import tiny

pipeline = tiny.wan()


def make(frames, **more):
    pipeline(prompt="w1", max_sequence_length=16, height=16, width=16, num_frames=frames, num_inference_steps=3, **more)


with strobe.generation(frames=9, padded_frames=13, name="padded"):
    make(13, negative_prompt="w2")
make(9, guidance_scale=1.0)
"""


def test_padded_frames_and_guidance_of_a_real_pipeline(run):
    report = run(sys.executable, "-c", PROGRAM).report()
    rows = {row["kind"]: row for row in report["padding"]}
    assert rows["padding"]["frames_count"] == 9 and rows["padding"]["padded_frames_count"] == 13
    assert rows["padding"]["unseen_ratio"] == pytest.approx(4 / 13)
    assert rows["guidance"]["passes_count"] == 2, "the second pipeline is not guided and not in it"
    assert rows["guidance"]["unseen_s"] == pytest.approx(rows["guidance"]["total_s"] / 2)
    assert [one["frames"] for one in report["generations"]["items"]] == [9, 9]
    assert report["summary"]["frames"] == 18
