"""Unmodified training loops with torch and accelerate. They count what they do themselves.
usage: program_training.py RESULT.json"""
import collections
import json
import os
import sys

import accelerate
import torch
import torch._dynamo.callback
from peft import LoraConfig
from torch.utils.checkpoint import checkpoint
from torch.utils.data import DataLoader, TensorDataset

import tiny
from counting import digest

torch.set_num_threads(1)
counts = collections.Counter()
trained = []


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(8, 8)

    def forward(self, x):
        return torch.tanh(self.linear(x))


class Net(torch.nn.Module):
    def __init__(self, reentrant=None):
        super().__init__()
        torch.manual_seed(0)
        self.blocks, self.reentrant = torch.nn.ModuleList(Block() for _ in range(2)), reentrant

    def forward(self, x):
        for block in self.blocks:
            x = block(x) if self.reentrant is None else checkpoint(block, x, use_reentrant=self.reentrant)
        return x


def batches(count):
    data = torch.randn(2 * count, 8, generator=torch.Generator().manual_seed(1))
    return DataLoader(TensorDataset(data), batch_size=2)


def back(loss, call=torch.Tensor.backward):
    counts["backward"] += 1
    call(loss)


def step(optimizer, *arguments):
    counts["optimizer"] += 1
    optimizer.step(*arguments)


def turn(optimizer, *arguments):
    counts["training_step"] += 1
    step(optimizer, *arguments)


def loss_of(net, x):
    return (net(x) - x).square().mean()


def keep(net):
    trained.append(digest(list(net.parameters())))


def accumulating():
    net = Net()
    optimizer = torch.optim.AdamW(net.parameters(), lr=0.01)
    for i, (x,) in enumerate(batches(8)):
        back(loss_of(net, x) / 4, torch.autograd.backward if i == 0 else torch.Tensor.backward)
        if i % 4 == 3:
            turn(optimizer)
            optimizer.zero_grad()
    keep(net)


def with_accelerate():
    net = Net()
    helper = accelerate.Accelerator(cpu=True, gradient_accumulation_steps=2)
    wrapped, optimizer, loader = helper.prepare(net, torch.optim.SGD(net.parameters(), lr=0.01), batches(6))
    for x, in loader:
        with helper.accumulate(wrapped):
            back(loss_of(wrapped, x), helper.backward)
            if helper.sync_gradients:
                counts["optimizer"] += 1
                counts["training_step"] += 1
            optimizer.step()
            optimizer.zero_grad()
    keep(net)


def checkpointed(reentrant):
    """The blocks are called again in the backward pass, with a pass of their own inside it where reentrant."""
    net = Net(reentrant)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    for x, in batches(3):
        back(loss_of(net, x.requires_grad_()))
        turn(optimizer)
        optimizer.zero_grad()
    keep(net)


def two_optimizers():
    net = Net()
    first, second = (torch.optim.SGD(block.parameters(), lr=0.01) for block in net.blocks)
    for x, in batches(3):
        back(loss_of(net, x))
        turn(first)
        step(second)
        net.zero_grad()
    keep(net)


def under_a_mode():
    """torch calls its own backward() again for what it does in a mode."""
    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    with torch.device("cpu"):
        for x, in batches(2):
            back(loss_of(net, x), torch.autograd.backward)
            turn(optimizer)
    keep(net)


def adapter():
    """LoRA of a video model, with a VAE and no pipeline."""
    transformer, vae = tiny.wan_transformer(), tiny.wan_vae().requires_grad_(False)
    transformer.requires_grad_(False)
    transformer.add_adapter(LoraConfig(r=2, target_modules=["to_q", "to_v"], init_lora_weights=False))
    transformer.enable_gradient_checkpointing()
    trained_ones = [p for p in transformer.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(trained_ones, lr=0.01)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer)
    generator = torch.Generator().manual_seed(0)
    for _ in range(2):
        counts["vae_encode"] += 1
        with torch.no_grad():
            latents = vae.encode(torch.randn(1, 3, 5, 16, 16, generator=generator)).latent_dist.mode()
        noise = torch.randn(latents.shape, generator=generator)
        made = transformer(latents + noise, torch.tensor([500]), torch.randn(1, 4, 32, generator=generator)).sample
        back((made - noise).square().mean())
        turn(optimizer)
        schedule.step()
        optimizer.zero_grad()
    trained.append(digest(trained_ones))


class Twice(torch.optim.SGD):
    """Made from an optimizer whose step it calls."""

    def step(self, closure=None):
        return super().step(closure)


def made_from_another():
    net = Net()
    torch.optim.SGD(net.parameters(), lr=0.01)  # so that its step has torch's hooks too
    optimizer = Twice(net.parameters(), lr=0.01)
    for x, in batches(2):
        back(loss_of(net, x))
        turn(optimizer)
    keep(net)


def by_closure():
    net = Net()
    optimizer, (x,) = torch.optim.LBFGS(net.parameters(), max_iter=3), next(iter(batches(1)))

    def closure():
        optimizer.zero_grad()
        loss = loss_of(net, x)
        counts["inside"] += 1
        back(loss)
        return loss
    turn(optimizer, closure)
    keep(net)


class Raising(torch.optim.SGD):
    raises = True

    def step(self, closure=None):
        if self.raises:
            raise RuntimeError("no memory for its state")
        return super().step(closure)


def raising():
    net = Net()
    optimizer = Raising(net.parameters(), lr=0.01)
    for x, in batches(2):
        back(loss_of(net, x))
        try:
            optimizer.step()
        except RuntimeError:
            counts["optimizer"] += 1
            optimizer.raises = False
            net(x)  # not in that step
        else:
            counts["optimizer"] += 1
            counts["training_step"] += 1
    keep(net)


def inside_backward():
    """Each parameter has an optimizer that steps as soon as its gradient is there: that is part of the backward pass."""
    net = Net()
    each = {p: torch.optim.SGD([p], lr=0.01) for p in net.parameters()}
    for p in net.parameters():
        p.register_post_accumulate_grad_hook(lambda p: each[p].step())
    for x, in batches(2):
        back(loss_of(net, x))
    keep(net)


def compiled():
    """Inside a graph nothing is recorded; the graphs are the ones without strobe."""
    graphs = []
    torch._dynamo.callback.on_compile_start(lambda *_: graphs.append(1))
    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    fast, fast_step = torch.compile(net, backend="eager"), torch.compile(optimizer.step, backend="eager")
    for x, in batches(3):
        back(loss_of(fast, x))
        fast_step()
        optimizer.zero_grad()
    keep(net)
    return len(graphs)


def compiled_whole():
    """Of a graph that breaks, dynamo sees what is called between its parts: nothing of strobe's."""
    torch._dynamo.reset()
    net, seen, began = Net(), set(), torch._dynamo.convert_frame.ConvertFrame.__call__
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)

    def begin(self, frame, *rest, **more):
        seen.add(frame.f_code.co_filename)
        return began(self, frame, *rest, **more)
    torch._dynamo.convert_frame.ConvertFrame.__call__ = begin

    @torch.compile(backend="eager")
    def whole(x):
        back(loss_of(net, x))
        optimizer.step()
        optimizer.zero_grad()
    for x, in batches(3):
        whole(x)
    torch._dynamo.convert_frame.ConvertFrame.__call__ = began
    keep(net)
    return sorted({os.path.relpath(name, os.path.dirname(torch.__file__)) for name in seen})


def main():
    accumulating()
    with_accelerate()
    checkpointed(False)
    checkpointed(True)
    two_optimizers()
    under_a_mode()
    adapter()
    made_from_another()
    by_closure()
    raising()
    inside_backward()
    graphs, looked_at = compiled(), compiled_whole()
    return dict(counts=counts, looked_at=looked_at, digest=trained, graphs=graphs)


if __name__ == "__main__":
    with open(sys.argv[1], "w") as out:
        json.dump(main(), out)
