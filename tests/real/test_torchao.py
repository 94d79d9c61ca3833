"""Weights that the real torchao has quantised: what they are kept as and how much memory that takes."""
import gc

import pytest

torch = pytest.importorskip("torch")
quantization = pytest.importorskip("torchao.quantization")

from strobe._memory import held, out_of_memory  # noqa: E402
from strobe.auto import asked  # noqa: E402
from strobe.nn.header import ModelHeader  # noqa: E402

SIDE = 64


@pytest.fixture
def model():
    class Blocks(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = torch.nn.Linear(SIDE, SIDE)
            self.blocks = torch.nn.ModuleList(torch.nn.Linear(SIDE, SIDE, bias=False) for _ in range(3))

    made = Blocks().to(torch.bfloat16)
    quantization.quantize_(made.blocks, quantization.Int8WeightOnlyConfig())
    return made


def test_a_quantised_weight_is_what_it_is_kept_as(model):
    weight = model.blocks[0].weight
    assert weight.dtype == torch.bfloat16  # what it stands for
    assert held.dtype_name(weight) == "int8" and held.is_wrapped(weight)
    assert SIDE * SIDE <= held.size_bytes(weight) < 1.5 * SIDE * SIDE


def test_a_plain_weight_is_its_own_part(model):
    weight = model.embed.weight
    assert held.parts(weight) == [weight] and not held.is_wrapped(weight)
    assert held.dtype_name(weight) == "bfloat16" and held.size_bytes(weight) == 2 * SIDE * SIDE


def test_the_model_header_counts_what_lies_in_memory(model):
    header = ModelHeader("m", model)
    assert header.parameter_count == 4 * SIDE * SIDE + SIDE
    assert header.dtypes["int8"] == 3 * SIDE * SIDE and header.dtypes["bfloat16"] == SIDE * SIDE + SIDE
    assert header.size_bytes < 2 * (SIDE * SIDE + SIDE) + 3 * 1.5 * SIDE * SIDE


def test_what_was_asked_says_that_it_is_quantised(model):
    facts = asked._facts(model)
    assert facts["dtype"] == "bfloat16" and facts["quantised"].startswith("int8 (")


def test_the_weights_of_a_memory_error_are_told_by_what_they_are(model):
    gc.collect()
    rows = [row for row in out_of_memory.module_weights(torch) if row[0].endswith("Blocks")]
    sizes = {dtype: size for _, size, dtype, _ in rows}
    assert sizes["bfloat16"] == 2 * (SIDE * SIDE + SIDE) and 3 * SIDE * SIDE <= sizes["int8"] < 3 * 1.5 * SIDE * SIDE


def test_the_first_convolution_is_looked_for_once():
    looked = []

    class Counted(torch.nn.Module):
        def modules(self):
            looked.append(1)
            return super().modules()

    one = Counted()
    one.first = torch.nn.Conv2d(3, 4, 3)
    for _ in range(3):
        assert asked._facts(one)["convolution"] == "Conv2d"
    assert len(looked) == 1
