"""torch's allocator history: switched on, a snapshot for the highest peak, its lines in the recording. Without a GPU."""
import json
import pathlib
import subprocess
import sys

import pytest

import strobe
from strobe import _history, _tool

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
        monkeypatch.setattr(_history, name, 0)
    for name in ("_keep", "_on"):
        monkeypatch.setattr(_history, name, False)
    Torch.peak, Torch.asked = 0, None
    return Torch


def test_the_environment_switches_it_on(torch, monkeypatch):
    monkeypatch.setenv("STROBE_MEMORY_HISTORY", "5000")
    monkeypatch.setattr(torch.cuda, "is_initialized", staticmethod(lambda: False))  # as while torch runs what waits for CUDA
    _history.on_cuda(torch)
    assert torch.asked == (("all",), {"context": "alloc", "stacks": "python", "max_entries": 5000})


def test_nobody_asked(torch, monkeypatch):
    monkeypatch.delenv("STROBE_MEMORY_HISTORY", raising=False)
    _history.on_cuda(torch)
    assert torch.asked is None


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
    assert taken["count"] == 2  # 301 is no more than 300
