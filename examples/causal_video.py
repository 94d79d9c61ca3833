#!/usr/bin/env python3
"""A causal, block-wise video diffusion pipeline with random weights, decorated as
a user would: text encoder, blocks x denoising steps over a KV cache, VAE decode.

    strobe run -- python3 examples/causal_video.py
    python3 examples/causal_video.py --enable-profiling
"""
import argparse
import math

import strobe
import torch
from torch import nn
from torch.nn import functional as F


class TextEncoder(nn.Module):
    def __init__(self, width, vocabulary=1000):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, width)
        self.layer = nn.TransformerEncoderLayer(width, 4, width * 2, batch_first=True)

    def forward(self, tokens):
        return self.layer(self.embed(tokens))


class Attention(nn.Module):
    """Self-attention over this block's tokens and every block's before it."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x, past):
        batch, tokens, width = x.shape
        q, k, v = self.qkv(x).view(batch, tokens, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        if past is not None:
            k, v = torch.cat([past[0], k], 2), torch.cat([past[1], v], 2)
        weights = (q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])).softmax(-1)
        return self.out((weights @ v).transpose(1, 2).reshape(batch, tokens, width)), (k, v)


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.norm1, self.norm2, self.norm3 = nn.LayerNorm(width), nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention(width, heads)
        self.cross = nn.MultiheadAttention(width, heads, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x, text, past):
        attended, present = self.attention(self.norm1(x), past)
        x = x + attended
        x = x + self.cross(self.norm2(x), text, text, need_weights=False)[0]
        return x + self.mlp(self.norm3(x)), present


class Denoiser(nn.Module):
    def __init__(self, width=128, depth=4, heads=4, channels=4):
        super().__init__()
        self.into = nn.Linear(channels, width)
        self.time = nn.Linear(1, width)
        self.blocks = nn.ModuleList([Block(width, heads) for _ in range(depth)])
        self.out = nn.Linear(width, channels)

    def forward(self, latent, timestep, text, cache):
        x = self.into(latent) + self.time(latent.new_full((1, 1, 1), timestep / 1000.0))
        present = []
        for i, block in enumerate(self.blocks):
            x, kv = block(x, text, cache[i] if cache else None)
            present.append(kv)
        return self.out(x), present


class Decoder(nn.Module):
    """Latent frames to pixels: four output frames each, eight times as large."""

    def __init__(self, channels=4):
        super().__init__()
        self.layers = nn.Sequential(nn.Conv3d(channels, 16, 3, padding=1), nn.SiLU(),
                                    nn.Upsample(scale_factor=(4, 8, 8)), nn.Conv3d(16, 3, 3, padding=1))

    def forward(self, latent):
        return self.layers(latent).clamp(-1, 1)


class CausalVideoPipeline:
    """Each block of latent frames is denoised given the cache of all earlier ones."""

    def __init__(self, device, size=6, block_frames=3, width=128):
        self.device, self.size, self.block_frames = device, size, block_frames
        torch.manual_seed(0)
        with strobe.section("model_initialization"):
            self.text_encoder = TextEncoder(width).to(device).eval()
            self.transformer = Denoiser(width).to(device).eval()
            self.vae = Decoder().to(device).eval()
        strobe.model("denoiser", self.transformer)
        strobe.snapshot("after_load")

    @strobe.profile("text_encode")
    def encode(self, prompt):
        tokens = torch.tensor([[ord(c) % 1000 for c in prompt]], device=self.device)
        return self.text_encoder(tokens)

    @strobe.profile("vae_decode")
    def decode(self, latents):
        frames = latents.shape[1] // (self.size * self.size)
        video = latents.view(1, frames, self.size, self.size, -1).permute(0, 4, 1, 2, 3)
        return self.vae(video)

    def denoise_block(self, index, text, cache, timesteps):
        tokens = self.block_frames * self.size * self.size
        latent = torch.randn(1, tokens, 4, device=self.device)
        for t in strobe.steps(timesteps, name="denoise", block_size=self.block_frames):
            noise, _ = self.transformer(latent, t, text, cache)
            latent = latent - noise * (t / 1000.0) / len(timesteps)
        with strobe.section("update_cache"):
            _, present = self.transformer(latent, 0.0, text, cache)
        strobe.cache("kv_cache", "hit" if cache else "miss", chunk=index,
                     size_bytes=sum(k.numel() * k.element_size() * 2 for k, _ in present))
        return latent, present

    @torch.no_grad()
    def __call__(self, prompt, blocks=5, steps=4):
        timesteps = [1000.0 * (steps - i) / steps for i in range(steps)]
        with strobe.generation(prompt=prompt) as generation:
            text, cache, latents = self.encode(prompt), None, []
            for index in strobe.blocks(blocks, frames=self.block_frames):
                latent, cache = self.denoise_block(index, text, cache, timesteps)
                latents.append(latent)
            video = self.decode(torch.cat(latents, 1))
            strobe.frames(video.shape[2])
            generation.set(frames=video.shape[2], height=video.shape[3], width=video.shape[4])
        return video


def main():
    parser = strobe.add_arguments(argparse.ArgumentParser(description=__doc__.split("\n\n")[0]))
    parser.add_argument("--prompt", default="a lighthouse in the rain")
    parser.add_argument("--blocks", type=int, default=5)
    parser.add_argument("--steps", type=int, default=4)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    args = parser.parse_args()
    strobe.start_from_arguments(args, name="causal_video", tags={"model": "random-causal", "device": args.device})
    pipeline = CausalVideoPipeline(args.device)
    for _ in range(args.profiling_iterations):
        video = pipeline(args.prompt, args.blocks, args.steps)
    strobe.snapshot("end")
    print("%d frames of %dx%d" % (video.shape[2], video.shape[4], video.shape[3]))
    if strobe.recording() and args.enable_profiling:
        print(strobe.stop())


if __name__ == "__main__":
    main()
