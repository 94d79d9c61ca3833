"""An unmodified program without a framework: a model, a data loader, a checkpoint, a compiled model.
usage: program_torch.py RESULT.json"""
import json
import os
import sys

import safetensors.torch
import torch
import torch._dynamo.callback
from torch.utils.data import DataLoader, TensorDataset

from counting import digest

torch.set_num_threads(1)


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(16, 16)

    def forward(self, x):
        return torch.relu(self.linear(x))


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = torch.nn.Sequential(*[Block() for _ in range(3)])

    def forward(self, x):
        return self.blocks(x)


class Large(torch.nn.Module):
    """101 MiB of parameters."""

    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.empty(101 << 18))


def prepare(x):
    return x * 2


def main():
    torch.manual_seed(0)
    net, calls, compiles = Net().eval(), [], []
    net.register_forward_pre_hook(lambda *_: calls.append(1))
    torch.save(net.state_dict(), "net.pt")
    safetensors.torch.save_file(net.state_dict(), "net.safetensors")
    net.load_state_dict(torch.load("net.pt"))
    net.load_state_dict(safetensors.torch.load_file("net.safetensors"))
    data = TensorDataset(torch.randn(10, 16, generator=torch.Generator().manual_seed(0)))
    with torch.no_grad():
        outputs = [net(prepare(batch)) for batch, in DataLoader(data, batch_size=2)]
        torch._dynamo.callback.on_compile_start(lambda *_: compiles.append(1))
        fast = torch.compile(net, backend="eager")
        outputs.append(fast(prepare(data.tensors[0])))
    Large().to("cpu")      # is there already
    Large().to("meta")
    return dict(digest=digest(outputs), forwards=len(calls), compiles=len(compiles),
                loads=[os.path.getsize("net.pt"), os.path.getsize("net.safetensors")])


if __name__ == "__main__":
    if len(sys.argv) > 1:
        with open(sys.argv[1], "w") as out:
            json.dump(main(), out)
    else:
        print(main()["forwards"])
