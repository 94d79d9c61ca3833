"""The table of frameworks. Each is one file that says in WAITS_FOR which modules it
waits for and what it does when the program has imported one, in the words of
auto/vocabulary.py. To add one: write its file, name it here."""
import importlib

from ... import _faults, _imports

TABLE = ("torch", "compile", "weights", "accelerate", "diffusers", "transformers", "video", "comfyui")


def watch():
    """Nothing is imported that the program does not import; a framework that fails costs the others nothing."""
    for name in TABLE:
        try:
            framework = importlib.import_module("." + name, __name__)
            for module, wrap in framework.WAITS_FOR.items():
                _imports.when_imported(module, wrap)
        except Exception:
            _faults.count("installing the automatic recording of " + name)
