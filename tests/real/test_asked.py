"""What a real pipeline was asked to be, beside what ran."""
import os
import sys

import pytest

from conftest import HERE

PROGRAM = os.path.join(HERE, os.pardir, "planted", "program.py")


@pytest.fixture
def found(run):
    def one(name, *more):
        report = run(sys.executable, PROGRAM, name, *more).report()
        asked = {e["attributes"]["component"]: e["attributes"] for e in report["events"] if e["name"] == "torch.asked"}
        return asked, {f["id"]: f for f in report["recommendations"]}, report
    return one


def test_a_cache_that_never_serves_is_named_with_its_model_and_threshold(found):
    asked, said, _ = found("wan_cache_never_serves")
    assert asked["transformer"]["cache"] == "first block cache" and asked["transformer"]["threshold"] == 0
    assert said["cache_idle"]["where"]["stage"] == "transformer" and "threshold 0" in said["cache_idle"]["cause"]
    assert asked["vae"]["dtype"] == "float32" and asked["vae"]["device"] == "cpu" and asked["vae"]["memory_format"] == "contiguous"


def test_a_cache_that_serves_is_not(found):
    asked, said, report = found("wan_cache_never_serves", "--fixed")
    assert asked["transformer"]["threshold"] == 100 and report["diffusion_analysis"]["cached"]["steps"] > 0
    assert "cache_idle" not in said and "asked_not_ran" not in said
    versions, = [e["attributes"] for e in report["events"] if e["name"] == "torch.versions"]
    assert versions["torch"][0].isdigit() and versions["diffusers"][0].isdigit()


def test_a_compilation_that_does_not_happen_is_named(found):
    asked, said, _ = found("wan_compiler_is_off")
    assert asked["transformer"]["compiled"] == 1 and said["asked_not_ran"]["where"]["stage"] == "transformer"


def test_a_compilation_that_happens_is_not(found):
    asked, said, _ = found("wan_compiler_is_off", "--fixed")
    assert asked["transformer"]["compiled"] == 1 and "asked_not_ran" not in said
