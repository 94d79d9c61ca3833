"""When a device's memory runs out: what torch's allocator says, and what was resident, without a GPU."""
import gc
import json
import os
import subprocess
import sys

import pytest

from strobe import _tool
from strobe._memory import errors, growth, out_of_memory, retries
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

            def modules(self):
                return [self] + [inner for part in self._modules.values() for inner in part.modules()]

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
    monkeypatch.setattr(out_of_memory, "native", type("Native", (), {
        "event": staticmethod(lambda name, **facts: events.append((name, facts))), "tracked": staticmethod(out_of_memory.native.tracked),
        "gpu_trace_keep": staticmethod(lambda *of: None)}))
    out_of_memory.forget()
    gc.collect()
    return events


def test_what_was_asked_for_and_by_which_line(told):
    out_of_memory.watch(Torch)
    Torch._C.observers[-1](0, 8 * GB, 80 * GB, GB)
    name, facts = told[0]
    assert name == "out_of_memory"
    assert (facts["requested_bytes"], facts["free_bytes"], facts["device"], facts["retries"]) == (8 * GB, GB, 0, 1)
    assert facts["file"] == __file__


def test_fragments_and_the_programs_own_limit(told, monkeypatch):
    stats = Torch.cuda.memory_stats_as_nested_dict(0)
    stats.update(inactive_split_bytes={"all": {"current": 3 * GB}}, inactive_split={"all": {"current": 2}})
    block = lambda size, state="inactive": {"size": size, "state": state}  # noqa: E731
    segments = [{"device": 0, "blocks": [block(GB), block(9 * GB, "active_allocated"), block(2 * GB)]}, {"device": 1, "blocks": [block(5 * GB)]}]
    monkeypatch.setattr(Torch.cuda, "memory_stats_as_nested_dict", staticmethod(lambda device: stats))
    monkeypatch.setattr(Torch.cuda, "memory_snapshot", staticmethod(lambda: segments), raising=False)
    monkeypatch.setattr(Torch.cuda, "get_per_process_memory_fraction", staticmethod(lambda device: 0.5), raising=False)
    properties = type("Properties", (), {"total_memory": 80 * GB})
    monkeypatch.setattr(Torch.cuda, "get_device_properties", staticmethod(lambda device: properties), raising=False)
    out_of_memory.seen(Torch, 0, 8 * GB, 40 * GB, GB)  # torch gives the limit as the device's memory
    facts = told[0][1]
    assert facts["limit_bytes"] == 40 * GB and facts["total_bytes"] == 80 * GB and facts["fragmented_bytes"] == 3 * GB
    assert facts["piece_count"] == 2 and facts["largest_piece_bytes"] == 2 * GB


def test_residents_add_up_to_what_the_device_has_in_use(told):
    shared = Tensor(GB)
    transformer = Transformer(Tensor(28 * GB), block=Torch.nn.Module(Tensor(2 * GB, "torch.float32"), shared))
    encoder = Encoder(Tensor(10 * GB), shared, Tensor(5 * GB, device="cpu"))
    rows = out_of_memory.residents(Torch, 0, 80 * GB, GB, 60 * GB, 64 * GB)
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
        out_of_memory.seen(Torch, 0, GB, 80 * GB, 0)
    assert sum(name == "out_of_memory" for name, _ in told) == 16


def test_the_size_in_torchs_words():
    assert oom.requested(RuntimeError("CUDA out of memory. Tried to allocate 20.00 MiB. GPU 0 has")) == 20 << 20
    assert oom.requested(RuntimeError("CUDA out of memory. Tried to allocate 1.50 GiB (GPU 0)")) == 3 << 29
    assert oom.requested(MemoryError()) is None
    assert oom.requested(MemoryError("Unable to allocate 74.5 GiB for an array with shape (100000, 100000)")) == int(74.5 * GB)
    error = RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 4096 bytes. Error code 12")
    assert oom.is_out_of_memory(error) and oom.requested(error) == 4096


# ---- an exception leaves a section ----

def test_memory_of_the_host_that_runs_out_is_told_once_with_its_line(program):
    done = program("""
        import resource, strobe
        with open("/proc/self/status") as status:
            used = next(int(line.split()[1]) << 10 for line in status if line.startswith("VmData"))
        strobe.start("test")
        resource.setrlimit(resource.RLIMIT_DATA, (used + (256 << 20), resource.RLIM_INFINITY))
        for _ in range(2):
            try:
                with strobe.generation(frames=8):
                    with strobe.section("vae_decode"):
                        bytearray(1 << 30)  # asked for here
            except MemoryError:
                pass
        strobe.stop()
        """)
    made = subprocess.run([_tool.path(), "report", done.run_dir, "--format", "json"], stdout=subprocess.PIPE, check=True)
    report = json.loads(made.stdout)
    panel = report["out_of_memory"]
    assert (panel["count"], panel["stage"], panel["line"]) == (2, "vae_decode", 11)  # each once, though two sections saw it
    assert panel["file"].endswith("program.py") and panel["free_bytes"] < 1 << 30 and "device_index" not in panel
    assert "other memory of the process" in [part["component"] for part in panel["residents"]]
    assert report["recommendations"][0]["id"] == "out_of_memory"
    assert report["recommendations"][0]["issue"].startswith("memory ran out in 'vae_decode': ")


def test_nothing_is_loaded_while_an_error_of_the_program_is_on_its_way(program, tmp_path):
    (tmp_path / "torch.py").write_text("")
    done = program("""
        import sys, strobe
        strobe.start("test")
        class Finder:
            def find_spec(name, path=None, target=None):
                print("looked for", name)
        def fail(error):
            sys.meta_path.insert(0, Finder)
            try:
                with strobe.section("vae_decode"):
                    raise error
            except type(error) as error:
                print(repr(error))
            sys.meta_path.remove(Finder)
        fail(RuntimeError("no such frame"))
        sys.path.insert(0, %r)
        import torch
        fail(RuntimeError("can't allocate memory"))
        fail(MemoryError())
        strobe.stop()
        """ % str(tmp_path))
    assert done.stdout.splitlines() == ["RuntimeError('no such frame')", 'RuntimeError("can\'t allocate memory")', "MemoryError()"]


CAUGHT_INSIDE = """
    import strobe
    {error}
    def decode():
        {ask}
    strobe.start("test")
    for _ in range(3):
        with strobe.generation(frames=8):
            with strobe.section("vae_decode"):
                try:
                    decode()
                except {kind}:
                    pass
    RuntimeError("can't allocate memory")  # made, not raised
    try:
        raise RuntimeError("no such frame in memory")
    except RuntimeError:
        pass
    strobe.stop()
    """


@pytest.mark.skipif(not hasattr(sys, "monitoring"), reason="CPython tells of errors that are caught since 3.12")
@pytest.mark.parametrize("error, ask, kind, requested", [
    ("", "bytearray(1 << 60)", "MemoryError", None),
    ("", "raise RuntimeError('DefaultCPUAllocator: can\\'t allocate memory: you tried to allocate 4096 bytes. Error code 12')", "RuntimeError", 4096),
    ("class Array(MemoryError): pass", "raise Array('Unable to allocate 74.5 GiB for an array with shape (100000, 100000)')", "MemoryError",
     int(74.5 * GB)),
    ("strobe = __import__('strobe')", "raise type('Array', (MemoryError,), {'__str__': lambda self: 'Unable to allocate 1.50 PiB'})", "Exception",
     3 << 49),
], ids=["memory", "torch", "numpy", "later"])
def test_an_error_that_is_caught_inside_of_its_section_is_told(program, error, ask, kind, requested):
    done = program(CAUGHT_INSIDE.format(error=error, ask=ask, kind=kind))
    made = subprocess.run([_tool.path(), "report", done.run_dir, "--format", "json"], stdout=subprocess.PIPE, check=True)
    panel = json.loads(made.stdout)["out_of_memory"]
    assert (panel["count"], panel["stage"], panel["line"]) == (3, "vae_decode", 5)
    assert panel["file"].endswith("program.py") and panel.get("requested_bytes") == requested


def test_python_that_tells_of_exceptions_is_asked_to(monkeypatch):
    class Monitoring:
        class events:
            RAISE = 1 << 10
        asked = []
        get_tool = staticmethod({3: "a debugger", 4: None}.get)
        use_tool_id = staticmethod(lambda *of: None)
        register_callback = staticmethod(lambda *of: Monitoring.asked.append(of))
        set_events = staticmethod(lambda *of: Monitoring.asked.append(of))
    monkeypatch.setattr(sys, "monitoring", Monitoring, raising=False)
    errors.watch()
    assert Monitoring.asked == [(4, 1 << 10, errors.native.memory_error_raised), (4, 1 << 10)]


def test_errors_of_imports_that_name_memory_are_left_alone(program):
    """Python makes and catches such an error where two threads import; an import in the middle of that may wait forever."""
    done = program("""
        import strobe, sys
        strobe.start("test")
        with strobe.section("decode"):
            try:
                raise RuntimeError("deadlock detected by _ModuleLock('strobe._memory.growth') at 140")
            except RuntimeError:
                pass
        print("strobe._memory.out_of_memory" in sys.modules)
        strobe.stop()
        """)
    assert "False" in done.stdout


def test_types_of_errors_are_left_as_they_are(program):
    """Their memory, word by word: a function that is replaced in one shows. Python refuses the __new__ of a class whose
    C function is not the one of the class that is made."""
    done = program("""
        import ctypes

        def words(kind):
            all = list((ctypes.c_size_t * 41).from_address(id(kind)))
            return all[3:21] + all[22:33] + all[34:]  # without its flags and what it holds

        kinds = [BaseException, Exception, MemoryError, RuntimeError, OSError, KeyError]
        before = [words(kind) for kind in kinds]
        import strobe
        strobe.start("test")
        with strobe.section("decode"):
            pass
        print([kind.__name__ for kind, then in zip(kinds, before) if words(kind) != then])

        class Odd(RuntimeError):
            def __new__(cls, *words):
                return Exception.__new__(cls, *words)

        class Odder(Odd, KeyError):
            pass

        class Plain(ValueError, RuntimeError):
            def __new__(cls, *words):
                return BaseException.__new__(cls, *words)

        print([repr(BaseException.__new__(kind, "x")) for kind in (Exception, RuntimeError, KeyError, RecursionError)])
        print([str(kind("x")) for kind in (Odd, Plain)], str(Odder("y")))
        strobe.stop()
        """)
    assert done.stdout == """[]\n[\"Exception('x')\", \"RuntimeError('x')\", \"KeyError('x')\", \"RecursionError('x')\"]\n['x', 'x'] 'y'\n"""


def test_an_error_that_python_tells_of_is_seen_once(program):
    done = program("""
        import strobe
        from strobe._native import native
        strobe.start("test")
        with strobe.section("decode"):
            try:
                raise OSError("cannot allocate memory")
            except OSError as error:
                native.memory_error_raised(None, 0, error)
            try:
                raise RuntimeError("unable to allocate 1 MiB")
            except RuntimeError as error:
                for _ in range(3):
                    native.memory_error_raised(None, 0, error)
        strobe.stop()
        """)
    made = subprocess.run([_tool.path(), "report", done.run_dir, "--format", "json"], stdout=subprocess.PIPE, check=True)
    panel = json.loads(made.stdout)["out_of_memory"]
    assert (panel["count"], panel["stage"], panel["requested_bytes"]) == (1, "decode", 1 << 20)


@pytest.mark.parametrize("imports", ["import strobe; strobe.start()", "pass"], ids=["recording", "plain"])
def test_memory_that_runs_out_in_no_section_is_told_with_its_line(tmp_path, imports):
    (tmp_path / "program.py").write_text(imports + "\n\n\ndef work():\n    return bytearray(1 << 60)\n\n\nwork()\n")
    done = subprocess.run([_tool.path(), "run", "-q", "-o", "runs", "--", sys.executable, "program.py"], cwd=tmp_path, text=True,
                          stderr=subprocess.PIPE)
    assert done.returncode == 1 and "MemoryError" in done.stderr
    made = subprocess.run([_tool.path(), "report", "runs/last", "--format", "json"], cwd=tmp_path, stdout=subprocess.PIPE, check=True)
    report = json.loads(made.stdout)
    panel = report["out_of_memory"]
    assert (panel["count"], os.path.basename(panel["file"]), panel["line"]) == (1, "program.py", 5) and "stage" not in panel
    assert report["recommendations"][0]["id"] == "out_of_memory"


def test_other_errors_are_left_alone(told, monkeypatch):
    monkeypatch.setattr(out_of_memory.native, "recording", staticmethod(lambda: True), raising=False)
    out_of_memory.raised(RuntimeError("shapes differ"), None)
    out_of_memory.raised(ValueError("memory"), None)
    assert told == []


def test_cuda_without_torch_says_what_was_asked_for(told, monkeypatch):
    monkeypatch.setattr(out_of_memory.native, "recording", staticmethod(lambda: True), raising=False)
    out_of_memory.raised(MemoryError("Out of memory allocating 1,073,741,824 bytes (CUDA)"), None)
    (name, facts), = told
    assert (name, facts["requested_bytes"], facts["device"]) == ("out_of_memory", GB, 0)


def test_the_size_in_the_words_of_others():
    assert out_of_memory.requested("[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried to allocate 4096 bytes.") == 4096
    assert out_of_memory.requested("Unable to allocate 4.00 GiB for an array with shape (1024, 1048576)") == 4 * GB
    assert out_of_memory.requested("Tried to allocate 20.00 MiB. GPU 0 has") == 20 << 20
    assert out_of_memory.requested("") is None


# ---- the allocator tries again, and nothing fails ----

class Allocator:
    """torch's, as its statistics show it."""

    def __init__(self):
        self.retries = self.errors = self.given_back = 0
        self.allocated, self.reserved = 60 * GB, 78 * GB
        self.calls = 0

    def stats(self, device):
        self.calls += 1
        return {"allocated_bytes": {"all": {"current": self.allocated, "peak": self.allocated}},
                "reserved_bytes": {"all": {"current": self.reserved, "peak": self.reserved, "freed": self.given_back}},
                "num_alloc_retries": self.retries, "num_ooms": self.errors}

    def tries_again(self, times=1, errors=0):
        self.retries, self.errors = self.retries + times, self.errors + errors
        self.given_back, self.allocated, self.reserved = self.given_back + 18 * GB, 70 * GB, 71 * GB


@pytest.fixture
def allocator(monkeypatch):
    made, events = Allocator(), []
    made.told = lambda name: [facts for of, facts in events if of == name]
    torch = type("Torch", (Torch,), {"cuda": type("cuda", (), {
        "is_initialized": staticmethod(lambda: True), "device_count": staticmethod(lambda: 1), "memory_stats_as_nested_dict": made.stats,
        "mem_get_info": staticmethod(lambda device: (7 * GB, 80 * GB))})})
    monkeypatch.setitem(sys.modules, "torch", torch)
    native = type("Native", (), {"event": staticmethod(lambda name, **facts: events.append((name, facts))),
                                 "snapshot": staticmethod(lambda *values: None), "tracked": staticmethod(out_of_memory.native.tracked)})
    for module in growth, retries, out_of_memory:
        monkeypatch.setattr(module, "native", native)
    growth.forget()
    gc.collect()
    yield made
    growth.forget()


def test_retries_of_the_allocator_are_recorded_with_what_held_the_memory(allocator):
    transformer = Transformer(Tensor(28 * GB))
    growth.read(1, 1)
    allocator.tries_again(3)
    growth.read(1, 1)
    growth.read(1, 1)
    facts, = allocator.told("strobe.alloc_retries")
    assert facts.pop("within_ns") > 0
    assert facts == dict(count=3, device=0, allocated_bytes=70 * GB, reserved_bytes=71 * GB, before_allocated_bytes=60 * GB,
                         before_reserved_bytes=78 * GB, given_back_bytes=18 * GB, total_bytes=80 * GB, limit_bytes=None)
    parts = {row["component"]: row["bytes"] for row in allocator.told("strobe.resident") if row["at"] == "alloc_retries"}
    assert parts["weights of Transformer"] == 28 * GB and parts["allocator slack"] == GB
    assert sum(parts.values()) == 73 * GB
    assert allocator.calls == 3  # one for each reading
    del transformer


def test_a_retry_that_ends_in_an_error_is_told_by_the_error_alone(allocator):
    growth.read(1, 1)
    allocator.tries_again(2, errors=2)
    growth.read(1, 1)
    assert not allocator.told("strobe.alloc_retries")
    allocator.tries_again(3, errors=1)
    growth.read(1, 1)
    assert [facts["count"] for facts in allocator.told("strobe.alloc_retries")] == [2]


def test_retries_before_the_recording_have_no_stage_and_a_reset_is_none(allocator):
    allocator.tries_again(5)
    growth.read(1, 1)
    allocator.retries = 0  # torch.cuda.reset_accumulated_memory_stats()
    growth.read(1, 1)
    assert not allocator.told("strobe.alloc_retries")
    allocator.tries_again()
    growth.read(1, 1)
    assert [facts["count"] for facts in allocator.told("strobe.alloc_retries")] == [1]


def test_what_the_allocator_gave_back_between_two_readings_is_recorded(allocator):
    allocator.given_back = 3 * GB
    growth.read(1, 1)
    growth.read(1, 1)
    assert not allocator.told("strobe.given_back")  # before the recording, and nothing since
    allocator.given_back += GB  # torch.cuda.empty_cache()
    growth.read(1, 1)
    growth.read(1, 1)
    assert allocator.told("strobe.given_back") == [dict(bytes=GB, device=0)]


def test_what_held_the_memory_is_listed_sixteen_times_at_most(allocator):
    growth.read(1, 1)
    for _ in range(40):
        allocator.tries_again()
        growth.read(1, 1)
    assert len(allocator.told("strobe.alloc_retries")) == 40
    assert [row["set"] for row in allocator.told("strobe.resident") if row["component"] == "allocator slack"] == list(range(1, 17))
