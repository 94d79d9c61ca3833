"""A diffusers pipeline call as a generation: text encode, denoise steps with
their forwards, VAE. Pipelines are known by register_modules(), which each
of them calls; their parts by name and by what they can do."""
import contextlib
import os
import weakref

from ..._models import components, flops
from ..._memory import caches as _caches
from ..._native import native, own_section
from .. import asked, modules, phases, vocabulary, wrapping
from ..frames import frames_in, frames_of, images_in, videos_of
from ..skipped import Skipped
from ..vocabulary import Activity, doing, here, stage
from ..wrapping import guard, shape_of, wrap, wrap_method
from ..._share import Share

DENOISERS = ("transformer", "unet", "prior", "dit", "denoiser", "controlnet")
NO_DENOISERS = ("text_encoder", "image_encoder", "vae", "vocoder", "safety_checker", "image_processor")


def _on(toggle):
    return os.environ.get("STROBE_PROFILE_" + toggle, "1").lower() not in ("0", "false", "no", "off")


def _on_pipelines(module):
    base = getattr(module, "DiffusionPipeline", None)
    if base is not None:
        wrap(base, "register_modules", _registering)


def _on_modular(module):
    base = getattr(module, "ModularPipeline", None)
    if base is not None:
        wrap(base, "register_components", _registering)


def _on_processors(module):
    for cls, name in (("VideoProcessor", "postprocess_video"), ("VaeImageProcessor", "postprocess")):
        if hasattr(module, cls):
            wrap(getattr(module, cls), name, _postprocess)


def _registering(original):
    def register_modules(self, *args, **kwargs):
        result = original(self, *args, **kwargs)
        guard(_know, self, kwargs)
        return result
    return register_modules


def _know(pipeline, parts):
    """Wraps the pipeline's class and its parts' classes, once each."""
    cls = type(pipeline)
    wrap_method(cls, "__call__", _generation)
    if _on("TEXT_ENCODING"):
        for name in ("encode_prompt", "_encode_prompt"):
            wrap_method(cls, name, _text_encode)
        guard(_know_blocks, getattr(pipeline, "_blocks", None))
    for name, part in parts.items():
        if part is None or isinstance(part, (str, int, float, tuple, list, dict, bool)):
            continue
        if hasattr(part, "modules") and hasattr(part, "parameters"):
            components.set_name_with_parts(part, name)
        if _know_scheduler(part):
            _stepping.add(cls)
        if _know_vae(part):
            guard(modules.watch_calls, getattr(part, "decoder", None), _counting_tiles)
            guard(modules.watch_calls, getattr(part, "encoder", None), _counting_tiles)
        if name.rstrip("_0123456789") in DENOISERS:
            guard(_watch_blocks, part)


def _know_scheduler(part):
    """Whether it is one."""
    found = hasattr(part, "step") and hasattr(part, "set_timesteps")
    if found:
        wrap_method(type(part), "step", _scheduler_step)
        wrap_method(type(part), "set_timesteps", _set_timesteps)
    return found


def _know_vae(part):
    """Whether it is one."""
    found = hasattr(part, "decode") and hasattr(part, "encode") and hasattr(part, "parameters") and _on("VAE_DECODE")
    if found:
        wrap_method(type(part), "decode", lambda original: _vae(original, "vae_decode"))
        wrap_method(type(part), "encode", lambda original: _vae(original, "vae_encode"))
    return found


def _on_configurations(module):
    """A VAE of no pipeline, as a training loop has it; a scheduler that will replace a pipeline's."""
    base = getattr(module, "ConfigMixin", None)
    if base is not None:
        wrap(base, "register_to_config", _configuring)


def _configuring(original):
    def register_to_config(self, *args, **kwargs):
        guard(_know_scheduler, self)
        guard(_know_vae, self)
        return original(self, *args, **kwargs)
    return register_to_config


_stepping = weakref.WeakSet()  # classes of pipelines that have a scheduler


def _know_blocks(block):
    """A modular pipeline is a tree of blocks; the one that encodes text is known by its class."""
    inner = getattr(block, "sub_blocks", None) or {}
    for one in inner.values():
        _know_blocks(one)
    if not inner and "TextEncoder" in type(block).__name__:
        wrap_method(type(block), "__call__", _text_encode)


# ---- one call of the pipeline ----

def _current():
    """The pipeline call that the calling thread is in; None: it is in none, or in something else inside it."""
    return here.activity if isinstance(here.activity, Call) else None


class Call(Activity, Skipped):
    """What is known of the call in progress."""

    def __init__(self, arguments):
        Skipped.__init__(self)
        self.guidance_scale = _number(arguments.get("guidance_scale"))
        self.is_video = "num_frames" in arguments or "video_length" in arguments
        self.gives_latents = arguments.get("output_type") == "latent"
        self.in_step = False
        self.step_count = 0
        self.tiles = 0
        self.tile_cache = None
        self.has_timesteps = False
        self.postprocessing = False
        self.steps_left = 0  # 0 too where it is not known

    def is_denoiser(self, name):
        """By its name; or, between set_timesteps() and step(), by being none of the others."""
        base = name.rstrip("_0123456789")
        return base in DENOISERS or self.has_timesteps and base not in NO_DENOISERS

    def forward(self, name, module, call, args, kwargs):
        """A denoiser's opens the step that scheduler.step() ends: the two forwards of CFG, or a second
        transformer, are in one step."""
        if not self.is_denoiser(name):
            with stage(name):
                return call(module, *args, **kwargs)
        if not self.in_step:
            guard(self.begin_step)
        before = self.blocks_run, self.attentions_run
        with vocabulary.forward(name):
            result = call(module, *args, **kwargs)
        guard(self.end_forward, type(module), self.blocks_run - before[0], self.attentions_run - before[1])
        return result

    def begin_step(self):
        self.left_out |= not self.close_phase()
        self.in_step, here.denoising = True, self
        self.begin_counting()
        step = vocabulary.step("denoise", self.step_count, guidance_scale=self.guidance_scale)
        if step is not None:
            self.open_step(step)

    def end_step(self, timestep=None, scheduler=None):
        if not self.in_step:
            return
        self.in_step, here.denoising = False, None
        if self.step_zone is not None:
            cached = self.was_cached()
            native.attrs(timestep=timestep, cached=1 if cached else None, partly_cached=1 if cached is False else None)
            self.close_step(self.phase_after(scheduler))
        self.step_count += 1

    def phase_after(self, scheduler):
        """By the scheduler's own count where it has one: a call may begin in the middle of its timesteps."""
        self.steps_left -= 1
        index, timesteps = getattr(scheduler, "step_index", None), getattr(scheduler, "timesteps", None)
        left = self.steps_left if index is None or timesteps is None else len(timesteps) - index
        return phases.BETWEEN if left > 0 else phases.AFTER

    def fail(self, error):
        here.denoising = None
        super().fail(error)


def _number(value):
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _arguments(signature, self, args, kwargs):
    """The call's arguments by name, defaults included."""
    try:
        bound = signature.bind(self, *args, **kwargs)
        bound.apply_defaults()
        return dict(bound.arguments.get("kwargs") or {}, **bound.arguments)
    except Exception:  # a call that will fail, or a signature that cannot be read
        return kwargs


def _generation(original):
    import inspect
    signature = guard(inspect.signature, original)

    def __call__(self, *args, **kwargs):
        if wrapping.compiling() or _current() is not None:  # a pipeline inside a pipeline
            return original(self, *args, **kwargs)
        arguments = _arguments(signature, self, args, kwargs)
        facts = {name: arguments[name] for name in ("width", "height", "num_inference_steps", "num_frames")
                 if _number(arguments.get(name)) is not None}
        known = modules.Known() if guard(_is_known, self) else contextlib.nullcontext()
        guard(_tell_asked, self)
        with vocabulary.generation(type(self).__name__, **facts), doing(Call(arguments)) as call, known:
            if type(self) in _stepping:
                guard(call.open_phase, phases.BEFORE)
            try:
                result = original(self, *args, **kwargs)
            except BaseException as error:
                call.fail(error)
                raise
            guard(call.end_step)
            guard(call.close_phase)
            guard(_output, result, call)
            return result
    return __call__


_calls = weakref.WeakKeyDictionary()  # of a pipeline
_made_of = set()  # what pipelines that were called are made of
MADE_MOST = 1000
TOLD_EACH = 8  # calls; then the 16th, 32nd…: reading the models takes milliseconds
_telling = Share(200)  # of pipelines that are made anew for each video
_pipelines = 0  # that were called


def forget():
    """A new session."""
    global _pipelines
    _pipelines = 0
    _calls.clear()
    _telling.forget()


def _is_known(pipeline):
    """Whether one like it, made of the same classes, was called before: then no new class is found inside it. Else a part
    may have been replaced since it was registered: pipe.scheduler = another."""
    made_of = tuple(map(type, (pipeline, *vars(pipeline).values())))
    known = made_of in _made_of
    if not known:
        guard(_know, pipeline, {name: part for name, part in vars(pipeline).items() if not name.startswith("_")})
        if len(_made_of) < MADE_MOST:
            _made_of.add(made_of)
    return known


def _tell_asked(pipeline):
    global _pipelines
    count = _calls[pipeline] = _calls.get(pipeline, 0) + 1
    _pipelines += count == 1
    if count > TOLD_EACH and count & (count - 1) or _pipelines > TOLD_EACH and not _telling.allows():
        return
    with _telling, own_section("reading the models"):
        asked.tell_versions()
        asked.tell(getattr(pipeline, "components", None) or {})


def _output(result, call):
    """Output frames or images, counted once, where they leave the pipeline. Latents are none."""
    if call.gives_latents:
        native.attrs(videos=0)
        return
    frames = frames_in(result, call.is_video)
    if frames is None:
        count, height, width = frames_of(images_in(result, call.is_video))
        if count and height:
            native.attrs(images=count, width=width, height=height)
        return
    count, height, width = frames_of(frames)
    if count:
        videos = videos_of(frames)
        vocabulary.frames(count, width=width, height=height, videos=videos if videos > 1 else None)


# ---- parts ----

def _place_of_timestep(step):
    """Among the arguments after self; CogVideoX's solver is given its last prediction before it."""
    import inspect
    names = list(inspect.signature(step).parameters)
    return names.index("timestep") - 1 if "timestep" in names else 1


def _scheduler_step(original):
    place = guard(_place_of_timestep, original)

    def step(self, *args, **kwargs):
        current = None if wrapping.compiling() else _current()
        if current is None or not current.in_step:
            return original(self, *args, **kwargs)
        with stage("scheduler_step"):
            result = original(self, *args, **kwargs)
        guard(current.end_step, guard(_timestep, args, kwargs, place), self)
        return result
    return step


def _set_timesteps(original):
    def set_timesteps(self, *args, **kwargs):
        result = original(self, *args, **kwargs)
        current = None if wrapping.compiling() else _current()
        if current is not None:
            current.has_timesteps = True
            current.steps_left = guard(len, getattr(self, "timesteps", ())) or 0
        return result
    return set_timesteps


def _timestep(args, kwargs, place):
    value = kwargs.get("timestep", args[place] if place is not None and len(args) > place else None)
    if value is None or not getattr(value, "is_cpu", True) or shape_of(value) not in ((), (1,)):
        return None  # on the device: not worth a wait
    return float(value)


def _text_encode(original):
    def encode_prompt(self, *args, **kwargs):
        if wrapping.compiling() or _current() is None:
            return original(self, *args, **kwargs)
        with stage("text_encode"):
            return original(self, *args, **kwargs)
    return encode_prompt


def _postprocess(original):
    def postprocess(self, *args, **kwargs):
        current = None if wrapping.compiling() else _current()
        if current is None or current.postprocessing:
            return original(self, *args, **kwargs)
        current.postprocessing = True
        try:
            with stage("postprocess"):
                return original(self, *args, **kwargs)
        finally:
            current.postprocessing = False
    return postprocess


def _vae(original, name):
    def method(self, *args, **kwargs):
        if wrapping.compiling() or here.module_depth:
            return original(self, *args, **kwargs)
        current = _current()
        if current is not None:
            guard(current.end_step)
            current.tiles, current.tile_cache = 0, None
            current.has_timesteps = False if name == "vae_decode" else current.has_timesteps
        shape = guard(flops.note, self, args, kwargs, name.replace("vae_", ""))
        latent = shape_of(args[0] if args else next(iter(kwargs.values()), None))
        facts = {"latent_frames": latent[2]} if name == "vae_decode" and len(latent) == 5 else {}
        if name == "vae_decode" and len(latent) == 4 and current is not None and current.is_video:
            facts["latent_frames"] = latent[0]  # a frame-wise VAE: AnimateDiff, Stable Video Diffusion
        here.module_depth += 1
        try:
            with stage(name, **facts):
                if shape is not None:
                    native.attrs(flops_shape=shape)
                result = original(self, *args, **kwargs)
                guard(_vae_facts, self, name, result, current)
                return result
        finally:
            here.module_depth -= 1
    return method


def _vae_facts(vae, name, result, current):
    facts = {}
    made = getattr(result, "sample", None)
    if made is None and isinstance(result, tuple) and result:
        made = result[0]
    if name == "vae_decode" and len(shape_of(made)) == 5:
        facts["frames"] = shape_of(made)[0] * shape_of(made)[2]
    if name == "vae_decode" and len(shape_of(made)) == 4 and current is not None and current.is_video:
        facts["frames"] = shape_of(made)[0]
    if current is not None and current.tiles > 1 and getattr(vae, "use_tiling", False):
        facts["tiles"] = current.tiles
    if facts:
        native.attrs(**facts)
    if current is not None:
        current.tile_cache = None


def _counting_tiles(original):
    """A tile of a causal VAE is decoded in several calls, a few frames each, that hand a cache on."""
    def __call__(self, *args, **kwargs):
        current = None if wrapping.compiling() else _current()
        if current is not None:
            cache = kwargs.get("feat_cache", kwargs.get("conv_cache"))
            continues = cache is not None and ("conv_cache" in kwargs or cache is current.tile_cache)
            current.tile_cache = cache
            current.tiles += not continues
        return original(self, *args, **kwargs)
    return __call__


def _counting_blocks(original):
    compiling = wrapping.compiling  # torch is there, for this is a call of its module

    def __call__(self, *args, **kwargs):  # of every block: kept short
        if not compiling():
            steps = here.denoising
            if steps is not None:
                steps.blocks_run += 1
        return original(self, *args, **kwargs)
    return __call__


def _counting_attentions(original):
    compiling = wrapping.compiling

    def __call__(self, *args, **kwargs):
        if not compiling():
            steps = here.denoising
            if steps is not None:
                steps.attentions_run += 1
        return original(self, *args, **kwargs)
    return __call__


def _watch_blocks(denoiser):
    """A denoiser's blocks, its longest list of modules, and the attention in them: a cache may pass over either."""
    lists = [child for child in denoiser.children() if type(child).__name__ == "ModuleList" and len(child)]
    if not lists:
        return
    block = max(lists, key=len)[0]
    modules.watch_calls(block, _counting_blocks)
    for inner in block.modules():
        if inner is not block and "attention" in type(inner).__name__.lower():
            modules.watch_calls(inner, _counting_attentions)
            return


# ---- caches of attentions and blocks ----

KEPT_BY = {"fbc_": "first-block cache", "mag_cache": "MagCache", "sea_cache": "SeaCache", "taylorseer": "TaylorSeer cache",
           "faster_cache": "FasterCache", "pyramid_attention": "pyramid attention cache"}  # hooks' names begin so
PART_CACHES = ("pyramid_attention_broadcast", "faster_cache_block", "taylorseer_cache")


def _on_hooks(module):
    wrap_method(module.HookRegistry, "register_hook", _register_hook)


def _register_hook(original):
    def register_hook(self, hook, name, *args, **kwargs):
        result = original(self, hook, name, *args, **kwargs)
        if name in PART_CACHES:
            guard(_watch_cache, hook)
        guard(_note_cache, hook, name)
        return result
    return register_hook


def _note_cache(hook, name):
    for begin, component in KEPT_BY.items():
        if name.startswith(begin):
            _caches.note(getattr(hook, "state_manager", None) or getattr(hook, "state", None), component)


def _watch_cache(hook):
    """Such a hook is asked for each part's output and runs the part, or not."""
    functions = hook.fn_ref
    if functions.original_forward is not None:
        functions.forward = _counted(functions.forward, "parts_asked")
        functions.original_forward = _counted(functions.original_forward, "parts_run")


def _counted(function, field):
    def counted(*args, **kwargs):
        if not wrapping.compiling() and _current() is not None:
            setattr(here.activity, field, getattr(here.activity, field) + 1)
        return function(*args, **kwargs)
    return counted


WAITS_FOR = {
    "diffusers.configuration_utils": _on_configurations,
    "diffusers.hooks.hooks": _on_hooks,
    "diffusers.pipelines.pipeline_utils": _on_pipelines,
    "diffusers.modular_pipelines.modular_pipeline": _on_modular,
    "diffusers.image_processor": _on_processors,
    "diffusers.video_processor": _on_processors,
}
