"""Where weights lie after each move, without a GPU: whole models at once, parts added up, bounded events."""
import gc
import sys
import types

import pytest

from strobe import _faults
from strobe._memory import growth, held, module_names, moved
from strobe._models import components
from test_out_of_memory import GB, Tensor, Torch

MB = 1 << 20
HOST = held.HOST


class Transformer(Torch.nn.Module):
    pass


class Vae(Torch.nn.Module):
    pass


def go(module, device):
    for tensor in module.parameters():
        tensor.device.type = device


class Told(list):
    """(component, MB, MB before, place) of each event, as they came."""

    def take(self):
        taken = [(f["component"].replace("weights of ", ""), f["bytes"] // MB,
                  None if f["before_bytes"] is None else f["before_bytes"] // MB, f["device"]) for f in self]
        self.clear()
        return taken


@pytest.fixture
def told(monkeypatch):
    events, now = Told(), [1000.0]
    monkeypatch.setattr(moved, "native", types.SimpleNamespace(recording=lambda: True, event=lambda name, **facts: events.append(facts)))
    monkeypatch.setattr(moved, "time", types.SimpleNamespace(monotonic=lambda: now[0], monotonic_ns=lambda: int(now[0] * 1e9)))
    monkeypatch.setattr(growth, "read_here", lambda: events.readings.append(now[0]))
    monkeypatch.setattr(_faults, "count", lambda where: pytest.fail(where))
    monkeypatch.setitem(sys.modules, "torch", Torch)
    moved.forget()
    gc.collect()
    events.now, events.readings = now, []
    yield events
    moved.forget()


def test_a_model_lies_on_one_side_before_its_move_and_on_the_other_after_it(told):
    transformer, vae = Transformer(Tensor(2 * GB, device="cpu")), Vae(Tensor(GB, device="cpu"))
    with moved.Move(transformer):
        assert told.take() == [("Transformer", 2048, None, HOST)]
        told.now[0] += 0.5
        go(transformer, "cuda")
    assert {fact["took_ns"] for fact in told} == {500_000_000} and {fact["dtype"] for fact in told} == {"bfloat16"}
    assert told.take() == [("Transformer", 0, 2048, HOST), ("Transformer", 2048, 0, 0)]
    with moved.Move(transformer):
        go(transformer, "cpu")
    assert told.take() == [("Transformer", 2048, 0, HOST), ("Transformer", 0, 2048, 0)]
    assert len(told.readings) == 4  # what the allocator holds before and after each: a peak is on the right side of it
    del vae


def test_a_block_that_moves_alone_is_a_part_of_its_model(told):
    blocks = {str(n): Torch.nn.Module(Tensor(512 * MB, device="cpu")) for n in range(4)}
    transformer = Transformer(Tensor(64 * MB, device="cuda"), **blocks)
    with moved.Move(blocks["1"]):
        go(blocks["1"], "cuda")
    assert told.take() == [("Transformer", 64, None, 0), ("Transformer", 2048, None, HOST),
                           ("Transformer", 576, 64, 0), ("Transformer", 1536, 2048, HOST)]
    del transformer


def test_a_model_that_is_named_after_its_first_move_has_one_name(told):
    """Programs place their models before a pipeline is made of them, which says what each is."""
    moves, stays = Transformer(Tensor(2 * GB, device="cpu")), Vae(Tensor(GB, device="cpu"))
    for one in (moves, stays):
        with moved.Move(one):
            go(one, "cuda")
    told.clear()
    components.set_name(moves, "transformer")
    components.set_name(stays, "vae")
    with moved.Move(moves):
        assert told.take() == [("Transformer", 0, 2048, 0), ("transformer", 2048, None, 0)]
        go(moves, "cpu")
    assert told.take() == [("transformer", 0, 2048, 0), ("transformer", 2048, 0, HOST)]
    moved.listed([("weights of transformer", 2 * GB, "bfloat16", None), ("weights of vae", GB, "bfloat16", 0)])
    assert told.take() == [("Vae", 0, 1024, 0), ("vae", 1024, None, 0)]


def test_moves_inside_a_move_are_parts_of_it(told):
    vae = Vae(Tensor(GB, device="cpu"))
    with moved.Move(vae), moved.Move(vae):  # .cuda() calls .to()
        go(vae, "cuda")
    assert told.take() == [("Vae", 1024, None, HOST), ("Vae", 0, 1024, HOST), ("Vae", 1024, 0, 0)]


def test_a_move_that_failed_half_way_says_what_has_come(told):
    vae = Vae(Tensor(GB, device="cpu"), Tensor(GB // 2, device="cpu"))
    with pytest.raises(RuntimeError), moved.Move(vae):
        vae.tensors[0].device.type = "cuda"
        raise RuntimeError("out of memory")
    assert told.take()[1:] == [("Vae", 512, 1536, HOST), ("Vae", 1024, 0, 0)]


def test_parts_are_recorded_with_the_readings_and_not_one_by_one(told):
    """A sequential offload: the host keeps all, the GPU has what computes now."""
    parts = {str(n): Torch.nn.Module(Tensor(128 * MB, device="meta")) for n in range(8)}
    transformer = Transformer(Tensor(MB, device="cpu"), **parts)
    kept = {name: Tensor(128 * MB, device="cpu") for name in parts}
    transformer._hf_hook = types.SimpleNamespace(weights_map=types.SimpleNamespace(dataset=types.SimpleNamespace(state_dict=kept)))
    for _ in range(100):
        for name, part in parts.items():
            with moved.Part(part):
                pass
            moved.brought(name, part, {("bfloat16", 0): 128 * MB})
            if name == "5":
                moved.read()
            assert moved.gave_back(name)
    assert told.take() == [("Transformer", 1025, None, HOST), ("Transformer", 128, 0, 0)]  # read a hundred times: nothing was new
    moved.read()
    assert told.take() == [("Transformer", 0, 128, 0)]


def test_groups_are_on_one_side_or_kept_on_both(told):
    blocks = {str(n): Torch.nn.Module(Tensor(512 * MB, device="cpu")) for n in range(2)}
    transformer = Transformer(**blocks)
    for name in blocks:
        with moved.Part(blocks[name]):
            go(blocks[name], "cuda")
        moved.brought(name, blocks[name], {("bfloat16", 0): 512 * MB, ("bfloat16", HOST): -512 * MB})
    moved.read()
    assert told.take() == [("Transformer", 1024, None, HOST), ("Transformer", 0, 1024, HOST), ("Transformer", 1024, 0, 0)]
    for name in blocks:
        go(blocks[name], "cpu")
        moved.gave_back(name)
    moved.read()
    assert told.take() == [("Transformer", 1024, 0, HOST), ("Transformer", 0, 1024, 0)]
    copied = Vae(Tensor(GB))
    copied._diffusers_hook = types.SimpleNamespace(hooks={"group": types.SimpleNamespace(group=types.SimpleNamespace(
        cpu_param_dict={"weight": Tensor(GB, device="cpu")}))})
    with moved.Part(copied):
        pass
    assert told.take() == [("Vae", 1024, None, 0), ("Vae", 1024, None, HOST)]
    del transformer


def test_a_group_that_goes_and_never_came_is_looked_at_again(told):
    vae = Vae(Tensor(GB))
    with moved.Part(vae):
        go(vae, "cpu")
    assert not moved.gave_back("group")
    moved.look_again(vae)
    moved.read()
    assert told.take() == [("Vae", 1024, None, 0), ("Vae", 0, 1024, 0), ("Vae", 1024, 0, HOST)]


def test_beyond_so_many_moves_a_second_the_readings_say_where_they_lie(told):
    vae = Vae(Tensor(GB, device="cpu"))
    for n in range(1001):
        with moved.Move(vae):
            go(vae, "cpu" if n % 2 else "cuda")
    assert len(told) == 1 + 2 * moved.TOLD_MOST and len(told.readings) == 2 * moved.TOLD_MOST
    told.clear()
    moved.read()
    assert told.take() == [("Vae", 0, 1024, HOST), ("Vae", 1024, 0, 0)]


def test_a_list_of_all_models_corrects_what_was_not_seen(told):
    vae = Vae(Tensor(GB, device="cpu"))
    with moved.Move(vae):
        go(vae, "cuda")
    told.clear()
    moved.listed([("weights of Vae", GB, "bfloat16", None), ("weights of Other", GB, "bfloat16", 0)])  # parameters were exchanged
    assert sorted(told.take()) == [("Vae", 0, 1024, 0), ("Vae", 1024, 0, HOST)]


def test_a_model_that_is_gone_lies_nowhere(told):
    vae = Vae(Tensor(GB, device="cpu"))
    with moved.Move(vae):
        go(vae, "cuda")
    told.clear()
    del vae
    moved.read()
    assert told.take() == [("Vae", 0, 1024, 0)]


def test_more_models_than_are_followed_are_left_out(told, monkeypatch):
    monkeypatch.setattr(moved, "MODELS_MOST", 1)
    vae, transformer = Vae(Tensor(GB, device="cpu")), Transformer(Tensor(GB, device="cpu"))
    for model in (vae, transformer):
        with moved.Move(model):
            go(model, "cuda")
    assert {fact["component"] for fact in told} == {"weights of Vae"}


def test_what_cannot_be_read_is_no_fault_of_the_program(told, monkeypatch):
    seen = []
    monkeypatch.setattr(_faults, "count", seen.append)
    monkeypatch.setattr(module_names, "owner", lambda torch, module: 1 // 0)
    with moved.Move(Vae(Tensor(GB))):
        pass
    assert seen == ["where weights move"] and told == []
