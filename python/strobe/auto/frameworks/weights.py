"""Loading weights, apart from generating: from_pretrained, torch.load, safetensors."""
import os

from ..._memory import held
from .. import vocabulary
from ..vocabulary import hiding_modules
from ..wrapping import guard, wrap

WEIGHTS = (".safetensors", ".bin", ".pt", ".pth", ".ckpt", ".gguf")


def _size(source):
    try:
        return os.path.getsize(source)
    except (OSError, TypeError, ValueError):
        return 0


def _reader(name):
    def make(original):
        def load(*args, **kwargs):
            source = args[0] if args else kwargs.get("f", kwargs.get("filename"))
            with vocabulary.load(name, lambda: _size(source)):
                return original(*args, **kwargs)
        return load
    return make


def _weights_in(folder):
    """The bytes of the weight files that a model is read from: of one kind, where a folder has several."""
    sizes = {}
    for name in os.listdir(folder):
        kind = os.path.splitext(name)[1]
        if kind in WEIGHTS:
            sizes[kind] = sizes.get(kind, 0) + _size(os.path.join(folder, name))
    return next((sizes[kind] for kind in WEIGHTS if kind in sizes), 0)


def _model_size(source, subfolder, model):
    """From its files where the program names a folder, else what its parameters take."""
    folder = os.path.join(str(source), subfolder or "")
    if os.path.isdir(folder):
        return _weights_in(folder)
    return sum(map(held.size_bytes, model.parameters())) if model is not None else 0


def _from_pretrained(class_name, is_model):
    def wrap_class(module):
        cls = getattr(module, class_name, None)
        if cls is not None:
            wrap(cls, "from_pretrained", _loading(is_model))
    return wrap_class


def _loading(is_model):
    def make(original):
        def from_pretrained(cls, *args, **kwargs):
            made = []
            source = args[0] if args else kwargs.get("pretrained_model_name_or_path", "")
            size_of = (lambda: guard(_model_size, source, kwargs.get("subfolder"), _model(made))) if is_model else lambda: 0
            with vocabulary.load("load:" + cls.__name__, size_of), hiding_modules():
                made.append(original(cls, *args, **kwargs))
                return made[0]
        return from_pretrained
    return make


def _model(made):
    model = made[0] if made else None
    model = model[0] if isinstance(model, tuple) and model else model  # output_loading_info=True
    return model if hasattr(model, "parameters") else None


_torch_load, _safetensors_load = _reader("torch.load"), _reader("safetensors.load")

WAITS_FOR = {
    "torch.serialization": lambda module: wrap(module, "load", _torch_load),
    "torch": lambda module: wrap(module, "load", _torch_load),
    "safetensors.torch": lambda module: wrap(module, "load_file", _safetensors_load),
    "transformers.modeling_utils": _from_pretrained("PreTrainedModel", True),
    "diffusers.models.modeling_utils": _from_pretrained("ModelMixin", True),
    "diffusers.pipelines.pipeline_utils": _from_pretrained("DiffusionPipeline", False),
}
