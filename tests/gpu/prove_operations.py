"""Are the operations that strobe counts those of the models, in the type that they multiply in, and do the families of a
real pipeline's kernels add up? Models of diffusers and transformers are left out where these are not."""
import os
import subprocess

from prove_hardware import counted, keep_busy
from prove_real import pipelines
from proving import TOOL, left_out, near, row

SIDE = 8192


def forwards(torch, tiny):
    """name -> (a call of the model, its operations by hand)."""
    import by_hand
    import diffusers
    from transformers import VJEPA2Config, VJEPA2Model

    def on_gpu(*shape):
        return torch.randn(*shape, device="cuda")

    wan = tiny.wan_transformer().eval().cuda()
    ltx = diffusers.LTXVideoTransformer3DModel(num_layers=2, num_attention_heads=2, attention_head_dim=32, cross_attention_dim=64,
                                               caption_channels=16, in_channels=8, out_channels=8).eval().cuda()
    vjepa2 = VJEPA2Model(VJEPA2Config(hidden_size=48, num_attention_heads=4, num_hidden_layers=2, pred_num_hidden_layers=2,
                                      pred_hidden_size=24, pred_num_attention_heads=2, crop_size=32, frames_per_clip=4)).eval().cuda()
    return {
        "Wan": (lambda: wan(hidden_states=on_gpu(1, 16, 2, 8, 8), timestep=torch.tensor([5], device="cuda"),
                            encoder_hidden_states=on_gpu(1, 5, 32), return_dict=False), by_hand.wan(32, 5, 24, 32, 4)),
        "LTX": (lambda: ltx(hidden_states=on_gpu(1, 192, 8), encoder_hidden_states=on_gpu(1, 12, 16),
                            timestep=torch.tensor([3], device="cuda"), encoder_attention_mask=torch.ones(1, 12, device="cuda"),
                            num_frames=4, height=6, width=8, return_dict=False), by_hand.ltx(192, 12, 64, 2)),
        "V-JEPA2": (lambda: vjepa2(pixel_values_videos=on_gpu(1, 4, 3, 32, 32)), by_hand.vjepa2(8)),
    }


def operations():
    """Forwards of Wan, LTX and V-JEPA2: as many operations as are counted by hand."""
    found = pipelines("operations of Wan, LTX and V-JEPA2")
    if not found:
        return
    import strobe
    torch, tiny = found
    with counted("operations", 0) as r, torch.no_grad():
        made = forwards(torch, tiny)
        for name, (call, _) in made.items():
            with strobe.section(name):
                call()
                call()
    for name, (_, flops) in made.items():
        work = r.stages[name].get("gpu_work", {})
        seen = work.get("flop_count", 0) / 2
        row("operations of a forward: %s" % name, "%.4g FLOP" % seen if seen else work.get("uncounted_why"), "%.4g +- 2 %%" % flops, near(seen, flops, 0.02))


def layers(torch):
    """name -> (module, its argument, the type that it multiplies in)."""
    F, bf16, fp8 = torch.nn.functional, torch.bfloat16, torch.float8_e4m3fn

    class Layer(torch.nn.Module):
        def __init__(self, how, **weights):
            super().__init__()
            self.how = how
            for name, weight in weights.items():
                self.register_buffer(name, weight)

        def forward(self, x):
            return self.how(self, x)

    def layer(how, **weights):
        return type("Layer", (Layer,), {})(how, **weights).eval()  # of a class of its own: models of one kind are counted once

    x = torch.randn(SIDE, SIDE, device="cuda", dtype=bf16)
    weight, one = torch.randn(SIDE, SIDE, device="cuda"), torch.ones((), device="cuda")
    whole = torch.randint(-127, 127, (SIDE, SIDE), device="cuda", dtype=torch.int8)
    made = {
        "bf16": (layer(lambda self, x: F.linear(x, self.weight), weight=weight.to(bf16)), x, "bf16"),
        "fp8 that is unpacked": (layer(lambda self, x: F.linear(x, self.weight.to(x.dtype)), weight=weight.to(fp8)), x, "bf16"),
        "int8 that is unpacked": (layer(lambda self, x: F.linear(x, self.weight.to(x.dtype)), weight=whole), x, "bf16"),
        "int8 by int8": (layer(lambda self, x: torch._int_mm(x, self.weight.t()), weight=whole), whole, "int8"),
    }
    if torch.cuda.get_device_capability() >= (8, 9):
        made["fp8 by fp8"] = (layer(lambda self, x: torch._scaled_mm(x, self.weight.t(), self.one, self.one, out_dtype=bf16), weight=weight.to(fp8), one=one),
                              x.to(fp8), "fp8")
    return made


def products():
    """One product in several types: its MFU is of the type that it multiplies in, and equals operations over event time."""
    from strobe import auto
    auto.install()  # as `strobe run` does, before torch is imported
    import torch
    with counted("products", 0) as r, torch.no_grad():
        made = layers(torch)
        rates = {name: keep_busy(torch, name, lambda: model(x), 1.0) for name, (model, x, _) in made.items()}
    for name, (_, _, precision) in made.items():
        work = r.stages[name].get("gpu_work", {})
        row("product, %s: precision" % name, work.get("precision", work.get("uncounted_why")), precision, work.get("precision") == precision)
        peak = work.get("peak_tflop_per_s")
        if not peak:
            left_out("product, %s: MFU" % name, "the peak rate of this GPU in %s is not in the table" % precision)
            continue
        truth, seen = 2 * SIDE ** 3 * rates[name] / 1e12 / peak, work.get("mfu_ratio", 0)
        row("product, %s: MFU" % name, "%.1f %%" % (100 * seen), "%.1f %% +- 3 points" % (100 * truth), abs(seen - truth) <= 0.03)


def wan_shares():
    """A generation of diffusers' Wan, traced: the families' times add up to all kernels', and its denoiser says how near it comes to
    this GPU's rate, its floor, and what a compiler fuses."""
    found = pipelines("kernel families of a Wan")
    if not found:
        return
    import strobe
    torch, tiny = found
    transformer = tiny.wan_transformer(num_attention_heads=12, attention_head_dim=128, ffn_dim=8960, num_layers=4, rope_max_seq_len=1024)
    pipeline = tiny.wan(transformer=transformer).to("cuda", torch.bfloat16)
    pipeline.set_progress_bar_config(disable=True)

    def generate():
        pipeline(prompt="w1 w2", negative_prompt="w3", max_sequence_length=16, num_inference_steps=6, output_type="np", height=256, width=256,
                 num_frames=9, generator=torch.Generator().manual_seed(0))
    with counted("wan", 0) as r:
        generate()
        with strobe.gpu_trace():
            generate()
    trace = r.report.get("gpu_trace", {})
    total = sum(k["total_s"] for k in trace.get("families", []))
    row("Wan: families' time / all kernels'", "%.9f / %.9f s" % (total, trace.get("kernel_total_s", 0)), "equal", near(total, trace.get("kernel_total_s", 0), 1e-6))
    row("Wan: not recognised", "%.2f %%" % (100 * trace.get("unclassified_ratio", 1)), "< 1 %", trace.get("unclassified_ratio", 1) < 0.01)
    text = subprocess.run([TOOL, "report", r.folder, "--format", "text"], capture_output=True, text=True, env=dict(os.environ, COLUMNS="400")).stdout
    lines = [line.strip() for line in text.splitlines() if line.strip().startswith("transformer: ") and "FLOP" in line]
    said = lines[0] if lines else ""
    row("Wan: one line of the report", said[:120], "rate, floor, what a compiler fuses", " rate, floor " in said and "which a compiler fuses" in said)
