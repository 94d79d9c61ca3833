"""strobe whatif against reruns: the example pipeline with the settings that were predicted. Its clock is
pretended, so that a rerun takes exactly what its counts cost."""
import json
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

STROBE = pathlib.Path(os.environ["STROBE_BUILD"]) / "strobe"
EXAMPLE = pathlib.Path(__file__).resolve().parents[2] / "examples" / "inpainting.py"


def rerun(folder, **settings):
    flags = [part for key, value in settings.items() for part in ("--" + key.replace("_", "-"), str(value))]
    text = subprocess.run([sys.executable, EXAMPLE, "--pretend", *flags], check=True, capture_output=True, text=True).stdout
    path = folder / ("-".join("%s%s" % pair for pair in settings.items()) + ".log" if settings else "base.log")
    path.write_text(text)
    return path, float(text.split("TOTAL TIME: ")[1].split("s")[0])


def predict(*arguments):
    done = subprocess.run([STROBE, "whatif", "--no-history", "--format", "json", *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("changes, flags", [
    (["3b.iters=8"], {"raft_iters": 8}),
    (["3b.iters=6", "4f.2.steps=1"], {"raft_iters": 6, "steps": 1}),
    (["raft.iterations=16"], {"raft_iters": 16}),
    (["4f.2.steps=3"], {"steps": 3}),
    (["3b.iters=1", "4f.2.steps=1"], {"raft_iters": 1, "steps": 1}),
])
def test_a_rerun_lies_within_the_error(tmp_path, changes, flags):
    base, _ = rerun(tmp_path)
    _, total = rerun(tmp_path, **flags)
    said = predict(base, *changes)
    assert said["time_digit_s"] == 0.01  # the log has two decimals: they are in the error
    assert said["low_s"] <= total <= said["high_s"]
    assert abs(said["predicted_s"] - total) / total < 0.15
    assert said["extrapolates"]  # one run: what is fixed is not known


def test_two_values_tell_the_fixed_part_and_the_rerun_is_met(tmp_path):
    base, _ = rerun(tmp_path)
    other, _ = rerun(tmp_path, raft_iters=4)
    _, total = rerun(tmp_path, raft_iters=8)
    said = predict(base, "3b.iters=8", "--with", other)
    change = said["changes"][0]
    assert change["basis"] == "fitted" and not said["extrapolates"]
    assert change["fixed_s"] == pytest.approx(0.2, abs=0.02) and change["each_s"] == pytest.approx(0.4, abs=0.005)
    assert said["predicted_s"] == pytest.approx(total, abs=0.05)
    assert predict(base, "3b.iters=20", "--with", other)["extrapolates"]


@pytest.mark.parametrize("then", [5, 8, 10, 11, 14, 20])
@pytest.mark.parametrize("other", [4, 11, 13])
def test_a_rerun_lies_within_the_error_of_a_line_through_two(tmp_path, other, then):
    """Also where the two lie side by side, and half a digit of either makes much of what lies far away."""
    base, _ = rerun(tmp_path)
    second, _ = rerun(tmp_path, raft_iters=other)
    _, total = rerun(tmp_path, raft_iters=then)
    said = predict(base, "3b.iters=%d" % then, "--with", second)
    assert said["changes"][0]["basis"] == "fitted"
    assert said["low_s"] < said["predicted_s"] < said["high_s"]
    assert said["low_s"] <= total <= said["high_s"]


def test_a_rerun_on_a_gpu_lies_within_the_error():
    """Two logs of one real pipeline: RAFT with 12 iterations, then with 6; the rest of it was changed too."""
    data = EXAMPLE.parents[1] / "tests" / "data"
    change = predict(data / "stagelog-before.txt", "3b.iters=6")["changes"][0]
    assert change["low_s"] <= 10.05 <= change["high_s"]


def test_a_batch_has_limits_until_a_second_one_was_measured(tmp_path):
    base, _ = rerun(tmp_path)
    said = predict(base, "vae.batch=8")
    change = said["changes"][0]
    assert change["code"] == "4c" and change["basis"] == "range"
    differ = 1 + said["noise_ratio"]
    assert change["low_s"] == pytest.approx(change["now_s"] / 2 / differ) and change["high_s"] == pytest.approx(change["now_s"] * differ)


@pytest.mark.parametrize("setting, words", [
    ("3b.iters", "is not STAGE.SETTING=NUMBER"),
    ("3b.iters=0", "needs a number above 0"),
    ("3b.colour=2", "is not a setting that changes the time"),
    ("4c.tiles=2", "strobe bench --sweep"),
    ("4c.iters=2", "carries 'iters'"),
    ("nothing.iters=2", "has no stage 'nothing'"),
])
def test_what_cannot_be_predicted_is_said(tmp_path, setting, words):
    base, _ = rerun(tmp_path)
    done = subprocess.run([STROBE, "whatif", str(base), setting], capture_output=True, text=True)
    assert done.returncode == 2 and words in done.stderr and done.stderr.count("\n") == 1


def test_stages_inside_each_other_are_not_added_up(tmp_path):
    log = tmp_path / "log.txt"
    log.write_text("  [4f] Main inference: Starting...\n    [4f.2] UNet (2 steps, 10 frames): 8.00s\n  [4f] Main inference (10 frames) TOTAL: 9.00s\n")
    done = subprocess.run([STROBE, "whatif", str(log), "4f.frames=5", "4f.2.steps=1"], capture_output=True, text=True)
    assert done.returncode == 2 and ("inside the other" in done.stderr or "carries" in done.stderr)


@pytest.fixture
def remembered(tmp_path):
    """Two runs of one name in a history: 12 iterations and 4. strobe(...) asks with that history."""
    environment = {**os.environ, "STROBE_HISTORY": str(tmp_path / "history.db")}

    def strobe(*arguments):
        return subprocess.run([STROBE, *map(str, arguments)], cwd=tmp_path, env=environment, check=True, capture_output=True, text=True).stdout

    for folder, iterations in ("twelve", 12), ("four", 4):
        (tmp_path / folder).mkdir()
        log, _ = rerun(tmp_path / folder, raft_iters=iterations)
        log = log.rename(tmp_path / folder / "pipeline.log")
        os.utime(log, (1700000000 + iterations, 1700000000 + iterations))  # a log begins when its file was written
        strobe("import", "-q", log, "-o", "runs/" + folder)
        strobe("history", "add", "runs/" + folder)
    return strobe


def test_runs_of_the_same_name_in_the_history_tell_the_fixed_part(tmp_path, remembered):
    _, total = rerun(tmp_path, raft_iters=8)
    said = json.loads(remembered("whatif", "runs/twelve", "3b.iters=8", "--format", "json"))
    change = said["changes"][0]
    assert change["basis"] == "fitted" and not said["extrapolates"]
    assert change["fixed_s"] == pytest.approx(0.2, abs=0.02) and change["each_s"] == pytest.approx(0.4, abs=0.005)
    assert said["predicted_s"] == pytest.approx(total, abs=0.05)
    assert json.loads(remembered("whatif", "runs/twelve", "3b.iters=8", "--no-history", "--format", "json"))["changes"][0]["basis"] != "fitted"


def test_a_remembered_run_whose_folder_is_gone_is_left_out(tmp_path, remembered):
    shutil.rmtree(tmp_path / "runs/four")
    said = json.loads(remembered("whatif", "runs/twelve", "3b.iters=8", "--format", "json"))
    assert said["changes"][0]["basis"] != "fitted" and said["extrapolates"]


def test_steps_inside_blocks_are_those_of_one_block(tmp_path):
    program = tmp_path / "blocks.py"
    program.write_text("import strobe\nfor b in strobe.blocks(4, frames=3):\n    for t in strobe.steps(6, block_size=3):\n        sum(range(1000))\n")
    environment = {**os.environ, "PYTHONPATH": str(STROBE.parent / "python"), "STROBE_HISTORY": str(tmp_path / "history.db")}
    subprocess.run([STROBE, "run", "-q", "--", "/usr/bin/python3", program], cwd=tmp_path, env=environment, check=True)
    change = predict(tmp_path / "strobe-runs/last", "denoise.steps=3")["changes"][0]
    assert (change["now_value"], change["then_value"]) == (6, 3)


def test_the_spread_of_the_generations_is_part_of_the_range(tmp_path):
    script = tmp_path / "videos.py"
    script.write_text("""import strobe
strobe.start(name="videos", output_dir="runs")
for video in range(5):
    with strobe.generation("video"):
        with strobe.section("flow", iters=12):
            sum(range(20000 * (video % 2 + 1)))
strobe.stop()
""")
    environment = {**os.environ, "PYTHONPATH": os.environ["STROBE_BUILD"] + "/python"}
    subprocess.run([sys.executable, script], check=True, cwd=tmp_path, env=environment)
    run = next(p for p in (tmp_path / "runs").iterdir() if not p.is_symlink())
    report = json.loads(subprocess.run([STROBE, "report", run, "--format", "json", "-o", "-"], check=True, capture_output=True, text=True).stdout)
    walls = [g["wall_s"] for g in report["generations"]["items"]]
    mean = sum(walls[1:]) / 4
    deviation = (sum((g - mean) ** 2 for g in walls[1:]) / 3) ** 0.5
    inside = deviation / len(walls) ** 0.5 / mean
    said = predict(run, "flow.iters=8")
    change = said["changes"][0]
    assert (change["now_value"], change["then_value"]) == (12, 8)  # of one video, however many there are
    assert change["predicted_s"] == pytest.approx(change["now_s"] * 8 / 12)
    assert said["noise_generation_count"] == 4
    busy = 0.75 * said.get("others_cpu_ratio", 0)
    differ = 3.182 * 2 ** 0.5 * (0.03 ** 2 + busy ** 2 + inside ** 2) ** 0.5  # Student's t of three
    assert said["noise_ratio"] == pytest.approx(differ, rel=1e-6)
    assert said["noise_s"] == pytest.approx(said["predicted_s"] * differ)
    rest = said["now_s"] - change["now_s"]
    assert said["low_s"] == pytest.approx(change["low_s"] + rest / (1 + differ))
    assert said["high_s"] == pytest.approx(change["high_s"] + rest * (1 + differ))
    text = subprocess.run([STROBE, "whatif", "--no-history", run, "flow.iters=8"], check=True, capture_output=True, text=True).stdout
    assert ": from 4 generations" in text


def test_a_rate_is_of_the_videos_whatever_else_the_program_does(tmp_path):
    script = tmp_path / "videos.py"
    script.write_text("""import strobe
strobe.start(name="videos", output_dir="runs")
with strobe.section("load", iters=4):
    sum(range(3000000))
for video in range(2):
    with strobe.generation("video", frames=36):
        with strobe.section("flow", iters=12):
            sum(range(200000))
strobe.stop()
""")
    subprocess.run([sys.executable, script], check=True, cwd=tmp_path, env={**os.environ, "PYTHONPATH": os.environ["STROBE_BUILD"] + "/python"})
    run = next(p for p in (tmp_path / "runs").iterdir() if not p.is_symlink())
    report = json.loads(subprocess.run([STROBE, "report", run, "--format", "json", "-o", "-"], check=True, capture_output=True, text=True).stdout)
    videos_s = sum(g["wall_s"] for g in report["generations"]["items"])
    said = predict(run, "flow.iters=6")
    saved_s = said["now_s"] - said["predicted_s"]
    assert said["predicted_fps"] == pytest.approx(72 / (videos_s - saved_s), rel=1e-3)
    assert predict(run, "load.iters=2")["predicted_fps"] == pytest.approx(said["fps"], rel=1e-6)


GENERATION = EXAMPLE.with_name("generation.py")


def generate(folder, name, *flags):
    """The example computes nothing: its stages sleep, and their times are printed to the millisecond."""
    text = subprocess.run([sys.executable, GENERATION, *flags], check=True, capture_output=True, text=True, cwd=folder,
                          env={**os.environ, "EXAMPLE_SCALE": "0.2", "PYTHONPATH": str(STROBE.parent / "python")}).stdout
    (folder / name).write_text(text)
    return folder / name


@pytest.mark.parametrize("setting", ["denoising_steps.iterations=4", "denoising.steps=4", "transformer_forward.iters=4"])
def test_a_loop_of_iterations_is_predicted_by_its_turns(tmp_path, setting):
    said = predict(generate(tmp_path, "before.txt", "--steps", "8"), setting)
    change = said["changes"][0]
    assert change["basis"] == "steps" and (change["now_value"], change["then_value"]) == (8, 4)
    assert change["predicted_s"] == pytest.approx(change["now_s"] / 2)
    assert said["predicted_s"] == pytest.approx(said["now_s"] - change["now_s"] / 2)
    assert said["low_s"] < said["predicted_s"] < said["high_s"]


def test_turns_count_by_the_call_around_them(tmp_path):
    generate(tmp_path, "three.txt", "--enable-profiling", "--profiling-iterations", "3")
    change = predict(tmp_path / "profiling_results", "denoising_steps.iterations=4")["changes"][0]
    assert (change["now_value"], change["then_value"]) == (8, 4), "24 turns in three videos"


BENCHMARK = """
============================================================
Simple Benchmark (10 iterations after 5 warm-ups)
============================================================
  Mean:      %8.2f ms
  Rate:      %8.2f clips/s
             %8.2f frames/s
"""


def benchmark(folder, frames, batch=1, clip=True, squared=0):
    """A model that takes 4 ms a call and 2.5 ms a frame, and what attention takes over all of them."""
    ms = 4 + 2.5 * frames * batch + squared * frames * frames
    path = folder / ("bench-%d-%d-%d.txt" % (frames, batch, clip))
    path.write_text(BENCHMARK % (ms, 1000 / ms, 1000 / ms * frames * batch) +
                    ("  Clip:    batch=%d, frames=%d, 64x48\n" % (batch, frames) if clip else ""))
    return path, ms / 1000


@pytest.mark.parametrize("clip", [True, False])
def test_a_benchmark_of_a_model_is_predicted_by_its_frames(tmp_path, clip):
    base, _ = benchmark(tmp_path, 16, clip=clip)
    other, _ = benchmark(tmp_path, 8, clip=clip)
    _, rerun_s = benchmark(tmp_path, 12)
    one = predict(base, "forward.frames=12")
    assert one["low_s"] <= rerun_s <= one["high_s"] and one["changes"][0]["now_value"] == 16
    two = predict(base, "forward.frames=12", "--with", other)
    assert two["changes"][0]["basis"] == "fitted"
    assert two["predicted_s"] == pytest.approx(rerun_s, rel=0.01)
    assert two["changes"][0]["fixed_s"] == pytest.approx(0.004, rel=0.05)


@pytest.mark.parametrize("squared", [0, 0.05, 0.4])
def test_two_benchmarks_allow_for_what_grows_with_the_square(tmp_path, squared):
    """As it was measured: 16 frames 34.0 ms, 4 frames 18.0 ms, and 8 frames 21.6 ms, where a line says 23.3."""
    base, _ = benchmark(tmp_path, 16, squared=squared)
    other, _ = benchmark(tmp_path, 4, squared=squared)
    _, rerun_s = benchmark(tmp_path, 8, squared=squared)
    said = predict(base, "forward.frames=8", "--with", other)
    assert said["changes"][0]["basis"] == "fitted" and said["low_s"] <= rerun_s <= said["high_s"]
    assert said["changes"][0]["note"].startswith("two values do not tell a line from a curve")


def test_three_benchmarks_tell_the_curve_themselves(tmp_path):
    paths = [benchmark(tmp_path, frames)[0] for frames in (16, 8, 4)]
    said = predict(paths[0], "forward.frames=12", "--with", "%s,%s" % tuple(paths[1:]))
    assert "note" not in said["changes"][0]


def test_a_larger_batch_of_a_benchmark_is_more_work(tmp_path):
    base, _ = benchmark(tmp_path, 16)
    _, rerun_s = benchmark(tmp_path, 16, batch=2)
    said = predict(base, "forward.batch=2")
    assert said["low_s"] <= rerun_s <= said["high_s"] and said["predicted_s"] > said["now_s"]
    said = predict(base, "forward.width=32")
    assert said["changes"][0]["now_value"] == 64


def test_the_reruns_that_were_measured_lie_inside(tmp_path):
    """On a calm machine, in ms: 4 frames 6.05, 16 frames 11.0, then 8 frames 6.17 where the line says 7.7."""
    for frames, ms in ((4, 6.05), (16, 11.0)):
        (tmp_path / ("%d.txt" % frames)).write_text(BENCHMARK % (ms, 1000 / ms, 1000 / ms * frames) + "  Clip:    batch=1, frames=%d, 64x64\n" % frames)
    said = predict(tmp_path / "16.txt", "forward.frames=8", "--with", tmp_path / "4.txt")
    assert said["changes"][0]["basis"] == "fitted" and said["low_s"] <= 6.17e-3 <= said["high_s"]


def test_runs_of_the_same_settings_tell_how_far_runs_differ(tmp_path):
    def log(name, total):
        (tmp_path / name).write_text("[3b] RAFT optical flow (12 iters): %.3fs\n[4c] VAE encode: %.3fs\nTOTAL TIME: %.3fs\n" % (total * .6, total * .4, total))
        return tmp_path / name
    base = log("base.log", 100)
    one = predict(base, "3b.iters=8")
    assert "noise_run_count" not in one
    alike = predict(base, "3b.iters=8", "--with", ",".join(str(log("alike%d.log" % i, 100 + i / 10)) for i in range(5)))
    apart = predict(base, "3b.iters=8", "--with", ",".join(str(log("apart%d.log" % i, 100 + 20 * i)) for i in range(5)))
    assert alike["noise_run_count"] == apart["noise_run_count"] == 6
    assert alike["noise_ratio"] < one["noise_ratio"] < apart["noise_ratio"]
    assert alike["predicted_s"] == apart["predicted_s"] == one["predicted_s"]


def test_a_benchmark_that_does_not_say_its_frames_is_told_how(tmp_path):
    path = tmp_path / "guide.txt"
    path.write_text("Simple Benchmark (Average over runs)\nResults:\n  Mean:   45.23 ms\n  FPS:    22.11\n")
    done = subprocess.run([STROBE, "whatif", path, "forward.frames=8"], capture_output=True, text=True)
    assert done.returncode == 2 and "does not say its 'frames': print 'Clip: batch=1, frames=16" in done.stderr
