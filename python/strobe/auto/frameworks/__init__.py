"""The table of frameworks, with the packages that bring each: its file is loaded when
the program looks for one of them. The file says in WAITS_FOR which modules of theirs it
waits for and what it does when the program has imported one, in the words of
auto/vocabulary.py. To add one: write its file, name it here."""
from ... import _faults, _imports

TABLE = {
    "torch": ("torch",),
    "compile": ("torch",),
    "weights": ("torch", "safetensors", "transformers", "diffusers"),
    "accelerate": ("accelerate", "diffusers"),
    "diffusers": ("diffusers",),
    "exports": ("diffusers",),
    "transformers": ("transformers",),
    "video": ("cv2", "av", "torchcodec", "decord", "imageio", "moviepy", "subprocess"),
    "comfyui": ("execution", "latent_preview", "comfy"),
}
_loaded = set()


def watch():
    """Nothing is imported that the program does not import; a framework that fails costs the others nothing."""
    for name, packages in TABLE.items():
        for package in packages:
            _imports.when_looked_for(package, lambda name=name: _load(name))


def _load(name):
    if name in _loaded:
        return
    _loaded.add(name)
    try:
        import importlib
        framework = importlib.import_module("." + name, __name__)
        for module, wrap in framework.WAITS_FOR.items():
            _imports.when_imported(module, wrap)
    except Exception:
        _faults.count("installing the automatic recording of " + name)
