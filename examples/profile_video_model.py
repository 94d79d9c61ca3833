#!/usr/bin/env python3
"""Profiles a video ViT encoder with random weights: simple benchmark, layer by
layer, memory, precision, detailed trace.

    python3 examples/profile_video_model.py --model-size large --img-size 256 --num-frames 16
    python3 examples/profile_video_model.py --skip-detailed --iterations 20
"""
import argparse
import json
import sys

import strobe
import torch
from strobe import nn as profile
from strobe.compat import PyTorchProfiler
from torch import nn

SIZES = {"tiny": (192, 4, 3), "large": (1024, 24, 16), "huge": (1280, 32, 16), "giant": (1408, 40, 22)}


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = nn.MultiheadAttention(width, heads, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        y = self.norm1(x)
        x = x + self.attention(y, y, y, need_weights=False)[0]
        return x + self.mlp(self.norm2(x))


class PositionEmbedding(nn.Module):
    def __init__(self, tokens, width):
        super().__init__()
        self.table = nn.Parameter(torch.zeros(1, tokens, width))

    def forward(self, x):
        return x + self.table


class VideoEncoder(nn.Module):
    """Tubelets of 2 x 16 x 16 pixels, then transformer blocks."""

    def __init__(self, size, image, frames):
        super().__init__()
        width, depth, heads = SIZES[size]
        tokens = (frames // 2) * (image // 16) ** 2
        self.patch_embed = nn.Conv3d(3, width, (2, 16, 16), (2, 16, 16))
        self.pos_embed = PositionEmbedding(tokens, width)
        self.blocks = nn.ModuleList([Block(width, heads) for _ in range(depth)])
        self.norm = nn.LayerNorm(width)

    def forward(self, video):
        x = self.pos_embed(self.patch_embed(video).flatten(2).transpose(1, 2))
        for block in self.blocks:
            x = block(x)
        return self.norm(x)


def title(text):
    print("\n%s\n%s\n%s" % ("=" * 60, text, "=" * 60))


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--model-size", choices=list(SIZES), default="large")
    parser.add_argument("--img-size", type=int, default=256, help="pixels, a multiple of 16 (default: 256)")
    parser.add_argument("--num-frames", type=int, default=16, help="even (default: 16)")
    parser.add_argument("--batch-size", type=int, default=1)
    parser.add_argument("--device", default="cuda", help="cuda (falls back to cpu) or cpu")
    parser.add_argument("--iterations", type=int, default=50)
    parser.add_argument("--skip-detailed", action="store_true", help="the simple benchmark only")
    parser.add_argument("--output", metavar="FILE", help="write the numbers as JSON")
    args = parser.parse_args()
    if args.img_size < 16 or args.img_size % 16 or args.num_frames < 2 or args.num_frames % 2:
        parser.error("--img-size is a multiple of 16, --num-frames is even")
    if min(args.batch_size, args.iterations) < 1:
        parser.error("--batch-size and --iterations are at least 1")
    if args.device.startswith("cuda") and not torch.cuda.is_available():
        print("no CUDA device here: using the cpu", file=sys.stderr)
        args.device = "cpu"
    return args


def main():
    args = arguments()
    strobe.start("profile_video_model", tags={"model_size": args.model_size, "device": args.device})
    with strobe.section("load"):
        model = VideoEncoder(args.model_size, args.img_size, args.num_frames).to(args.device).eval()
    video = torch.randn(args.batch_size, 3, args.num_frames, args.img_size, args.img_size, device=args.device)
    print(profile.describe(model, args.model_size))
    result = {"arguments": vars(args)}

    def call():
        with torch.no_grad():
            return model(video)

    title("Simple Benchmark (%d iterations after 5 warm-ups)" % args.iterations)
    timing = profile.benchmark(call, args.iterations, 5, "encode", torch.device(args.device))
    print(timing)
    frames = timing.clips_per_second * args.batch_size * args.num_frames
    print("  %-8s %8.2f frames/s" % ("", frames))
    print("  %-8s batch=%d, frames=%d, %dx%d" % ("Clip:", args.batch_size, args.num_frames, args.img_size, args.img_size))
    result["benchmark"] = {"mean_ms": timing.mean_ms, "median_ms": timing.median_ms, "std_ms": timing.std_ms,
                           "min_ms": timing.min_ms, "max_ms": timing.max_ms,
                           "clips_per_second": timing.clips_per_second, "frames_per_second": frames}
    if not args.skip_detailed:
        detailed(model, video, args, result)
    if args.output:
        with open(args.output, "w") as file:
            json.dump(result, file, indent=1)
        print("\nWritten: %s" % args.output)
    print("\n%s" % strobe.stop().path)


def detailed(model, video, args, result):
    title("Layer-by-Layer Profiling")
    layers = profile.profile_layers(model, video, iterations=min(args.iterations, 10))
    print(layers)
    result["layers"] = layers.as_dict()
    title("Memory Profile")
    memory = profile.memory_profile(model, video)
    print(memory)
    result["memory"] = memory.as_dict()
    title("Precision Comparison (%d iterations each)" % min(args.iterations, 20))
    precision = profile.compare_precision(model, video, iterations=min(args.iterations, 20))
    print(precision)
    result["precision"] = {name: {"mean_ms": t.mean_ms, "std_ms": t.std_ms} for name, t in precision.timings.items()}
    title("Detailed Profile")
    with torch.no_grad(), PyTorchProfiler(output_dir="profiling_results").profile("video_model"):
        model(video)


if __name__ == "__main__":
    main()
