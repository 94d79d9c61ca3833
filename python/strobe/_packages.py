"""Whose code a file is: a package's, which a program calls and does not change, or the program's own."""
import sys

_FRAMEWORKS = ("torch", "diffusers", "transformers", "accelerate", "peft", "numpy")  # often from a checkout


def is_installed(file):
    """True in a folder of packages, and for a framework that runs from a checkout."""
    return "-packages/" in file or file.startswith(_folders())


def _folders():
    found = (vars(sys.modules.get(name) or sys).get("__file__") for name in _FRAMEWORKS)
    return tuple(file[:-len("__init__.py")] for file in found if file and file.endswith("/__init__.py"))
