"""ComfyUI: a generation for each prompt, a stage for each node that is executed, steps of samplers, text encoder and
VAE, models that are loaded and unloaded, previews and saves as export. Its insides change often: what is not found is
said once, and the run goes on."""
import os
import sys

from ..._failed import in_one_line
from ..._native import ROLE_EXPORT, ROLE_OFFLOAD, native
from .. import vocabulary, wrapping
from ..vocabulary import Activity, doing, here, hiding_modules, stage
from ..wrapping import guard, shape_of, wrap, wrap_method


class Prompt(Activity):
    """One prompt; node is (class, id, title) of the node that runs."""

    def __init__(self):
        self.node = None
        self.nodes_run = 0
        self.saved, self.previewed = {}, {}  # frames by where they are: saved twice, they are counted once
        self.counted_before = here.frames_counted

    def frames(self):
        """(frames, height, width) that left the prompt, each counted once; those of a pipeline in a node are counted."""
        shapes = list((self.saved or self.previewed).values())
        if not shapes or here.frames_counted != self.counted_before:
            return None
        count = sum(shape[0] for shape in shapes) if self.saved else max(shape[0] for shape in shapes)
        return count, shapes[-1][1], shapes[-1][2]


def _missing(what, name):
    native.missing(what, "this ComfyUI has no %s" % name, "docs/frameworks.md names what was tested")


def _either_way(original, around):
    """Calls original inside around(args, kwargs), whether it is a coroutine function or not. What the block is given,
    if anything, is called with the result."""
    import inspect
    if inspect.iscoroutinefunction(original):
        async def call(*args, **kwargs):
            with around(args, kwargs) as done:
                result = await original(*args, **kwargs)
                if done is not None:
                    guard(done, result)
                return result
        return call

    def call(*args, **kwargs):
        with around(args, kwargs) as done:
            result = original(*args, **kwargs)
            if done is not None:
                guard(done, result)
            return result
    return call


# ---- prompts and nodes ----

def _on_execution(module):
    executor = getattr(module, "PromptExecutor", None)
    if executor is None:
        return  # another package's module of that name
    name = "execute_async" if "execute_async" in vars(executor) else "execute"
    if not wrap(executor, name, lambda original: _either_way(original, _prompting)):
        _missing("prompts", "PromptExecutor." + name)
    if not wrap(module, "execute", _knowing_node) or not wrap(module, "get_output_data", _running_node):
        _missing("nodes", "execution.execute and get_output_data")


class _prompting:
    """with _prompting(args, kwargs): a generation, and the activity of its nodes."""

    def __init__(self, args, kwargs):
        self._executor = args[0] if args else None
        self._prompt_id = kwargs.get("prompt_id", args[2] if len(args) > 2 else None)

    def __enter__(self):
        self._zone = vocabulary.generation("prompt", prompt_id=self._prompt_id)
        self._zone.__enter__()
        self._doing = doing(Prompt())
        self._prompt = self._doing.__enter__()

    def __exit__(self, kind, error, trace):
        guard(self._close, kind)
        self._doing.__exit__(kind, error, trace)
        self._zone.__exit__(kind, error, trace)

    def _close(self, kind):
        frames = self._prompt.frames()
        if frames:
            vocabulary.frames(frames[0], height=frames[1], width=frames[2])
        if kind is None and getattr(self._executor, "success", True) is False:
            native.attrs(**_error_of(self._executor))
        elif not self._prompt.nodes_run:
            native.attrs(cached=1)  # ComfyUI had every output: no video was made


def _error_of(executor):
    """A prompt that fails raises nothing: it leaves a message."""
    for event, data in reversed(getattr(executor, "status_messages", None) or []):
        if event in ("execution_error", "execution_interrupted"):
            return {"error": str(data.get("exception_type") or event), "error_stage": data.get("node_type"),
                    "error_message": in_one_line(str(data.get("exception_message") or ""))}
    return {"error": "execution_error"}


def _node_of(args, kwargs):
    """(class, id, title) from execute(server, dynprompt, caches, current_item, …)."""
    prompt = kwargs.get("dynprompt", args[1] if len(args) > 1 else None)
    item = kwargs.get("current_item", args[3] if len(args) > 3 else None)
    node = prompt.get_node(item) if hasattr(prompt, "get_node") else prompt[item]
    return node["class_type"], str(item), (node.get("_meta") or {}).get("title")


def _note(args, kwargs):
    if isinstance(here.activity, Prompt):
        here.activity.node = _node_of(args, kwargs)


def _knowing_node(original):
    """A node that is served from the cache ends here; get_output_data() runs the others."""
    import inspect
    if inspect.iscoroutinefunction(original):
        async def execute(*args, **kwargs):
            guard(_note, args, kwargs)
            return await original(*args, **kwargs)
        return execute

    def execute(*args, **kwargs):
        guard(_note, args, kwargs)
        return original(*args, **kwargs)
    return execute


class _node_zone:
    """with _node_zone(args, kwargs) as done: a stage for the node; done(result) says what it has written."""

    def __init__(self, args, kwargs):
        name, number, title = getattr(here.activity, "node", None) or ("node", None, None)
        self._inputs = kwargs.get("input_data_all", args[3] if len(args) > 3 else None)
        self._zone = stage(name, node_id=number, title=title)

    def __enter__(self):
        if isinstance(here.activity, Prompt):
            here.activity.nodes_run += 1
        self._zone.__enter__()
        return self._done

    def __exit__(self, kind, error, trace):
        self._zone.__exit__(kind, error, trace)

    def _done(self, result):
        files = _files_in(result)
        if not files:
            return
        is_preview = all(file.get("type") == "temp" for file in files)
        images = _images_in(self._inputs)
        facts = {"frames": sum(shape_of(one)[0] for one in images) or None, "preview": 1 if is_preview else None}
        native.attrs(**{"strobe.role": ROLE_EXPORT}, **facts)
        if isinstance(here.activity, Prompt):
            kept = here.activity.previewed if is_preview else here.activity.saved
            kept.update((one.data_ptr() if hasattr(one, "data_ptr") else id(one), shape_of(one)) for one in images)
        if not is_preview:
            _name_outputs(files)


def _files_in(result):
    """What get_output_data() says of files that a node wrote, for the page to show: [{filename, subfolder, type}]."""
    shown = result[1] if isinstance(result, tuple) and len(result) > 1 else None
    lists = shown.values() if isinstance(shown, dict) else ()
    return [one for many in lists if isinstance(many, (list, tuple)) for one in many
            if isinstance(one, dict) and one.get("filename")]


def _images_in(inputs):
    """The frames a node was given: arrays of 4 dimensions, or a video made of one."""
    given = [one for many in (inputs or {}).values() if isinstance(many, (list, tuple)) for one in many]
    videos = [one.get_components().images for one in given if type(one).__name__ == "VideoFromComponents"]
    return [one for one in given + videos if len(shape_of(one)) == 4]


def _name_outputs(files):
    folders = sys.modules.get("folder_paths")
    if folders is None:
        return
    for file in files:
        vocabulary.output(os.path.join(folders.get_output_directory(), file.get("subfolder") or "", file["filename"]))


def _running_node(original):
    return _either_way(original, _node_zone)


# ---- samplers ----

def _on_samplers(module):
    sampler = getattr(module, "KSAMPLER", None)
    if sampler is None or not wrap(sampler, "sample", _sampling):
        _missing("steps of samplers", "comfy.samplers.KSAMPLER.sample")


class _Steps(Activity):
    """The sampler's callback. A sampler says when a step has its result: a step goes from one such moment to the
    next, the first from the beginning; after the last nothing begins. A sampler that chooses its steps itself has no
    last one: there a step begins with its first forward."""

    def __init__(self, callback, total):
        self.callback = callback
        self.total = total  # None: not known before
        self.count = 0
        self.is_open = False
        self.zone = None  # None too where the settings leave steps out

    def begin(self):
        self.is_open = True
        self.zone = vocabulary.step("denoise", self.count)
        if self.zone is not None:
            self.zone.__enter__()

    def begin_known(self):
        if self.total is not None and self.count < self.total:
            self.begin()

    def end(self, kind=None):
        if self.zone is not None:
            self.zone.__exit__(kind, None, None)
        self.count += self.is_open
        self.is_open, self.zone = False, None

    def forward(self, name, module, call, args, kwargs):
        if self.total is None and not self.is_open:
            guard(self.begin)
        with vocabulary.forward(name):
            return call(module, *args, **kwargs)

    def __call__(self, *args, **kwargs):
        guard(self.end)
        result = self.callback(*args, **kwargs) if self.callback is not None else None
        guard(self.begin_known)
        return result


def _steps_of(sampler, sigmas):
    """How many steps a sampler takes; None: it chooses them itself."""
    name = getattr(getattr(sampler, "sampler_function", None), "__name__", "")
    return None if "adaptive" in name else len(sigmas) - 1


def _sampling(original):
    import inspect
    signature = inspect.signature(original)

    def sample(self, *args, **kwargs):
        if wrapping.compiling() or "callback" not in signature.parameters:
            return original(self, *args, **kwargs)
        bound = signature.bind(self, *args, **kwargs)
        steps = _Steps(bound.arguments.get("callback"), _steps_of(self, bound.arguments["sigmas"]))
        bound.arguments["callback"] = steps
        guard(steps.begin_known)
        try:
            with doing(steps):
                return original(*bound.args, **bound.kwargs)
        except BaseException as error:
            guard(steps.end, type(error))
            raise
        finally:
            guard(steps.end)
    return sample


# ---- text encoder and VAE ----

def _on_parts(module):
    text, vae = getattr(module, "CLIP", None), getattr(module, "VAE", None)
    found = [text is not None and wrap(text, name, _encoding_text)
             for name in ("encode_from_tokens_scheduled", "encode_from_tokens")]
    if not any(found):
        _missing("text encoding", "comfy.sd.CLIP.encode_from_tokens")
    found = [vae is not None and wrap(vae, name, _coding(word)) for name, word in (
        ("decode", "vae_decode"), ("decode_tiled", "vae_decode"), ("encode", "vae_encode"), ("encode_tiled", "vae_encode"))]
    if not all(found):
        _missing("VAE", "comfy.sd.VAE with decode, encode and their tiled twins")


class _Coding(Activity):
    """One call of a VAE or a text encoder: what is called inside is part of it."""
    tiles = 0


def _encoding_text(original):
    def encode(self, *args, **kwargs):
        if wrapping.compiling() or isinstance(here.activity, _Coding):
            return original(self, *args, **kwargs)
        with stage("text_encode"), doing(_Coding()):
            return original(self, *args, **kwargs)
    return encode


def _coding(name):
    """make() for a method of VAE. Each tile is a call of the model's own encode() or decode()."""
    def make(original):
        def method(self, *args, **kwargs):
            if wrapping.compiling() or isinstance(here.activity, _Coding):
                return original(self, *args, **kwargs)
            guard(wrap_method, type(getattr(self, "first_stage_model", None)), name[len("vae_"):], _counting_tiles)
            given = shape_of(args[0] if args else next(iter(kwargs.values()), None))
            facts = {"latent_frames": given[2]} if name == "vae_decode" and len(given) == 5 else {}
            with stage(name, **facts), doing(_Coding()) as coding, hiding_modules():
                result = original(self, *args, **kwargs)
                made = shape_of(result)  # pictures with channels last; a video has one dimension more
                native.attrs(tiles=coding.tiles if coding.tiles > 1 else None,
                             frames=made[0] * made[1] if name == "vae_decode" and len(made) == 5 else None)
                return result
        return method
    return make


def _counting_tiles(original):
    def method(self, *args, **kwargs):
        if not wrapping.compiling() and isinstance(here.activity, _Coding):
            here.activity.tiles += 1
        return original(self, *args, **kwargs)
    return method


# ---- models ----

def _on_models(module):
    loaded = getattr(module, "LoadedModel", None)
    if loaded is None or not wrap(loaded, "model_load", _loading) or not wrap(loaded, "model_unload", _unloading):
        _missing("loads and unloads of models", "comfy.model_management.LoadedModel")


def _on_files(module):
    if not wrap(module, "load_torch_file", _reading):
        _missing("files of weights", "comfy.utils.load_torch_file")


def _reading(original):
    def load_torch_file(ckpt, *args, **kwargs):
        with vocabulary.load("load:" + os.path.basename(str(ckpt)), lambda: os.path.getsize(ckpt)):
            return original(ckpt, *args, **kwargs)
    return load_torch_file


def _name_of(loaded):
    patcher = loaded.model
    return type(getattr(patcher, "model", patcher)).__name__


def _held(loaded):
    """The bytes of a LoadedModel that are on its device; None: this ComfyUI does not say."""
    size = getattr(loaded, "model_loaded_memory", None)
    return int(size()) if size is not None else None


def _has_nothing_to_do(loaded):
    """True if the model is already where it should be: a sampler asks for its model each time."""
    patcher = loaded.model
    held = _held(loaded)
    if held is None or held < int(loaded.model_memory()):
        return False
    real = getattr(patcher, "model", None)
    return getattr(real, "current_weight_patches_uuid", None) == getattr(patcher, "patches_uuid", None)


def _loading(original):
    def model_load(self, *args, **kwargs):
        if guard(_has_nothing_to_do, self):
            return original(self, *args, **kwargs)
        before = guard(_held, self)
        with vocabulary.load("load:" + (guard(_name_of, self) or "model"), lambda: guard(_moved, self, before)):
            return original(self, *args, **kwargs)
    return model_load


def _moved(loaded, before):
    """Bytes that came to the device since then; all of the model where it cannot be told."""
    return int(loaded.model_memory()) if before is None else max(_held(loaded) - before, 0)


def _unloading(original):
    def model_unload(self, *args, **kwargs):
        held = guard(_held, self)
        size = guard(lambda: int(self.model_memory())) if held is None else held
        with vocabulary.zone("offload:" + (guard(_name_of, self) or "model"), ROLE_OFFLOAD):
            is_gone = original(self, *args, **kwargs)
            left = 0 if is_gone is not False else guard(_held, self) or 0
            native.attrs(bytes=max((size or 0) - left, 0))
            return is_gone
    return model_unload


# ---- previews ----

def _on_previews(module):
    previewer = getattr(module, "LatentPreviewer", None)
    if "comfy" not in sys.modules:
        return  # another package's module of that name
    if previewer is None or not wrap(previewer, "decode_latent_to_preview_image", _previewing):
        _missing("previews", "latent_preview.LatentPreviewer")


def _previewing(original):
    def decode_latent_to_preview_image(self, *args, **kwargs):
        with vocabulary.zone("preview", ROLE_EXPORT), doing(_Coding()), hiding_modules():
            return original(self, *args, **kwargs)
    return decode_latent_to_preview_image


WAITS_FOR = {
    "execution": _on_execution,
    "latent_preview": _on_previews,
    "comfy.samplers": _on_samplers,
    "comfy.sd": _on_parts,
    "comfy.utils": _on_files,
    "comfy.model_management": _on_models,
}
