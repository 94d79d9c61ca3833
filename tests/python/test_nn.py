"""strobe.nn on CPU-only torch."""
import io

import pytest

import strobe

torch = pytest.importorskip("torch", reason="torch is not installed")
from strobe import nn  # noqa: E402


class Encoder(torch.nn.Module):
    def __init__(self, blocks=6):
        super().__init__()
        self.patch_embed = torch.nn.Conv3d(3, 8, 2, 2)
        self.blocks = torch.nn.ModuleList([torch.nn.Linear(8, 8) for _ in range(blocks)])
        self.norm = torch.nn.LayerNorm(8)
        self.unused = torch.nn.Linear(2, 2)

    def forward(self, x):
        x = self.patch_embed(x).flatten(2).transpose(1, 2)
        for block in self.blocks:
            x = torch.relu(block(x))
        return self.norm(x)


@pytest.fixture
def model():
    torch.manual_seed(0)
    return Encoder().eval()


X = torch.ones(1, 3, 4, 8, 8)


def hook_count(model):
    return sum(len(m._forward_hooks) + len(m._forward_pre_hooks) for m in model.modules())


def test_the_parts_and_other_add_up_to_the_total(model):
    report = nn.profile_layers(model, X, iterations=3)
    assert list(report.components) == ["patch_embed", "blocks", "norm", "unused"]
    assert report.components["unused"] == 0.0 and len(report.blocks["blocks"]) == 6
    assert sum(report.components.values()) + report.other_ms == pytest.approx(report.total_ms)
    assert sum(report.blocks["blocks"]) == pytest.approx(report.components["blocks"])
    slowest = report.slowest()
    assert len(slowest) == 5 and slowest == sorted(slowest, key=lambda row: -row[2])
    assert "Slowest 5 blocks" in str(report) and "(6 blocks)" in str(report)


def test_the_hooks_come_off_whatever_happens(model):
    nn.profile_layers(model, X, iterations=1)
    assert hook_count(model) == 0
    with pytest.raises(RuntimeError):
        nn.profile_layers(model, torch.ones(1, 2, 4, 8, 8), iterations=1, warmup=0)
    with pytest.raises(KeyError):
        with nn.layers(model):
            raise KeyError
    assert hook_count(model) == 0


def test_layers_are_zones_of_the_recording(model, record):
    with torch.no_grad(), nn.layers(model):
        model(X)
    done = record()
    assert done.counts() == {("Encoder.patch_embed",): 1, ("Encoder.blocks",): 6, ("Encoder.norm",): 1}
    assert [z.attrs for z in done.named("Encoder.blocks")] == [{"strobe.role": 5, "index": i} for i in range(6)]


def test_the_output_is_bit_equal_under_hooks(model):
    with torch.no_grad():
        plain = model(X)
        with nn.layers(model), strobe.section("x"):
            assert torch.equal(model(X), plain)


def test_the_header_counts_exactly(model, record):
    header = nn.describe(model)
    expected = sum(p.numel() for p in model.parameters())
    assert header.parameter_count == expected and header.size_bytes == expected * 4
    assert "Total parameters: {:,}".format(expected) in str(header) and header.dtypes == {"float32": expected}
    import strobe_file
    (name, payload), = record().of(strobe_file.MODEL)
    assert name == "Encoder" and payload[1] == expected


def test_mixed_types_and_adapters(model):
    model.norm.half()
    model.lora_A = torch.nn.Linear(4, 4, bias=False)
    header = nn.describe(model)
    assert header.dtypes["float16"] == 16 and header.lora_count == 16


def test_quantised_models_have_a_header():
    if not torch.backends.quantized.supported_engines or torch.backends.quantized.supported_engines == ["none"]:
        pytest.skip("this torch cannot quantise")
    torch.backends.quantized.engine = torch.backends.quantized.supported_engines[-1]
    model = torch.quantization.quantize_dynamic(torch.nn.Sequential(torch.nn.Linear(8, 4)), {torch.nn.Linear})
    header = nn.describe(model)
    assert header.parameter_count == 32 and header.dtypes["qint8"] == 32


def test_memory_of_one_call(model):
    report = nn.memory_profile(model, X)
    assert report.input_bytes == X.numel() * 4 and report.output_bytes > 0
    assert report.parameters_bytes == sum(p.numel() for p in model.parameters()) * 4
    assert report.peak_bytes >= report.after_bytes and report.fragmentation_ratio is None
    assert "no CUDA device" in str(report)


def test_benchmarks_and_variants(record):
    model, x = torch.nn.Linear(8, 8), torch.ones(1, 8)

    def broken(x):
        raise RuntimeError("CUDA out of memory. Tried to allocate\nmore")

    result = nn.compare_precision(model, x, iterations=3, warmup=1, variants={"again": model, "broken": broken})
    assert list(result.timings) == ["FP32", "BF16", "again"] and result.speedup("FP32") == 1.0
    assert result.failures == {"broken": "RuntimeError: CUDA out of memory. Tried to allocate"}
    assert "broken: failed" in str(result).replace("  ", " ")
    done = record()
    assert len(done.named("again")) == 3 and len(done.named("again warm-up")) == 1
    with pytest.raises(ValueError):
        nn.benchmark(lambda: None, iterations=0)


@pytest.mark.parametrize("factor, words", [(1.2, "CPU-bound"), (1.7, "good"), (2.5, "excellent")])
def test_the_reading_of_a_speedup(factor, words):
    timings = {"FP32": nn.Timing("FP32", [factor], [factor], True), "FP16": nn.Timing("FP16", [1.0], [1.0], True)}
    assert words in nn.Comparison(timings, {}).reading("FP16")


def test_statistics_of_a_timing():
    timing = nn.Timing("t", [1.0, 2.0, 3.0, 10.0], [], False)
    assert (timing.mean_ms, timing.median_ms, timing.min_ms, timing.max_ms) == (4.0, 2.5, 1.0, 10.0)
    assert timing.std_ms == pytest.approx(4.0825, rel=1e-4) and "250.00 clips/s" in str(timing)


def test_an_oom_is_reported_and_passes_on(record, tmp_path):
    keep = torch.ones(3, 1000, 1000)
    out = io.StringIO()
    with pytest.raises(RuntimeError):
        with nn.oom_report(tmp_path / "oom.txt", file=out):
            raise RuntimeError("CUDA out of memory. Tried to allocate 2.00 GiB")
    assert "float32 3x1000x1000" in out.getvalue() and "float32 3x1000x1000" in (tmp_path / "oom.txt").read_text()
    with pytest.raises(RuntimeError):
        with nn.oom_report(file=out):
            raise RuntimeError("something else")
    assert "something else" not in out.getvalue() and keep.numel()
    import strobe_file
    assert [name for name, _ in record().of(strobe_file.EVENT)] == ["out_of_memory"]


def test_snapshots_around_a_section(record):
    with nn.snapshot_section("vae_decode", frames=4):
        pass
    import strobe_file
    done = record()
    labels = [label for label, _ in done.of(strobe_file.SNAPSHOT) if not label.startswith("strobe.")]  # the host's own readings
    assert labels == ["before vae_decode", "after vae_decode"]
