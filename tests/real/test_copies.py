"""Counting the operations of a model leaves the program as it was, whatever the model's forward does; and what it cannot count it says."""
import abc
import collections
import inspect
import os
import random
import subprocess
import sys
import warnings
import weakref

import pytest

from conftest import BUILD, environment, strobe_run

torch = pytest.importorskip("torch")

from strobe._models import copies, flops, stand_ins  # noqa: E402

ROWS, SIDE = 4, 8
PRODUCT = 2 * ROWS * SIDE * SIDE


@pytest.fixture
def counted(monkeypatch):
    """counted(calls): what each of the calls, (model, arguments), is said to take, in order."""
    def count(*calls, between=lambda: None, meanwhile=lambda shape: None):
        said = {}

        def record(number, result, shape=None):
            said[number] = result
            meanwhile(shape)
        monkeypatch.setattr(flops, "_record", record)
        monkeypatch.setattr(flops, "native", type("Native", (), {"recording": staticmethod(lambda: True), "event": staticmethod(lambda name, **facts: None)}))
        flops.forget()
        numbers = []
        for model, *args in calls:
            numbers.append(flops.note(model, tuple(args), {}))
            between()
        flops.say()
        return [said[number] for number in numbers]
    return count


class Module(torch.nn.Module):
    def __init__(self, forward=None, **parts):
        super().__init__()
        self.layer, self.how = torch.nn.Linear(SIDE, SIDE), forward
        for name, part in parts.items():
            setattr(self, name, part)

    def forward(self, x):
        return self.layer(x) if self.how is None else self.how(self, x)


X = torch.zeros(ROWS, SIDE)


class Counter:
    calls = 0


def test_lists_and_objects_that_a_forward_fills_stay_the_models_own(counted):
    def fill(self, x):
        for cache in self.caches:
            cache["end"].add_(1)
            cache["keys"] = x
        self.counter.calls += 1
        self.counter.seen.append(x)
        return self.layer(x)
    counter = Counter()
    counter.seen = []
    kept = collections.deque([torch.zeros(2), {3}, "word"], maxlen=3)
    model = Module(fill, caches=[{"end": torch.tensor([0]), "keys": None} for _ in range(2)], counter=counter, kept=kept)
    model(X)
    copied = copies.of(torch, model).kept
    assert copied is not kept and copied.maxlen == 3 and copied[0] is not kept[0] and list(copied)[1:] == [{3}, "word"]
    assert counted((model, X))[0].flops == PRODUCT
    assert [(cache["end"].item(), cache["keys"] is X) for cache in model.caches] == [(1, True)] * 2
    assert counter.calls == 1 and counter.seen == [X]


def test_parts_of_the_model_that_lie_in_lists_or_functions_are_not_called(counted):
    called = []
    hidden = torch.nn.Linear(SIDE, SIDE)
    hidden.register_forward_hook(lambda *args: called.append("hook"))
    model = Module(lambda self, x: self.function(self.method(self.parts[0](x))), parts=[hidden], function=lambda x: hidden(x), method=hidden.__call__)
    assert counted((model, X))[0].flops == 3 * PRODUCT
    assert called == []


class Base(abc.ABC):
    pass


class Layer(Base):
    pass


def test_objects_of_abstract_classes_stay_the_models_own(counted):
    def fill(self, x):
        self.cache.keys = x if self.cache.keys is None else torch.cat([self.cache.keys, x])
        return self.layer(x)
    cache = Layer()
    cache.keys = None
    model = Module(fill, cache=cache)
    model(X)
    assert counted((model, X))[0].flops == PRODUCT
    assert cache.keys.device.type == "cpu" and len(cache.keys) == ROWS


MISSING = type("Missing", (), {})()


def test_an_object_that_is_known_by_what_it_is_stays(counted):
    model = Module(lambda self, x: self.layer(x) if self.mask is MISSING else self.layer(self.layer(x)), mask=MISSING)
    assert counted((model, X))[0].flops == PRODUCT


def test_a_model_that_knows_what_is_around_it_weakly_is_counted(counted):
    model = Module(lambda self, x: self.part(x))
    model.scale, model.part = 2, Module(lambda self, x: self.layer(x) * self.around[0].scale)
    model.part.around = [weakref.proxy(model)]
    assert counted((model, X))[0].flops == PRODUCT


def test_hooks_of_all_modules_see_no_copy(counted):
    seen = []
    hook = torch.nn.modules.module.register_module_forward_hook(lambda *args: seen.append(args))
    try:
        assert counted((Module(), X))[0].flops == PRODUCT
    finally:
        hook.remove()
    assert seen == [] and not torch.nn.modules.module._global_forward_pre_hooks


def test_random_numbers_that_a_forward_draws_are_not_the_programs(counted):
    generator = torch.Generator().manual_seed(5)
    seeded = generator.get_state()

    def draw(self, x):
        x = x + torch.randn(SIDE, generator=generator)
        noise, order = torch.randn(SIDE), torch.randperm(SIDE, device=x.device)
        return self.layer(x + noise if random.random() < 2 else x) + torch.randint(0, 9, (SIDE,), device=x.device) + order
    before = torch.get_rng_state(), random.getstate()
    model = Module(draw)
    before = torch.get_rng_state(), before[1]
    assert counted((model, X))[0].flops == PRODUCT
    assert torch.equal(torch.get_rng_state(), before[0]) and random.getstate() == before[1]
    assert torch.equal(generator.get_state(), seeded)


def test_what_a_forward_prints_is_printed_for_its_calls_alone(counted, capsys):
    def say(self, x):
        print("called")
        return self.layer(x)
    model = Module(say)
    model(X)
    assert counted((model, X))[0].flops == PRODUCT
    assert capsys.readouterr().out == "called\n"


def test_an_attribute_that_decides_how_much_is_computed_is_of_the_call(counted):
    def repeat(self, x):
        for _ in range(self.times):
            x = self.layer(x)
        return x
    model = Module(repeat, times=1)
    results = counted((model, X), (model, X), between=lambda: setattr(model, "times", 5))
    assert [result.flops for result in results] == [PRODUCT, 5 * PRODUCT]


def test_a_call_of_another_thread_meanwhile_takes_no_count_away(counted):
    """Of the same shape, with another value."""
    model = Module(lambda self, x: [self.layer(x) for _ in range(self.turns)][-1], turns=1)
    told = counted((model, X), (model, X), between=lambda: setattr(model, "turns", model.turns + 1),
                   meanwhile=lambda shape: shape.numbers.setdefault((1000 + len(shape.numbers),), 10 ** 6))
    assert [one.flops for one in told] == [PRODUCT, 2 * PRODUCT]


def test_parts_that_are_compiled_are_counted(counted):
    model = Module(lambda self, x: self.other(self.layer(x)), other=torch.compile(torch.nn.Linear(SIDE, SIDE), backend="eager"))
    assert counted((model, X))[0].flops == 2 * PRODUCT


@pytest.fixture
def autocast():
    """autocast(dtype): as a program's, on a GPU; None: off."""
    def switch(dtype):
        torch.set_autocast_enabled("cuda", dtype is not None)
        torch.set_autocast_dtype("cuda", dtype or torch.float16)
    yield switch
    switch(None)


def test_autocast_is_asked_for_each_call_and_casts_what_does_not_fit(counted, autocast):
    model = Module()
    plain, cast = counted((model, X), (model, X), between=lambda: autocast(None if torch.is_autocast_enabled("cuda") else torch.bfloat16))
    assert (plain.precision, cast.precision) == ("fp32", "bf16")
    attention = Module(lambda self, x: torch.nn.functional.scaled_dot_product_attention(self.layer(x), x, x))
    images = Module(lambda self, x: self.convolution(x[:, None]), convolution=torch.nn.Conv1d(1, 1, 1))
    half = torch.zeros(1, ROWS, SIDE, dtype=torch.bfloat16)
    autocast(torch.bfloat16)
    results = counted((attention, half), (images, half[0]), (Module(lambda self, x: torch.einsum("ij,kj->ik", x, self.layer.weight)), half[0]))
    assert [(result.flops, result.precision, result.why) for result in results] == [
        (PRODUCT + 4 * ROWS * ROWS * SIDE, "bf16", None), (2 * ROWS * SIDE, "bf16", None), (PRODUCT, "bf16", None)]


class Before(torch.nn.Module):
    """A product, which autocast casts, before a part whose inside it casts by itself."""

    def __init__(self, part):
        super().__init__()
        self.first, self.part = torch.nn.Linear(SIDE, SIDE), part

    def forward(self, x):
        x = self.first(x)
        return self.part(x, x, x) if isinstance(self.part, torch.nn.MultiheadAttention) else self.part(x)


@pytest.mark.parametrize("part", [lambda: torch.nn.MultiheadAttention(SIDE, 2), lambda: torch.nn.LSTM(SIDE, SIDE),
                                  lambda: torch.nn.TransformerEncoderLayer(SIDE, 2), torch.nn.PReLU], ids=["attention", "lstm", "encoder", "prelu"])
def test_what_autocast_casts_inside_of_an_operation_is_counted(counted, autocast, part):
    model = Before(part()).eval()
    plain, cast = counted((model, X), (model, X), between=lambda: autocast(None if torch.is_autocast_enabled("cuda") else torch.bfloat16))
    assert cast.flops == plain.flops >= PRODUCT and (plain.precision, cast.precision) == ("fp32", "bf16")


def test_a_part_that_is_in_float32_for_good_reason_is_counted(counted, autocast):
    def careful(self, x):
        with torch.autocast("cuda", enabled=False):
            y = self.layer(x.float())
        assert y.dtype == torch.float32
        return y
    autocast(torch.bfloat16)
    assert counted((Module(careful), X))[0].flops == PRODUCT


def test_autocast_of_more_models_than_are_outlined_is_that_of_their_calls(counted, autocast, monkeypatch):
    monkeypatch.setattr(flops, "OUTLINES_MOST", 0)
    autocast(torch.float16)
    assert counted((Module(), X), between=lambda: autocast(None))[0].precision == "fp16"


def test_autocast_that_is_put_around_a_forward_counts(counted):
    """As accelerate does with mixed_precision; and one that a forward is in itself."""
    wrapped = Module()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        around = torch.autocast("cuda", torch.bfloat16)
    around._enabled = True  # also where there is no GPU
    wrapped.forward = around(wrapped.forward)

    def inside(self, x):
        torch.set_autocast_enabled("cuda", True)
        torch.set_autocast_dtype("cuda", torch.bfloat16)
        try:
            return self.layer(x)
        finally:
            torch.set_autocast_enabled("cuda", False)
    results = counted((wrapped, X), (Module(inside), X), (Module(), X))
    assert [result.precision for result in results] == ["bf16", "bf16", "fp32"]


def test_autocast_by_the_device_of_a_tensor_is_none_of_tensors_without_memory(counted):
    def forward(self, x):
        with torch.autocast(x.device.type, enabled=False):
            return self.layer(x)
    before = torch.autocast.__init__
    with stand_ins.NoAutocast(torch):
        assert "dtype" in inspect.signature(torch.autocast).parameters  # a compiler on another thread reads it
    assert counted((Module(forward), X))[0].flops == PRODUCT
    assert torch.autocast.__init__ is before


def test_a_forward_that_reads_values_loads_nothing_more(tmp_path):
    """The compiler and sympy take seconds, at the end of a program."""
    (tmp_path / "reads.py").write_text("""
import atexit, sys
atexit.register(lambda: print("loaded:", [name for name in ("torch._dynamo", "sympy") if name in sys.modules]))
import torch
class Reads(torch.nn.Module):
    def forward(self, x):
        return x[: int(x.sum().item())]
Reads()(torch.zeros(3))
""")
    watched = strobe_run(tmp_path, sys.executable, "reads.py")
    assert "loaded: []" in watched.stdout
    [stage] = [stage for stage in watched.report()["stage_analysis"]["stages"] if stage["name"] == "Reads"]
    assert "its forward reads values of tensors" in stage["gpu_work"]["uncounted_why"]


def test_what_a_forward_records_is_recorded_for_its_calls_alone(tmp_path):
    (tmp_path / "records.py").write_text("""
import torch, strobe
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(8, 8)
    def forward(self, x):
        with strobe.section("attention"):
            strobe.frames(2)
            strobe.event("attended")
            return self.layer(x)
model = Model()
with strobe.generation(), torch.no_grad():
    for _ in strobe.steps(range(4)):
        model(torch.zeros(4, 8))
""")
    report = strobe_run(tmp_path, sys.executable, "records.py").report()
    stages = [(stage["name"], stage["count"], stage.get("gpu_work", {}).get("flop_count")) for stage in report["stage_analysis"]["stages"]]
    assert [stage for stage in stages if stage[0] in ("attention", "Model")] == [("Model", 4, 4 * PRODUCT), ("attention", 4, None)]
    assert report["summary"]["frames"] == 8
    assert len([event for event in report["events"] if event["name"] == "attended"]) == 4


RANKS = """
import os, torch, torch.distributed as dist
from torch.distributed.fsdp import FullyShardedDataParallel, fully_shard
from torch.distributed.fsdp.wrap import ModuleWrapPolicy
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
from strobe._models import flops
dist.init_process_group("gloo")
rank = dist.get_rank()

class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(8, 8, bias=False)
    def forward(self, x):
        return self.layer(x)

class Talks(Block):
    def forward(self, x):
        dist.all_reduce(torch.zeros(1))
        return self.layer(x)

class Parallel:
    pass

def pair():
    return torch.nn.Sequential(Block(), Block())

sharded = pair()
for block in (*sharded, sharded):
    fully_shard(block)
tensor_parallel = parallelize_module(pair(), dist.device_mesh.init_device_mesh("cpu", (2,)), {"0.layer": ColwiseParallel(), "1.layer": RowwiseParallel()})
context_parallel = pair()
context_parallel._parallel_config = Parallel()
models = {
    "ddp": torch.nn.parallel.DistributedDataParallel(torch.nn.Sequential(Block(), torch.nn.BatchNorm1d(8))),
    "talks": Talks(), "fsdp": FullyShardedDataParallel(pair(), device_id=torch.device("cpu"), auto_wrap_policy=ModuleWrapPolicy({Block})),
    "fsdp2": sharded, "tensor": tensor_parallel, "context": context_parallel}
x = torch.ones(4, 8)
before = {name: model(x).detach().clone() for name, model in models.items()}
dist.barrier()
if rank == 0:  # alone: the other rank waits for nothing of it
    said = {}
    flops._record = lambda number, result, shape=None: said.__setitem__(number, result)
    flops.native = type("Native", (), {"recording": staticmethod(lambda: True), "event": staticmethod(lambda name, **facts: None)})
    flops.forget()
    numbers = {name: flops.note(model, (x,), {}) for name, model in models.items()}
    flops.say()
    for name, number in numbers.items():
        print("said", name, said[number].flops, said[number].why, flush=True)
dist.barrier()
assert all(torch.equal(model(x), before[name]) for name, model in models.items() if name != "ddp")
dist.destroy_process_group()
"""


def test_a_rank_that_counts_asks_nothing_of_the_others(tmp_path):
    (tmp_path / "ranks.py").write_text(RANKS)
    done = subprocess.run([sys.executable, "-m", "torch.distributed.run", "--nproc_per_node", "2", "--rdzv_backend", "c10d", "--rdzv_endpoint",
                           "localhost:0", "ranks.py"], cwd=tmp_path, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=300,
                          env=dict(environment(), PYTHONPATH=os.path.join(BUILD, "python")))
    assert done.returncode == 0, done.stderr[-3000:]
    said = dict(line.split(" ", 2)[1:] for line in done.stdout.splitlines() if line.startswith("said "))
    assert said == {
        "ddp": "512.0 None", "talks": "None its forward talks to other processes (allreduce_)",
        "fsdp": "None its weights are spread over ranks (FullyShardedDataParallel)", "fsdp2": "1024.0 None",
        "tensor": "None its weights are shared between ranks (DTensor)", "context": "None its work is shared between ranks (Parallel)"}


def test_what_a_forward_makes_on_a_gpu_takes_no_memory_there():
    from strobe._models import operations
    computed = type("Computed", (), {"see": staticmethod(lambda func, args, kwargs, result: None)})
    gpu = torch.device("cuda")
    with operations.without_memory(torch, lambda: None, computed):
        mask, places = torch.ops.aten.zeros.default([1 << 30, 1 << 10], device=gpu), torch.ops.aten.arange.default(5, device=gpu)
        turned = torch.ops.aten._to_copy.default(torch.ones(3), device=gpu)
    assert [one.device.type for one in (mask, places, turned)] == ["meta", "cpu", "meta"] and places.tolist() == [0, 1, 2, 3, 4]


def test_a_product_of_three_is_said_to_have_no_count(counted):
    model = torch.nn.Bilinear(SIDE, SIDE, SIDE)
    assert counted((model, X, X))[0].why == "torch has no count for aten::_trilinear"
