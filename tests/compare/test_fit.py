"""strobe fit: peak memory and time of another size, from the history alone."""
import json
import sys

import pytest

from conftest import BUILD

GB = 1 << 30
KNOWN = [(33, 480, 320), (81, 480, 320), (33, 832, 480), (49, 832, 480), (81, 832, 480), (49, 640, 640)]
HELD_BACK = [(65, 832, 480), (97, 832, 480), (81, 1024, 576)]


def peak(frames, width, height):
    return max(20 * GB + 300 * frames * width * height, 8 * GB + 900 * frames * width * height)


def time_s(frames, width, height):
    tokens = frames * width * height / 1024
    return 2 + 1e-4 * tokens + 1e-9 * tokens ** 2


def size(frames, width, height, **more):
    needed = peak(frames, width, height)
    return {"attributes": {"frames": frames, "width": width, "height": height}, "generation_count": 1,
            "generation_s": time_s(frames, width, height), "allocated_bytes": needed, "reserved_bytes": needed + GB,
            "process_bytes": needed + GB + GB // 2, "stages": [], **more}


@pytest.fixture
def remembered(strobe, tmp_path):
    """Runs of one size each in the history, as their reports have them; the last one is the RUN."""
    report = json.loads(strobe("report", "before.txt", "--format", "json").stdout)

    def add(sizes, model="Wan, 1.4B parameters, 2700.0 MB", first=0):
        for number, one in enumerate(sizes, first):
            report["session_info"]["id"] = f"00000000-0000-0000-0000-{number:012d}"
            report["generation_sizes"] = {"model": model, "device": "NVIDIA H200", "vram_total_bytes": 140 * GB, "sizes": [one]}
            (tmp_path / f"run{number}.json").write_text(json.dumps(report))
            strobe("history", "add", f"run{number}.json")
        return f"run{first + len(sizes) - 1}.json"
    return add


def asked(frames, width, height):
    return "--frames", frames, "--width", width, "--height", height


def test_held_back_sizes_are_within_ten_percent(strobe, remembered):
    run = remembered([size(*known) for known in KNOWN])
    for held in HELD_BACK:
        told = json.loads(strobe("fit", run, *asked(*held), "--format", "json").stdout)
        assert told["schema"] == "strobe.fit/1" and told["run_count"] == len(KNOWN) and told["more_count"] == 0
        assert told["memory"]["predicted_bytes"] == pytest.approx(peak(*held), rel=0.1)
        assert told["memory"]["low_bytes"] <= peak(*held) <= told["memory"]["high_bytes"]
        assert told["time"]["predicted_s"] == pytest.approx(time_s(*held), rel=0.1)
        assert told["verdict"] == "fits" and told["context_bytes"] == GB // 2


def test_a_first_generation_is_told_apart_from_warm_ones(strobe, remembered):
    sizes = [size(*known, warm_count=1) for known in KNOWN]
    for one in sizes[:2]:
        one["first_generation_s"] = one["generation_s"] + 5
    run = remembered(sizes)
    told = json.loads(strobe("fit", run, *asked(65, 832, 480), "--format", "json").stdout)
    assert told["time_of"] == "warm" and told["time"]["predicted_s"] == pytest.approx(time_s(65, 832, 480), rel=0.1)
    assert told["first_generation"]["extra_s"] == pytest.approx(5, rel=0.01) and told["first_generation"]["size_count"] == 2
    assert "the first generation in a process takes about 5.00 s more" in strobe("fit", run, *asked(65, 832, 480)).stdout


def test_a_first_generation_that_takes_as_long_is_said_in_words(strobe, remembered):
    sizes = [size(*known, warm_count=1) for known in KNOWN]
    for one in sizes[:2]:
        one["first_generation_s"] = one["generation_s"]
    text = strobe("fit", remembered(sizes), *asked(65, 832, 480)).stdout
    assert "the first generation in a process takes no longer" in text and "0 s more" not in text


def test_another_gpu_is_judged_by_its_memory(strobe, remembered):
    run = remembered([size(*known) for known in KNOWN])
    told = json.loads(strobe("fit", run, *asked(81, 832, 480), "--gpu", "RTX 4090", "--format", "json").stdout)
    assert told["verdict"] == "too_large" and "time" not in told
    assert told["capacity_bytes"] == pytest.approx(24 * GB * 0.98, rel=0.001)
    largest = {row["key"]: row["largest_value"] for row in told["largest"]}
    assert peak(largest["frames"], 832, 480) + GB / 2 <= 24 * GB * 0.98
    text = strobe("fit", run, *asked(81, 832, 480), "--gpu", "RTX 4090").stdout
    assert "it does not fit: RTX 4090 has 23.5 GB" in text and "time" not in text


def test_too_few_runs_say_how_many_more(strobe, remembered):
    run = remembered([size(33, 832, 480), size(81, 832, 480)])
    text = strobe("fit", run, "--frames", 121).stdout
    assert "too few to predict: run 1 more size other than those measured" in text and "peak memory" not in text
    text = strobe("fit", run, "--width", 1280).stdout
    assert "more sizes with other values of width" in text and "peak memory" not in text
    assert "peak memory" in strobe("fit", run, "--frames", 33).stdout  # measured


def test_other_models_and_devices_do_not_count(strobe, remembered):
    remembered([size(*known) for known in KNOWN], model="Wan, 14B parameters, 28000.0 MB")
    run = remembered([size(33, 832, 480)], first=20)
    told = json.loads(strobe("fit", run, "--frames", 121, "--format", "json").stdout)
    assert told["run_count"] == 1 and told["more_count"] == 2 and "memory" not in told


def test_a_size_that_ran_out_decides(strobe, remembered):
    failed = size(81, 832, 480, out_of_memory=True, generation_count=0)
    run = remembered([size(*known) for known in KNOWN[:4]] + [failed, size(33, 640, 640)])
    text = strobe("fit", run, *asked(97, 832, 480)).stdout
    assert "it does not fit: a size no larger ran out of memory" in text


PROGRAM = """
import strobe
for frames in (10, 20):
    with strobe.generation(frames=frames, width=64, height=32):
        with strobe.section("denoise"):
            kept = bytearray(frames << 20)
"""


def test_a_run_puts_its_sizes_into_the_history(strobe, tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    strobe("run", "-q", "-n", "sizes", "--", sys.executable, "program.py", PYTHONPATH=str(BUILD / "python"))
    report = json.loads(strobe("report", "last", "--format", "json").stdout)
    assert [one["attributes"]["frames"] for one in report["generation_sizes"]["sizes"]] == [10, 20]
    told = json.loads(strobe("fit", "last", "--frames", 40, "--format", "json").stdout)
    assert told["run_count"] == 1 and told["size_count"] == 2 and told["more_count"] >= 1
    assert "carry no 'tokens': they carry" in strobe("fit", "last", "tokens=5", code=2).stderr


def test_the_hosts_memory_is_not_judged_by_a_gpu(strobe, remembered):
    sizes = [{"attributes": {"frames": frames}, "generation_count": 1, "generation_s": 1.0, "rss_bytes": GB + frames * (64 << 20), "stages": []}
             for frames in (8, 16, 24, 32)]
    run = remembered(sizes)
    told = json.loads(strobe("fit", run, "--frames", 40, "--gpu", "RTX 4090", "--format", "json").stdout)
    assert told["verdict"] == "unknown" and "capacity_bytes" not in told and not told.get("largest")
    text = strobe("fit", run, "--frames", 40, "--gpu", "RTX 4090").stdout
    assert "whether it fits RTX 4090 is not known: these runs used no GPU" in text and "it fits:" not in text
    assert "it fits: the memory given has 24.0 GB" in strobe("fit", run, "--frames", 40, "--memory", 24).stdout


def test_far_outside_of_what_was_measured_no_error_is_claimed(strobe, remembered):
    run = remembered([size(*known) for known in KNOWN])
    text = strobe("fit", run, *asked(100000, 832, 480)).stdout
    memory = text[text.index("peak memory"):]
    assert "how far off is not known: this is 1235 times the largest size that was measured" in memory
    assert "each size predicted from the others" not in text
    far = json.loads(strobe("fit", run, *asked(400, 832, 480), "--memory", 4000, "--format", "json").stdout)
    assert far["extrapolates_ratio"] > 4 and far["verdict"] == "tight"  # even where the limits are below the capacity
    near = json.loads(strobe("fit", run, *asked(160, 832, 480), "--memory", 4000, "--format", "json").stdout)
    assert near["verdict"] == "fits"


def test_the_tag_model_names_the_model(strobe, tmp_path):
    (tmp_path / "toy.py").write_text("import strobe\nwith strobe.generation(frames=8): pass\n")
    strobe("run", "-q", "-t", "model=toy", "-o", tmp_path / "runs", "--", sys.executable, tmp_path / "toy.py")
    assert json.loads(strobe("fit", tmp_path / "runs", "--format", "json").stdout)["model"] == "toy"
