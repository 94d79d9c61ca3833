"""ComfyUI, as a stand-in with the same calls: prompts, nodes, sampler steps, text encoder and VAE, models, previews and
saves; a diffusers pipeline in a node. tests/real/test_comfyui.py has the real one."""
import pytest

from conftest import run_program
from test_auto import FAKES, GENERATION, HOOK, LOAD, OFFLOAD, STEP

EXPORT = 18

EXECUTION = """
import asyncio
class DynamicPrompt:
    def __init__(self, nodes): self.nodes = nodes
    def get_node(self, number): return self.nodes[number]
%(async)sdef get_output_data(prompt_id, unique_id, obj, input_data_all):
    return [], obj() or {}, False, False
%(async)sdef execute(server, dynprompt, caches, current_item, extra_data, executed, prompt_id):
    node = dynprompt.get_node(current_item)
    if node.get("cached"):
        return None
    result = %(await)sget_output_data(prompt_id, current_item, node["run"], node.get("inputs", {}))
    return result
class PromptExecutor:
    %(async)sdef execute_async(self, prompt, prompt_id, extra_data={}, execute_outputs=[]):
        self.success, self.status_messages = True, []
        for number in prompt:
            try:
                %(await)sexecute(None, DynamicPrompt(prompt), None, number, {}, set(), prompt_id)
            except ValueError as error:  # a prompt that fails raises nothing
                self.success = False
                self.status_messages.append(("execution_error", {"exception_type": "ValueError", "exception_message": "no\\nroom", "node_type": "Sampler"}))
    def execute(self, prompt, prompt_id, extra_data={}, execute_outputs=[]):
        %(run)s
"""
SAMPLERS = """
class KSAMPLER:
    def __init__(self, sampler_function=None): self.sampler_function = sampler_function
    def sample(self, model_wrap, sigmas, extra_args, callback, noise):
        x = noise
        for i in range(self.sampler_function.steps if self.sampler_function else len(sigmas) - 1):
            x = x - model_wrap(x)
            if callback is not None:
                callback(i, x, x, len(sigmas) - 1)
            if sigmas[i] < 0:
                raise ValueError("negative")
        return x
"""
MODELS = """
class LoadedModel:
    held = 0
    def __init__(self, model): self.model = model
    def model_memory(self): return 4096
    %(loaded)s
    def model_load(self):
        self.held = 4096
        return self
    def model_unload(self, memory_to_free=None):
        self.held -= memory_to_free or self.held
        return memory_to_free is None
"""
PARTS = """
class CLIP:
    def encode_from_tokens(self, tokens): return tokens
    def encode_from_tokens_scheduled(self, tokens): return self.encode_from_tokens(tokens)
class Model:
    def decode(self, latent): return latent
    encode = decode
class VAE:
    def __init__(self): self.first_stage_model = Model()
    def decode(self, latent):
        self.first_stage_model.decode(latent)
        return latent.video
    def decode_tiled(self, latent):
        for _ in range(6): self.first_stage_model.decode(latent)
        return latent.video
    def encode(self, pixels): return self.first_stage_model.encode(pixels)
    encode_tiled = encode
"""
FILES = """
def load_torch_file(ckpt, safe_load=False): return {}
"""
PREVIEWS = """
class LatentPreviewer:
    def decode_latent_to_preview_image(self, format, x0): return format
"""
PROGRAM = """
import execution, comfy.samplers, comfy.model_management, comfy.sd, comfy.utils, latent_preview, types
seen = []
class Array:
    def __init__(self, *shape): self.shape = shape
class UNet(__import__("torch").nn.Module):
    def forward(self, x): return 1
def seeing(*args):
    seen.append(args[0])
    assert latent_preview.LatentPreviewer().decode_latent_to_preview_image("JPEG", args[1]) == "JPEG"
def sample():
    comfy.samplers.KSAMPLER().sample(UNet(), [3, 2, 1, 0], {}, seeing, 10)
def quiet():
    assert comfy.samplers.KSAMPLER().sample(lambda x: 1, [1, 0], {}, None, 10) == 9
def load():
    class Flux: pass
    model = comfy.model_management.LoadedModel(types.SimpleNamespace(model=Flux()))
    assert comfy.utils.load_torch_file("weights.safetensors") == {}
    for _ in range(3):
        assert model.model_load() is model
    assert model.model_unload(1024) is False and model.model_unload() is True
def adaptive():
    def dpm_adaptive_function(): pass
    dpm_adaptive_function.steps = 5
    comfy.samplers.KSAMPLER(dpm_adaptive_function).sample(UNet(), [3, 2, 1, 0, 0, 0], {}, None, 10)
def parts():
    latent = Array(1, 16, 3, 8, 8)
    latent.video = Array(1, 9, 64, 64, 3)
    comfy.sd.CLIP().encode_from_tokens_scheduled([1])
    assert comfy.sd.VAE().decode(latent) is comfy.sd.VAE().decode_tiled(latent)
    comfy.sd.VAE().encode(latent)
def pipeline():
    from diffusers import TinyVideoPipeline
    TinyVideoPipeline()("a cat", num_inference_steps=2)
def fails():
    comfy.samplers.KSAMPLER().sample(lambda x: 1, [3, -1, 0], {}, None, 10)
def saves(kind, *names):
    return lambda: {"images": [{"filename": name, "subfolder": "", "type": kind} for name in names]}
nodes = {"1": {"class_type": "CheckpointLoader", "run": load}, "2": {"class_type": "Cached", "cached": True, "run": None},
         "3": {"class_type": "KSampler", "run": sample, "_meta": {"title": "Second pass"}},
         "4": {"class_type": "KSampler", "run": quiet}, "5": {"class_type": "Pipeline", "run": pipeline}}
execution.PromptExecutor().execute(nodes, "p1")
assert seen == [0, 1, 2]
execution.PromptExecutor().execute({"1": {"class_type": "KSampler", "run": fails}}, "p2")
frames, small = Array(9, 64, 64, 3), Array(4, 32, 32, 3)
execution.PromptExecutor().execute({
    "1": {"class_type": "Parts", "run": parts}, "2": {"class_type": "KSampler", "run": adaptive},
    "3": {"class_type": "SaveImage", "run": saves("output", "a.png", "b.png"), "inputs": {"images": [frames]}},
    "4": {"class_type": "SaveAnimation", "run": saves("output", "a.webp"), "inputs": {"images": [frames]}},
    "5": {"class_type": "PreviewImage", "run": saves("temp", "c.png"), "inputs": {"images": [small]}},
    "6": {"class_type": "ShowText", "run": lambda: {"text": ["hello"]}}}, "p3")
execution.PromptExecutor().execute({
    "5": {"class_type": "PreviewImage", "run": saves("temp", "c.png"), "inputs": {"images": [small]}}}, "p4")
execution.PromptExecutor().execute({"2": {"class_type": "Cached", "cached": True, "run": None}}, "p5")
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
    says_what_is_loaded = "def model_loaded_memory(self): return self.held" if flavour == "coroutines" else ""
    (folder / "comfy" / "model_management.py").write_text(MODELS % {"loaded": says_what_is_loaded})
    (folder / "comfy" / "sd.py").write_text(PARTS)
    (folder / "comfy" / "utils.py").write_text(FILES)
    (folder / "latent_preview.py").write_text(PREVIEWS)
    (tmp_path / "weights.safetensors").write_bytes(b"8" * 100)
    run_dir = tmp_path / "runs" / "run-1"
    run_dir.mkdir(parents=True)
    done = run_program(tmp_path, PROGRAM, env={"STROBE_ENABLED": "1", "STROBE_RUN_DIR": str(run_dir),
                                               "PYTHONPATH": ":".join((HOOK, FAKES, str(folder)))})
    assert not done.stderr.count("strobe: fault"), done.stderr[-4000:]
    return done


@pytest.fixture(scope="module", params=["coroutines", "before coroutines"])
def prompts(tmp_path_factory, request):
    pytest.importorskip("torch", reason="torch is not installed")
    done = comfy(tmp_path_factory.mktemp("comfyui"), request.param)
    recording, = done.recordings
    assert all(zone.closed for zone in recording.zones)
    found = [zone for zone in recording.zones if zone.attrs.get("strobe.role") == GENERATION]
    assert [zone.attrs["prompt_id"] for zone in found] == ["p1", "p2", "p3", "p4", "p5"]
    return request.param, found


def steps_of(node):
    return [step for step in node.children if step.attrs.get("strobe.role") == STEP]


def test_every_executed_node_is_a_stage_and_steps_are_steps(prompts):
    _, (first, *_) = prompts
    assert [node.name for node in first.children] == ["CheckpointLoader", "KSampler", "KSampler", "Pipeline"]
    assert first.children[1].attrs == {"node_id": "3", "title": "Second pass"}  # what the cache had was not executed
    assert [[step.attrs["step"] for step in steps_of(node)] for node in first.children[1:3]] == [[0, 1, 2], [0]]
    # A pipeline inside a node is a stage of the prompt, and its steps are steps.
    pipeline = next(zone for zone in first.children[3].children if zone.name == "TinyVideoPipeline")
    assert "strobe.role" not in pipeline.attrs and len([z for z in pipeline.children if z.name == "denoise"]) == 2


def test_what_moves_is_loaded_with_its_bytes(prompts):
    flavour, (first, *_) = prompts
    moves = [(zone.name, zone.attrs["strobe.role"], zone.attrs["bytes"]) for zone in first.children[0].children]
    file, loaded = ("load:weights.safetensors", LOAD, 100), ("load:Flux", LOAD, 4096)
    if flavour == "coroutines":  # a model that is there already is not loaded again
        assert moves == [file, loaded, ("offload:Flux", OFFLOAD, 1024), ("offload:Flux", OFFLOAD, 3072)]
    else:  # this one does not say what is loaded
        assert moves == [file] + [loaded] * 3 + [("offload:Flux", OFFLOAD, 4096)] * 2


def test_previews_and_saves_are_export(prompts):
    _, (first, _, third, *_) = prompts
    assert [zone.name for zone in first.children[1].children if zone.attrs.get("strobe.role") == EXPORT] == ["preview"] * 3
    assert [(node.name, node.attrs.get("frames")) for node in third.children if node.attrs.get("strobe.role") == EXPORT] == [
        ("SaveImage", 9), ("SaveAnimation", 9), ("PreviewImage", 4)]


def test_frames_are_counted_once(prompts):
    _, (_, _, third, fourth, _) = prompts
    assert (third.attrs["frames"], third.attrs["width"], third.attrs["height"]) == (9, 64, 64)  # saved twice, previewed
    assert fourth.attrs["frames"] == 4  # nothing was saved


def test_text_encoder_and_vae(prompts):
    _, (_, _, third, *_) = prompts
    parts = third.children[0].children
    assert [(zone.name, zone.attrs) for zone in parts] == [
        ("text_encode", {}), ("vae_decode", {"latent_frames": 3, "frames": 9}),
        ("vae_decode", {"latent_frames": 3, "frames": 9, "tiles": 6}), ("vae_encode", {})]


def test_a_sampler_that_chooses_its_steps(prompts):
    _, (_, _, third, *_) = prompts
    assert [step.attrs["step"] for step in steps_of(third.children[1])] == [0, 1, 2, 3, 4]


def test_a_prompt_that_fails_says_so(prompts):
    _, (first, second, third, *_) = prompts
    assert (second.attrs["error_message"], second.attrs["error_stage"]) == ("no room", "Sampler")
    assert second.attrs["error"] == "ValueError" and "error" not in first.attrs and "error" not in third.attrs


def test_a_module_called_execution_that_is_not_comfyui_is_left_alone(tmp_path):
    (tmp_path / "execution.py").write_text("def execute(x): return x\n")
    run_dir = tmp_path / "runs" / "run-1"
    run_dir.mkdir(parents=True)
    done = run_program(tmp_path, "import execution\nassert not hasattr(execution.execute, '__wrapped__')\n", env={
        "STROBE_ENABLED": "1", "STROBE_RUN_DIR": str(run_dir), "PYTHONPATH": HOOK})
    assert done.stderr == ""


def test_a_prompt_that_had_nothing_to_compute_says_so(prompts):
    _, (*others, cached) = prompts
    assert cached.attrs["cached"] == 1 and not any("cached" in one.attrs for one in others)
