"""Whose code a file is."""
import os
import sys
import types

from strobe._packages import is_installed


def test_a_framework_from_a_checkout_is_a_package(monkeypatch):
    checkout = types.ModuleType("diffusers")
    checkout.__file__ = os.path.join(os.sep, "home", "u", "diffusers", "src", "diffusers", "__init__.py")
    monkeypatch.setitem(sys.modules, "diffusers", checkout)
    assert is_installed("/home/u/diffusers/src/diffusers/pipelines/wan/pipeline_wan.py")
    assert is_installed("/usr/lib/python3/dist-packages/ltx_video/pipeline.py")
    assert not is_installed("/home/u/diffusers/examples/train.py")
    assert not is_installed("/home/u/wan.py")
