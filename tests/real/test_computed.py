"""What a model computes beside its products, seen while its FLOPs are counted."""
import sys

PROGRAM = """
import torch
import torch.nn.functional as F

class Packed(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("int8", torch.ones(16, 16, dtype=torch.int8))

    def forward(self, x):
        return F.linear(x, self.int8.to(x.dtype))

class Relaid(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList(torch.nn.Conv2d(4, 4, 3, padding=1) for _ in range(3))

    def forward(self, x):
        for layer in self.layers:
            x = layer(x.contiguous(memory_format=torch.channels_last).contiguous())
        return x

class Masked(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Linear(8, 8)
        self.mask = torch.zeros(16, 16)

    def forward(self, x):
        y = F.scaled_dot_product_attention(x, x, self.weight(x), attn_mask=self.mask)
        return F.scaled_dot_product_attention(y, y, y, None)

class Plain(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList(torch.nn.Conv2d(4, 4, 3, padding=1) for _ in range(3))

    def forward(self, x):
        for layer in self.layers:
            x = F.silu(layer(x))
        return x

class Patches(torch.nn.Module):
    # as a transformer for videos: one convolution makes the tokens, the products come after it
    def __init__(self):
        super().__init__()
        self.embed, self.layers = torch.nn.Conv2d(4, 64, 2, 2), torch.nn.ModuleList(torch.nn.Linear(64, 64) for _ in range(4))

    def forward(self, x):
        x = self.embed(x).flatten(2).transpose(1, 2).contiguous()
        for layer in self.layers:
            x = layer(x).transpose(1, 2).contiguous().transpose(1, 2).contiguous()
        return x

models = [(Packed(), torch.zeros(2, 16)), (Relaid(), torch.zeros(1, 4, 8, 8)), (Masked(), torch.zeros(1, 2, 16, 8)),
          (Plain(), torch.zeros(1, 4, 8, 8)), (Patches(), torch.zeros(1, 4, 8, 8))]
with torch.no_grad():
    for model, x in models:
        model(x)
"""


def test_masks_unpacked_weights_and_layouts_are_seen(run):
    report = run(sys.executable, "-c", PROGRAM).report()
    told = {e["attributes"]["component"]: e["attributes"] for e in report["events"] if e["name"] == "torch.computed"}
    assert set(told) == {"Packed", "Relaid", "Masked"}
    assert told["Packed"]["unpacked_ratio"] == 1
    assert told["Packed"]["unpacking_bytes"] == 256 * (1 + 4)  # read in 8 bits, written in 32
    assert told["Relaid"]["relaid_ratio"] >= 1.5
    assert told["Relaid"]["relaid_bytes"] >= 2 * 4 * 64 * 4
    assert (told["Masked"]["attention_count"], told["Masked"]["masked_count"]) == (2, 1)
    assert (told["Masked"]["attention_scores"], told["Masked"]["attention_bits"]) == (2 * 2 * 16 * 16, 32)
    assert told["Masked"]["attention_flops"] == 2 * (2 * 2 * 16 * 16) * (8 + 8)
