"""DDP's own collectives and functional ones, counted by torch's own words about them.
usage: program_ddp.py OUT plain|hooked|functional|raising"""
import hashlib
import json
import sys
import time

import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as functional
from torch.nn.parallel import DistributedDataParallel

STEPS, SLOW_S = 6, 0.05


def model():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(96, 300), torch.nn.BatchNorm1d(300), torch.nn.ReLU(), torch.nn.Linear(300, 800),
                               torch.nn.ReLU(), torch.nn.Linear(800, 10))


def digest(tensors):
    whole = hashlib.sha256()
    for tensor in tensors:
        whole.update(tensor.detach().contiguous().numpy().tobytes())
    return whole.hexdigest()


def counted(state, bucket):
    """A hook of the test's own: an all-reduce of what is in the bucket."""
    state.append(bucket.buffer().numel() * bucket.buffer().element_size())
    work = dist.all_reduce(bucket.buffer().div_(dist.get_world_size()), async_op=True)
    return work.get_future().then(lambda future: future.value()[0])


def train(mode):
    network = model()
    ddp = DistributedDataParallel(network, bucket_cap_mb=0.3)
    buckets = []
    if mode == "hooked":
        ddp.register_comm_hook(buckets, counted)
    optimizer = torch.optim.SGD(ddp.parameters(), lr=0.01)
    torch.manual_seed(dist.get_rank())
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = ddp(torch.randn(8, 96)).square().mean()
        if dist.get_rank() == 1:
            time.sleep(SLOW_S)  # the rank that the others wait for
        loss.backward()
        optimizer.step()
    said = ddp._get_ddp_logging_data()
    sizes = [int(size) for size in str(said.get("rebuilt_bucket_sizes") or said["bucket_sizes"]).split(",")]
    return {"digest": digest(list(network.parameters()) + list(network.buffers())), "bucket_bytes": sizes, "hooked": buckets}


def exchange():
    """What context parallel does: all-to-all and all-gather as functions, waited for where they are used."""
    size, rank = dist.get_world_size(), dist.get_rank()
    torch.manual_seed(rank)
    x = torch.randn(size * 4, 16)
    for _ in range(STEPS):
        gathered = functional.all_gather_tensor(x, 0, dist.group.WORLD)
        total = functional.all_reduce(x, "sum", dist.group.WORLD)
        x = (x + gathered.mean(0) + total).tanh()
    return {"digest": digest([x]), "calls": 2 * STEPS}


def main(out, mode):
    dist.init_process_group("gloo")
    found = exchange() if mode == "functional" else train(mode)
    found["sequence"] = dist.group.WORLD._get_sequence_number_for_group()
    dist.destroy_process_group()
    with open("%s.%d" % (out, found.setdefault("rank", int(__import__("os").environ["RANK"]))), "w") as file:
        json.dump(found, file)


main(*sys.argv[1:])
