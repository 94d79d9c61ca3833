"""When a device's memory runs out: what torch's allocator says, and what was resident, without a GPU."""
import gc

import pytest

from strobe import _out_of_memory
from strobe.nn import oom

GB = 1 << 30


class Tensor:
    def __init__(self, size, dtype="torch.bfloat16", device="cuda", at=None):
        self.size, self.dtype, self.at = size, dtype, at or id(self)
        self.device = type("Device", (), {"type": device, "index": 0})

    def numel(self):
        return self.size // 2

    def element_size(self):
        return 2

    def data_ptr(self):
        return self.at


class Torch:
    class nn:
        class Module:
            def __init__(self, *tensors, **parts):
                self._modules, self.tensors = parts, list(tensors)

            def parameters(self):
                return self.tensors + [t for part in self._modules.values() for t in part.parameters()]

            def buffers(self):
                return []

    class _C:
        observers = []
        _cuda_attach_out_of_memory_observer = observers.append

    class cuda:
        @staticmethod
        def memory_stats_as_nested_dict(device):
            return {"allocated_bytes": {"all": {"current": 60 * GB}}, "reserved_bytes": {"all": {"current": 64 * GB}}, "num_alloc_retries": 1}


class Transformer(Torch.nn.Module):
    pass


class Encoder(Torch.nn.Module):
    pass


@pytest.fixture
def told(monkeypatch):
    events = []
    monkeypatch.setattr(_out_of_memory, "native", type("Native", (), {
        "event": staticmethod(lambda name, **facts: events.append((name, facts))), "tracked": staticmethod(_out_of_memory.native.tracked)}))
    _out_of_memory.forget()
    gc.collect()
    return events


def test_what_was_asked_for_and_by_which_line(told):
    _out_of_memory.watch(Torch)
    Torch._C.observers[-1](0, 8 * GB, 80 * GB, GB)
    name, facts = told[0]
    assert name == "out_of_memory"
    assert (facts["requested_bytes"], facts["free_bytes"], facts["device"], facts["retries"]) == (8 * GB, GB, 0, 1)
    assert facts["file"] == __file__


def test_residents_add_up_to_what_the_device_has_in_use(told):
    shared = Tensor(GB)
    transformer = Transformer(Tensor(28 * GB), block=Torch.nn.Module(Tensor(2 * GB, "torch.float32"), shared))
    encoder = Encoder(Tensor(10 * GB), shared, Tensor(5 * GB, device="cpu"))
    rows = _out_of_memory.residents(Torch, 0, 80 * GB, GB, 60 * GB, 64 * GB)
    assert sum(size for _, size, _ in rows) == 79 * GB
    found = {(name, dtype): size for name, size, dtype in rows}
    assert found["weights of Transformer", "float32"] == 2 * GB
    both = found["weights of Transformer", "bfloat16"] + found["weights of Encoder", "bfloat16"]
    assert both == 39 * GB  # the shared tensor once, what is on the CPU not
    assert found["allocator slack", None] == 4 * GB
    assert found["activations and other tensors", None] == 19 * GB
    del transformer, encoder


def test_a_program_that_tries_again_and_again_is_told_of_sixteen_times(told):
    for _ in range(40):
        _out_of_memory.seen(Torch, 0, GB, 80 * GB, 0)
    assert sum(name == "out_of_memory" for name, _ in told) == 16


def test_the_size_in_torchs_words():
    assert oom.requested(RuntimeError("CUDA out of memory. Tried to allocate 20.00 MiB. GPU 0 has")) == 20 << 20
    assert oom.requested(RuntimeError("CUDA out of memory. Tried to allocate 1.50 GiB (GPU 0)")) == 3 << 29
    assert oom.requested(MemoryError()) is None
