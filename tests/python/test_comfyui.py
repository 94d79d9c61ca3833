"""ComfyUI, as a stand-in with the same calls: prompts, nodes, sampler steps, models; a diffusers pipeline in a node."""
import pytest

from conftest import run_program
from test_auto import FAKES, GENERATION, HOOK, LOAD, OFFLOAD, STEP

EXECUTION = """
import asyncio
class DynamicPrompt:
    def __init__(self, nodes): self.nodes = nodes
    def get_node(self, number): return self.nodes[number]
%(async)sdef get_output_data(prompt_id, unique_id, obj, inputs):
    return obj()
%(async)sdef execute(server, dynprompt, caches, current_item, extra_data, executed, prompt_id):
    node = dynprompt.get_node(current_item)
    if node.get("cached"):
        return None
    return %(await)sget_output_data(prompt_id, current_item, node["run"], {})
class PromptExecutor:
    %(async)sdef execute_async(self, prompt, prompt_id, extra_data={}, execute_outputs=[]):
        for number in prompt:
            %(await)sexecute(None, DynamicPrompt(prompt), None, number, {}, set(), prompt_id)
    def execute(self, prompt, prompt_id, extra_data={}, execute_outputs=[]):
        %(run)s
"""
SAMPLERS = """
class KSAMPLER:
    def sample(self, model_wrap, sigmas, extra_args, callback, noise):
        x = noise
        for i in range(len(sigmas) - 1):
            x = x - model_wrap(x)
            if callback is not None:
                callback(i, x, x, len(sigmas) - 1)
            if sigmas[i] < 0:
                raise ValueError("negative")
        return x
"""
MODELS = """
class LoadedModel:
    def __init__(self, model): self.model = model
    def model_memory(self): return 4096
    def model_load(self): return self
    def model_unload(self): return True
"""
PROGRAM = """
import execution, comfy.samplers, comfy.model_management, types
seen = []
def sample():
    return comfy.samplers.KSAMPLER().sample(lambda x: 1, [3, 2, 1, 0], {}, lambda *args: seen.append(args[0]), 10)
def quiet():
    assert comfy.samplers.KSAMPLER().sample(lambda x: 1, [1, 0], {}, None, 10) == 9
def load():
    class Flux: pass
    model = comfy.model_management.LoadedModel(types.SimpleNamespace(model=Flux()))
    assert model.model_load() is model and model.model_unload()
def pipeline():
    from diffusers import TinyVideoPipeline
    TinyVideoPipeline()("a cat", num_inference_steps=2)
def fails():
    comfy.samplers.KSAMPLER().sample(lambda x: 1, [3, -1, 0], {}, None, 10)
nodes = {"1": {"class_type": "CheckpointLoader", "run": load}, "2": {"class_type": "Cached", "cached": True, "run": None},
         "3": {"class_type": "KSampler", "run": sample, "_meta": {"title": "Second pass"}},
         "4": {"class_type": "KSampler", "run": quiet}, "5": {"class_type": "Pipeline", "run": pipeline}}
execution.PromptExecutor().execute(nodes, "p1")
assert seen == [0, 1, 2]
try:
    execution.PromptExecutor().execute({"1": {"class_type": "KSampler", "run": fails}}, "p2")
except ValueError:
    print("mine")
"""


def comfy(tmp_path, flavour):
    folder = tmp_path / "comfyui"
    (folder / "comfy").mkdir(parents=True)
    words = {"async": "async ", "await": "await ", "run": "asyncio.run(self.execute_async(prompt, prompt_id))"}
    if flavour == "before coroutines":
        words = {"async": "", "await": "", "run": "self.execute_async(prompt, prompt_id)"}
    (folder / "execution.py").write_text(EXECUTION % words)
    (folder / "comfy" / "__init__.py").write_text("")
    (folder / "comfy" / "samplers.py").write_text(SAMPLERS)
    (folder / "comfy" / "model_management.py").write_text(MODELS)
    run_dir = tmp_path / "runs" / "run-1"
    run_dir.mkdir(parents=True)
    done = run_program(tmp_path, PROGRAM, env={"STROBE_ENABLED": "1", "STROBE_RUN_DIR": str(run_dir),
                                               "PYTHONPATH": ":".join((HOOK, FAKES, str(folder)))})
    assert "strobe: fault" not in done.stderr, done.stderr
    return done


@pytest.mark.parametrize("flavour", ["coroutines", "before coroutines"])
def test_prompts_nodes_steps_and_models(tmp_path, torch, flavour):
    done = comfy(tmp_path, flavour)
    recording, = done.recordings
    first, second = [zone for zone in recording.zones if zone.attrs.get("strobe.role") == GENERATION]
    assert first.attrs["prompt_id"] == "p1" and [node.name for node in first.children] == [
        "CheckpointLoader", "KSampler", "KSampler", "Pipeline"]  # what the cache had was not executed
    assert first.children[1].attrs == {"node_id": "3", "title": "Second pass"}
    assert [[step.attrs["step"] for step in node.children if step.attrs.get("strobe.role") == STEP]
            for node in first.children[1:3]] == [[0, 1, 2], [0]]
    load, offload = first.children[0].children
    assert (load.name, load.attrs) == ("load:Flux", {"strobe.role": LOAD, "bytes": 4096})
    assert (offload.name, offload.attrs) == ("offload:Flux", {"strobe.role": OFFLOAD, "bytes": 4096})
    # A pipeline inside a node is a stage of the prompt, and its steps are steps.
    pipeline = next(zone for zone in first.children[3].children if zone.name == "TinyVideoPipeline")
    assert "strobe.role" not in pipeline.attrs and len([z for z in pipeline.children if z.name == "denoise"]) == 2
    assert done.stdout == "mine\n" and second.attrs["error"] == "ValueError" and all(zone.closed for zone in recording.zones)


def test_a_module_called_execution_that_is_not_comfyui_is_left_alone(tmp_path):
    (tmp_path / "execution.py").write_text("def execute(x): return x\n")
    run_dir = tmp_path / "runs" / "run-1"
    run_dir.mkdir(parents=True)
    done = run_program(tmp_path, "import execution\nassert not hasattr(execution.execute, '__wrapped__')\n", env={
        "STROBE_ENABLED": "1", "STROBE_RUN_DIR": str(run_dir), "PYTHONPATH": HOOK})
    assert done.stderr == ""
