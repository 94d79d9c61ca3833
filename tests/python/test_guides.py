"""The code blocks of the guides that users come from, run after changing nothing
but the import line. The guides are not part of this repository: STROBE_GUIDES
names the folder they lie in."""
import glob
import os
import re
import textwrap
import types

import pytest

FOLDER = os.environ.get("STROBE_GUIDES", "")
NEW = "from strobe.compat import"
OLD = re.compile(r"from (?:diffusers_helper\.profiling|inferix\.profiling(?:\.\w+)?) import")

# What the blocks leave to the reader.
STAND_INS = """
import types as _types
def _nothing(*args, **kwargs): return None
expensive_operation = load_model = load_models = expensive_function = run_inference = denoise_step = _nothing
encode_text = _nothing
num_steps = 3
vae = _types.SimpleNamespace(decode=_nothing)
prompt = latent_chunk = result = None
"""
LOOP = """
profiler = _profiler
num_blocks, denoising_steps, block_size, step_time_ms, peak_memory_mb = 2, [999.0, 500.0], 3, 10.0, 100.0
class _Event:
    def __init__(self, enable_timing=False): pass
    def record(self): pass
    def elapsed_time(self, other): return 20.0
torch = _types.SimpleNamespace(cuda=_types.SimpleNamespace(Event=_Event, synchronize=_nothing))
"""


def blocks():
    found = []
    for path in sorted(glob.glob(os.path.join(FOLDER, "*.txt"))) if FOLDER else []:
        text = open(path, encoding="utf-8").read()
        for i, block in enumerate(re.findall(r"```python\n(.*?)```", text, re.S)):
            if OLD.search(block) or "profiler.record_diffusion_step" in block:
                found.append(pytest.param(block, id="%s-%d" % (os.path.basename(path)[:3], i)))
    return found or [pytest.param(None, marks=pytest.mark.skip("STROBE_GUIDES does not name the guides' folder"))]


@pytest.mark.parametrize("block", blocks())
def test_the_block_runs_after_changing_its_import(block, record, tmp_path, monkeypatch, capsys):
    from strobe import compat
    monkeypatch.chdir(tmp_path)
    space = types.ModuleType("block").__dict__
    exec(STAND_INS, space)
    space["_profiler"] = profiler = compat.InferixProfiler(compat.ProfilingConfig(enabled=True, output_dir=str(tmp_path)))
    exec("from strobe.compat import profile_section", space)
    if "torch.cuda.Event" in block:
        exec(LOOP, space)
    if "PyTorchProfiler" in block:
        pytest.importorskip("torch", reason="torch is not installed")
    profiler.start_session("guide")
    exec(compile(textwrap.dedent(OLD.sub(NEW, block)), "block", "exec"), space)
    if "CustomPipeline" in space:
        run_pipeline(space["CustomPipeline"], profiler)
    report = profiler.end_session()
    profiler.cleanup()
    if "torch.cuda.Event" in block:
        assert report["diffusion_analysis"]["total_steps"] == 4 and report["block_analysis"]["total_frames"] == 6


def run_pipeline(cls, profiler):
    pipeline = cls()
    pipeline._profiler = profiler
    pipeline._generate_video = lambda prompts, **kwargs: types.SimpleNamespace(shape=(1, 3))
    profiler.end_session()
    pipeline._initialize_model()
    pipeline.run_text_to_video(["a cat"], seed=1)
    report = __import__("json").load(open([p for p in profiler.reports if p.endswith(".json")][0]))
    assert report["events"][0]["data"] == {"output_shape": [1, 3]}
    assert report["session_info"]["tags"]["mode"] == "t2v"
    profiler.start_session("rest")
    pipeline.load_checkpoint("/x")
    for step in range(4):
        pipeline.diffusion_step(step, 1000.0 - step, 3)
    pipeline.record_model_parameters("wan", 1300000000, "transformer")
    pipeline.process_block(0, 3, 250.0, 100.0)
    so_far = profiler.get_report()
    assert so_far["events"][0]["data"] == {"checkpoint_path": "/x"}
    assert so_far["diffusion_analysis"]["total_steps"] == 4 and so_far["block_analysis"]["total_frames"] == 3
