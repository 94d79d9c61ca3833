"""An unmodified ComfyUI checkout on the CPU: its own executor runs small workflows over models with random weights.
usage: program_comfyui.py RESULT.json     with COMFYUI_PATH, in an empty folder"""
import asyncio
import json
import os
import sys

RESULT, sys.argv = sys.argv[1], [sys.argv[0], "--cpu", "--base-directory", os.getcwd(), "--disable-metadata"]
sys.path.insert(0, os.environ["COMFYUI_PATH"])

import comfy.options
comfy.options.enable_args_parsing()
import execution  # noqa: E402
import folder_paths  # noqa: E402
import nodes  # noqa: E402
import torch  # noqa: E402
import comfy.clip_model  # noqa: E402
import comfy.model_patcher  # noqa: E402
import comfy.sd  # noqa: E402
import comfy.sd1_clip  # noqa: E402
import comfy.supported_models  # noqa: E402
import comfy.taesd.taesd  # noqa: E402
import comfy.utils  # noqa: E402

from counting import digest  # noqa: E402

torch.set_num_threads(1)
UNET = dict(image_size=32, in_channels=4, out_channels=4, model_channels=32, num_res_blocks=[1, 1], channel_mult=[1, 2],
            transformer_depth=[1, 1], transformer_depth_middle=1, transformer_depth_output=[1, 1, 1, 1], context_dim=16,
            num_heads=2, use_spatial_transformer=True, legacy=False, adm_in_channels=None)
TEXT = dict(hidden_size=16, intermediate_size=32, num_attention_heads=2, num_hidden_layers=2, num_positions=77,
            max_position_embeddings=77, hidden_act="quick_gelu", vocab_size=49408, eos_token_id=49407, projection_dim=16)
SIZE, BATCH = 64, 3


def fill(module, seed):
    """ComfyUI leaves weights as they come from memory: it always loads them."""
    numbers = torch.Generator().manual_seed(seed)
    for tensor in module.parameters():
        tensor.requires_grad_(False).copy_(torch.randn(tensor.shape, generator=numbers) * 0.05)
    return module


class TinyText(comfy.sd1_clip.SDClipModel):
    def __init__(self, device="cpu", dtype=None, model_options={}):
        super().__init__(device=device, dtype=dtype, model_options=model_options, textmodel_json_config=dict(TEXT))


class TinyCLIP(comfy.sd1_clip.SD1ClipModel):
    def __init__(self, device="cpu", dtype=None, model_options={}):
        super().__init__(device=device, dtype=dtype, model_options=model_options, clip_model=TinyText)


class Target:
    params, clip, tokenizer = {}, TinyCLIP, comfy.sd1_clip.SD1Tokenizer


class TinyModel:
    """What CheckpointLoaderSimple gives, without a file: a model and a text encoder."""
    RETURN_TYPES, FUNCTION, CATEGORY = ("MODEL", "CLIP"), "make", "test"

    @classmethod
    def INPUT_TYPES(cls):
        return {"required": {}}

    def make(self):
        config = comfy.supported_models.SD15(dict(UNET))
        config.set_inference_dtype(torch.float32, None)
        model = fill(config.get_model({}, ""), 1)
        model.diffusion_model.register_forward_pre_hook(lambda *_: counted["forwards"].append(1))
        clip = comfy.sd.CLIP(Target())
        fill(clip.cond_stage_model, 2)
        cpu = torch.device("cpu")
        return comfy.model_patcher.ModelPatcher(model, load_device=cpu, offload_device=cpu), clip


class Failing:
    RETURN_TYPES, FUNCTION, CATEGORY, OUTPUT_NODE = (), "fail", "test", True

    @classmethod
    def INPUT_TYPES(cls):
        return {"required": {}}

    def fail(self):
        raise ValueError("as planned")


class Unloading:
    """What a custom node that frees memory does."""
    RETURN_TYPES, FUNCTION, CATEGORY, OUTPUT_NODE = (), "unload", "test", True

    @classmethod
    def INPUT_TYPES(cls):
        return {"required": {"after": ("IMAGE",)}}

    def unload(self, after):
        held = [(type(one.model.model).__name__, int(one.model_loaded_memory())) for one in
                comfy.model_management.current_loaded_models]
        counted["unloads"] += [list(one) for one in held]
        comfy.model_management.unload_all_models()
        return {}


class Server:
    client_id = last_node_id = None

    def send_sync(self, *_):
        pass


# ---- what the program counts itself ----

counted = {"nodes": [], "forwards": [], "previews": [], "loads": [], "unloads": [], "files": []}


def count_nodes():
    for name, cls in nodes.NODE_CLASS_MAPPINGS.items():
        if name in USED and hasattr(cls, "FUNCTION") and isinstance(vars(cls).get(cls.FUNCTION), type(count_nodes)):
            def called(self, *args, _run=vars(cls)[cls.FUNCTION], _name=name, **kwargs):
                counted["nodes"].append(_name)
                return _run(self, *args, **kwargs)
            setattr(cls, cls.FUNCTION, called)


def count_loads():
    """partially_load() returns the bytes that it moved."""
    original = comfy.model_patcher.ModelPatcher.partially_load

    def partially_load(self, *args, **kwargs):
        moved = original(self, *args, **kwargs)
        if moved:
            counted["loads"].append([type(self.model).__name__, int(moved)])
        return moved
    comfy.model_patcher.ModelPatcher.partially_load = partially_load


def count_previews(value, total, preview, node_id=None):
    if preview is not None:
        counted["previews"].append(value)


def workflow(seed, sampler="euler", steps=4, **more):
    text = {"class_type": "CLIPTextEncode", "inputs": {"clip": ["1", 1], "text": "a cat"}}
    return dict({
        "1": {"class_type": "TinyModel", "inputs": {}, "_meta": {"title": "The model"}},
        "2": text, "3": dict(text, inputs=dict(text["inputs"], text="")),
        "4": {"class_type": "EmptyLatentImage", "inputs": {"width": SIZE, "height": SIZE, "batch_size": BATCH}},
        "5": {"class_type": "KSampler", "_meta": {"title": "First pass"}, "inputs": {
            "model": ["1", 0], "positive": ["2", 0], "negative": ["3", 0], "latent_image": ["4", 0], "seed": seed, "steps": steps,
            "cfg": 2.0, "sampler_name": sampler, "scheduler": "normal", "denoise": 1.0}},
        "6": {"class_type": "VAELoader", "inputs": {"vae_name": "tiny.safetensors"}},
        "7": {"class_type": "VAEDecode", "inputs": {"samples": ["5", 0], "vae": ["6", 0]}},
        "8": {"class_type": "ImageScale", "inputs": {"image": ["7", 0], "upscale_method": "bilinear", "width": 32, "height": 32,
                                                     "crop": "disabled"}},
        "9": {"class_type": "PreviewImage", "inputs": {"images": ["8", 0]}},
        "10": {"class_type": "SaveImage", "inputs": {"images": ["7", 0], "filename_prefix": "out"}}}, **more)


VIDEO = {"11": {"class_type": "CreateVideo", "inputs": {"images": ["7", 0], "fps": 8.0}},
         "12": {"class_type": "SaveVideo", "inputs": {"video": ["11", 0], "filename_prefix": "clip", "format": "mp4",
                                                      "codec": "h264"}},
         "13": {"class_type": "Unloading", "inputs": {"after": ["7", 0]}}}
REFINED = {"14": {"class_type": "VAEEncodeTiled", "inputs": {"pixels": ["7", 0], "vae": ["6", 0], "tile_size": 64, "overlap": 16,
                                                             "temporal_size": 64, "temporal_overlap": 8}},
           "15": {"class_type": "VAEDecodeTiled", "inputs": {"samples": ["14", 0], "vae": ["6", 0], "tile_size": 64, "overlap": 16,
                                                             "temporal_size": 64, "temporal_overlap": 8}},
           "16": {"class_type": "PreviewImage", "inputs": {"images": ["15", 0]}}}
PROMPTS = [("first", workflow(1)), ("seed", workflow(2)), ("cached", workflow(2)), ("heun", workflow(3, "heun", 3)),
           ("adaptive", workflow(3, "dpm_adaptive", 3)), ("video", workflow(4, "uni_pc", 3, **VIDEO)),
           ("refined", workflow(5, "dpmpp_2m_sde", 3, **REFINED)),
           ("fails", {"1": {"class_type": "Failing", "inputs": {}}})]
USED = {node["class_type"] for _, prompt in PROMPTS for node in prompt.values()}


def save_vae(folder):
    vae = fill(comfy.taesd.taesd.TAESD(latent_channels=4), 3)
    os.makedirs(folder, exist_ok=True)
    comfy.utils.save_torch_file(vae.state_dict(), os.path.join(folder, "tiny.safetensors"))
    return os.path.getsize(os.path.join(folder, "tiny.safetensors"))


def pictures(folder):
    from PIL import Image
    import numpy
    names = sorted(name for name in os.listdir(folder) if name.endswith(".png"))
    return names, [digest(numpy.asarray(Image.open(os.path.join(folder, name)))) for name in names]


def main():
    nodes.NODE_CLASS_MAPPINGS.update(TinyModel=TinyModel, Failing=Failing, Unloading=Unloading)
    asyncio.run(nodes.init_extra_nodes(init_custom_nodes=False, init_api_nodes=False))
    vae_bytes = save_vae(folder_paths.get_folder_paths("vae")[0])
    count_nodes()
    count_loads()
    comfy.utils.set_progress_bar_global_hook(count_previews)
    executor, found = execution.PromptExecutor(Server(), cache_type=execution.CacheType.CLASSIC, cache_args={"lru": 0, "ram": 0}), {}
    for prompt_id, prompt in PROMPTS:
        for kind in counted.values():
            kind.clear()
        valid = asyncio.run(execution.validate_prompt(prompt_id, prompt, None))
        assert valid[0], valid
        executor.execute(prompt, prompt_id, {"preview_method": "latent2rgb"}, valid[2])
        found[prompt_id] = dict({kind: list(values) for kind, values in counted.items()}, success=executor.success)
    names, digests = pictures(folder_paths.get_output_directory())
    with open(RESULT, "w") as out:
        json.dump(dict(prompts=found, names=names, digests=digests, vae_bytes=vae_bytes, batch=BATCH), out)


main()
