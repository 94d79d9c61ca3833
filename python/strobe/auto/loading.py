"""Loading weights, apart from generating: from_pretrained, torch.load, safetensors."""
import os

from .. import _imports
from .._core import ROLE_LOAD
from .wrapping import here, wrap, zone


def watch():
    _imports.when_imported("torch.serialization", lambda m: wrap(m, "load", _reader("torch.load")))
    _imports.when_imported("torch", lambda m: wrap(m, "load", _reader("torch.load")))
    _imports.when_imported("safetensors.torch", lambda m: wrap(m, "load_file", _reader("safetensors.load")))
    _imports.when_imported("transformers.modeling_utils", lambda m: _from_pretrained(m, "PreTrainedModel"))
    _imports.when_imported("diffusers.models.modeling_utils", lambda m: _from_pretrained(m, "ModelMixin"))
    _imports.when_imported("diffusers.pipelines.pipeline_utils", lambda m: _from_pretrained(m, "DiffusionPipeline"))


def _size(source):
    try:
        return os.path.getsize(source)
    except (OSError, TypeError, ValueError):
        return None


def _reader(name):
    def make(original):
        def load(*args, **kwargs):
            source = args[0] if args else kwargs.get("f", kwargs.get("filename"))
            with zone(name, ROLE_LOAD, bytes=_size(source)):
                return original(*args, **kwargs)
        return load
    return make


def _from_pretrained(module, class_name):
    cls = getattr(module, class_name, None)
    if cls is None:
        return

    def make(original):
        def from_pretrained(cls, *args, **kwargs):
            with zone("load:" + cls.__name__, ROLE_LOAD):
                here.module_depth += 1  # what a constructor calls is no forward of the model
                try:
                    return original(cls, *args, **kwargs)
                finally:
                    here.module_depth -= 1
        return from_pretrained
    wrap(cls, "from_pretrained", make)
