"""Weights of modules by device and dtype, listed after a generation: recorded when they change, and seldom."""
import json
import subprocess
import sys
import types

import pytest

from strobe import _faults, _share, _tool
from strobe._memory import out_of_memory, residency

GB = 1 << 30


class Tensor:
    def __init__(self, size, device="cuda", dtype="torch.bfloat16"):
        self.size, self.dtype = size, dtype
        self.device = types.SimpleNamespace(type=device, index=0)

    def numel(self):
        return self.size // 2

    def element_size(self):
        return 2

    def data_ptr(self):
        return id(self)


class Module:
    def __init__(self, *tensors):
        self._modules, self.tensors = {}, list(tensors)

    def parameters(self):
        return self.tensors

    def buffers(self):
        return []

    def modules(self):
        return [self]


class Transformer(Module):
    pass


class Encoder(Module):
    pass


@pytest.fixture
def told(monkeypatch):
    events = []
    native = types.SimpleNamespace(recording=lambda: True, event=lambda name, **facts: events.append(facts))
    monkeypatch.setattr(residency, "native", native)
    monkeypatch.setattr(_share, "time", types.SimpleNamespace(monotonic=lambda: 1000.0, thread_time=lambda: 0.0))
    monkeypatch.setitem(sys.modules, "torch", types.SimpleNamespace(nn=types.SimpleNamespace(Module=Module)))
    residency.forget()
    return events


def test_every_module_has_its_weights_by_device(told):
    kept = Transformer(Tensor(28 * GB), Tensor(2 * GB, dtype="torch.float32")), Encoder(Tensor(10 * GB, "cpu"), Tensor(GB, "meta"))
    residency.after_generation()
    assert [(f["component"], f["bytes"], f["dtype"], f["device"]) for f in told] == [
        ("weights of Transformer", 28 * GB, "bfloat16", 0), ("weights of Encoder", 10 * GB, "bfloat16", None),
        ("weights of Transformer", 2 * GB, "float32", 0)]
    assert {f["at"] for f in told} == {"generation"} and len({f["set"] for f in told}) == 1
    del kept


def test_what_has_not_changed_is_not_recorded_again(told):
    transformer = Transformer(Tensor(4 * GB))
    residency.after_generation()
    residency.after_generation()
    assert len(told) == 1
    transformer.tensors[0].device.type = "cpu"  # offloaded
    residency.after_generation()
    assert [f["device"] for f in told] == [0, None] and told[0]["set"] != told[1]["set"]


def test_a_long_list_is_made_seldom(told, monkeypatch):
    now, spent = [1000.0], iter(range(100))
    monkeypatch.setattr(_share, "time", types.SimpleNamespace(monotonic=lambda: now[0], thread_time=lambda: float(next(spent))))
    first = Transformer(Tensor(4 * GB))
    residency.after_generation()  # it took a second
    second = Encoder(Tensor(GB))
    now[0] += 199
    residency.after_generation()
    assert len(told) == 1
    now[0] += 2
    residency.after_generation()
    assert len(told) == 3
    del first, second


def test_a_module_that_cannot_be_read_is_no_fault_of_the_program(told, monkeypatch):
    seen = []
    monkeypatch.setattr(_faults, "count", seen.append)

    class Broken(Module):
        def parameters(self):
            raise RuntimeError("not now")
    broken = Broken()
    residency.after_generation()
    assert seen == ["when modules were listed"] and told == []
    del broken


@pytest.mark.parametrize("device", ("cpu", "cuda"))
def test_a_program_without_generations_lists_after_calls_of_its_models(told, device):
    model = Transformer(Tensor(GB, device))
    residency.after_call()
    assert [(f["component"], f["device"]) for f in told] == [("weights of Transformer", None if device == "cpu" else 0)]
    del model


def test_a_loop_is_not_stopped_again_by_what_has_not_changed(told, monkeypatch):
    """A search of a fifth of a second stopped a warm step every 40 seconds."""
    listed = []
    monkeypatch.setattr(out_of_memory, "module_weights", lambda torch: listed.append(1) or [])
    for device in [8 * GB] * 10 + [8 * GB, 9 * GB, 12 * GB] * 30:  # activations come and go
        residency.after_call()
        residency.read("device", device)
        residency.read("host", GB)
    assert len(listed) == 1
    for device in [12 * GB, 13 * GB, 16 * GB] * 30:  # another model, never called
        residency.after_call()
        residency.read("device", device)
    assert len(listed) == 2
    for device in [GB, 2 * GB] * 40:
        residency.after_call()
        residency.read("device", device)
    assert len(listed) == 3


def test_a_model_that_was_listed_is_called_without_a_new_list(told, monkeypatch):
    listed, whole = [], out_of_memory.module_weights
    monkeypatch.setattr(out_of_memory, "module_weights", lambda torch: listed.append(1) or whole(torch))
    first, second = Transformer(Tensor(GB)), Encoder(Tensor(GB))
    residency.first_call(first)
    residency.after_call()
    residency.first_call(second)
    residency.after_call()
    assert len(listed) == 1
    third = Transformer(Tensor(2 * GB))
    residency.first_call(third)
    residency.after_call()
    assert len(listed) == 2
    del third


def test_a_program_with_generations_lists_after_them_alone(told):
    model = Transformer(Tensor(GB, "cpu"))
    residency.generation_begins()
    residency.after_call()
    assert told == []
    residency.after_generation()
    assert len(told) == 1
    del model


def test_an_outline_without_weights_is_no_second_model(told):
    model, outline = Transformer(Tensor(GB, "cpu")), Transformer(Tensor(GB, "meta"))
    residency.after_generation()
    assert [f["component"] for f in told] == ["weights of Transformer"]
    del model, outline


def two_listings(told):
    """Apart from the test: what asserts asks for its own variables, and such a function is left alone."""
    first, second = Encoder(Tensor(3 * GB)), Encoder(Tensor(2 * GB))
    whole = types.SimpleNamespace(decoder=Encoder(Tensor(GB)))
    unnamed = [Encoder(Tensor(GB // 2)), Encoder(Tensor(GB // 4))]
    other = Transformer(Tensor(4 * GB))
    for _ in range(2):
        residency.forget()
        told.clear()
        residency.after_generation()
        yield {row["component"]: row["bytes"] for row in told}
    del first, second, whole, unnamed, other


def test_modules_of_one_class_have_the_names_that_the_program_gives_them(told):
    for found in two_listings(told):  # they keep their names
        assert {name: size for name, size in found.items() if size >= GB} == {
            "weights of Transformer": 4 * GB, "weights of first (Encoder)": 3 * GB, "weights of second (Encoder)": 2 * GB,
            "weights of decoder (Encoder)": GB}
        assert sorted(name for name, size in found.items() if size < GB) == ["weights of Encoder 1", "weights of Encoder 2"]


SHORT = """
import strobe
from strobe._native import native
def due():
    native.sampler_forget(False)  # as at the begin of a session: the next section's begin or end reads
with strobe.generation(frames=8):
    due()
    with strobe.section("load"):
        weights = bytearray(48 << 20)
        due()
    due()
    with strobe.section("denoise"):
        bytearray(96 << 20)  # given back at once
        due()
    due()
    with strobe.section("decode"):
        video = bytearray(32 << 20)
        due()
"""


def test_a_stage_shorter_than_a_sample_has_its_host_memory(tmp_path):
    (tmp_path / "short.py").write_text(SHORT)
    subprocess.run([_tool.path(), "run", "-q", "-o", str(tmp_path / "runs"), "--", sys.executable, str(tmp_path / "short.py")], check=True)
    made = subprocess.run([_tool.path(), "report", str(tmp_path / "runs"), "--format", "json"], stdout=subprocess.PIPE, check=True)
    rows = json.loads(made.stdout)["residency"]["moments"]
    held = {(row["stage"], row["at"]): row["total_bytes"] / (1 << 20) for row in rows}
    assert held["denoise", "peak"] - held["denoise", "end"] == pytest.approx(96, abs=6)
    assert held["decode", "end"] - held["denoise", "end"] == pytest.approx(32, abs=6)
    assert held["load", "end"] >= 48 and held["load", "peak"] >= 48


LISTED = """
import sys, types, strobe
torch = types.ModuleType("torch")
torch.nn = types.SimpleNamespace(Module=type("Module", (), {}))
sys.modules["torch"] = torch
with strobe.generation(frames=1), strobe.section("denoise"):
    pass
"""


def test_the_time_it_takes_is_a_stage_of_strobe_itself(tmp_path):
    """Between generations, where it was said to be the program's and to belong to no stage."""
    (tmp_path / "listed.py").write_text(LISTED)
    subprocess.run([_tool.path(), "run", "-q", "-o", str(tmp_path / "runs"), "--", sys.executable, str(tmp_path / "listed.py")], check=True)
    made = subprocess.run([_tool.path(), "report", str(tmp_path / "runs"), "--format", "json"], stdout=subprocess.PIPE, check=True)
    stages = {stage["name"]: stage for stage in json.loads(made.stdout)["stage_analysis"]["stages"]}
    assert stages["strobe: what holds memory"]["count"] == 1 and stages["denoise"]["count"] == 1
