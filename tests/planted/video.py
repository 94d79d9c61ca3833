"""A small video pipeline in plain torch: text encoder, diffusion transformer, scheduler, 3D VAE. The planted
problems are put into it from outside, each in a file of its own family; without one it is healthy."""
import contextlib
import math

import torch
import torch.nn.functional as F
from torch import nn

import strobe


GRID = (8, 32, 32)  # frames, height, width
VIDEOS_MOST = 1000  # measure.py warms up with one
KEPT = []  # the last pipeline: in a script it is a global, and there at the end


class Size:
    """What the same pipeline is built from: as asked for on a GPU, always small on a CPU. What is asked for is checked
    on a CPU too: a program that cannot run on a GPU must not wait for one to say so."""

    def __init__(self, cuda, dim=None, blocks=None, tokens=None, steps=None, videos=None, grid=None):
        latents, wanted = (dim or 1536) * (tokens or 4096), 4 * math.prod(grid or GRID)
        if latents < wanted:
            raise ValueError("latents of %d values have no %d for the VAE" % (latents, wanted))
        self.device = "cuda" if cuda else "cpu"
        self.dtype = torch.bfloat16 if cuda else torch.float32
        self.dim = dim or 1536 if cuda else 64
        self.blocks = blocks or 8 if cuda else 2
        self.tokens = tokens or 4096 if cuda else 64
        self.steps = steps or 8 if cuda else 4
        self.videos = videos or 24 if cuda else 4
        self.vae_dim = 64 if cuda else 8
        self.grid = (grid or GRID) if cuda else (2, 8, 8)


class TextEncoder(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.embed = nn.Embedding(1000, dim)
        self.layers = nn.ModuleList(nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim)) for _ in range(4))

    def forward(self, tokens):
        y = self.embed(tokens)
        for layer in self.layers:
            y = y + layer(y)
        return y


def attend(q, k, v):
    return F.scaled_dot_product_attention(q, k, v)


class Block(nn.Module):
    def __init__(self, dim, heads, attention):
        super().__init__()
        self.heads, self.attention = heads, attention
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.qkv, self.out = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)
        self.mlp = nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim))

    def forward(self, x, shift):
        b, n, d = x.shape
        q, k, v = self.qkv(self.norm1(x) + shift).view(b, n, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        x = x + self.out(self.attention(q, k, v).transpose(1, 2).reshape(b, n, d))
        return x + self.mlp(self.norm2(x))


class Transformer(nn.Module):
    def __init__(self, size, attention=attend, after_block=None):
        super().__init__()
        self.after_block = after_block
        self.time = nn.Sequential(nn.Linear(size.dim, size.dim), nn.SiLU(), nn.Linear(size.dim, size.dim))
        self.blocks = nn.ModuleList(Block(size.dim, max(1, size.dim // 64), attention) for _ in range(size.blocks))

    def forward(self, x, timestep, text):
        shift = self.time(timestep + text.mean(1, keepdim=True))
        for block in self.blocks:
            x = block(x, shift)
            if self.after_block is not None:
                self.after_block(x)
        return x


class Decoder(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.inside = nn.Conv3d(4, dim, 3, padding=1)
        self.layers = nn.ModuleList(nn.Conv3d(dim, dim, 3, padding=1) for _ in range(4))
        self.outside = nn.Conv3d(dim, 3, 3, padding=1)

    def forward(self, z):
        y = F.interpolate(self.inside(z), scale_factor=(1, 4, 4))
        for layer in self.layers:
            y = F.silu(layer(y))
        return self.outside(y)


class Pipeline:
    """What it does between its parts can be replaced: the problems do."""

    def __init__(self, size, attention=attend, after_block=None, vae_dtype=None, vae_dim=None):
        torch.manual_seed(0)
        self.size = size
        KEPT[:] = [self]
        with torch.device(size.device):
            self._build(size, attention, after_block, vae_dtype, vae_dim)

    def _build(self, size, attention, after_block, vae_dtype, vae_dim):
        self.text_encoder = TextEncoder(256 if size.device == "cuda" else 32)
        self.project = nn.Linear(256 if size.device == "cuda" else 32, size.dim)
        self.transformer = Transformer(size, attention, after_block)
        self.vae = Decoder(vae_dim or size.vae_dim)
        for part in (self.text_encoder, self.project, self.transformer):
            part.to(size.device, size.dtype)
        self.vae.to(size.device, vae_dtype or size.dtype)
        self.vae_dtype = vae_dtype or size.dtype
        self.guidance = 1.0

    def encode(self, prompt):
        tokens = torch.tensor([[hash(word) % 1000 for word in prompt.split()]], device=self.size.device)
        return self.project(self.text_encoder(tokens))

    def latents(self):
        generator = torch.Generator(self.size.device).manual_seed(1)
        return torch.randn(1, self.size.tokens, self.size.dim, device=self.size.device, dtype=self.size.dtype, generator=generator)

    def timestep(self, index):
        return torch.full((1, 1, self.size.dim), 1.0 - index / self.size.steps, device=self.size.device, dtype=self.size.dtype)

    def predict(self, x, timestep, text):
        return self.transformer(x, timestep, text)

    def decode(self, x):
        t, h, w = self.size.grid
        return self.vae(x.flatten()[:4 * t * h * w].view(1, 4, t, h, w).to(self.vae_dtype))

    def on_step(self, index, x):
        """The user's callback."""

    def between(self):
        """After each video."""

    def video(self, prompt):
        text = self.encode(prompt)
        x = self.latents()
        for index in strobe.steps(range(self.size.steps)):
            x = x - self.predict(x, self.timestep(index), text) / self.size.steps
            self.on_step(index, x)
        with strobe.section("vae_decode"):
            frames = self.decode(x)
        return frames

    def export(self, frames):
        """Hands the frames out: the one wait for the GPU a video needs."""
        with strobe.section("export"):
            return (frames.float().clamp(-1, 1) * 127 + 128).to(torch.uint8).cpu()

    def run(self):
        with torch.no_grad():
            for index in range(min(self.size.videos, VIDEOS_MOST)):
                with strobe.generation(frames=self.size.grid[0]):
                    made = self.export(self.video("a cat walks on the beach at dawn"))
                    strobe.frames(self.size.grid[0])
                self.between()
        return made


@contextlib.contextmanager
def replaced(owner, name, value):
    was = getattr(owner, name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, was)
