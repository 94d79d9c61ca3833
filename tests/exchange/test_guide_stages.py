"""Stage logs and tracking sheets (guide 000), pasted: each comes out with its own figures."""
import pytest

from guide_forms import AFTER, stages


def test_a_sheet_that_is_not_filled_in_has_its_stages_by_name(strobe):
    sheet = ("BASELINE:\n- [3b] RAFT:        95.32s\n- [4c] VAE encode:  20.00s\n- Total Inpainting: 115.32s\n\n"
             "AFTER OPTIMIZATION X:\n- [3b] RAFT:        80.00s (\u0394: ___)\n- [4c] VAE encode:  ___s (\u0394: ___)\n- Total Inpainting: ___s (\u0394: ___)\n")
    rows = stages(strobe.report(strobe.write("sheet.txt", sheet)))
    assert set(rows) == {"RAFT", "VAE encode"}
    assert rows["RAFT"]["total_s"] == pytest.approx(80) and rows["VAE encode"]["state"] == "untimed"


def test_a_tracking_sheet_of_three_steps_is_three_runs_as_strobe_writes_it_too(strobe):
    sheet = "".join("%s:\n- [3b] RAFT: %ss\n- Total Inpainting: %ss\n\n" % row for row in (
        ("BASELINE", "95.32", "150.00"), ("AFTER OPTIMIZATION 1", "63.55", "118.23"), ("AFTER OPTIMIZATION 2", "40.00", "94.68")))
    path = strobe.write("sheet.txt", sheet + "AFTER OPTIMIZATION 3:\n")  # a heading with nothing below it
    text = strobe("diff", path)
    assert [line.split()[2] for line in text.splitlines()[1:4]] == ["150.00s", "118.23s", "94.68s"]
    again = strobe("diff", strobe.write("again.txt", strobe("diff", path, "--template")))
    assert [line.split()[2] for line in again.splitlines()[1:4]] == ["150.00s", "118.23s", "94.68s"]
    assert strobe.report(path)["stage_analysis"]["wall_s"] == pytest.approx(94.68)


def test_a_stage_log_is_read_at_two_levels_with_its_strategies(strobe):
    log = ("[3b] RAFT optical flow (12 iters): 95.32s  \u2190 BOTTLENECK\n[3c] Flow completion: 12.45s\n"
           "[4f.2] UNet+BrushNet+VAE pipeline (2 steps, 1320 frames): 187.54s  \u2190 MAJOR BOTTLENECK\n")
    report = strobe.report(strobe.write("a.txt", log))
    assert {s.get("code"): s.get("bottleneck_level") for s in report["stage_analysis"]["stages"]} == {"3b": "other", "3c": None, "4f.2": "major"}
    raft = next(s for s in report["strategies"] if s.get("code") == "3b")
    assert raft["what"] == "12 iterations of 7.94 s; 8 would save about 31.77 s" and raft["effort"] == "< 1 day" and raft["trade_off"] == "flow accuracy"
    assert strobe("report", "a.txt").count("93.77 s/step, 142 ms/frame") == 1


@pytest.mark.parametrize("line", ["[1] Smith et al.: 3s", "[12] A. Jones et al., Video at speed, 2021: 12s", "[3] arXiv: 5m", "[4] Chen, J. of Video, pp. 3: 4s",
                                  '[12] J. Doe, "Fast flow", 2021: 3s', '[4] A. Vaswani, N. Shazeer. "Attention is all you need". NeurIPS, 2017: 30s',
                                  "[8] Teed, Z., & Deng, J. (2020). RAFT: Recurrent all-pairs field transforms: 2s", "[5] J.-P. Serre and B. Lee. Faster video: 9s",
                                  '[6] "Fast flow," Proc. CVPR, 2021.: 3s', "[7] https://arxiv.org/abs/2003.12039: 4.5s"])
def test_a_reference_of_a_paper_is_no_stage(strobe, line):
    report = strobe.report(strobe.write("paper.log", line + "\n[1] Extract: 1.00s\n[2] Inpainting: 2.00s\n"))
    assert [s["name"] for s in report["stage_analysis"]["stages"]] == ["Inpainting", "Extract"]
    assert report["stage_analysis"]["wall_s"] == pytest.approx(3)


@pytest.mark.parametrize("name", ["Load, convert", "Resize (1920)", "Export 2021", "A. Encode", "Read, write and blend", 'Render "intro"', "Download https://host/file",
                                  "VAE, B frames", "T5 encode", "Encode, 2048"])
def test_a_stage_that_looks_a_little_like_a_reference_stays_one(strobe, name):
    report = strobe.report(strobe.write("stages.log", "[1] %s: 1.00s\n[2] Inpainting: 2.00s\n" % name))
    assert len(report["stage_analysis"]["stages"]) == 2 and report["stage_analysis"]["wall_s"] == pytest.approx(3)
