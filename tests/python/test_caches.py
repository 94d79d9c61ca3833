"""Caches of models: told by the readings of memory while they are there, and never held."""
import gc
import sys
import types

import pytest

from strobe._memory import caches

MB = 1 << 20


class Tensor:
    def __init__(self, size, device="cuda"):
        self.size, self.dtype = size, "torch.bfloat16"
        self.device = types.SimpleNamespace(type=device, index=0)

    def numel(self):
        return self.size // 2

    def element_size(self):
        return 2


class Module:
    """Of a model: not part of what a cache holds."""

    def __init__(self):
        self.weight = Tensor(900 * MB)


class Layer:
    def __init__(self, size):
        self.keys, self.values = Tensor(size), Tensor(size)


class Cache:
    """As transformers has it: layers with keys and values, and the model's settings beside them."""

    def __init__(self):
        self.layers, self.model, self.itself = [], Module(), self


class StateManager:
    """As diffusers has it: the states of hooks by context."""

    def __init__(self, state):
        self._state_cache = {"cond": state}


@pytest.fixture
def told(monkeypatch):
    events = []
    monkeypatch.setattr(caches, "native", types.SimpleNamespace(event=lambda name, **facts: events.append(facts)))
    monkeypatch.setattr(caches, "_holders", {})
    monkeypatch.setitem(sys.modules, "torch", types.SimpleNamespace(Tensor=Tensor, nn=types.SimpleNamespace(Module=Module)))
    caches.forget()
    yield events
    caches.forget()


def told_now(events):
    caches.read()
    seen = [(f["at"], f["component"], f["bytes"] // MB, f["device"]) for f in events]
    events.clear()
    return seen


def test_a_cache_is_told_as_it_grows_and_when_it_is_gone(told):
    cache = Cache()
    for _ in range(2):
        caches.note(cache, "KV cache of llama")
    assert told_now(told) == []
    cache.layers = [Layer(10 * MB) for _ in range(4)]
    assert told_now(told) == [("cache", "KV cache of llama", 80, 0)]
    assert told_now(told) == []
    cache.layers.append(Layer(10 * MB))
    assert told_now(told) == [("cache", "KV cache of llama", 100, 0)]
    del cache
    gc.collect()
    assert told_now(told) == [("cache", "KV cache of llama", 0, 0)]
    assert told_now(told) == [] and not caches._holders


def test_hooks_that_share_a_state_are_one_cache(told):
    state = types.SimpleNamespace(tail=(Tensor(30 * MB), Tensor(4 * MB, "cpu")))
    holders = [StateManager(state) for _ in range(3)]
    for holder in holders:
        caches.note(holder, "first-block cache")
    assert told_now(told) == [("cache", "first-block cache", 30, 0), ("cache", "first-block cache", 4, None)]


def test_what_no_weak_reference_can_hold_is_left_alone(told):
    caches.note((Tensor(MB),), "KV cache of llama")
    caches.note(None, "KV cache of llama")
    assert told_now(told) == [] and not caches._holders
