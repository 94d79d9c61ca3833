"""Caches of real frameworks are found by what holds them."""
import pathlib
import sys

from conftest import strobe_run

PROGRAM = """
import sys
sys.path.insert(0, %r)
import torch
import tiny
from diffusers import FirstBlockCacheConfig
from transformers import LlamaConfig, LlamaForCausalLM
from strobe._memory import caches

model = LlamaForCausalLM(LlamaConfig(hidden_size=64, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4, vocab_size=32)).eval()
with torch.no_grad():
    model.generate(torch.ones(1, 5, dtype=torch.long), max_new_tokens=4, do_sample=False)
    from transformers import DynamicCache
    cache = DynamicCache()
    model(torch.ones(1, 8, dtype=torch.long), past_key_values=cache, use_cache=True)
    held = sum(part.nbytes for layer in cache.layers for part in (layer.keys, layer.values))
    print("KV", [(component, size == held > 0) for (component, device), size in caches.sizes().items() if device is None])
    del cache
    transformer = tiny.wan_transformer()
    transformer.enable_cache(FirstBlockCacheConfig(threshold=0.1))
    with transformer.cache_context("cond"):
        for _ in range(2):
            transformer(torch.randn(1, 16, 3, 8, 8), torch.tensor([1]), torch.randn(1, 5, 32), return_dict=False)
    print("first", {component: size > 0 for component, _ in caches.sizes() for size in [caches.sizes()[component, None]]})
"""


def test_keys_and_values_and_the_first_block_are_found(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM % str(pathlib.Path(__file__).parent))
    seen = strobe_run(tmp_path, sys.executable, "program.py").stdout
    assert "KV [('KV cache of LlamaForCausalLM', True)]" in seen, seen
    assert "'first-block cache': True" in seen, seen
