"""pytest --strobe, as a project would use it: a test run in a folder of its own."""
import json
import os
import pathlib
import subprocess
import sys

import pytest

import strobe

PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(strobe.__file__)))
# Two thousand times the work in one stage: no machine is noisy enough to hide it.
SUITE = """
import os, strobe
WORK = int(os.environ["WORK"])

def decode():
    with strobe.section("vae_decode"):
        for i in range(WORK):
            pass
    return "frames"

def test_decode(strobe_bench):
    assert strobe_bench(decode, repeat=8, frames=16) == "frames"

def test_plain():
    pass
"""


@pytest.fixture
def suite(tmp_path):
    (tmp_path / "test_speed.py").write_text(SUITE)
    (tmp_path / "pytest.ini").write_text("[pytest]\nstrobe_fail_above = 50%\n")

    def run(*args, work=1000, code=0, env=None):
        environment = {key: value for key, value in os.environ.items() if not key.startswith(("STROBE_", "PYTEST"))}
        environment.update(PYTHONPATH=PACKAGE, WORK=str(work), **(env or {}))
        if "STROBE_TOOL" in os.environ:
            environment["STROBE_TOOL"] = os.environ["STROBE_TOOL"]
        done = subprocess.run([sys.executable, "-m", "pytest", "-p", "strobe.pytest_plugin", "-p", "no:cacheprovider", "-q", *args],
                              cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300)
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout
    run.folder = tmp_path
    return run


def baselines(suite):
    return sorted(pathlib.Path(suite.folder).glob(".strobe-baselines/*/*.json"))


def test_without_the_switch_nothing_is_measured(suite):
    assert "2 passed" in suite() and not baselines(suite) and not (suite.folder / "strobe-runs").exists()


def test_a_baseline_a_pass_and_a_regression_with_its_stage(suite):
    assert "no baseline: --strobe-update writes one" in suite("--strobe")
    assert not baselines(suite)
    assert "baseline written" in suite("--strobe-update")
    [kept] = baselines(suite)
    report = json.loads(kept.read_text())
    assert kept.name == "test_speed.py-test_decode.json" and "host" not in report["system"]
    assert report["generations"]["count"] == 8
    text = suite("--strobe", work=2000000, code=1)
    table = text.split("Stage (generation mean)")[1].split("Metric ")[0]
    assert table.count("\n  vae_decode ") == 1 and "warm-up" not in table  # the measured calls alone
    assert "FAIL" in text and "vae_decode" in text and "1 failed, 1 passed" in text and "slower" in text
    assert "2 passed" in suite("--strobe-update", work=2000000)
    text = suite("--strobe", work=1000)
    assert "2 passed" in text and "faster" in text


def test_the_limit_of_the_command_line_wins(suite):
    suite("--strobe-update")
    assert "2 passed" in suite("--strobe", "--strobe-fail-above", "100000000%", work=2000000)
    for wrong in ("lots", "5", "", "vae_decode=", "5%,"):
        suite("--strobe", "--strobe-fail-above", wrong, code=4)  # pytest's code of wrong usage


def test_a_limit_of_a_stage_that_is_not_there_blames_the_limit(suite):
    suite("--strobe-update")
    text = suite("--strobe", "--strobe-fail-above", "vae_encode=5%", code=1)
    assert "vae_encode: neither a metric nor a stage" in text and "fail_above=" in text and "renews" not in text


def test_a_limit_of_one_test_is_checked_before_it_is_measured(suite):
    (suite.folder / "test_speed.py").write_text("def test_one(strobe_bench):\n    strobe_bench(lambda: 1 / 0, fail_above='5')\n")
    text = suite("--strobe", code=1)
    assert "fail_above takes 5% or NAME=10%" in text and "ZeroDivisionError" not in text


def test_a_baseline_names_no_folder_of_the_machine(suite):
    suite("--strobe-update")
    [kept] = baselines(suite)
    assert str(suite.folder) not in kept.read_text() and "pytest-of" not in kept.read_text()


def test_parameters_have_baselines_of_their_own(suite):
    (suite.folder / "test_speed.py").write_text(
        "import pytest\n@pytest.mark.parametrize('size', ['480/16', '480 16', '480-16'])\n"
        "def test_size(strobe_bench, size):\n    strobe_bench(lambda: 1, repeat=1)\n")
    suite("--strobe-update")
    assert len(baselines(suite)) == 3


def test_without_the_command_a_test_fails_with_one_line(suite):
    (suite.folder / "conftest.py").write_text("import strobe._tool\nstrobe._tool.path = lambda: None\n")
    text = suite("--strobe", code=1)
    assert "strobe cannot report" in text and "Traceback" not in text and "ToolError" not in text


def test_a_baseline_that_cannot_be_written_is_said(suite):
    (suite.folder / ".strobe-baselines").write_text("a file")
    text = suite("--strobe-update", code=1)
    assert "strobe cannot write the baseline" in text and "Traceback" not in text


def test_another_kind_of_machine_has_its_own_baselines(suite):
    suite("--strobe-update")
    fake = os.path.join(os.path.dirname(os.environ.get("STROBE_TOOL", "")), "tests", "fake", "libnvidia-ml.so")
    if not os.path.exists(fake):
        pytest.skip("the stand-in for NVML is not built")
    assert "no baseline" in suite("--strobe", env={"STROBE_NVML_PATH": fake})
    suite("--strobe-update", env={"STROBE_NVML_PATH": fake})
    kinds = [path.parent.name for path in baselines(suite)]
    assert len(kinds) == 2 and sum(kind.startswith("fake-gpu-9000-") for kind in kinds) == 1
    assert "GPU-0000" not in "".join(path.read_text() for path in baselines(suite))


def test_a_damaged_baseline_is_said(suite):
    suite("--strobe-update")
    [kept] = baselines(suite)
    kept.write_text("{")
    text = suite("--strobe", code=1)
    assert "strobe cannot compare" in text and str(kept) in text and "--strobe-update renews it" in text
    assert "During handling" not in text


def test_inside_a_recorded_program_the_test_is_skipped(suite):
    (suite.folder / "conftest.py").write_text("import strobe\nstrobe.start(config={'generate_final_report': False})\n")
    assert "1 passed, 1 skipped" in suite("--strobe")


def test_an_error_of_the_test_is_its_own(suite):
    (suite.folder / "test_speed.py").write_text("def test_broken(strobe_bench):\n    strobe_bench(lambda: 1 / 0)\n")
    assert "ZeroDivisionError" in suite("--strobe", code=1)
    (suite.folder / "test_speed.py").write_text("def test_fine(strobe_bench):\n    strobe_bench(lambda: 1, repeat=3)\n")
    assert "1 passed" in suite("--strobe")


def test_no_repetition_is_refused(suite):
    (suite.folder / "test_speed.py").write_text("def test_none(strobe_bench):\n    strobe_bench(lambda: 1, repeat=0)\n")
    assert "repeat is 1 or more" in suite("--strobe", code=1)


@pytest.mark.parametrize("ratio, words", [(-0.0001, "< 0.1 %"), (0.0001, "< 0.1 %"), (0, "+0.0 %"), (-0.2, "-20.0 %")])
def test_a_small_change_is_no_minus_zero(ratio, words):
    from strobe.pytest_plugin import percentage
    assert percentage(ratio) == words
