"""What a program asked its models to be: dtype, device, memory format, attention backend, compilation, cache, offload,
autocast, and torch's own switches. Read from the modules when a pipeline is called, or a model of no pipeline for the first
time, and told once; the kernels and steps say what ran."""
import itertools
import os
import sys
import weakref

from .._memory import held as _held
from .._native import native
from .._models.components import uncompiled

CACHES = {"fbc_": "first block cache", "mag_cache_": "mag cache", "faster_cache_": "faster cache", "sea_cache_": "sea cache",
          "pyramid_attention_broadcast": "pyramid attention broadcast", "taylorseer_cache": "taylorseer cache"}
SEEN = ("fbc_", "mag_cache_")  # skip whole blocks: a step that they serve is marked `cached`
LOOKED_AT_MOST = 4000  # modules, for the first convolution
TOLD_MOST = 1000       # pipelines that are made anew for each video tell no more
WEIGHTS_MOST = 200     # parameters, for the dtype of most of them

_told = set()
_convolutions = weakref.WeakKeyDictionary()  # module -> its first convolution, or None: looking for it goes through all of them


def forget():
    """A new session: its recording has to say it again."""
    _told.clear()
    _held_to.clear()


def tell(components):
    """An event for each model of a pipeline whose settings are new. components: its name to the module."""
    for name, module in components.items():
        if hasattr(module, "named_children") and hasattr(module, "parameters"):
            tell_model(name, module)


def tell_model(name, module, called=False):
    """called: it is about to compute, under the mode that the program has set."""
    module, wrapper = uncompiled(module), module
    facts = _facts(module)
    if called and _records_gradients(module):
        facts["gradients"] = 1
    if wrapper is not module and _sees_compiling():
        facts["compiled"] = 1
    key = (name, *facts.items())
    if key not in _told and len(_told) < TOLD_MOST:
        _told.add(key)
        native.event("torch.asked", component=name, **facts)


def tell_versions():
    """Once: the versions that decide which kernels run."""
    torch = sys.modules.get("torch")
    if torch is None or "versions" in _told:
        return
    _told.add("versions")
    diffusers = getattr(sys.modules.get("diffusers"), "__version__", None)
    # asking cuDNN loads it: only where the program uses the GPU
    cudnn = torch.backends.cudnn.version() if torch.cuda.is_available() and torch.cuda.is_initialized() else None
    native.event("torch.versions", torch=str(torch.__version__), cuda=torch.version.cuda, cudnn=cudnn,
                 diffusers=None if diffusers is None else str(diffusers))


def _facts(module):
    facts = {"kind": type(module).__name__}
    blocks = _first_blocks(module)
    facts["dtype"], facts["device"] = _most_weights(module, blocks)
    convolution = _first_convolution(module)
    if convolution is not None:
        facts["convolution"] = type(convolution).__name__
        facts["memory_format"] = _memory_format(convolution.weight)
    if facts["device"] == "cuda":
        facts.update(_switches(sys.modules["torch"], convolution is not None))
        facts.update(_cast_in_every_call(sys.modules["torch"], module, facts))
    facts.update(_debugging(sys.modules["torch"], facts["device"]))
    facts["quantised"] = _quantised(blocks)
    facts["attention"] = _attention(blocks)
    facts["cache"], facts["threshold"] = _cache(module, blocks)
    facts["offload"] = _offload(module, blocks)
    facts["compiled"] = _compiled(module, blocks)
    return {key: value for key, value in facts.items() if value is not None}


def _most_weights(module, blocks):
    """Dtype and device of most weights: a model in 16 bits keeps its norms and tables in 32. Of quantised ones the dtype they
    stand for."""
    own = [tensor for block in blocks for tensor in getattr(block, "_parameters", {}).values() if tensor is not None]
    sizes = {}
    for tensor in own[:WEIGHTS_MOST] if len(own) > 2 else itertools.islice(module.parameters(), WEIGHTS_MOST):
        kind = str(tensor.dtype).replace("torch.", ""), tensor.device.type
        sizes[kind] = sizes.get(kind, 0) + tensor.numel()
    return max(sizes, key=sizes.get) if sizes else (None, None)


def _switches(torch, convolves):
    """Switches of torch's that decide which kernels a model on a GPU runs, where they are not as torch sets them."""
    facts = {}
    if torch.is_autocast_enabled():
        newer = getattr(torch, "get_autocast_dtype", None)
        facts["autocast"] = str(newer("cuda") if newer else torch.get_autocast_gpu_dtype()).replace("torch.", "")
    if convolves and not torch.backends.cudnn.enabled:
        facts["cudnn"] = 0
    elif convolves and torch.backends.cudnn.benchmark:
        facts["cudnn_benchmark"] = 1
    if torch.are_deterministic_algorithms_enabled():
        facts["deterministic"] = 1
    cuda = torch.backends.cuda
    fused = [getattr(cuda, name, None) for name in ("flash_sdp_enabled", "mem_efficient_sdp_enabled", "cudnn_sdp_enabled")]
    if not any(enabled() for enabled in fused if enabled is not None):
        facts["sdp"] = "math"
    elif fused[2] is None or not fused[2]():
        facts["cudnn_attention"] = 0
    return facts


def _cast_in_every_call(torch, module, facts):
    """Weights that autocast casts whenever they are used: with its cache only when it is entered anew."""
    if "autocast" not in facts or facts["dtype"] != "float32" or torch.is_autocast_cache_enabled():
        return {}
    return {"cast_count": sum(weight.numel() for weight in module.parameters() if weight.dim() > 1)}


FOR_FINDING_ERRORS = {"CUDA_LAUNCH_BLOCKING": "launch_blocking", "PYTORCH_NO_CUDA_MEMORY_CACHING": "no_memory_caching"}


def _debugging(torch, device):
    """Switches that are meant for finding errors and cost time wherever they are left on."""
    facts = {fact: 1 for name, fact in FOR_FINDING_ERRORS.items() if device == "cuda" and os.environ.get(name, "0") not in ("", "0")}
    tracemalloc = sys.modules.get("tracemalloc")
    if tracemalloc is not None and tracemalloc.is_tracing():
        facts["tracemalloc"] = 1
    if torch.is_anomaly_enabled() and torch.is_grad_enabled():
        facts["anomaly"] = 1
    return facts


def _records_gradients(module):
    torch = sys.modules["torch"]
    return torch.is_grad_enabled() and any(p.requires_grad for p in itertools.islice(module.parameters(), WEIGHTS_MOST))


def _first_convolution(module):
    """Looked for once for each module: a pipeline is called for every video."""
    if module not in _convolutions:
        found = _look_for_convolution(module)
        _convolutions[module] = None if found is None else weakref.ref(found)
    known = _convolutions[module]
    return None if known is None else known()


def _look_for_convolution(module):
    for index, inner in enumerate(module.modules()):
        if index == LOOKED_AT_MOST:
            return None
        if type(inner).__name__.endswith(("Conv2d", "Conv3d")) and getattr(inner, "weight", None) is not None:
            return inner
    return None


def _memory_format(weight):
    torch = sys.modules["torch"]
    wanted = {4: torch.channels_last, 5: torch.channels_last_3d}.get(weight.dim())
    if wanted is None or not weight.is_contiguous(memory_format=wanted) or weight.is_contiguous():
        return "contiguous"
    return "channels_last"


def _first_blocks(module):
    """The module, and the first of each of its lists of blocks with what that holds."""
    found = [module]
    for child in module.children():
        if type(child).__name__ == "ModuleList" and len(child):
            found.extend(child[0].modules())
    return found


def _hooks(blocks):
    for block in blocks:
        yield from getattr(getattr(block, "_diffusers_hook", None), "hooks", {}).items()


def _cache(module, blocks):
    config = getattr(module, "_cache_config", None)
    for name, hook in _hooks(blocks):
        cache = next((words for begin, words in CACHES.items() if name.startswith(begin)), None)
        if cache is not None:
            return cache, _threshold(config or getattr(hook, "config", hook)) if name.startswith(SEEN) else None
    return None, None


def _threshold(config):
    value = getattr(config, "threshold", None)
    return float(value) if isinstance(value, (int, float)) else None


def _offload(module, blocks):
    if any(name == "group_offloading" for name, _ in _hooks(blocks)):
        return "group"
    hooks = [type(getattr(block, "_hf_hook", None)).__name__ for block in blocks]
    return "model" if "CpuOffload" in hooks else "sequential" if "AlignDevicesHook" in hooks else None


def _attention(blocks):
    for block in blocks:
        backend = getattr(getattr(block, "processor", None), "_attention_backend", None)
        if backend is not None:
            return str(getattr(backend, "value", backend))
    return None


def _quantised(blocks):
    """"int8 (Int8Tensor)": what weights are kept as that say they are something else; "int8 (buffers)" of those that say nothing."""
    kept = {}
    for block in blocks:
        for parameter in getattr(block, "_parameters", {}).values():
            if parameter is not None and _held.is_wrapped(parameter):
                return "%s (%s)" % (_held.dtype_name(parameter), type(parameter).__name__)
        for group in ("_parameters", "_buffers"):
            for tensor in getattr(block, group, {}).values():
                if tensor is not None:
                    kind = group == "_buffers" and tensor.dim() > 1 and tensor.element_size() == 1, _held.dtype_name(tensor)
                    kept[kind] = kept.get(kind, 0) + tensor.numel()
    (is_narrow, name), _ = max(kept.items(), key=lambda one: one[1], default=((False, None), 0))
    return "%s (buffers)" % name if is_narrow and name != "bool" else None


def _sees_compiling():
    """True if a compilation would have been recorded (from torch 2.3 on); else a missing one says nothing."""
    return hasattr(sys.modules.get("torch._dynamo.callback"), "on_compile_start")


def _compiled(module, blocks):
    return 1 if _sees_compiling() and any(getattr(block, "_compiled_call_impl", None) is not None for block in blocks) else None


# ---- attention that is held to some backends: sdpa_kernel() ----

_held_to = {}    # backends -> how often attention was held to them
_inside = []     # sdpa_kernel() that are entered: [backends, those before it, whether another one was entered inside]
HOLDS_MOST = 2   # backends: more is free choice
INSIDE_MOST = 32
OWN = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ON_THE_WAY = (os.sep + "contextlib.py", os.path.join("torch", "nn", "attention", "__init__.py"))


def attention_is_held_to(backends, before, name_of_model):
    """Called where sdpa_kernel() begins and ends: torch then replaces the attention backends. Records at the end of the
    innermost one what attention in it was limited to, with the line that asks for it."""
    backends, before = set(backends), set(before)
    if _inside and backends == _inside[-1][1]:
        held, _, has_inner = _inside.pop()
        if not has_inner and len(held) <= HOLDS_MOST:
            _tell_held(held, name_of_model)
        return
    if _inside:
        _inside[-1][2] = True
    if len(_inside) >= INSIDE_MOST:  # ends that were not seen
        _inside.clear()
    _inside.append([backends, before, False])


def _tell_held(backends, name_of_model):
    """Records it the 1st, 4th, 16th… time. name_of_model(frame): of a frame that calls a model."""
    names = " ".join(sorted(getattr(backend, "name", str(backend)).lower() for backend in backends))
    count = _held_to[names] = _held_to.get(names, 0) + 1
    if count & (count - 1) or not count & 0x5555555555555555:
        return
    frame = sys._getframe(1)
    while frame is not None and _is_on_the_way(frame.f_code.co_filename):
        frame = frame.f_back
    if frame is None:
        return
    file, line, model = frame.f_code.co_filename, frame.f_lineno, None
    while frame is not None and model is None:
        model, frame = name_of_model(frame), frame.f_back
    native.event("torch.attention", backends=names, component=model, count=count, file=file, line=line)


def _is_on_the_way(file):
    """From the program's line to torch's switches."""
    return file.startswith(OWN) or file.endswith(ON_THE_WAY)
