"""Operations of real models' forwards, beside a count by hand."""
import json
import pathlib
import subprocess
import sys

import pytest

import by_hand
from conftest import BUILD, both_ways, environment, strobe_run


EXPECTED = {"WanTransformer3DModel": by_hand.wan(32, 5, 24, 32, 4), "LTXVideoTransformer3DModel": by_hand.ltx(192, 12, 64, 2),
            "VJEPA2Model": by_hand.vjepa2(8)}


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    return both_ways(tmp_path_factory.mktemp("flops"), "program_flops.py")


def test_counting_changes_nothing_of_the_program(found):
    assert found[0] == found[1]  # its random state among it


@pytest.mark.parametrize("name", EXPECTED)
def test_a_forward_takes_what_is_counted_by_hand(found, name):
    stages = {stage["name"]: stage for stage in found[-1].report()["stage_analysis"]["stages"]}
    assert stages[name]["count"] == 2
    assert stages[name]["gpu_work"]["flop_count"] == pytest.approx(2 * EXPECTED[name], rel=0.02)
    assert stages[name]["gpu_work"]["precision"] == "fp32"


def test_vaes_and_a_text_encoder_take_what_torch_counts_on_the_cpu(tmp_path):
    here = pathlib.Path(__file__).parent
    watched = strobe_run(tmp_path, sys.executable, str(here / "program_flops_vae.py"), "counts.json")
    counts = json.loads((tmp_path / "counts.json").read_text())
    stages = {stage["name"]: stage["gpu_work"] for stage in watched.report()["stage_analysis"]["stages"] if stage["name"] in counts}
    assert sorted(counts) == ["kl", "ltx", "tiled", "umt5", "wan"] and all(counts.values())
    assert {name: (work.get("flop_count"), work.get("flops_why")) for name, work in stages.items()} == \
        {name: (pytest.approx(count, rel=0.02), None) for name, count in counts.items()}


PLAIN = """
import atexit, sys
slow = ("torch._dynamo", "sympy", "triton", "torch.fx.experimental.symbolic_shapes")
atexit.register(lambda: print("loaded:", [name for name in slow if name in sys.modules]))
import torch
model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.Conv1d(1, 1, 3))
model(torch.randn(1, 64))
model(torch.randn(1, 64))
"""


def test_counting_loads_neither_the_compiler_nor_sympy(tmp_path):
    """They take seconds at the end of a program which never compiled anything."""
    (tmp_path / "plain.py").write_text(PLAIN)
    watched = strobe_run(tmp_path, sys.executable, "plain.py")
    assert "loaded: []" in watched.stdout
    [stage] = [stage for stage in watched.report()["stage_analysis"]["stages"] if stage["name"] == "Sequential"]
    assert stage["gpu_work"]["flop_count"] == 2 * (2 * 64 * 64 + 2 * 3 * 62)


AFTERWARDS = """
import sys, torch
from strobe._models import copies, flops, stand_ins
model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.GELU(), torch.nn.LayerNorm(64)).eval()
copy = copies.of(torch, model)
with stand_ins.InPlace():
    flop_count, _ = flops._flops_of(torch, copy, (torch.empty(3, 64, device="meta"),), {}, (float("inf"), float("inf")))
assert flop_count == 2 * 3 * 64 * 64, flop_count
left = [name for name, module in sys.modules.items() if isinstance(module, stand_ins.StandIn)]
assert not left and "sympy" not in sys.modules and "torch.utils.flop_counter" not in sys.modules, left
exported = torch.export.export(model, (torch.randn(3, 64),), dynamic_shapes=({0: torch.export.Dim("rows", min=2, max=99)},))
x = torch.randn(7, 64)
assert torch.equal(exported.module()(x), model(x))
print("all right")
"""


THREADS = """
import sys, threading, torch
from strobe._models import stand_ins
go_on = threading.Event()
other = threading.Thread(target=go_on.wait)
other.start()
with stand_ins.InPlace() as placed:
    assert not placed.made
go_on.set()
other.join()
with stand_ins.InPlace() as placed:
    assert placed.made
    from sympy import Integer  # which only the real one has
    assert type(sys.modules["sympy"]).__name__ == "module"
print("all right")
"""


@pytest.mark.parametrize("program", (AFTERWARDS, THREADS))
def test_the_program_finds_torch_as_it_was(tmp_path, program):
    """Sizes that are symbols, after sizes were counted on that were none; threads that go on."""
    (tmp_path / "program.py").write_text(program)
    done = subprocess.run([sys.executable, "program.py"], cwd=tmp_path, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          env=dict(environment(), PYTHONPATH=f"{BUILD}/python"))
    assert "all right" in done.stdout, done.stderr


def test_models_that_are_gone_at_the_end_are_counted_from_their_outlines(tmp_path):
    here = pathlib.Path(__file__).parent
    text = (here / "program_flops.py").read_text().replace("import tiny", "sys.path.insert(0, %r)\nimport tiny" % str(here))
    (tmp_path / "gone.py").write_text(text + """
import gc, time, weakref
left = [weakref.ref(model) for model, _ in made]
del model, call, made
gc.collect()
until = time.monotonic() + 60
while any(one() is not None for one in left) and time.monotonic() < until:
    time.sleep(0.01)  # a search for what holds memory lets go of each list that it has looked at
print("alive:", sum(one() is not None for one in left))
""")
    watched = strobe_run(tmp_path, sys.executable, "gone.py", "state.json")
    assert "alive: 0" in watched.stdout
    stages = {stage["name"]: stage["gpu_work"] for stage in watched.report()["stage_analysis"]["stages"] if stage["name"] in EXPECTED}
    assert {name: stages[name].get("flop_count") for name in EXPECTED} == \
        {name: pytest.approx(2 * flops, rel=0.02) for name, flops in EXPECTED.items()}
    assert {work["precision"] for work in stages.values()} == {"fp32"}


def counted(monkeypatch, calls, seconds_each, clock_each=0.0):
    """What is recorded of models that are called so often, where every operation takes so long, of CPU time and by the clock."""
    import torch
    from strobe._models import flops
    said, now, clock = [], [100.0], [500.0]

    class Model(torch.nn.Module):
        def __init__(self, number):
            super().__init__()
            self.number = number  # each is of a kind of its own
            self.linear = torch.nn.Linear(2, 2)

        def forward(self, x):
            for _ in range(100):
                x = self.linear(x)
                now[0] += seconds_each
                clock[0] += clock_each
            return x

    monkeypatch.setattr(flops, "_now", lambda: now[0])
    monkeypatch.setattr(flops, "_clock", lambda: clock[0])
    monkeypatch.setattr(flops, "_record", lambda number, counted, shape=None: said.append((number, counted.flops, counted.why)))
    monkeypatch.setattr(flops, "native", type("Native", (), {"recording": staticmethod(lambda: True), "event": staticmethod(lambda name, **facts: None)}))
    flops.forget()
    models = [Model(number) for number, _ in enumerate(calls)]
    for model, count in zip(models, calls):
        for _ in range(count):
            flops.note(model, (torch.zeros(1, 2),), {})
    flops.say()
    return said


def test_what_was_called_most_is_counted_first_while_there_is_time(monkeypatch):
    said = counted(monkeypatch, (1, 5), seconds_each=0.015)  # 1.5 s each, of 2 s
    assert said == [(2, 800.0, None), (1, None, "no time was left for it")]


def test_a_busy_machine_ends_it_by_the_clock(monkeypatch):
    said = counted(monkeypatch, (1, 5), seconds_each=0.001, clock_each=0.03)  # 3 s each, of 4 s
    assert said == [(2, 800.0, None), (1, None, "no time was left for it")]


def test_the_forward_of_a_large_model_ends_when_the_time_is_up(monkeypatch):
    assert counted(monkeypatch, (1,), seconds_each=1.0) == [(1, None, "no time was left for it")]


def test_an_operation_with_the_same_shapes_is_asked_of_torch_once():
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode
    from strobe._models import operations
    asked = []

    class Asked(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            asked.append(str(func))
            return func(*args, **(kwargs or {}))

    computed = type("Computed", (), {"see": staticmethod(lambda func, args, kwargs, result: None)})
    x, changed = torch.empty(2, 4, 8, device="meta"), torch.empty(2, 3, device="meta")
    with Asked(), operations.without_memory(torch, lambda: None, computed):
        made = [torch.softmax(x[:, :width], -1).transpose(1, 2) for width in (3, 4, 3, 4)]
        values, _ = [torch.topk(x, k=2) for _ in range(3)][-1]
        for _ in range(3):
            changed += 1  # what changes its arguments, or shares their memory, is done each time
        whole = torch.arange(4) + torch.arange(4)
    assert asked.count("aten._softmax.default") == 2 and asked.count("aten.topk.default") == 1 and asked.count("aten.add_.Tensor") == 3
    assert [tuple(one.shape) for one in made] == [(2, 8, 3), (2, 8, 4)] * 2 and made[0].stride() == made[2].stride() == (24, 1, 8)
    assert values.shape == (2, 4, 2) and whole.tolist() == [0, 2, 4, 6]
