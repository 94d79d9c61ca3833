#!/usr/bin/env python3
"""Writes a trace of torch.profiler itself, of the torch that runs this: a small transformer, on the CPU.

usage: make_torch_trace.py OUT.json.gz [stacks] [shapes] [memory]
traces/*.json.gz were made by it with an old and a new torch; a reader must read both.
"""
import gzip
import os
import re
import sys
import tempfile

import torch
from torch.profiler import ProfilerActivity, profile, record_function


class Block(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = torch.nn.LayerNorm(width)
        self.attend = torch.nn.MultiheadAttention(width, 4, batch_first=True)
        self.feed = torch.nn.Sequential(torch.nn.Linear(width, 4 * width), torch.nn.GELU(), torch.nn.Linear(4 * width, width))

    def forward(self, x):
        y = self.norm(x)
        x = x + self.attend(y, y, y, need_weights=False)[0]
        return x + self.feed(self.norm(x))


def main():
    wanted = sys.argv[2:]
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = torch.nn.Sequential(*[Block(32) for _ in range(4)]).eval()
    x = torch.randn(1, 16, 32)
    with torch.no_grad(), profile(activities=[ProfilerActivity.CPU], with_stack="stacks" in wanted, record_shapes="shapes" in wanted,
                                  profile_memory="memory" in wanted) as p:
        for step in range(4):
            with record_function(f"step {step}"):
                model(x)
        p.add_metadata_json("torch_version", f'"{torch.__version__.split("+")[0]}"')
    with tempfile.TemporaryDirectory() as folder:
        plain = os.path.join(folder, "trace.json")
        p.export_chrome_trace(plain)
        with open(plain, "rb") as read:  # older ones write bytes that are no UTF-8 beside Python's stacks
            text = re.sub(rb'"(host_name|traceName)": "[^"]*"', rb'"\1": "here"', read.read())
        with open(sys.argv[1], "wb") as raw, gzip.GzipFile(fileobj=raw, mode="wb", mtime=0, compresslevel=9) as out:
            out.write(text)


main()
