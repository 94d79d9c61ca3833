"""The table of docs/frameworks.md, from what the tests of this folder found: which versions they ran with, how many
passed. usage: matrix.py RESULTS  prints it; matrix.py RESULTS --write puts it into the page."""
import glob
import json
import os
import sys

PAGE = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "docs", "frameworks.md")
BEGIN, END = "<!-- table: made by tests/real/matrix.py -->\n", "<!-- end of the table -->\n"
PACKAGES = ["diffusers", "transformers", "accelerate", "torch", "safetensors", "peft", "torchao", "av", "opencv-python-headless",
            "imageio", "decord", "torchcodec"]

# framework, packages whose versions are named, test files, what of it was run, what is recorded, what is not
ROWS = [
    ("diffusers, video", ["diffusers"], ["test_diffusers"],
     "Wan (text, image, `transformer_2`, modular), LTX, CogVideoX, HunyuanVideo, Mochi, AnimateDiff, Stable Video Diffusion",
     "each call as a generation, with its error where it fails: `text_encode`, `image_encoder`, steps (`denoise`) with their forwards, CFG and timestep, "
     "`scheduler_step`, `vae_encode`, `vae_decode` with latent frames and tiles, `postprocess`, output frames and size, `export` with "
     "frames; what the pipeline does beside these as `before_steps`, `between_steps` and `after_steps`",
     "blocks of modular pipelines other than text, steps and VAE"),
    ("diffusers, images", ["diffusers"], ["test_diffusers"], "Flux, SDXL", "the same, images instead of frames", ""),
    ("diffusers, offload and caches", ["diffusers", "accelerate", "peft"], ["test_variants"],
     "sequential and group offload, tiling, first-block cache, pyramid attention broadcast, FasterCache, TaylorSeer, LoRA, callbacks, another scheduler, `torch.compile`, two threads",
     "`offload:<part>` with bytes for sequential and group offload; steps that a cache served are marked `cached`",
     "model offload is tested on fake tensors (`test_offloaded`): the moves, not what they copy"),
    ("transformers", ["transformers"], ["test_transformers"], "V-JEPA2, Qwen2-VL, SmolVLM, T5",
     "`generate()` as a generation: `vision_encoder`, `prefill`, `decode` with tokens, new tokens, time to the first token, "
     "tokens/s, input frames (the report's `chat`: prefill and decode apart), what it does around them as `before_steps` and `between_steps`; processors as `preprocess` with frames; other "
     "models' forwards as stages",
     "times are the CPU's: on a GPU the first token is there when the loop goes on with it"),
    ("loading", ["diffusers", "transformers", "torch", "safetensors"], ["test_variants", "test_torch"], "",
     "`from_pretrained`, `torch.load`, `safetensors.torch.load_file` with the bytes of their files; `.to()` of models over 100 MiB",
     "weights read lazily later on; the files of a model named by its hub id (its parameters' bytes are taken)"),
    ("training", ["torch", "accelerate", "peft"], ["test_training"], "gradients added up, checkpoints, several optimizers, LBFGS, `Accelerator`, LoRA of a "
     "Wan transformer, `torch.compile`",
     "`backward` and `optimizer` as stages, each turn of the loop as an iteration, `training_step`, with its backward passes; a diffusers VAE outside a pipeline",
     "`torch.autograd.grad`; what is inside a graph of `torch.compile`; moving averages of weights"),
    ("quantised weights", ["torchao"], ["test_torchao"], "int8 weights",
     "dtype and bytes as they lie in memory: model headers, loads and offloads, what holds memory, `torch.asked`", ""),
    ("torch.compile", ["torch"], ["test_torch", "test_variants"], "",
     "compilations as zones; the graphs are the ones you get without strobe", "sections inside a graph (counted as left out)"),
    ("plain torch", ["torch"], ["test_torch", "test_ddp", "test_sequence_parallel"], "",
     "the outermost modules' forwards, `DataLoader` by batches; collectives with group, number and bytes: blocking, asynchronous, functional, "
     "DDP's own", "modules inside others (see `strobe.nn`)"),
    ("video in and out", ["av", "opencv-python-headless", "imageio", "decord", "torchcodec"], ["test_video"], "moviepy by hand (2.2.1) and by a stand-in (`python/test_moviepy`)",
     "`video_decode` and `video_encode` with frames and size; `hardware` where the frames are on a GPU; an `ffmpeg` or "
     "`ffprobe` child as a span", "audio; animated pictures (GIF) that Pillow reads or writes; readers that are C functions of other packages"),
    ("ComfyUI", [], [], "a checkout of v0.7.0 (January 2026) on the CPU, by its executor (`test_comfyui`, where `COMFYUI_PATH` names "
     "one) and by hand through `main.py --cpu`; a stand-in with the same calls, with and without coroutines (`python/test_comfyui`)",
     "each prompt as a generation with its output frames, and its error where it fails; each executed node as a stage with class, "
     "id and title; sampler steps with their forwards; `text_encode`, `vae_decode` and `vae_encode` with frames and tiles; files "
     "of weights, models loaded and unloaded with the bytes that moved; previews and nodes that save as export",
     "nodes that wait for a remote service are recorded up to their first wait; a two-stage sampler (Heun) reports a step after "
     "its first half: steps are shifted by half of one; what a version does not have is named in the report"),
    ("launchers", [], ["test_torch", "test_launchers"], "`python -m`, `torchrun`, `accelerate launch` of one process and of two ranks, a launcher as deepspeed's",
     "every Python process of the program writes a recording of its own", ""),
    ("your own functions", [], [], "CPython 3.9 to 3.14",
     "`--stage program:function='4c name'` and `--stage pkg.mod:Class.method=…`", "functions of `python -c`"),
]


def read(folder):
    """{test file: {"passed": 3, "failed": 0, "skipped": 1, "versions": {...}}}"""
    found = {}
    for path in glob.glob(os.path.join(folder, "*.json")):
        with open(path) as file:
            found[os.path.splitext(os.path.basename(path))[0]] = json.load(file)
    return found


def missing(results):
    """Test files of the table that have not been run here."""
    return sorted({name for row in ROWS for name in row[2]} - set(results))


def tested(row, results):
    _, packages, tests, details, _, _ = row
    versions = {}
    for name in tests:
        versions.update(results[name]["versions"])
    words = [", ".join("%s %s" % (name, versions[name]) for name in packages if name in versions)]
    words.append(details)
    if tests:
        words.append(" + ".join("`%s`: %s" % (name, outcome(results[name])) for name in tests))
    return "; ".join(word for word in words if word)


def outcome(result):
    return "%d passed" % result["passed"] + "".join(
        ", %d %s" % (result[kind], kind) for kind in ("failed", "skipped") if result[kind])


def table(results):
    lines = ["| framework | tested with | what is recorded | what is not |", "|---|---|---|---|"]
    for row in ROWS:
        lines.append("| %s | %s | %s | %s |" % (row[0], tested(row, results), row[4], row[5]))
    return "\n".join(line.replace("  |", " |") for line in lines) + "\n"


def in_page():
    with open(PAGE) as file:
        text = file.read()
    return text[text.index(BEGIN) + len(BEGIN):text.index(END)]


def write(made):
    with open(PAGE) as file:
        text = file.read()
    begin, end = text.index(BEGIN) + len(BEGIN), text.index(END)
    with open(PAGE, "w") as file:
        file.write(text[:begin] + made + text[end:])


if __name__ == "__main__":
    found = read(sys.argv[1])
    if missing(found):
        sys.exit("not run here yet: %s" % ", ".join(missing(found)))
    write(table(found)) if "--write" in sys.argv else sys.stdout.write(table(found))
