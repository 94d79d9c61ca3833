"""Problems of a torch pipeline that show in its kernels: a slow one where a fast one would do. All need a GPU."""
import torch
import torch.nn.functional as F
from torch import nn

import strobe

from problem import planted
from video import Decoder, Pipeline, Size, attend

CUDA = torch.cuda.is_available()

def math_attention(q, k, v):
    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
        return F.scaled_dot_product_attention(q, k, v)


@planted("fallback_attention", "attention_math", stage="Transformer|denoise", needs="cuda")
def attention_is_math(fixed):
    Pipeline(Size(CUDA, dim=512, blocks=6, videos=12), attention=attend if fixed else math_attention).run()


@planted("fallback_attention", stage="Transformer|denoise", needs="cuda")
def attention_has_a_dense_mask(fixed):
    if CUDA:
        torch.backends.cuda.enable_cudnn_sdp(False)  # as it is before Hopper: flash, or memory-efficient with a mask
    size = Size(CUDA, dim=512, tokens=8192, blocks=6, videos=14)
    mask = torch.zeros(size.tokens, size.tokens, device=size.device, dtype=size.dtype)

    def attention(q, k, v):
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)

    Pipeline(size, attention=attend if fixed else attention).run()


@planted("fallback_conv", stage="vae_decode|Decoder|Relaid", needs="cuda")
def cudnn_is_off(fixed):
    torch.backends.cudnn.enabled = fixed
    size = Size(CUDA, steps=4, dim=1024, videos=40, grid=(16, 48, 48))
    Pipeline(size).run()


@planted("precision_mismatch", stage="vae_decode|Decoder|Relaid", needs="cuda")
def vae_in_fp32(fixed):
    size = Size(CUDA, steps=4, videos=14, grid=(16, 48, 48))
    torch.backends.cudnn.allow_tf32 = False
    Pipeline(size, vae_dtype=torch.bfloat16 if fixed else torch.float32, vae_dim=96).run()


@planted("precision_mismatch", stage="vae_decode|Decoder|Relaid", needs="cuda")
def vae_in_tf32(fixed):
    """As torch has it by default: convolutions of 32 bits run as TF32, at half the rate of 16."""
    size = Size(CUDA, steps=2, blocks=2, videos=20, grid=(8, 64, 64))
    torch.backends.cudnn.allow_tf32 = True
    Pipeline(size, vae_dtype=torch.bfloat16 if fixed else torch.float32, vae_dim=256).run()


@planted("precision_mismatch", stage="denoise|Transformer", needs="cuda")
def timestep_in_float64(fixed):
    pipe = Pipeline(Size(CUDA))
    filters = torch.randn(pipe.size.dim, pipe.size.dim, device=pipe.size.device, dtype=pipe.size.dtype if fixed else torch.float64)

    def predict(x, timestep, text):
        mixed = x.to(filters.dtype)
        for _ in range(8):
            mixed = torch.tanh(mixed @ filters)  # float64 by accident: a constant without a dtype
        return pipe.transformer(x + mixed.to(x.dtype) * 1e-3, timestep, text)

    pipe.predict = predict
    pipe.run()


@planted("precision_mismatch", stage="Transformer|denoise", needs="cuda")
def fp32_weights_under_autocast(fixed):
    size = Size(CUDA, dim=4096, tokens=256, blocks=6)
    pipe = Pipeline(size)
    if not fixed:
        pipe.transformer.float()

    def predict(x, timestep, text):
        with torch.autocast("cuda", torch.bfloat16, cache_enabled=False, enabled=not fixed):
            return pipe.transformer(x, timestep, text).to(x.dtype)

    pipe.predict = predict
    pipe.run()


@planted("benchmark_by_size", stage="Decoder", needs="cuda")
def each_clip_has_a_size_of_its_own(fixed):
    """A restorer in a loop of its own, with a switch that helps where all clips are alike."""
    torch.backends.cudnn.benchmark = not fixed
    size = Size(CUDA)
    model = Decoder(size.vae_dim).to(size.device, size.dtype)
    with torch.no_grad():
        for clip in range(12):
            z = torch.randn(1, 4, size.grid[0], size.grid[1] + 2 * clip, size.grid[2] + 4 * (clip % 5), device=size.device, dtype=size.dtype)
            for _ in range(4):
                made = model(z)
            made.float().mean().item()


class Quantised(torch.nn.Module):
    """int8 weights that are made bf16 again for every call."""

    def __init__(self, linear):
        super().__init__()
        scale = linear.weight.abs().amax(1, keepdim=True).float() / 127
        self.register_buffer("scale", scale)
        self.register_buffer("int8", (linear.weight.float() / scale).round().to(torch.int8))
        self.bias = linear.bias

    def forward(self, x):
        weight = (self.int8.float() * self.scale).to(x.dtype)
        return F.linear(x, weight, self.bias)


@planted("quantised_not_used", "precision_mismatch", stage="Transformer|denoise", needs="cuda")
def int8_weights_unpacked_every_call(fixed):
    pipe = Pipeline(Size(CUDA, dim=4096, tokens=256, blocks=6, videos=14))
    for block in pipe.transformer.blocks if not fixed else ():
        block.qkv, block.out = Quantised(block.qkv), Quantised(block.out)
        block.mlp[0], block.mlp[2] = Quantised(block.mlp[0]), Quantised(block.mlp[2])
    pipe.run()


class Relaid(Decoder):
    """Turns the layout around between the layers."""

    def forward(self, z):
        y = F.interpolate(self.inside(z), scale_factor=(1, 4, 4))
        for layer in self.layers:
            y = y.contiguous(memory_format=torch.channels_last_3d).contiguous()
            y = y.permute(0, 2, 3, 4, 1).contiguous().permute(0, 4, 1, 2, 3).contiguous()
            y = F.silu(layer(y))
        return self.outside(y)


@planted("layout_conversion", stage="vae_decode|Decoder|Relaid", needs="cuda")
def layouts_go_back_and_forth(fixed):
    size = Size(CUDA, steps=2, dim=1024, grid=(16, 48, 48))
    pipe = Pipeline(size)
    made = (Decoder if fixed else Relaid)(size.vae_dim)
    made.load_state_dict(pipe.vae.state_dict())
    pipe.vae = made.to(size.device, size.dtype)
    pipe.run()


@planted("fallback_conv", "small_kernels", "gpu_gaps", "tiny_tiles", stage="vae_decode|Decoder|Relaid", needs="cuda")
def tiny_tiles(fixed):
    size = Size(CUDA, steps=4, videos=10, grid=(8, 64, 64))
    pipe = Pipeline(size)
    whole = pipe.decode

    def decode(x):
        t, h, w = size.grid
        z = x.flatten()[:4 * t * h * w].view(1, 4, t, h, w)
        return torch.cat([torch.cat([pipe.vae(z[..., i:i + 4, j:j + 4]) for j in range(0, w, 4)], -1) for i in range(0, h, 4)], -2)

    pipe.decode = whole if fixed else decode
    pipe.run()


@planted("tiny_tiles", "small_kernels", "gpu_gaps", stage="vae_decode|Decoder|Relaid", needs="cuda")
def frame_by_frame_decode(fixed):
    size = Size(CUDA, steps=4, videos=14, grid=(96, 16, 16))
    pipe = Pipeline(size)
    whole = pipe.decode

    def decode(x):
        t, h, w = size.grid
        z = x.flatten()[:4 * t * h * w].view(1, 4, t, h, w)
        return torch.cat([pipe.vae(z[:, :, i:i + 1]) for i in range(t)], 2)

    pipe.decode = whole if fixed else decode
    pipe.run()


class Modulated(nn.Module):
    """A block as video transformers have them: shift, scale and gate from the timestep in 32 bits, rotated queries and keys,
    a gated product. Attention is within each frame."""

    def __init__(self, dim, head, frame):
        super().__init__()
        self.head, self.frame, self.inner = head, frame, 8 * dim // 3 // 64 * 64
        self.norm = nn.LayerNorm(dim, elementwise_affine=False)
        self.norm_q, self.norm_k = nn.RMSNorm(head), nn.RMSNorm(head)
        self.qkv, self.out = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)
        self.into, self.back = nn.Linear(dim, 2 * self.inner), nn.Linear(self.inner, dim)
        self.modulation = nn.Parameter(torch.randn(6, dim) / dim ** 0.5)
        angle = torch.outer(torch.arange(frame).float(), 1e4 ** -torch.linspace(0, 1, head // 2))
        self.register_buffer("turn", torch.stack((angle.cos(), angle.sin())))

    def rotated(self, x):
        a, b = x.float().unflatten(-1, (-1, 2)).unbind(-1)
        cos, sin = self.turn
        return torch.stack((a * cos - b * sin, a * sin + b * cos), -1).flatten(-2).type_as(x)

    def attended(self, x):
        q, k, v = self.qkv(x).view(-1, self.frame, 3, x.shape[-1] // self.head, self.head).permute(2, 0, 3, 1, 4)
        made = attend(self.rotated(self.norm_q(q)), self.rotated(self.norm_k(k)), v)
        return self.out(made.transpose(1, 2).reshape(x.shape))

    def modulated(self, x, scale, shift):
        return (self.norm(x.float()) * (1 + scale) + shift).type_as(x)

    def forward(self, x, shift):
        m = (self.modulation + shift).float().unbind(-2)
        x = (x.float() + self.attended(self.modulated(x, m[0], m[1])) * m[2]).type_as(x)
        gate, up = self.into(self.modulated(x, m[3], m[4])).chunk(2, -1)
        return (x.float() + self.back(F.silu(gate) * up) * m[5]).type_as(x)


def modulated(compiled, dim, frame=1024, frames=32, videos=14):
    """A pipeline of such blocks. All of them have one shape: compiled once, before the first video."""
    size = Size(CUDA, dim=dim, tokens=frames * frame, videos=videos)
    pipe = Pipeline(size)
    frame = frame if CUDA else size.tokens // 4
    with torch.device(size.device):
        blocks = nn.ModuleList(Modulated(size.dim, 64 if CUDA else 16, frame) for _ in range(size.blocks))
    pipe.transformer.blocks = blocks.to(size.dtype)
    if compiled:
        for block in blocks:
            block.compile(fullgraph=True)
        with torch.no_grad():
            pipe.predict(pipe.latents(), pipe.timestep(0), pipe.encode("warm up"))
    return pipe


@planted("kernels_unfused", stage="Transformer|denoise", needs="cuda", traced=True)
def blocks_are_not_compiled(fixed):
    modulated(fixed, dim=1024).run()


@planted("kernels_unfused", stage="Transformer|denoise", needs="cuda", traced=True)
def wide_blocks_are_not_compiled(fixed):
    modulated(fixed, dim=2048, frames=16).run()


@planted(healthy=True, needs="cuda")
def healthy_blocks_are_compiled(fixed):
    modulated(True, dim=1024).run()


@planted(healthy=True, needs="cuda")
def healthy_wide_blocks_are_compiled(fixed):
    modulated(True, dim=2048, frames=16).run()


@planted(healthy=True, needs="cuda")
def healthy_steps_without_modules(fixed):
    """Products that nothing waits for: the steps have no parts, and their lines are the model itself."""
    a = torch.randn(4096, 4096, device="cuda", dtype=torch.bfloat16)
    for _ in range(4):
        with strobe.generation(frames=33):
            x = a
            for _ in strobe.steps(range(30)):
                for _ in range(80):
                    x = torch.tanh(x @ a)
            torch.cuda.synchronize()
