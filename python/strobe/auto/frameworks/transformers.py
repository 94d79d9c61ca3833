"""transformers: generate() as a generation with vision encoder, prefill and decode, and what it does around them; what
a processor prepares; tokens and the time to the first one."""
import time

from ..._native import native
from ..._models.components import uncompiled
from .. import modules, phases, vocabulary, wrapping
from ..frames import frames_of
from ..vocabulary import Activity, doing, here, hiding_modules, stage
from ..wrapping import guard, shape_of, wrap, wrap_method

_told = set()  # kinds of models that generate without a cache


def forget():
    """A new session."""
    _told.clear()
VISION = ("visual", "vision_tower", "vision_model", "video_tower", "vision_encoder", "image_encoder")


class Generate(Activity):
    """One call of generate(). Its model's forwards are prefill until the first token is there, then decode.
    Times are the CPU's: the first token is there when the loop goes on with it."""

    def __init__(self, model, prompt, frames):
        self.model = model
        self.frames = frames
        self.batch = prompt[0] if prompt else None
        self.started_s = time.monotonic()
        self.first_token_s = None  # since the start
        self.prefills = self.decodes = 0
        self.uncached = self.uncached_tokens = 0  # decodes that were given all tokens again, and how many these were
        self.in_prefill = False
        self.in_vision = False
        self.outermost = here.activity is None  # else the steps are those of what it is called by

    def forward(self, name, module, call, args, kwargs):
        if uncompiled(module) is not self.model:
            with stage(name):
                return call(module, *args, **kwargs)
        self.phase = phases.BETWEEN  # what follows: each token is a step
        if self.in_prefill or not self.prefills:
            self.prefills += 1
            with stage("prefill"):
                result = call(module, *args, **kwargs)
                native.attrs(tokens=guard(_tokens_of, args, kwargs))  # afterwards: one that fails has none
                return result
        self.has_first_token()
        self.decodes += 1
        if self.outermost:
            native.step_passes()
        guard(self.see_cache, args, kwargs)
        with stage("decode"):
            result = call(module, *args, **kwargs)
            native.attrs(tokens=self.batch)
            return result

    def see_cache(self, args, kwargs):
        shape = _input(args, kwargs)
        if len(shape) >= 2 and shape[1] > 1 and kwargs.get("past_key_values") is None:
            self.uncached += 1
            self.uncached_tokens += shape[1]

    def has_first_token(self):
        if self.first_token_s is None and self.prefills:
            self.first_token_s = time.monotonic() - self.started_s

    def facts(self, result, prompt):
        """What a reader of the generation wants to know; nothing here waits for a GPU."""
        self.has_first_token()
        batch, length = _new_tokens(self.model, result, prompt)
        if self.uncached and type(self.model) not in _told:
            _told.add(type(self.model))
            native.event("transformers.uncached", component=type(self.model).__name__, decode_count=self.uncached,
                         token_count=self.uncached_tokens // self.uncached)
        native.counter_add("tokens", batch * length)
        decode_s = self.times()
        native.attrs(new_tokens=batch * length, batch=batch, tokens_per_s=batch * self.decodes / decode_s if self.decodes and decode_s else None)

    def times(self):
        """Says the times to the first token and after it, and what had to be read for it; the second one. A call that fails before
        has neither, and no part in any rate."""
        if self.first_token_s is None:
            return None
        decode_s = time.monotonic() - self.started_s - self.first_token_s
        native.attrs(time_to_first_token_s=self.first_token_s, time_after_first_token_s=decode_s, input_frames=self.frames)
        return decode_s


def _prompt_of(args, kwargs):
    """Rows and tokens of what generate() is given."""
    for key in ("input_ids", "inputs", "inputs_embeds"):
        if kwargs.get(key) is not None:
            return shape_of(kwargs[key])
    return shape_of(args[0]) if args else ()


def _input_frames(kwargs):
    """Frames that generate() is given: those its processor was given last, or those its pixels have."""
    pixels = [value for key, value in kwargs.items() if key.startswith("pixel_values") and value is not None]
    prepared, here.prepared_frames = here.prepared_frames, 0
    if not pixels:
        return None
    shape = shape_of(pixels[0])
    return prepared or (shape[0] * shape[1] if len(shape) == 5 else None)


def _input(args, kwargs):
    """The token ids or embeddings of a forward, batch first."""
    for value in (kwargs.get("input_ids"), kwargs.get("decoder_input_ids"), kwargs.get("inputs_embeds"), *args[:1]):
        if len(shape_of(value)) >= 2:
            return shape_of(value)
    return ()


def _tokens_of(args, kwargs):
    shape = _input(args, kwargs)
    return shape[0] * shape[1] if shape else None


def _new_tokens(model, result, prompt):
    """(sequences, new tokens of each). An encoder-decoder's begin with one that starts it, others with the prompt."""
    sequences = shape_of(getattr(result, "sequences", result))
    if len(sequences) != 2:
        return 0, 0
    echoed = prompt[1] if len(prompt) == 2 else 0
    if getattr(model.config, "is_encoder_decoder", False):
        echoed = 1
    return sequences[0], max(sequences[1] - echoed, 0)


# ---- generate() ----

def _on_generation(module):
    mixin = getattr(module, "GenerationMixin", None)
    if mixin is not None:
        wrap(mixin, "generate", _generating)
        wrap(mixin, "_prefill", _prefilling)


def _generating(original):
    def generate(self, *args, **kwargs):
        if wrapping.compiling() or isinstance(here.activity, Generate):  # an assistant's, inside
            return original(self, *args, **kwargs)
        guard(modules.notice, self)
        guard(_know, self)
        prompt = guard(_prompt_of, args, kwargs) or ()
        frames = guard(_input_frames, kwargs)
        with vocabulary.generation(type(self).__name__ + ".generate"), doing(Generate(self, prompt, frames)) as call:
            guard(call.open_phase, phases.BEFORE)
            try:
                result = original(self, *args, **kwargs)
            except BaseException as error:
                guard(call.close_phase, error)
                guard(call.times)
                raise
            guard(call.close_phase)
            guard(call.facts, result, prompt)
            return result
    return generate


def _prefilling(original):
    """A long prompt is taken in chunks: all of them are prefill."""
    def _prefill(self, *args, **kwargs):
        call = here.activity
        if not isinstance(call, Generate) or call.model is not self:
            return original(self, *args, **kwargs)
        call.in_prefill = True
        try:
            return original(self, *args, **kwargs)
        finally:
            call.in_prefill = False
    return _prefill


def _know(model):
    """The model's vision encoder, wherever in it."""
    for name, part in model.named_modules():
        if name.rpartition(".")[2] in VISION:
            modules.watch_calls(part, _vision)
            return


def _vision(original):
    def __call__(self, *args, **kwargs):
        call = None if wrapping.compiling() else here.activity
        if not isinstance(call, Generate) or call.in_vision:
            return original(self, *args, **kwargs)
        call.in_vision = True
        try:
            with stage("vision_encoder"), hiding_modules():
                return original(self, *args, **kwargs)
        finally:
            call.in_vision = False
    return __call__


# ---- processors ----

def _on_processors(*class_names):
    def wrap_classes(module):
        for name in class_names:
            cls = getattr(module, name, None)
            if cls is not None:
                wrap_method(cls, "__call__", _preprocessing)
                wrap(cls, "__init__", _knowing_processor)
    return wrap_classes


def _knowing_processor(original):
    """A processor's class may have a __call__ of its own."""
    def __init__(self, *args, **kwargs):
        guard(wrap_method, type(self), "__call__", _preprocessing)
        return original(self, *args, **kwargs)
    return __init__


def _video_of(args, kwargs):
    """The videos among a processor's arguments, a few dimensions or lists deep."""
    videos = kwargs.get("videos")
    return videos if videos is not None else args[0] if args else None


def _video_facts(args, kwargs):
    videos = _video_of(args, kwargs)
    if isinstance(videos, str):
        return {}
    count, height, width = frames_of(videos)
    return {"frames": count, "width": width, "height": height} if count else {}


def _preprocessing(original):
    def __call__(self, *args, **kwargs):
        if wrapping.compiling() or here.preparing:
            return original(self, *args, **kwargs)
        here.preparing = True
        try:
            facts = guard(_video_facts, args, kwargs) or {}
            here.prepared_frames = facts.get("frames", 0)
            with stage("preprocess", **facts):
                return original(self, *args, **kwargs)
        finally:
            here.preparing = False
    return __call__


WAITS_FOR = {
    "transformers.generation.utils": _on_generation,
    "transformers.processing_utils": _on_processors("ProcessorMixin"),
    "transformers.image_processing_utils": _on_processors("BaseImageProcessor"),
    "transformers.video_processing_utils": _on_processors("BaseVideoProcessor"),
}
