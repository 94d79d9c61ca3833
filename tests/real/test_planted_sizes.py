"""The planted programs that need a GPU are built here as they are there, and checked: sizes that do not fit each other show
on any machine."""
import importlib
import os
import sys

import pytest

torch = pytest.importorskip("torch")
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "planted"))
gpu, problem, video = (importlib.import_module(name) for name in ("gpu", "problem", "video"))
NAMES = [p.name for p in problem.TABLE.values() if p.needs == "cuda" and p.file == gpu.__file__]


@pytest.mark.parametrize("name", NAMES)
def test_its_sizes_fit(name, monkeypatch):
    run = []
    monkeypatch.setattr(video.Pipeline, "run", lambda self: run.append(self.size))
    problem.TABLE[name].function(True)
    assert run


def test_latents_that_do_not_fill_the_vae_are_refused():
    with pytest.raises(ValueError, match="for the VAE"):
        video.Size(False, dim=128, tokens=128)
