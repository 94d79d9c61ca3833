"""A small sequence-parallel DiT in the manner of Ulysses: every rank has a part of the tokens, all-to-all before and
after attention gives it a part of the heads. usage: program_sequence_parallel.py slow|late|frames|even"""
import sys
import time

import torch
import torch.distributed as dist

import strobe

STEPS, DIM, HEADS, TOKENS = 12, 64, 4, 64


def exchange(x, size, scatter, gather):
    """Parts of one dimension for parts of another, between all ranks of a group."""
    parts = [part.contiguous() for part in x.chunk(size, dim=scatter)]
    got = [torch.empty_like(part) for part in parts]
    for i, part in enumerate(parts):  # gloo has no all_to_all: each rank in turn gathers its part
        if i == dist.get_rank():
            dist.gather(part, got, dst=i)
        else:
            dist.gather(part, dst=i)
    return torch.cat(got, dim=gather)


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv, self.out = torch.nn.Linear(DIM, 3 * DIM), torch.nn.Linear(DIM, DIM)

    def forward(self, x, size):
        q, k, v = (exchange(t, size, 1, 0) for t in self.qkv(x).unflatten(-1, (HEADS * 3, -1)).chunk(3, dim=1))
        a = torch.nn.functional.scaled_dot_product_attention(*(t.transpose(0, 1) for t in (q, k, v))).transpose(0, 1)
        return x + self.out(exchange(a, size, 0, 1).flatten(1))


def busy(seconds):
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        torch.ones(64, 64) @ torch.ones(64, 64)


def main(planted):
    dist.init_process_group("gloo")
    rank, size = dist.get_rank(), dist.get_world_size()
    halves = [dist.new_group([0, 1]), dist.new_group([2, 3])]
    torch.manual_seed(0)
    blocks = [Block() for _ in range(2)]
    tokens = TOKENS // size
    with torch.no_grad():
        for step in range(STEPS):
            x = torch.randn(tokens, DIM)
            with strobe.section("attention", step=step):
                busy(0.02)
                if planted == "slow" and rank == 2:
                    busy(0.2)  # a throttled GPU, slower than what a busy machine does to a rank
                for block in blocks:
                    x = block(x, size)
            if planted == "late" and rank >= 2:
                with strobe.section("refine"):
                    busy(0.08)  # the second half of the ranks does more
            dist.all_reduce(torch.ones(8), group=halves[rank // 2])
            handle = dist.all_reduce(torch.ones(100_000), async_op=True)
            busy(0.005)
            handle.wait()
        frames = 6 if planted == "frames" and rank == 1 else 2
        for frame in range(frames * 6):
            with strobe.section("vae_decode", frames=1):
                busy(0.06)
        dist.barrier()
    dist.destroy_process_group()


main(sys.argv[1])
