"""What quantised models take, and the type they multiply in: of the products, not of the weights."""
import warnings

import pytest

torch = pytest.importorskip("torch")

from strobe._models import flops  # noqa: E402

SIDE, ROWS = 64, 32
PRODUCT = 2 * ROWS * SIDE * SIDE


@pytest.fixture
def counted(monkeypatch):
    """counted(model, *arguments): (operations, precision, why not) of one call."""
    def count(model, *args):
        said = []
        monkeypatch.setattr(flops, "_is_on_cpu", lambda *call: False)  # as a GPU would multiply it
        monkeypatch.setattr(flops, "_record", lambda number, counted, shape=None: said.append((counted.flops, counted.precision, counted.why)))
        monkeypatch.setattr(flops, "native", type("Native", (), {"recording": staticmethod(lambda: True), "event": staticmethod(lambda name, **facts: None)}))
        flops.forget()
        flops.note(model, args, {})
        flops.say()
        return said[0]
    return count


def stored(dtype, shape=(SIDE, SIDE)):
    return torch.nn.Parameter(torch.zeros(shape).to(dtype), requires_grad=False)


class Module(torch.nn.Module):
    def __init__(self, forward, **weights):
        super().__init__()
        self.how = forward
        for name, weight in weights.items():
            setattr(self, name, weight)

    def forward(self, x):
        return self.how(self, x)


def unpack_int8(self, x):
    return torch.nn.functional.linear(x, self.weight.to(x.dtype) * self.scale)


def unpack_nf4(self, x):
    halves = torch.stack([self.code[(self.weight >> 4).int()], self.code[(self.weight & 15).int()]], -1)
    return torch.nn.functional.linear(x, halves.view(SIDE, SIDE))


def in_fp8(self, x):
    return torch._scaled_mm(x.to(torch.float8_e4m3fn), self.weight.t(), self.scale, self.scale, out_dtype=torch.bfloat16)


def in_int8(self, x):
    return torch._int_mm(x.to(torch.int8), self.weight.t()).to(x.dtype) * self.scale


def plain(self, x):
    return torch.nn.functional.linear(x, self.weight)


def upcast(self, x):
    return x.float() @ self.weight.float().t()


def attend(self, x):
    return torch.nn.functional.scaled_dot_product_attention(x[None, None], x[None, None], x[None, None])


ONE = stored(torch.bfloat16, (1,))
MODELS = {
    "bf16": (lambda: Module(plain, weight=stored(torch.bfloat16)), "bf16"),
    "fp16": (lambda: Module(plain, weight=stored(torch.float16)), "fp16"),
    "fp64": (lambda: Module(plain, weight=stored(torch.float64)), "fp64"),
    "int8 that is unpacked": (lambda: Module(unpack_int8, weight=stored(torch.int8), scale=ONE), "bf16"),
    "4 bits that are unpacked": (lambda: Module(unpack_nf4, weight=stored(torch.uint8, (SIDE * SIDE // 2,)), code=stored(torch.bfloat16, (16,))), "bf16"),
    "fp8 by fp8": (lambda: Module(in_fp8, weight=stored(torch.float8_e4m3fn), scale=stored(torch.float32, ())), "fp8"),
    "int8 by int8": (lambda: Module(in_int8, weight=stored(torch.int8), scale=ONE), "int8"),
    "fp8 that hooks convert": (lambda: Module(plain, weight=stored(torch.float8_e4m3fn)), "bf16"),
    "bf16 that is multiplied as float32": (lambda: Module(upcast, weight=stored(torch.bfloat16)), "fp32"),
}


@pytest.mark.parametrize("name", MODELS)
def test_a_product_counts_in_the_type_it_is_multiplied_in(counted, name):
    made, precision = MODELS[name]
    dtype = {"fp16": torch.float16, "fp64": torch.float64}.get(name, torch.bfloat16)
    assert counted(made(), torch.zeros(ROWS, SIDE, dtype=dtype)) == (PRODUCT, precision, None)


def test_attention_counts_in_the_type_of_its_arguments(counted):
    assert counted(Module(attend), torch.zeros(ROWS, SIDE, dtype=torch.bfloat16)) == (2 * PRODUCT * ROWS // SIDE, "bf16", None)


def test_a_matrix_by_a_vector_is_counted(counted):
    assert counted(Module(lambda self, x: self.weight @ x, weight=stored(torch.bfloat16)), torch.zeros(SIDE, dtype=torch.bfloat16)) == \
        (2 * SIDE * SIDE, "bf16", None)


@pytest.fixture
def newer_switches():
    if not hasattr(torch.backends.cudnn, "conv"):
        pytest.skip("this torch has allow_tf32 alone")
    switches = torch.backends.cuda.matmul, torch.backends.cudnn.conv
    before = [switch.fp32_precision for switch in switches]
    yield switches
    for switch, precision in zip(switches, before):
        switch.fp32_precision = precision


def test_the_newer_switches_tell_tf32_too(counted, newer_switches):
    model, x = Module(plain, weight=stored(torch.float32)), torch.ones(ROWS, SIDE)
    convolution = torch.nn.Conv2d(4, 4, 3).requires_grad_(False)
    for kind, name in (("tf32", "tf32"), ("ieee", "fp32")):
        for switch in newer_switches:
            switch.fp32_precision = kind
        assert counted(model, x) == (PRODUCT, name, None)
        assert counted(convolution, torch.ones(1, 4, 8, 8))[1:] == (name, None)


def test_what_autocast_casts_to_is_asked_without_a_warning(counted, monkeypatch):
    monkeypatch.setattr(torch, "is_autocast_enabled", lambda *kind: True)
    if hasattr(torch, "get_autocast_dtype"):
        monkeypatch.setattr(torch, "get_autocast_dtype", lambda kind: torch.float16)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert counted(Module(plain, weight=stored(torch.float32)), torch.ones(ROWS, SIDE)) == (PRODUCT, "fp16", None)


def test_float32_under_autocast_counts_as_what_it_is_cast_to(counted):
    with torch.autocast("cuda", torch.bfloat16), torch.autocast("cpu", torch.bfloat16):
        enabled = torch.is_autocast_enabled()
        flops_count, precision, _ = counted(Module(plain, weight=stored(torch.float32)), torch.zeros(ROWS, SIDE))
    assert (flops_count, precision) == (PRODUCT, "bf16" if enabled else "fp32")


def test_an_operator_that_multiplies_and_has_no_count_is_said(counted):
    with torch.library._scoped_library("strobe_test", "DEF") as library:
        library.define("gemm_4bit(Tensor x, Tensor weight) -> Tensor")
        library.impl("gemm_4bit", lambda x, weight: x.new_empty(x.shape[0], weight.shape[0]), "Meta")
        library.define("rms_norm(Tensor x) -> Tensor")
        library.impl("rms_norm", lambda x: torch.empty_like(x), "Meta")

        def forward(self, x):
            return torch.ops.strobe_test.gemm_4bit(torch.ops.strobe_test.rms_norm(x), self.weight)
        packed = Module(forward, weight=stored(torch.uint8))
        normed = Module(lambda self, x: plain(self, torch.ops.strobe_test.rms_norm(x)), weight=stored(torch.bfloat16))
        x = torch.zeros(ROWS, SIDE, dtype=torch.bfloat16)
        assert counted(packed, x) == (None, None, "torch has no count for strobe_test::gemm_4bit")
        assert counted(normed, x) == (PRODUCT, "bf16", None)


def test_attention_of_another_library_is_counted_by_its_own_shapes(counted):
    with torch.library._scoped_library("flash_attn", "DEF") as library:
        library.define("_flash_attn_forward(Tensor q, Tensor k, Tensor v) -> Tensor")
        library.impl("_flash_attn_forward", lambda q, k, v: torch.empty_like(q), "Meta")
        model = Module(lambda self, x: torch.ops.flash_attn._flash_attn_forward(x, x[:, :5], x[:, :5]))
        batch, length, heads, width = 2, 16, 3, 8
        x = torch.zeros(batch, length, heads, width, dtype=torch.float16)
        assert counted(model, x) == (4 * batch * heads * length * 5 * width, "fp16", None)


@pytest.mark.parametrize("path, shapes, made, operations", [
    ("aten._weight_int8pack_mm", [(4, 8), (6, 8)], (4, 6), 2 * 4 * 8 * 6),
    ("aten._grouped_mm", [(10, 8), (3, 8, 6)], (10, 6), 2 * 10 * 8 * 6),
    ("aten._grouped_mm", [(3, 4, 8), (3, 8, 6)], (3, 4, 6), 3 * 2 * 4 * 8 * 6),
    ("aten.addmv", [(4,), (4, 8), (8,)], (4,), 2 * 4 * 8),
    ("aten.dot", [(8,), (8,)], (), 2 * 8)])
def test_products_that_torch_does_not_count_have_a_formula(path, shapes, made, operations):
    from strobe._models import multiplied
    formula = multiplied.FORMULAS[path]
    assert formula(*[torch.empty(shape) for shape in shapes], out_val=torch.empty(made)) == operations


@pytest.mark.parametrize("config, precision", [("Int8WeightOnlyConfig", "bf16"), ("Int8DynamicActivationInt8WeightConfig", "int8"), ("Float8WeightOnlyConfig", "bf16")])
def test_torchao_multiplies_in_what_its_inputs_are_quantised_to(counted, config, precision):
    quantization = pytest.importorskip("torchao.quantization")
    model = torch.nn.Sequential(torch.nn.Linear(SIDE, SIDE, bias=False)).to(torch.bfloat16)
    quantization.quantize_(model, getattr(quantization, config)())
    assert counted(model, torch.zeros(ROWS, SIDE, dtype=torch.bfloat16)) == (PRODUCT, precision, None)


class Gguf(torch.nn.Parameter):
    """As diffusers keeps it: bytes, and the shape that they stand for."""

    def __new__(cls, shape):
        made = torch.Tensor._make_subclass(cls, torch.zeros(shape[0], shape[1] // 32 * 34, dtype=torch.uint8), False)
        made.quant_type, made.quant_shape = 8, shape
        return made


def test_bytes_that_know_their_shape_count_as_the_matrix_they_stand_for(counted):
    def forward(self, x):
        return torch.nn.functional.linear(x, self.weight.to(torch.bfloat16))
    assert counted(Module(forward, weight=Gguf((SIDE, SIDE))), torch.zeros(ROWS, SIDE, dtype=torch.bfloat16)) == (PRODUCT, "bf16", None)
