"""Stage logs: every line kind, and the two real ones."""
import pytest

from conftest import DATA


def stages(report):
    return {(s.get("code", ""), s["name"]): s for s in report["stage_analysis"]["stages"]}


def test_the_before_log(strobe):
    report = strobe.report(strobe.imported(DATA / "stagelog-before.txt"))
    analysis = report["stage_analysis"]
    assert analysis["wall_s"] == pytest.approx(281.96)
    rows = stages(report)
    propainter = rows["", "ProPainter"]
    assert propainter["total_s"] == pytest.approx(52.34) and propainter["self_s"] == pytest.approx(26.44)
    assert rows["", "DiffuEraser"]["total_s"] == pytest.approx(151.90)
    assert rows["", "inpainting"]["total_s"] == pytest.approx(207.09)
    assert analysis["unattributed_s"] == pytest.approx(281.96 - 207.09)
    assert analysis["bottlenecks"][0] == "UNet+BrushNet+VAE pipeline"
    unet = rows["4f.2", "UNet+BrushNet+VAE pipeline"]
    assert unet["total_s"] == pytest.approx(116.33)
    assert rows["4e", "Pre-inference"]["state"] == "skipped"
    text = strobe("report", DATA / "stagelog-before.txt")
    assert "SKIPPED (keyframe pass disabled)" in text
    assert any("[4f.2]" in line and "<- BOTTLENECK" in line for line in text.splitlines())
    assert "[4c] VAE encode (1339 frames, batch=4): 16.47s" in text


def test_the_after_log(strobe):
    report = strobe.report(DATA / "stagelog-after.txt")
    rows = stages(report)
    assert report["stage_analysis"]["wall_s"] == pytest.approx(299.88)
    assert rows["4d", "Shallow copy masks/frames (no copy needed)"]["state"] == "untimed"
    assert rows["3b", "RAFT optical flow"]["total_s"] == pytest.approx(10.05)


def zones(strobe, text):
    return {z["name"]: z for z in strobe.zones(strobe.imported(strobe.write("log.txt", text)))}


def test_numbers_in_parentheses_become_attributes(strobe):
    z = zones(strobe, "[1a] Encode (16 frames, batch=4, scale=7.5): 2.00s\n[1b] Refine (12 iterations, cold): 250 ms\n")
    assert z["Encode"]["attributes"] == {"frames": 16, "batch": 4, "scale": 7.5}
    assert z["Refine (cold)"]["attributes"] == {"iters": 12, "time_digit_s": 0.001} and z["Refine (cold)"]["duration_ns"] == 250000000


def test_arrows_prefixes_and_carriage_returns(strobe):
    z = zones(strobe, "2026-01-01 12:00:00 INFO [3b] RAFT: 95.32s  \u2190 BOTTLENECK\n"
              "12%|#2 \r100%|###|\r  [4f.2] UNet (2 steps): 187.54s  <- MAJOR BOTTLENECK\r\n[INFO] [12:01] [4g] Blend: 1.5s")
    assert z["RAFT"]["duration_ns"] == 95320000000 and z["RAFT"]["code"] == "3b"
    assert z["UNet"]["duration_ns"] == 187540000000 and z["UNet"]["attributes"] == {"steps": 2, "time_digit_s": 0.01}
    assert z["Blend"]["code"] == "4g"


def test_banners_and_a_timing_breakdown(strobe):
    z = zones(strobe, """
[1/3] Loading models...
[2/3] Inpainting...
  [3a] Read: 2.00s
  [3b] Flow: 3.00s
ProPainter total: 7.00s
[3/3] Writing output...
============================================
TIMING BREAKDOWN
============================================
[1] Loading models:      10.00s
[2] Inpainting:           8.00s
[3] Writing output:       1.50s
TOTAL TIME: 20.00s (0.3 min)
""")
    assert {n: r["duration_ns"] // 10000000 for n, r in z.items()} == {
        "Loading models": 1000, "Inpainting": 800, "ProPainter": 700, "Read": 200, "Flow": 300, "Writing output": 150}
    assert [z[n]["depth"] for n in ("Inpainting", "ProPainter", "Flow")] == [0, 1, 2]
    # [3] of the breakdown is not the parent of [3a]
    assert z["Read"]["start_ns"] >= z["Inpainting"]["start_ns"] and z["Writing output"]["depth"] == 0


def test_a_breakdown_without_banners_holds_the_details(strobe):
    z = zones(strobe, "  [3a] Read: 2.00s\nTotal inpainting: 7.90s\nTIMING BREAKDOWN\n[1] Load:  1.00s\n[2] Inpaint:   8.00s\nTOTAL TIME: 9.00s\n")
    assert z["inpainting"]["depth"] == 1 and z["Read"]["depth"] == 2 and z["Inpaint"]["depth"] == 0


@pytest.mark.parametrize("time, seconds", [("1m 20.5s", 80.5), ("1m20s", 80), ("1h 2m 3s", 3723), ("2 min 5 sec", 125), ("35us", 35e-6), ("0.000035s", 35e-6)])
def test_times_of_several_parts(strobe, time, seconds):
    assert zones(strobe, f"[1a] A: {time}  <- BOTTLENECK\n")["A"]["duration_ns"] == pytest.approx(seconds * 1e9)


@pytest.mark.parametrize("text", ["1m of cable", "20s 1m", "3 min 5 frames"])
def test_what_only_begins_like_a_time_takes_none(strobe, text):
    z = zones(strobe, f"[1a] A: {text}\n[1b] B: 2.00s\n")
    assert {n: r["duration_ns"] for n, r in z.items()} == {f"A: {text}": 0, "B": 2000000000}


def test_two_videos_in_one_log(strobe):
    one = "[3a] Read: 2.00s\nProPainter total: 3.00s\nTOTAL TIME: 10.00s\n"
    rows = [r for r in strobe.zones(strobe.imported(strobe.write("log.txt", one + one))) if r["name"] == "ProPainter"]
    assert [r["start_ns"] for r in rows] == [0, 10000000000]


def test_a_start_without_its_total_takes_its_parts(strobe):
    path = strobe.write("log.txt", "[4f] Main: Starting...\n  [4f.1] Noise: 1.00s\n  [4f.2] UNet: 2.00s\n")
    assert "1 started stage has no total: its parts' sum is taken" in strobe("import", path, "-o", strobe.folder / "r")
    z = {r["name"]: r for r in strobe.zones(strobe.folder / "r")}
    assert z["Main"]["duration_ns"] == 3000000000 and z["UNet"]["depth"] == 1


def test_a_nul_in_a_log_is_named(strobe):
    err = strobe("import", strobe.write("log.txt", b"[1a] A: 1.00s\n" + b"x" * 5000 + b"\0"), code=2)
    assert "line 2, byte 5014" in err and err.count("\n") == 1


def test_numbers_past_all_integers_stay_numbers(strobe):
    z = zones(strobe, "[1a] A (88888888888888888888888888888888888888888888888 frames): 1.00s\n")
    assert z["A"]["attributes"] == {"frames": pytest.approx(8.888e46, rel=1e-3)}


@pytest.mark.parametrize("total", ["[4f] Main (1320 frames, batch=4) TOTAL: 3.00s", "[4f] Main TOTAL (1320 frames, batch=4): 3.00s"])
def test_a_total_keeps_what_stands_in_parentheses(strobe, total):
    z = zones(strobe, "[4f] Main (7 steps): Starting...\n  [4f.1] Noise: 1.00s\n" + total + "\n")
    assert z["Main"]["attributes"] == {"steps": 7, "frames": 1320, "batch": 4} and z["Main"]["duration_ns"] == 3000000000
    z = zones(strobe, total)  # without its start
    assert z["Main"]["attributes"] == {"frames": 1320, "batch": 4} and z["Main"]["code"] == "4f"


def test_a_total_is_printed_with_its_frames(strobe):
    text = strobe("report", strobe.write("log.txt", "[4f] Main: Starting...\n  [4f.1] Noise: 1.00s\n[4f] Main (1320 frames, batch=4) TOTAL: 132.00s\n"))
    assert "[4f] Main (1320 frames, batch=4) TOTAL: 132.00s" in text


def test_frames_of_the_stages_make_the_fps_where_the_log_has_no_video_line(strobe):
    log = "[4b] Keyframes (60 frames): 4.00s\n[4c] VAE encode (1320 frames, batch=4): 16.00s\n[4h] Write (1320 frames): 2.00s\nTOTAL TIME: 44.00s\n"
    assert strobe.report(strobe.write("a.txt", log))["summary"]["fps"] == pytest.approx(30)  # 1320 once, not 2700
    assert strobe.report(strobe.write("b.txt", log + log))["summary"]["frames"] == 2640
    assert strobe.report(strobe.write("c.txt", "Video: 660 frames, 30 fps\n" + log))["summary"]["fps"] == pytest.approx(15)


@pytest.mark.parametrize("time", ["1e300s", "-1.5s", "nan s", "inf ms", "-0.1 min", "9999999999h"])
def test_a_time_that_is_none_is_named_with_its_line(strobe, time):
    path = strobe.write("log.txt", f"[1a] Good: 2.00s\n[1b] Bad (4 frames): {time}\n[1c] Fine: 1.00s\n")
    said = strobe("import", path, "-o", strobe.folder / "r")
    assert f"line 2: '[1b] {time}' is not a time a stage can take" in said and "1 without a time" in said
    report = strobe.report(path)  # on the fly it is said in the report
    bad = stages(report)["1b", "Bad"]
    assert bad["state"] == "untimed" and bad["attributes"]["frames"] == 4
    assert any("line 2" in w for w in report["recording"]["warnings"])
    assert report["stage_analysis"]["wall_s"] == pytest.approx(3)


def test_totals_that_are_no_times_are_named_and_other_lines_are_not(strobe):
    path = strobe.write("log.txt", "temperature: -3 m\n[1a] Good: 2.00s\nA total: -4.00s\nTOTAL TIME: nans\n")
    said = strobe("import", path, "-o", strobe.folder / "r")
    assert "line 3: '-4.00s'" in said and "and 1 more such line" in said


def test_times_that_add_up_past_all_clocks_are_refused(strobe):
    err = strobe("import", strobe.write("log.txt", "[1a] A: 90000000s\n" * 50), "-o", strobe.folder / "r", code=2)
    assert err.count("\n") == 1 and "more than a century" in err


def test_a_hundred_thousand_lines_take_no_square_of_that(strobe):
    flat = "".join(f"[4a.{i % 10}] x: 0.01s\n" for i in range(100000))
    nested = "".join(f"Total a{i}: 1.00s\n" for i in range(100000))
    for name, text in (("flat.txt", flat), ("nested.txt", nested)):
        assert "100000 zones" in strobe("import", strobe.write(name, text), "-o", strobe.folder / name.split(".")[0])


HEADINGS = "[4f] Main inference: Full video pass\n  [4f.2] UNet: 10.00s\n[4f] Main inference TOTAL: 11.00s\nTOTAL TIME: 12.00s\n"


def test_a_heading_and_its_total_are_one_stage(strobe):
    report = strobe.report(strobe.write("log.txt", HEADINGS))
    rows = stages(report)
    assert report["stage_analysis"]["wall_s"] == pytest.approx(12)
    assert set(rows) == {("4f", "Main inference"), ("4f.2", "UNet")}
    assert rows["4f", "Main inference"]["total_s"] == pytest.approx(11) and rows["4f.2", "UNet"]["parent"] == "Main inference"


@pytest.mark.parametrize("log", ["  [4f.2] UNet: 10.00s\n[4f] Main inference TOTAL: 11.00s\nTOTAL TIME: 12.00s\n",  # without any heading
                                 "[4f] Main inference: Full video pass\n  [4f.2] UNet: 10.00s\n[4f] Main inference: 11.00s\nTOTAL TIME: 12.00s\n",
                                 "[4f] Main: Starting...\n  [4f.2] UNet: 10.00s\n[4f] Main inference: 11.00s\nTOTAL TIME: 12.00s\n"])
def test_parts_lie_in_their_stage_however_it_is_printed(strobe, log):
    report = strobe.report(strobe.write("log.txt", log))
    assert report["stage_analysis"]["wall_s"] == pytest.approx(12) and report["stage_analysis"]["unattributed_s"] == pytest.approx(1)
    assert {s["code"]: s["total_s"] for s in report["stage_analysis"]["stages"]} == {"4f": pytest.approx(11), "4f.2": pytest.approx(10)}
    assert not report["recording"].get("warnings")


def test_every_label_of_the_inpainting_pipeline_adds_up_to_its_own_total(strobe):
    log = """[3a] I/O (read video/mask, preprocess): 7.84s
[3b] RAFT optical flow (12 iters): 95.32s  \u2190 BOTTLENECK
[3c] Flow completion: 12.45s
[3d] Video write (1320 frames): 4.39s
ProPainter total: 120.00s
[4a] I/O (read video/mask/priori): 5.00s
[4b] Image preprocessing: 2.00s
[4c] VAE encode (1320 frames, batch=4): 20.00s
[4d] Deep copy masks/frames: 1.00s
[4e] Pre-inference: Keyframe pass (if enabled)
     \u2514\u2500\u2500 [4e.1] Keyframe sampling (22 frames): 0.50s
     \u2514\u2500\u2500 [4e.2] Add noise: 0.50s
     \u2514\u2500\u2500 [4e.3] UNet+BrushNet inference (2 steps): 8.00s
     \u2514\u2500\u2500 [4e.4] VAE decode (22 frames): 1.50s
     \u2514\u2500\u2500 [4e.5] Replace frames in buffer: 0.50s
[4e] Pre-inference TOTAL: 11.00s
[4f] Main inference: Full video pass
     \u2514\u2500\u2500 [4f.1] Add noise to 1320 frames: 1.00s
     \u2514\u2500\u2500 [4f.2] UNet+BrushNet+VAE pipeline (2 steps, 1320 frames): 187.54s  \u2190 MAJOR BOTTLENECK
[4f] Main inference TOTAL: 190.00s
[4g] Compositing: Blending inpainted frames
     \u2514\u2500\u2500 [4g.1] Mask blurring (1320 frames): 4.00s
     \u2514\u2500\u2500 [4g.2] Frame blending (1320 frames): 9.00s
     \u2514\u2500\u2500 [4g.3] Video encoding (1320 frames): 8.00s
[4g] Compositing TOTAL: 21.00s
DiffuEraser total: 255.00s
TOTAL TIME: 380.00s (6.3 min)
"""
    path = strobe.write("log.txt", log)
    report = strobe.report(path)
    rows = stages(report)
    assert report["stage_analysis"]["wall_s"] == pytest.approx(380) and report["stage_analysis"]["unattributed_s"] == pytest.approx(5)
    assert rows["", "DiffuEraser"]["total_s"] == pytest.approx(255) and rows["4e", "Pre-inference"]["total_s"] == pytest.approx(11)
    assert report["stage_analysis"]["bottlenecks"][0] == "UNet+BrushNet+VAE pipeline"
    assert not report["recording"].get("warnings")
    # colours, a logger and a progress bar around it change nothing
    dressed = "".join("\x1b[32m2026-11-15 14:00:00,123 - app.stages - INFO - %s\x1b[0m\n 50%%|#####     | 6/12 [00:07<00:07,  1.2s/it]\r" % line for line in log.splitlines())
    again = strobe.report(strobe.write("dressed.txt", dressed))
    assert again["stage_analysis"]["stages"] == report["stage_analysis"]["stages"]


def test_banners_keep_the_codes_below_them(strobe):
    text = strobe("report", strobe.write("log.txt", """[1/5] Extracting frames...
[2/5] Inpainting...
  [3a] I/O (read video/mask, preprocess): 7.84s
  [3b] RAFT optical flow (12 iters): 14.02s
ProPainter total: 25.00s
  [4f] Main inference: Starting full video pass...
    [4f.2] UNet+BrushNet+VAE pipeline (2 steps, 81 frames): 10.00s
  [4f] Main inference TOTAL: 10.10s
DiffuEraser total: 12.00s
[6/6] Done
TIMING BREAKDOWN
[1] Extract:        5.00s
[2] Inpainting:    38.00s
[3] Upscale:       12.00s
[6] Mux:            1.00s
TOTAL TIME: 60.0s (1.0 min)
"""))
    by_code = text[text.index("Stages by code"):]
    for line in ("[3b] RAFT optical flow (12 iters): 14.02s", "[4f.2] UNet+BrushNet+VAE pipeline (2 steps, 81 frames): 10.00s",
                 "[2] Inpainting", "[6] Mux: 1.00s", "TOTAL TIME: 60.00s"):
        assert line in by_code
    assert text.startswith("strobe: log.txt, 60.00 s")


def test_the_breakdown_repeats_a_code_and_does_not_add_to_it(strobe):
    report = strobe.report(strobe.write("log.txt", "[3b] RAFT: 14.00s\nProPainter total: 14.00s\nTIMING BREAKDOWN\n[3b] RAFT: 14.00s\nProPainter total: 14.00s\nTOTAL TIME: 15.00s\n"))
    assert {s["name"]: (s["count"], s["total_s"]) for s in report["stage_analysis"]["stages"]} == {"ProPainter": (1, 14.0), "RAFT": (1, 14.0)}
    assert report["stage_analysis"]["wall_s"] == pytest.approx(15)


def test_details_without_banners_lie_in_a_part_of_the_breakdown(strobe):
    report = strobe.report(strobe.write("log.txt", "[3a] Read: 7.00s\nProPainter total: 25.00s\n[4c] VAE: 1.00s\nDiffuEraser total: 12.00s\nTIMING BREAKDOWN\n"
                                        "[1] Extract: 5.00s\n[2] Inpainting: 38.00s\nTOTAL TIME: 44.00s\n"))
    rows = stages(report)
    assert report["stage_analysis"]["wall_s"] == pytest.approx(44) and rows["", "ProPainter"]["parent"] == "Inpainting"


def test_a_sum_that_contradicts_the_total_time_is_said(strobe):
    path = strobe.write("log.txt", "[1a] A: 10.00s\n[1b] B: 5.00s\nTOTAL TIME: 12.00s\n")
    words = "the stages take 15.00 s together, TOTAL TIME says 12.00 s"
    assert words in strobe("import", path, "-o", strobe.folder / "r")
    assert any(words in w for w in strobe.report(path)["recording"]["warnings"])
    path = strobe.write("parts.txt", "[4f] Main: Starting...\n[4f.1] A: 9.00s\n[4f.2] B: 9.00s\n[4f] Main TOTAL: 11.00s\n")
    assert any("the parts of [4f] Main take 18.00 s, its total says 11.00 s" in w for w in strobe.report(path)["recording"]["warnings"])
    # what rounding explains is no contradiction
    assert not strobe.report(strobe.write("ok.txt", "[1a] A: 10.00s\n[1b] B: 5.01s\nTOTAL TIME: 15.00s\n"))["recording"].get("warnings")


PREFIXES = ["INFO:root:", "2026-01-01 12:00:00,123 - app.stages - INFO - ", "2026-01-01T12:00:00.123Z INFO app: ", "[2026-01-01 12:00:00] [INFO] ",
            "12:00:00 | INFO | ", "2026-01-01 12:00:00.123 | INFO     | app:run:42 - ", "I0101 12:00:00.123456 4242 app.py:42] ", "[rank0]: ",
            "\x1b[1;34mINFO\x1b[0m: ", "Jan  1 12:00:00 host python[42]: ", "[rank3]:INFO:app:", "[12345] [INFO] "]


@pytest.mark.parametrize("prefix", PREFIXES)
def test_a_logging_prefix_is_no_part_of_a_name(strobe, prefix):
    log = "Video: 660 frames, 30.00 fps\n[3b] RAFT (12 iters): 5.00s\nProPainter total: 7.00s\nTOTAL TIME: 8.00s\n"
    report = strobe.report(strobe.write("log.txt", "".join(prefix + line + "\n" for line in log.splitlines())))
    assert {s["name"]: s["total_s"] for s in report["stage_analysis"]["stages"]} == {"ProPainter": 7.0, "RAFT": 5.0}
    assert report["stage_analysis"]["wall_s"] == pytest.approx(8) and report["summary"]["frames"] == 660


@pytest.mark.parametrize("name", ["-", "/dev/stdin"])
def test_standard_input_is_a_log_like_any_other(strobe, name):
    import subprocess
    from conftest import BUILD
    def piped(*args):
        done = subprocess.run([BUILD / "strobe", *map(str, args)], input=HEADINGS, text=True, stdout=subprocess.PIPE, cwd=strobe.folder)
        assert done.returncode == 0
        return done.stdout
    piped("import", name, "-o", strobe.folder / "piped")
    assert strobe.report(strobe.folder / "piped")["stage_analysis"]["wall_s"] == pytest.approx(12)
    assert "12.00 s" in piped("report", name).splitlines()[0]
    assert "Total 12.00 s -> 12.00 s" in piped("diff", strobe.write("base.txt", HEADINGS), name)


def test_the_tracking_template_is_a_log(strobe):
    report = strobe.report(strobe.write("log.txt", "BASELINE:\n- [3b] RAFT:        95.32s\n- [3c] Flow:        12.45s\n- [4c] VAE encode:  20.00s\n- [4f.2] UNet:      187.54s\n- Total Inpainting: 380.00s\n"))
    rows = stages(report)
    assert report["stage_analysis"]["wall_s"] == pytest.approx(380) and rows["", "Inpainting"]["self_s"] == pytest.approx(64.69)
    assert rows["3b", "RAFT"]["parent"] == "Inpainting"


SOURCE = '''"""Prints "[3b] RAFT optical flow (12 iters): 95.32s" for each stage.

[3b] RAFT optical flow (12 iters): 95.32s
"""
import sys
import time as clock


def decode(frames):
    first = frames[0]
    print(f"[4c] VAE decode: {clock.time():.2f}s", sys.argv[1])
    return [0] if first else frames[1]
'''


@pytest.mark.parametrize("command", [["report"], ["share", "-o", "out.html"], ["diff"]])
def test_source_code_is_no_stage_log(strobe, tmp_path, command):
    source = tmp_path / "gen.py"
    source.write_text(SOURCE)
    runs = [source, source] if command == ["diff"] else [source]
    words = strobe(*command[:1], *runs, *command[1:], code=2)
    assert words.count("\n") == 1 and "gen.py' is source code, not a log" in words


@pytest.mark.parametrize("line", ["frames[0] is the first", 'x = "[3b] RAFT: 95.32s"', "a[2][1] + 3", "y = [0] * 5",
                                  "for i in [1], [2]:", "p[0]->count", "see [2] for more"])
def test_prose_and_expressions_are_no_stage_log(strobe, tmp_path, line):
    log = tmp_path / "notes.txt"
    log.write_text(f"Some notes\n{line}\n")
    assert "none of its 2 lines is a stage" in strobe("report", log, code=2)


@pytest.mark.parametrize("prefix", ["", "INFO:root:", "[2026-01-01 10:00:00][INFO]", "[42] ", "worker> ", "(rank 0) "])
def test_what_a_logger_puts_in_front_stays_possible(strobe, tmp_path, prefix):
    log = tmp_path / "run.log"
    log.write_text(f"{prefix}[3b] RAFT (12 iters): 95.32s\n")
    rows = stages(strobe.report(strobe.imported(log)))
    assert rows["3b", "RAFT"]["total_s"] == pytest.approx(95.32)


def test_a_log_with_a_traceback_and_an_import_is_a_log(strobe, tmp_path):
    log = tmp_path / "run.log"
    log.write_text("import torch\n[3b] RAFT (12 iters): 95.32s\nTraceback (most recent call last):\n"
                   '  File "main.py", line 3, in <module>\n    def run(self):\n    frames[0] = None\nKeyError: 0\n')
    rows = stages(strobe.report(strobe.imported(log)))
    assert list(rows) == [("3b", "RAFT")]


ROUNDED = """  [3a] Read: 0.24s
  [3b] RAFT optical flow (12 iters): 5.00s
ProPainter total: 5.24s
  [4f] Main inference: Starting full video pass...
    [4f.1] Add noise to 120 frames: 0.01s
    [4f.2] UNet (2 steps, 120 frames): 6.06s
  [4f] Main inference TOTAL: 6.07s
  [4g] Compositing: Starting...
    [4g.1] Mask blurring (120 frames): 0.04s
    [4g.2] Frame blending (120 frames): 0.04s
    [4g.3] Video encoding (120 frames): 0.06s
  [4g] Compositing TOTAL: 0.13s
DiffuEraser total: 6.20s
TOTAL TIME: 11.43s
"""


def test_totals_that_rounding_made_smaller_than_their_parts_are_kept(strobe):
    """0.04 + 0.04 + 0.06 are 0.14, the program printed 0.13: each part is known to half a hundredth."""
    path = strobe.write("rounded.log", ROUNDED)
    report = strobe.report(path)
    rows = stages(report)
    assert report["stage_analysis"]["wall_s"] == pytest.approx(11.43, abs=0.001) and report["session_info"]["time_digit_s"] == 0.01
    assert rows["4g", "Compositing"]["total_s"] == pytest.approx(0.13, abs=0.005)
    for code, name, printed in (("4g.1", "Mask blurring", 0.04), ("4g.3", "Video encoding", 0.06), ("4f.2", "UNet", 6.06), ("3b", "RAFT optical flow", 5.0)):
        assert rows[code, name]["total_s"] == pytest.approx(printed, abs=0.005)
    assert "contradicts" not in strobe("report", path)


def test_a_log_comes_back_line_by_line(strobe):
    text = strobe("report", strobe.write("rounded.log", ROUNDED))
    said = [line.split("  <- ")[0].strip() for line in text.split("Stages by code\n")[1].split("\n\n")[0].splitlines()]
    assert said == [line.strip() for line in ROUNDED.splitlines() if "Starting" not in line]


def test_parts_that_no_rounding_explains_still_contradict(strobe):
    text = strobe("report", strobe.write("wrong.log", ROUNDED.replace("Compositing TOTAL: 0.13s", "Compositing TOTAL: 0.08s")))
    assert "contradicts itself: the parts of [4g] Compositing take 0.14 s, its total says 0.08 s" in " ".join(text.split())


@pytest.mark.parametrize("time, digit", [("3s", 1), ("3.1s", 0.1), ("812 ms", 0.001), ("1m 20.5s", 0.1), ("2 min", 60)])
def test_the_last_digit_of_a_time(strobe, time, digit):
    report = strobe.report(strobe.write("a.log", "[1a] Load: %s\n" % time))
    assert report["session_info"]["time_digit_s"] == pytest.approx(digit)


def test_a_time_is_shown_with_the_digits_that_it_was_printed_with(strobe):
    log = strobe.write("a.log", "  [3a] I/O: 0.04s\n  [3b] RAFT (12 iters): 0.04s\n  [3c] Flow: 0.06s\nProPainter total: 0.13s\n  [4c] VAE encode: 0.036s\n  [4f] Main: 1.40s\nTOTAL TIME: 1.60s\n")
    rows = {s["name"]: s["time_digit_s"] for s in strobe.report(log)["stage_analysis"]["stages"]}
    assert rows == {"I/O": 0.01, "RAFT": 0.01, "Flow": 0.01, "ProPainter": 0.01, "VAE encode": 0.001, "Main": 0.01}
    tree = strobe("report", log).split("Stage tree")[1].split("Stages by code")[0]
    for name, total in ("[3a] I/O", "0.04 s"), ("[3c] Flow", "0.06 s"), ("ProPainter", "0.13 s"), ("[4c] VAE encode", "0.036 s"), ("[4f] Main", "1.40 s"), ("unattributed", "0.03 s"):
        line, = [line for line in tree.splitlines() if line.strip().startswith(name)]
        assert line.split(name)[1].split("%")[0].rsplit(" ", 1)[0].strip() == total
    screen = strobe("report", "--brief", log)
    assert "0.13 s" in screen and "0.036 s" in screen and "1.40 s" in screen and " ms" not in screen


@pytest.mark.parametrize("log, wall", [
    # each stage's total once more, in a list at the end
    ("[1] Load model: 2.00s\n[3] Denoising: 10.00s\n[4] VAE decode: 3.00s\n"
     "Load model total: 2.00s\nDenoising total: 10.00s\nVAE decode total: 3.00s\n", 15),
    # several calls of a stage
    ("[3b] RAFT: 8.00s\n[3b] RAFT: 9.00s\n[4b] Denoise: 12.00s\nRAFT total: 17.00s\nDenoise total: 12.00s\nTOTAL TIME: 29.00s\n", 29),
    # groups of codes, in their order
    ("[3a] Load: 2.00s\n[3b] RAFT: 8.00s\n[4a] Encode: 3.00s\n[4b] Denoise: 12.00s\n"
     "Flow total: 10.00s\nDiffusion total: 15.00s\nTOTAL TIME: 25.00s\n", 25),
    # a heading and its lettered parts, its total in the list alone, with time that no part has
    ("[1] Load: 2.00s\n[2] Flow\n[2a] RAFT: 3.00s\n[2b] Fill: 1.00s\n[3] Decode: 4.00s\nLoad total: 2.00s\nFlow total: 4.10s\n"
     "RAFT total: 3.00s\nTOTAL TIME: 10.10s\n", 10.1),
    # a heading, its lettered parts, its total
    ("[1] Load model: 2.00s\n[2] Denoise\n[2a] first half: 4.00s\n[2b] second half: 6.00s\n[2] Denoise total: 10.00s\n"
     "Load model total: 2.00s\nDenoise total: 10.00s\nTOTAL TIME: 12.00s\n", 12),
])
def test_totals_at_the_end_of_a_log_count_once(strobe, log, wall):
    report = strobe.report(strobe.write("log.txt", log))
    analysis = report["stage_analysis"]
    assert analysis["wall_s"] == pytest.approx(wall)
    assert sum(s["total_s"] for s in analysis["stages"] if "parent_index" not in s) == pytest.approx(wall)
    assert "import_note" not in report["session_info"] and not report["recording"].get("warnings")


def test_groups_at_the_end_hold_their_own_stages(strobe):
    log = ("[3a] Load: 2.00s\n[3b] RAFT: 8.00s\n[4a] Encode: 3.00s\n[4b] Denoise: 12.00s\n"
           "Flow total: 10.00s\nDiffusion total: 15.00s\n")
    all_ = strobe.report(strobe.write("log.txt", log))["stage_analysis"]["stages"]
    inside = {s["name"]: all_[s["parent_index"]]["name"] for s in all_ if "parent_index" in s}
    assert inside == {"Load": "Flow", "RAFT": "Flow", "Encode": "Diffusion", "Denoise": "Diffusion"}


def test_a_total_that_is_less_than_a_stage_before_it_is_not_the_sum_of_it(strobe):
    log = "[3a] I/O: 2.00s\n[3b] RAFT optical flow (12 iters): 95.32s\nDenoise total: 10.00s\n[3c] Flow completion: 12.45s\n"
    for tail, notes in ("TOTAL TIME: 119.77s\n", []), ("", ["the text contradicts itself: the total of Denoise, 10.00 s, is less than a stage before it; "
                                                             "it is taken as a stage of its own"]):
        report = strobe.report(strobe.write("log.txt", log + tail))
        rows = report["stage_analysis"]["stages"]
        assert {s["name"]: s["total_s"] for s in rows} == pytest.approx({"I/O": 2, "RAFT optical flow": 95.32, "Denoise": 10, "Flow completion": 12.45})
        assert not any("parent_index" in s for s in rows) and report["stage_analysis"]["wall_s"] == pytest.approx(119.77)
        assert [report["session_info"][k] for k in ("import_note",) if k in report["session_info"]] == notes


def test_a_contradiction_is_said_at_the_top(strobe):
    log = strobe.write("log.txt", "[1] Load: 2.00s\n[2] Denoise: 10.00s\nDenoise total: 14.00s\n")
    note = "the text contradicts itself: Denoise took 10.00 s in its line, its total says 14.00 s; the line counts"
    report = strobe.report(log)
    assert report["session_info"]["import_note"] == note and report["stage_analysis"]["wall_s"] == pytest.approx(12)
    text = " ".join(strobe("report", log).split())
    assert text.count(note) == 1 and text.index(note) < text.index("Operation")


def test_lines_with_a_time_that_are_in_no_stage_are_said(strobe):
    log = strobe.write("log.txt", "[1] Load: 1.20s\nResize: 2.00s\n[3b] RAFT: 4.00s\nWarm-up of the cache: 0.50s\nETA: soon\n")
    report = strobe.report(log)
    assert report["session_info"]["import_note"] == \
        "line 2, 'Resize: 2.00s', has a time and neither a code such as [4c] nor 'total': it is in no stage, as 1 more"
    assert report["stage_analysis"]["wall_s"] == pytest.approx(5.2)


@pytest.mark.parametrize("line", ["In the section [4c] we explain: about 3s", "as described in [4f.2] of the paper", "Please see also [3b] below"])
def test_a_sentence_that_mentions_a_code_is_no_stage(strobe, line):
    report = strobe.report(strobe.write("prose.log", line + "\n[3a] I/O: 1.00s\nTOTAL TIME: 2.00s\n"))
    assert [s["name"] for s in report["stage_analysis"]["stages"]] == ["I/O"]


@pytest.mark.parametrize("before", ["INFO worker ", "main - ", "rank0 ", ""])
def test_a_heading_behind_a_prefix_is_still_one(strobe, before):
    report = strobe.report(strobe.write("heading.log", before + "[4d] Shallow copy\n[3a] I/O: 1.00s\n"))
    assert "Shallow copy" in [s["name"] for s in report["stage_analysis"]["stages"]]
