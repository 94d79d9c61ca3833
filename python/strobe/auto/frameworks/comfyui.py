"""ComfyUI: a generation for each prompt, a stage for each node that is executed, steps of samplers, models that are
loaded and unloaded. Its insides change often: what is not found is said once, and the run goes on."""

from ..._native import native
from .. import vocabulary, wrapping
from ..vocabulary import Activity, doing, here, stage
from ..wrapping import guard, wrap


class Prompt(Activity):
    """One prompt; node is (class, id, title) of the node that runs."""
    node = None


def _missing(what, name):
    native.missing(what, "this ComfyUI has no %s" % name, "docs/frameworks.md names what was tested")


def _either_way(original, around):
    """Calls original inside around(args, kwargs), whether it is a coroutine function or not."""
    import inspect
    if inspect.iscoroutinefunction(original):
        async def call(*args, **kwargs):
            with around(args, kwargs):
                return await original(*args, **kwargs)
        return call

    def call(*args, **kwargs):
        with around(args, kwargs):
            return original(*args, **kwargs)
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
        self._prompt_id = kwargs.get("prompt_id", args[2] if len(args) > 2 else None)

    def __enter__(self):
        self._zone = vocabulary.generation("prompt", prompt_id=self._prompt_id)
        self._zone.__enter__()
        self._doing = doing(Prompt())
        self._doing.__enter__()

    def __exit__(self, kind, error, trace):
        self._doing.__exit__(kind, error, trace)
        self._zone.__exit__(kind, error, trace)


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


def _node_zone(args, kwargs):
    name, number, title = getattr(here.activity, "node", None) or ("node", None, None)
    return stage(name, node_id=number, title=title)


def _running_node(original):
    return _either_way(original, _node_zone)


# ---- samplers ----

def _on_samplers(module):
    sampler = getattr(module, "KSAMPLER", None)
    if sampler is None or not wrap(sampler, "sample", _sampling):
        _missing("steps of samplers", "comfy.samplers.KSAMPLER.sample")


class _Steps:
    """The sampler's callback. A sampler says when a step has its result: a step goes from one such moment to the
    next, the first from the beginning; after the last nothing begins."""

    def __init__(self, callback, total):
        self.callback = callback
        self.total = total
        self.count = 0
        self.zone = None

    def begin(self):
        if self.count < self.total:
            self.zone = vocabulary.step("denoise", self.count)
        if self.zone is not None:
            self.zone.__enter__()

    def end(self, kind=None):
        if self.zone is not None:
            self.zone.__exit__(kind, None, None)
        self.zone = None
        self.count += 1

    def __call__(self, *args, **kwargs):
        guard(self.end)
        result = self.callback(*args, **kwargs) if self.callback is not None else None
        guard(self.begin)
        return result


def _sampling(original):
    import inspect
    signature = inspect.signature(original)

    def sample(self, *args, **kwargs):
        if wrapping.compiling() or "callback" not in signature.parameters:
            return original(self, *args, **kwargs)
        bound = signature.bind(self, *args, **kwargs)
        steps = _Steps(bound.arguments.get("callback"), len(bound.arguments["sigmas"]) - 1)
        bound.arguments["callback"] = steps
        guard(steps.begin)
        try:
            return original(*bound.args, **bound.kwargs)
        except BaseException as error:
            guard(steps.end, type(error))
            raise
        finally:
            if steps.zone is not None:
                guard(steps.end)
    return sample


# ---- models ----

def _on_models(module):
    loaded = getattr(module, "LoadedModel", None)
    if loaded is None or not wrap(loaded, "model_load", _loading) or not wrap(loaded, "model_unload", _unloading):
        _missing("loads and unloads of models", "comfy.model_management.LoadedModel")


def _model_of(loaded):
    """(name, bytes) of a LoadedModel."""
    patcher = loaded.model
    return type(getattr(patcher, "model", patcher)).__name__, int(loaded.model_memory())


def _loading(original):
    def model_load(self, *args, **kwargs):
        name, size = guard(_model_of, self) or ("model", 0)
        with vocabulary.load("load:" + name, lambda: size):
            return original(self, *args, **kwargs)
    return model_load


def _unloading(original):
    def model_unload(self, *args, **kwargs):
        name, size = guard(_model_of, self) or ("model", 0)
        with vocabulary.offload(name, size):
            return original(self, *args, **kwargs)
    return model_unload


WAITS_FOR = {
    "execution": _on_execution,
    "comfy.samplers": _on_samplers,
    "comfy.model_management": _on_models,
}
