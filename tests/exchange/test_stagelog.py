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
    assert z["Refine (cold)"]["attributes"] == {"iters": 12} and z["Refine (cold)"]["duration_ns"] == 250000000


def test_arrows_prefixes_and_carriage_returns(strobe):
    z = zones(strobe, "2026-01-01 12:00:00 INFO [3b] RAFT: 95.32s  \u2190 BOTTLENECK\n"
              "12%|#2 \r100%|###|\r  [4f.2] UNet (2 steps): 187.54s  <- MAJOR BOTTLENECK\r\n[INFO] [12:01] [4g] Blend: 1.5s")
    assert z["RAFT"]["duration_ns"] == 95320000000 and z["RAFT"]["code"] == "3b"
    assert z["UNet"]["duration_ns"] == 187540000000 and z["UNet"]["attributes"] == {"steps": 2}
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
    nested = "Total a: 1.00s\n" * 100000
    for name, text in (("flat.txt", flat), ("nested.txt", nested)):
        assert "100000 zones" in strobe("import", strobe.write(name, text), "-o", strobe.folder / name.split(".")[0])
