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


HELD = """
import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.table = torch.nn.Parameter(torch.zeros(4))  # kept in float32, as norms and tables are
        self.blocks = torch.nn.ModuleList(torch.nn.Linear(8, 8, dtype=torch.bfloat16) for _ in range(3))

    def forward(self, x):
        with sdpa_kernel(SDPBackend.MATH):  # held
            return F.scaled_dot_product_attention(x, x, self.blocks[0](x))

net, x = Net(), torch.ones(1, 2, 4, 8, dtype=torch.bfloat16)
for _ in range(5):
    made = net(x)
assert torch.equal(torch.compile(net, backend="aot_eager", fullgraph=True)(x), made)
assert torch.backends.cuda.flash_sdp_enabled()
"""


def test_attention_that_is_held_to_a_backend_is_told_with_its_line(run, tmp_path):
    script = tmp_path / "held.py"
    script.write_text(HELD)
    events = run(sys.executable, str(script)).report()["events"]
    held = [e["attributes"] for e in events if e["name"] == "torch.attention"]
    assert [(h["backends"], h["count"]) for h in held[:2]] == [("math", 1), ("math", 4)]
    line = 1 + next(i for i, text in enumerate(HELD.split("\n")) if text.endswith("# held"))
    assert all(h["component"] == "Net" and h["file"] == str(script) and h["line"] == line for h in held[:2])


INNERMOST = HELD.replace("            return F.", """            with sdpa_kernel(SDPBackend.FLASH_ATTENTION):  # inside
                return F.""")


def test_attention_is_held_to_the_innermost_backend(run, tmp_path):
    script = tmp_path / "innermost.py"
    script.write_text(INNERMOST)
    events = run(sys.executable, str(script)).report()["events"]
    held = [e["attributes"] for e in events if e["name"] == "torch.attention"]
    assert [(h["backends"], h["count"]) for h in held[:2]] == [("flash_attention", 1), ("flash_attention", 4)]
    line = 1 + next(i for i, text in enumerate(INNERMOST.split("\n")) if text.endswith("# inside"))
    assert {h["backends"] for h in held} == {"flash_attention"} and all(h["line"] == line for h in held)


def test_a_model_of_no_pipeline_tells_the_dtype_of_most_of_its_weights_once(run, tmp_path):
    script = tmp_path / "held.py"
    script.write_text(HELD)
    events = run(sys.executable, str(script)).report()["events"]
    asked = [e["attributes"] for e in events if e["name"] == "torch.asked" and "compiled" not in e["attributes"]]
    assert [(a["component"], a["dtype"], a["device"]) for a in asked] == [("Net", "bfloat16", "cpu")]


GRADIENTS = """
import sys
import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(8, 8)

    def forward(self, x):
        return self.linear(x)

class Frozen(Net):
    pass

net, frozen, x = Net(), Frozen().requires_grad_(False), torch.zeros(2, 8)
with torch.set_grad_enabled(sys.argv[1] != "off"):
    net(x)
    frozen(x)
if sys.argv[1] == "used":
    x.requires_grad_()
    torch.autograd.grad(net(x).sum(), x)
"""


@pytest.mark.parametrize("how", ["on", "off", "used"])
def test_a_model_says_whether_its_gradients_are_recorded(run, tmp_path, how):
    script = tmp_path / "gradients.py"
    script.write_text(GRADIENTS)
    report = run(sys.executable, str(script), how).report()
    asked = {e["attributes"]["component"]: e["attributes"].get("gradients") for e in report["events"] if e["name"] == "torch.asked"}
    assert asked == {"Net": None if how == "off" else 1, "Frozen": None}
    assert ("backward" in {stage["name"] for stage in report["stage_analysis"]["stages"]}) == (how == "used")


@pytest.mark.parametrize("fixed", [False, True])
def test_weights_in_buffers_of_8_bits_are_told_as_quantised(found, fixed):
    asked, _, _ = found("int8_weights_unpacked_every_call", *["--fixed"] * fixed)
    assert asked["Transformer"].get("quantised") == (None if fixed else "int8 (buffers)")
    assert "quantised" not in asked["TextEncoder"] and "quantised" not in asked["Decoder"]
