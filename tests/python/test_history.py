"""torch's allocator history: switched on, a snapshot for the highest peak, its lines in the recording. Without a GPU."""
import json
import os
import pathlib
import subprocess
import sys
import time

import pytest

import strobe
from strobe import _tool
from strobe._memory import history

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "exchange"))
import make_snapshot  # noqa: E402


class Torch:
    """As much of torch as the history asks for; its allocator is played."""
    peak = 0
    asked = None
    snapshot, truth = make_snapshot.make(entries=300)

    class cuda:
        is_initialized = staticmethod(lambda: True)
        device_count = staticmethod(lambda: 1)
        max_memory_allocated = staticmethod(lambda index: Torch.peak)
        memory_allocated = staticmethod(lambda: 0)
        memory_stats_as_nested_dict = staticmethod(lambda index: {})

        class memory:
            @staticmethod
            def _record_memory_history(*args, **kwargs):
                Torch.asked = args, kwargs

            _snapshot = staticmethod(lambda: Torch.snapshot)


@pytest.fixture
def torch(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", Torch)
    for name in ("_wanted", "_best"):
        monkeypatch.setattr(history, name, 0)
    for name in ("_keep", "_on"):
        monkeypatch.setattr(history, name, False)
    Torch.peak, Torch.asked = 0, None
    return Torch


def test_the_environment_switches_it_on(torch, monkeypatch):
    monkeypatch.setenv("STROBE_MEMORY_HISTORY", "5000")
    monkeypatch.setattr(torch.cuda, "is_initialized", staticmethod(lambda: False))  # as while torch runs what waits for CUDA
    history.on_cuda(torch)
    assert torch.asked == (("all",), {"context": "alloc", "stacks": "python", "max_entries": 5000, "skip_actions": ["free_requested"]})


def test_a_torch_that_cannot_leave_out_requests_to_free_records_all(torch, monkeypatch):
    def before_2_10(enabled, context, stacks, max_entries):
        torch.asked = context, max_entries
    monkeypatch.setattr(torch.cuda.memory, "_record_memory_history", staticmethod(before_2_10))
    monkeypatch.setattr(history, "_less", dict(history._less))
    strobe.memory_history(1000)
    assert torch.asked == ("alloc", 1000) and history._on
    history._stacks(torch, False)
    assert torch.asked == (None, 1000)


@pytest.mark.parametrize("program, why", [
    ("import types, sys; sys.modules['torch'] = types.ModuleType('torch')", "the program used no GPU"), ("pass", "did not load it")])
def test_a_history_that_was_asked_for_and_is_not_there_says_why(tmp_path, program, why):
    (tmp_path / "program.py").write_text("import strobe\n%s\nwith strobe.section('work'):\n    pass\n" % program)
    done = subprocess.run([_tool.path(), "run", "-o", "runs", "--memory-history", "--", sys.executable, "program.py"], cwd=tmp_path,
                          text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert done.returncode == 0, done.stderr
    said = " ".join(done.stderr.split())  # whose lines are folded
    assert "who held memory at the peak" in said and why in said and "--memory-history=host" in said


def test_a_gpu_without_generations_has_no_snapshot(torch, monkeypatch):
    said = []
    monkeypatch.setattr(history, "_on", True)
    monkeypatch.setattr(history, "_wanted", 100)
    monkeypatch.setattr(history, "_has_others", lambda: False)
    monkeypatch.setattr(history, "native", type("Native", (), {"missing": staticmethod(lambda *words: said.append(words))}))
    history.finish()
    assert [words[0] for words in said] == ["who held memory at the peak"] and "after a generation, and there was none" in said[0][1]


def test_nobody_asked(torch, monkeypatch):
    monkeypatch.delenv("STROBE_MEMORY_HISTORY", raising=False)
    history.on_cuda(torch)
    assert torch.asked is None


def steps(torch, monkeypatch, allocations, step_s, stack_s=history.STACK_S):
    """Which of 80 calls of a model took stacks; each allocates so often and takes so long, and a stack takes that."""
    took, now, made = [], [0.0], [0]
    monkeypatch.setattr(history, "_calls", {})
    monkeypatch.setattr(history.time, "perf_counter", lambda: now[0])
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 0, raising=False)
    monkeypatch.setattr(torch.cuda, "memory_stats_as_nested_dict",
                        staticmethod(lambda index: {"allocation": {"all": {"allocated": made[0]}}}))

    def forward(x):
        took.append(torch.asked[1]["context"])
        now[0] += step_s + (allocations * stack_s if took[-1] else 0)
        made[0] += allocations
        return x + 1

    strobe.memory_history(1000)
    assert [history.around_call(forward, "transformer")(n) for n in range(80)] == list(range(1, 81))
    assert torch.asked[1]["context"] == "alloc"  # what is outside of the model has its stacks
    return took, now[0] / (80 * step_s)


def test_a_model_that_allocates_seldom_has_all_stacks(torch, monkeypatch):
    took, ratio = steps(torch, monkeypatch, 300, 0.7)
    assert took == ["alloc"] * 80 and ratio < 1.01


def test_a_model_that_allocates_often_has_stacks_of_some_calls(torch, monkeypatch):
    """300 allocations in 4.8 ms: stacks of every call would take 25 %."""
    took, ratio = steps(torch, monkeypatch, 300, 0.0048)
    assert took[:5] == ["alloc"] * 5 and took[5:10] == [None] * 5  # what they take is the difference
    assert took[10:].count("alloc") == 3 and took[10:].count(None) == len(took) - 13  # one of 25


def test_on_a_slow_machine_fewer_calls_have_stacks(torch, monkeypatch):
    took, ratio = steps(torch, monkeypatch, 300, 0.0048, stack_s=9e-6)
    assert took[:5] == ["alloc"] * 5
    assert took[10:].count("alloc") == 1  # one of 57


def test_stacks_come_back_when_a_model_fails(torch, monkeypatch):
    steps(torch, monkeypatch, 300, 0.0048)

    def fails():
        raise ValueError("as planted")
    for _ in range(3):
        with pytest.raises(ValueError, match="as planted"):
            history.around_call(fails, "transformer")()
        assert torch.asked[1]["context"] == "alloc"


@pytest.mark.parametrize("keep", [False, True])
def test_the_highest_peak_is_in_the_recording(torch, tmp_path, keep):
    strobe.start("history", output_dir=str(tmp_path))
    strobe.memory_history(1000, keep=keep)
    for Torch.peak in (100, 300, 301, 200):
        with strobe.generation():
            pass
    folder = pathlib.Path(strobe.run_dir())
    strobe.stop()
    report = json.loads(subprocess.run([_tool.path(), "report", str(folder), "--format", "json"], stdout=subprocess.PIPE, check=True).stdout)
    found = {row["line"]: row["peak_mb"] * (1 << 20) for row in report["memory"]["lines"] if row["peak_mb"]}
    assert found == torch.truth[0]["by_line"]
    assert (folder / "memory.pickle").exists() == keep
    assert not list(folder.glob("memory.*.pickle"))
    taken, = [s for s in report["stage_analysis"]["stages"] if s["name"] == "strobe: memory snapshot"]
    assert taken["count"] == 2 and taken["role"] == "profiler"  # 301 is no more than 300


def test_lines_have_the_stage_in_which_they_allocated(torch, tmp_path, monkeypatch):
    played = make_snapshot.Allocator(1, 0x7F0000000000)
    monkeypatch.setattr(torch, "snapshot", {"segments": [], "device_traces": [played.entries]})
    torch.peak = 100
    strobe.start("stages", output_dir=str(tmp_path))
    strobe.memory_history(1000, keep=True)
    with strobe.generation():
        for stack, name in enumerate(("denoise", "vae_decode", "export")):
            with strobe.section(name):
                begin_us = time.time_ns() // 1000
                while time.time_ns() // 1000 < begin_us + 8000:  # the report's begin is known to a millisecond
                    pass
                played.time = time.time_ns() // 1000
                played.alloc((1 << stack) << 20, stack)
                if name == "export":
                    played.free(0x7F0000000000)  # what denoise has held
                while time.time_ns() // 1000 < played.time + 8000:
                    pass
    folder = strobe.run_dir()
    strobe.stop()
    report = json.loads(subprocess.run([_tool.path(), "report", str(folder), "--format", "json"], stdout=subprocess.PIPE, check=True).stdout)
    assert [(row["line"], row.get("stage")) for row in report["memory"]["lines"]] == [(12, "export"), (11, "vae_decode"), (10, "denoise")]
    picture, = [p for p in report["memory_over_time"] if p.get("by_line")]
    assert {layer["component"]: layer["held_mb"][picture["peak_index"]] for layer in picture["layers"]} == \
        {"model.py:12 forward": 4, "model.py:11 forward": 2, "model.py:10 forward": 1, "other lines": 0}
    by_stage, = [p for p in report["memory_over_time"] if p.get("by_stage") and p.get("device_index") == 0]
    assert by_stage["exact"]
    for at, denoise in ((by_stage["peak_index"], 1), (-1, 0)):  # what is given back is what denoise had, not what came last
        assert {layer["component"]: layer["held_mb"][at] for layer in by_stage["layers"]} == \
            {"export": 4, "vae_decode": 2, "denoise": denoise, "other stages": 0}
    imported = tmp_path / "imported"
    subprocess.run([_tool.path(), "import", "-q", os.path.join(folder, "memory.pickle"), "--stages", folder, "-o", str(imported)], check=True)
    told = json.loads(subprocess.run([_tool.path(), "report", str(imported), "--format", "json"], stdout=subprocess.PIPE, check=True).stdout)
    assert [(row["line"], row.get("stage")) for row in told["memory"]["lines"]] == [(12, "export"), (11, "vae_decode"), (10, "denoise")]
    text = subprocess.run([_tool.path(), "report", str(imported)], stdout=subprocess.PIPE, check=True, universal_newlines=True).stdout
    assert "model.py:12 forward, in export" in text and "7.0  GPU 0 by stage, highest at" in text
    rows = text[text.index("by stage, highest"):].splitlines()[1:4]
    assert [(row.split()[0], row.split()[-1]) for row in rows] == [("4.0", "export"), ("2.0", "vae_decode"), ("1.0", "denoise")]


def test_layers_keep_their_names_where_a_line_holds_more_at_the_end_than_at_the_peak(torch, tmp_path, monkeypatch):
    """Layers are the largest lines whenever they were large; lines are listed as they were at the peak."""
    played = make_snapshot.Allocator(1, 0x7F0000000000)
    monkeypatch.setattr(torch, "snapshot", {"segments": [], "device_traces": [played.entries]})
    torch.peak = 100
    strobe.start("names", output_dir=str(tmp_path))
    strobe.memory_history(1000)
    with strobe.generation():
        played.time = time.time_ns() // 1000
        played.alloc(100 << 20, 0)
        played.alloc(10 << 20, 1)
        played.free(0x7F0000000000)
        played.alloc(50 << 20, 2)
        while time.time_ns() // 1000 <= played.time + 5000:  # the run must not end before what happened in it, by any clock
            pass
    folder = strobe.run_dir()
    strobe.stop()
    report = json.loads(subprocess.run([_tool.path(), "report", str(folder), "--format", "json"], stdout=subprocess.PIPE, check=True).stdout)
    assert [(row["line"], row["peak_mb"], row["end_mb"]) for row in report["memory"]["lines"]] == [(10, 100, 0), (11, 10, 10), (12, 0, 50)]
    picture, = [p for p in report["memory_over_time"] if p.get("by_line")]
    assert {layer["component"]: layer["held_mb"][-1] for layer in picture["layers"]} == \
        {"model.py:10 forward": 0, "model.py:11 forward": 10, "model.py:12 forward": 50, "other lines": 0}
