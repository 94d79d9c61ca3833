"""A launch-bound diffusion transformer: the work that prove.py measures on.

`DiT(rich=False)` launches about 250 kernels per step, `rich=True` more than 1 000,
as a real video model with unfused rotary embeddings and modulation does.
"""
import torch
import torch.nn.functional as F
from torch import nn


class Block(nn.Module):
    def __init__(self, width, heads, rich):
        super().__init__()
        self.heads, self.rich = heads, rich
        self.norm1 = nn.LayerNorm(width)
        self.norm2 = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.proj = nn.Linear(width, width)
        self.fc1 = nn.Linear(width, 4 * width)
        self.fc2 = nn.Linear(4 * width, width)
        if rich:
            self.mod = nn.Parameter(torch.zeros(6, width))

    def rotate(self, x, angle):
        even, odd = x[..., 0::2], x[..., 1::2]
        cos, sin = angle.cos(), angle.sin()
        return torch.stack((even * cos - odd * sin, even * sin + odd * cos), -1).flatten(-2).to(x.dtype)

    def attention(self, x, angle):
        b, n, c = x.shape
        q, k, v = self.qkv(x).view(b, n, 3, self.heads, -1).permute(2, 0, 3, 1, 4).unbind(0)
        if self.rich:
            q, k = self.rotate(q, angle), self.rotate(k, angle)
        return self.proj(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(b, n, c))

    def forward(self, x, angle, emb):
        if not self.rich:
            x = x + self.attention(self.norm1(x), angle)
            return x + self.fc2(F.gelu(self.fc1(self.norm2(x))))
        m = (self.mod.float() + emb.float()).to(x.dtype)
        x = x + m[2] * self.attention(self.norm1(x) * (1 + m[0]) + m[1], angle)
        return x + m[5] * self.fc2(F.gelu(self.fc1(self.norm2(x) * (1 + m[3]) + m[4])))


class DiT(nn.Module):
    def __init__(self, blocks=24, width=512, heads=8, tokens=256, rich=False):
        super().__init__()
        self.blocks = nn.ModuleList(Block(width, heads, rich) for _ in range(blocks))
        self.embed = nn.Linear(64, width)
        self.time = nn.Linear(width, 6 * width)
        self.norm = nn.LayerNorm(width)
        self.out = nn.Linear(width, 64)
        self.tokens, self.width = tokens, width
        self.register_buffer("angle", torch.rand(tokens, width // heads // 2))
        self.register_buffer("wave", torch.rand(width))

    def forward(self, x, t, around=None):
        emb = self.time(torch.cos(self.wave * t)).view(6, self.width)
        x = self.embed(x)
        for block in self.blocks:
            if around is None:
                x = block(x, self.angle, emb)
            else:
                with around():
                    x = block(x, self.angle, emb)
        return self.out(self.norm(x))


def zoned(model, section, gpu):
    """One step of the model with a section around it and around every block, as a user would
    write it. gpu: as in strobe.section."""
    def step(x, t):
        with section("step", gpu=gpu):
            emb = model.time(torch.cos(model.wave * t)).view(6, model.width)
            x = model.embed(x)
            for block in model.blocks:
                with section("block", gpu=gpu):
                    x = block(x, model.angle, emb)
            return model.out(model.norm(x))
    return step


def make(device="cuda", dtype=torch.bfloat16, **kw):
    torch.manual_seed(0)
    return DiT(**kw).to(device, dtype).eval()


@torch.no_grad()
def denoise(model, steps=20, around_step=None, around_block=None, device="cuda"):
    """A denoise loop with a simple Euler update; returns the latents."""
    p = next(model.parameters())
    x = torch.randn(1, model.tokens, 64, device=p.device, dtype=p.dtype)
    for i in range(steps):
        t = 1.0 - i / steps
        if around_step is None:
            x = x - model(x, t, around_block) / steps
        else:
            with around_step():
                x = x - model(x, t, around_block) / steps
    return x
