"""--gpu-trace=steps:N in programs that never say strobe: the steps that diffusers' calls are
recorded as are counted. The driver and CUPTI are the stand-ins of tests/fake."""
import glob
import json
import os
import subprocess
import sys

import pytest

from test_auto import FAKES

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "gpu"))
import wire  # noqa: E402

TOOL = os.environ.get("STROBE_TOOL", "")
STANDINS = os.path.join(os.path.dirname(HERE), "fake")
FAKE_LIBRARIES = os.path.join(os.path.dirname(TOOL), "tests", "fake")

PROGRAM = """
import torch
import standins
from diffusers import TinyVideoPipeline
from diffusers.pipelines.pipeline_tiny import Transformer

cuda, cupti = standins.load()

forwards = []
def launching(forward):
    def launch(self, *args, **kwargs):
        forwards.append(b"kernel_of_forward_%d" % len(forwards))
        cupti.kernel(cupti.launch(), cupti.now(), cupti.now() + 1000, forwards[-1])
        return forward(self, *args, **kwargs)
    return launch
Transformer.forward = launching(Transformer.forward)
TinyVideoPipeline()("a cat", num_inference_steps=8)
assert len(forwards) == 16
"""


PLAIN_LOOP = """
import torch
import standins

cuda, cupti = standins.load()
calls = []

class Model(torch.nn.Module):
    def forward(self, x):
        calls.append(b"kernel_of_call_%d" % len(calls))
        cupti.kernel(cupti.launch(), cupti.now(), cupti.now() + 1000, calls[-1])
        return x

class Encoder(torch.nn.Module):
    def forward(self, x):
        cupti.kernel(cupti.launch(), cupti.now(), cupti.now() + 1000, b"kernel_of_encoder")
        return x

model, encoder = Model(), Encoder()
for _ in range(2):
    x = encoder(torch.zeros(1))
    for _ in range(6):
        x = model(x)
"""


DECODING = """
from diffusers.pipelines.pipeline_tiny import Decoder
decodes = []
def decoding(forward):
    def launch(self, *args, **kwargs):
        decodes.append(b"kernel_of_decode_%d" % len(decodes))
        cupti.kernel(cupti.launch(), cupti.now(), cupti.now() + 1000, decodes[-1])
        return forward(self, *args, **kwargs)
    return launch
Decoder.forward = decoding(Decoder.forward)
pipeline = TinyVideoPipeline()
pipeline.vae.tiles = 1
for _ in range(3):
    pipeline("a cat", num_inference_steps=8)
"""


def traced(tmp_path, program, spec="steps:3", **settings):
    if not os.path.exists(TOOL) or not glob.glob(FAKE_LIBRARIES + "/libfake_cupti.so"):
        pytest.skip("the tool or the stand-ins are not built")
    (tmp_path / "wan.py").write_text(program)
    environment = {key: value for key, value in os.environ.items() if not key.startswith("STROBE_")}
    environment.update(STROBE_CUDA_PATH=FAKE_LIBRARIES + "/libfake_cuda.so", PYTHONPATH=os.pathsep.join([FAKES, STANDINS]),
                       STROBE_CUPTI_PATH=FAKE_LIBRARIES + "/libfake_cupti.so", STROBE_DEBUG="1")
    environment.update(settings)
    done = subprocess.run([TOOL, "run", "-o", "runs", "--gpu-trace=" + spec, "--", sys.executable, "wan.py"],
                          cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "too few steps" not in done.stdout + done.stderr
    return sorted(kernel.name for kernel in wire.load(str(tmp_path / "runs" / "last")).of("kernel"))


@pytest.mark.parametrize("toggle", ["1", "0"])
def test_the_steps_of_an_unmodified_pipeline_are_counted(tmp_path, torch, toggle):
    # One step of warm-up, then three with two forwards each. Steps that are left out are marked all the same.
    marked = "from strobe._native import native\nassert native.steps_marked() == 8, native.steps_marked()\n"
    assert [name for name in traced(tmp_path, PROGRAM + marked, STROBE_PROFILE_DIFFUSION_STEPS=toggle) if "forward" in name] == \
        ["kernel_of_forward_%d" % i for i in range(2, 8)]


def test_a_loop_without_steps_has_calls_of_its_model_traced(tmp_path, torch):
    # two calls before it is known, one of warm-up, then three
    assert traced(tmp_path, PLAIN_LOOP) == ["kernel_of_call_%d" % i for i in range(3, 6)] + ["kernel_of_encoder"]


MARKED = PLAIN_LOOP[:PLAIN_LOOP.index("for _ in range(2):")] + """
import strobe
with strobe.generation():
    x = torch.zeros(1)
    for _ in range(5):
        x = encoder(x)
    for _ in strobe.steps(range(6)):
        x = model(x)
"""


def test_calls_before_the_steps_of_a_generation_are_no_steps(tmp_path, torch):
    assert traced(tmp_path, MARKED) == ["kernel_of_call_%d" % i for i in range(1, 4)]


WARMED_UP = PLAIN_LOOP[:PLAIN_LOOP.index("for _ in range(2):")] + """
import strobe
x = torch.zeros(1)
for _ in range(WARM):
    x = model(x)
for _ in strobe.steps(range(6)):
    x = model(x)
"""


@pytest.mark.parametrize("warm", [1, 2])
def test_calls_in_marked_steps_are_not_counted_beside_them(tmp_path, torch, warm):
    kernels = traced(tmp_path, WARMED_UP.replace("WARM", str(warm)))
    assert kernels == ["kernel_of_call_%d" % i for i in range(warm + 1, warm + 4)]


def test_several_calls_in_a_marked_step_are_one_step(tmp_path, torch):
    kernels = traced(tmp_path, WARMED_UP.replace("WARM", "0").replace("range(6)):\n    x = model(x)", "range(6)):\n    x = model(model(model(x)))"))
    assert kernels == sorted("kernel_of_call_%d" % i for i in range(3, 12))


SESSIONS = PLAIN_LOOP[:PLAIN_LOOP.index("for _ in range(2):")] + """
import strobe
x = torch.zeros(1)
FIRST
strobe.stop()
calls.clear()
strobe.start()
for _ in range(8):
    x = model(x)
"""


@pytest.mark.parametrize("first", ["for _ in strobe.steps(range(6)): model(x)", "for _ in range(9): model(x)", "model(x)"])
def test_calls_are_counted_anew_in_every_session(tmp_path, torch, first):
    traced(tmp_path, SESSIONS.replace("FIRST", first))
    second = max(glob.glob(str(tmp_path / "runs" / "*" / "run.*.strobe")), key=os.path.getmtime)
    assert sorted(kernel.name for kernel in wire.Recording(second).of("kernel")) == ["kernel_of_call_%d" % i for i in range(3, 6)]


def test_calls_that_were_counted_are_no_longer_once_steps_are_marked(tmp_path, torch):
    # the fourth call of the warm-up begins the trace of three steps
    assert traced(tmp_path, WARMED_UP.replace("WARM", "4")) == ["kernel_of_call_%d" % i for i in range(3, 6)]


def test_the_first_call_of_another_stage_is_traced_after_the_steps(tmp_path, torch):
    kernels = traced(tmp_path, PROGRAM.replace("TinyVideoPipeline()(\"a cat\", num_inference_steps=8)\nassert len(forwards) == 16\n", "") + DECODING)
    decoded = [name for name in kernels if "decode" in name]
    assert decoded == ["kernel_of_decode_0"]


def test_a_process_that_never_used_cuda_says_nothing_of_the_one_that_did(tmp_path, torch):
    """torch.compile starts workers; so does saving a video."""
    worker = "import subprocess, sys\nsubprocess.run([sys.executable, '-c', 'import time'], check=True)\n"
    assert traced(tmp_path, PROGRAM + worker, "steps:3") and glob.glob(str(tmp_path / "runs" / "*" / "run.*.strobe"))[1:]
    report = json.loads(subprocess.run([TOOL, "report", "--format", "json", "runs/last"], cwd=tmp_path, capture_output=True, text=True).stdout)
    assert report["gpu_trace"]["kernel_count"] and [one for one in report["not_recorded"] if one["what"] == "kernels"] == []


def test_a_program_without_cuda_is_never_given_to_cupti(tmp_path, torch):
    """CUDA 13.2's CUPTI, which torch's wheel brings, crashes in its first call where there is no driver."""
    program = "import torch\nfrom diffusers import TinyVideoPipeline\nTinyVideoPipeline()('a cat', num_inference_steps=8)\n"
    assert traced(tmp_path, program, FAKE_CUPTI_CRASHES="1", STROBE_CUDA_PATH="") == []
    report = subprocess.run([TOOL, "report", "runs/last"], cwd=tmp_path, capture_output=True, text=True).stdout
    assert "kernels: the program never initialised CUDA" in report


# Kernels take what the test says, and only they can be slow: no load of the machine is 100 000 times its peers.
SLOW_STEP = """
def launching(forward):
    def launch(self, *args, **kwargs):
        names.append(b"kernel_of_forward_%d" % len(names))
        cupti.kernel(cupti.launch(), cupti.now(), cupti.now() + (30000000000 if len(names) == 13 else 1000), names[-1])
        return forward(self, *args, **kwargs)
    return launch
names = []
Transformer.forward = launching(Transformer.forward)
TinyVideoPipeline()("a cat", num_inference_steps=12)
"""
OWN_LOOP = """
import strobe
names = []
with strobe.generation("video"):
    for i in strobe.steps(range(12)):
        names.append(b"kernel_of_step_%d" % i)
        cupti.kernel(cupti.launch(), cupti.now(), cupti.now() + (30000000000 if i == 6 else 1000), names[-1])
"""
OUT_OF_MEMORY = """
import strobe
names = []
for i in strobe.steps(range(3)):
    names.append(b"kernel_of_step_%d" % i)
    cupti.kernel(cupti.launch(), cupti.now(), cupti.now() + 1000, names[-1])
    try:
        with strobe.section("decode"):
            if i == 1:
                raise MemoryError("cannot allocate memory")
    except MemoryError:
        pass
"""
HEAD = PROGRAM[:PROGRAM.index("forwards = []")] + """
import os, time
end = time.time() + 60
while not cupti.calls(b"cuptiActivityFlushAll"):
    assert time.time() < end, "the watch looks for CUDA every now and then"
    os.sched_yield()
"""


def moments(tmp_path):
    done = subprocess.run([TOOL, "report", "runs/last", "--format", "json"], cwd=tmp_path, capture_output=True, text=True)
    return json.loads(done.stdout).get("slow_moments", [])


@pytest.mark.parametrize("program, kept, slow", [(SLOW_STEP, ["kernel_of_forward_%d" % i for i in range(10, 14)], 6),
                                                 (OWN_LOOP, ["kernel_of_step_5", "kernel_of_step_6"], 6)])
def test_a_slow_step_is_caught_with_the_kernels_it_launched(tmp_path, torch, program, kept, slow):
    assert traced(tmp_path, HEAD + program, "slow:100000") == sorted(kept)
    (moment,) = moments(tmp_path)
    assert moment["step_index"] == slow and moment["judged_by"] == "gpu"
    assert moment["parts"][0]["name"] in kept and moment["parts"][0]["name"] in moment["words"]


def test_steps_that_are_alike_keep_nothing(tmp_path, torch):
    assert traced(tmp_path, HEAD + OWN_LOOP.replace("30000000000", "1000"), "slow:100000") == []
    assert moments(tmp_path) == []


def test_the_kernels_before_memory_ran_out_are_kept(tmp_path, torch):
    assert traced(tmp_path, HEAD + OUT_OF_MEMORY, "slow:100000") == ["kernel_of_step_0", "kernel_of_step_1"]
    (moment,) = moments(tmp_path)
    assert moment["what"] == "out_of_memory"
