"""The decorators of the session profiler. Each finds its profiler as
self._profiler, self.profiler or the process-wide one, and records into strobe
with or without it. A raising extractor costs one counted error, never the call."""
import contextlib
import functools
import inspect
import math
import time

from .. import _faults, _record
from .._core import ROLE_BLOCK, ROLE_LAYER, ROLE_STEP, native, section
from .profiler import current_profiler, host_number, record_batch


def _profiler_of(args):
    if args:
        for name in ("_profiler", "profiler"):
            found = getattr(args[0], name, None)
            if found is not None and hasattr(found, "record_diffusion_step"):
                return found if getattr(found, "enabled", True) else None
    return current_profiler()


def _takes_self(function, args=()):
    """True if its first argument is called self or cls, or if the call passes an object that has the function."""
    try:
        first = next(iter(inspect.signature(function).parameters), None)
    except (TypeError, ValueError):
        first = None
    if first in ("self", "cls"):
        return True
    held = getattr(type(args[0]), function.__name__, None) if args and first else None
    return held is not None and inspect.unwrap(held) is inspect.unwrap(function)


def _extract(what, extractor, *args, **kwargs):
    """The extractor's dict; {} where it fails, which is counted under `what`."""
    if extractor is None:
        return {}
    try:
        return dict(extractor(*args, **kwargs) or {})
    except Exception as error:
        profiler = current_profiler()
        if profiler is not None:
            profiler.error_count += 1
        _faults.count_given(what, error)
        return {}


def _as_called(function, args, kwargs):
    """(args, kwargs) for an extractor, without self: every argument both at its place and by
    its name, however the call was written."""
    method = _takes_self(function, args)
    args = args[1:] if method else args
    try:
        signature = inspect.signature(function)
        parameters = list(signature.parameters.values())[1 if method else 0:]
        bound = signature.replace(parameters=parameters).bind(*args, **kwargs)
    except (TypeError, ValueError):
        return args, kwargs
    bound.apply_defaults()
    placed = []
    for parameter in parameters:
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            placed.append(bound.arguments[parameter.name])
        elif parameter.kind is parameter.VAR_POSITIONAL:
            placed.extend(bound.arguments[parameter.name])
    return tuple(placed), dict(_named(function, (None,) + args if method else args, kwargs))


def _around(function, enter):
    """Wraps a plain or async function in enter(args, kwargs), a context manager
    that yields a function taking the result, or None."""
    if inspect.iscoroutinefunction(function):
        @functools.wraps(function)
        async def call(*args, **kwargs):
            with enter(args, kwargs) as after:
                result = await function(*args, **kwargs)
                if after is not None:
                    after(result)
                return result
    else:
        @functools.wraps(function)
        def call(*args, **kwargs):
            with enter(args, kwargs) as after:
                result = function(*args, **kwargs)
                if after is not None:
                    after(result)
                return result
    return call


def profile_method(stage_name=None, metadata=None):
    """A stage around each call."""
    if callable(stage_name):
        return profile_method()(stage_name)

    def decorate(function):
        name = stage_name or function.__name__

        @contextlib.contextmanager
        def enter(args, kwargs):
            profiler = _profiler_of(args)
            with profiler.stage(name, metadata) if profiler is not None else section(name, **(metadata or {})):
                yield None
        return _around(function, enter)
    return decorate


def _prompt_tags(function, args, kwargs):
    """prompt and prompt_length, as the sessions of video pipelines carry them."""
    named = _named(function, args, kwargs)
    prompt = named.get("prompt", named.get("prompts"))
    if isinstance(prompt, (list, tuple)) and prompt:
        prompt = prompt[0]
    if not isinstance(prompt, str):
        return {}
    return {"prompt": prompt[:200], "prompt_length": len(prompt)}


def profile_session(session_name=None, tags=None):
    """A session, and in strobe a generation, around each call. Inside another
    session it is a stage of that one."""
    if callable(session_name):
        return profile_session()(session_name)

    def decorate(function):
        name = session_name or function.__name__

        @contextlib.contextmanager
        def enter(args, kwargs):
            profiler = _profiler_of(args)
            if profiler is None or profiler.in_session:
                with profiler.stage(name) if profiler is not None else _record.generation(name):
                    yield None
                return
            all_tags = dict(_prompt_tags(function, args, kwargs), **(tags or {}))
            profiler.start_session(session_name, all_tags)
            try:
                with profiler.generation(name):
                    yield None
            finally:
                profiler.end_session()
        return _around(function, enter)
    return decorate


def _named(function, args, kwargs):
    """The call's arguments by name, without self; what **kwargs took is spread out."""
    try:
        signature = inspect.signature(function)
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
    except (TypeError, ValueError):
        return dict(kwargs)
    named = {}
    for name, value in bound.arguments.items():
        kind = signature.parameters[name].kind
        if kind is inspect.Parameter.VAR_KEYWORD:
            named.update(value)
        elif kind is not inspect.Parameter.VAR_POSITIONAL and name not in ("self", "cls"):
            named[name] = value
    return named


def _call_extractor(extractor, result, named):
    """extractor(result, ...arguments by name...), with those it can take."""
    parameters = list(inspect.signature(extractor).parameters.values())
    if parameters:
        named.pop(parameters[0].name, None)
    if not any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters):
        accepted = {p.name for p in parameters}
        named = {key: value for key, value in named.items() if key in accepted}
    return extractor(result, **named)


def add_profiling_event(event_name, data_extractor=None):
    """An event after each call; data_extractor(result, **arguments) gives its data."""
    def decorate(function):
        @contextlib.contextmanager
        def enter(args, kwargs):
            def after(result):
                data = _extract("the data of event '%s'" % event_name, data_extractor and
                                (lambda: _call_extractor(data_extractor, result, _named(function, args, kwargs))))
                profiler = _profiler_of(args)
                if profiler is not None:
                    profiler.add_event(event_name, data)
                else:
                    native.event(event_name, **{str(key): value for key, value in data.items()})
            yield after
        return _around(function, enter)
    return decorate


@contextlib.contextmanager
def _zone(function, name, role, data, keys):
    """A zone with a role around the call, unless the extractor knows the duration: that is
    recorded under the name, and the call under its own; where both are the same, only the first."""
    if data.get("computation_time_ms") is not None:
        own = getattr(function, "__name__", name)
        with contextlib.nullcontext() if own == name else section(own):
            yield
        return
    if not native.role_recorded(role):
        yield
        return
    native.zone_begin(name)
    native.role(role)
    native.attrs(**{attribute: data[key] for key, attribute in keys.items() if data.get(key) is not None})
    try:
        yield
    finally:
        native.role_end(role)
        native.zone_end(name)


def _measured(function, extractor, name, role, keys, keep):
    """Decorates with a zone; keep(profiler, data) takes what the call was."""
    @contextlib.contextmanager
    def enter(args, kwargs):
        profiler = _profiler_of(args)
        if profiler is not None:
            profiler.record_outside()
        data = _extract("the numbers of %s" % function.__name__, extractor, *_as_called(function, args, kwargs))
        given = data.get("computation_time_ms") is not None
        begin = time.perf_counter()
        with _zone(function, name, role, data, keys):
            yield None
        data.setdefault("computation_time_ms", (time.perf_counter() - begin) * 1e3)
        try:
            keep(profiler, data, given)
        except Exception:
            _faults.count("in a decorator")
    return _around(function, enter)


def profile_diffusion_step(step_extractor=None):
    """Each call is one diffusion step; step_extractor(args, kwargs) gives step, timestep, block_size."""
    def keep(profiler, data, given):
        known = {key: data[key] for key in ("step", "timestep", "block_size", "computation_time_ms", "guidance_scale")
                 if key in data}
        if profiler is None:
            if given:
                _record.step_record(host_number(known.get("step", 0), 0), seconds=known["computation_time_ms"] / 1e3,
                                    timestep=host_number(known.get("timestep", math.nan), math.nan),
                                    block_size=known.get("block_size", 1), guidance_scale=known.get("guidance_scale"))
        elif given:
            profiler.record_diffusion_step(**known)
        elif profiler.config.profile_diffusion_steps and profiler.config.profile_inference_steps:  # strobe has the step as a zone already
            profiler._session.diffusion.record_diffusion_step(**known)
            profiler._say_where("diffusion_analysis")

    def decorate(function):
        return _measured(function, None if function is step_extractor else step_extractor, "diffusion_step", ROLE_STEP,
                         {"step": "step", "timestep": "timestep", "block_size": "block_size",
                          "guidance_scale": "guidance_scale"}, keep)
    return _bare_or_not(step_extractor, decorate)


def profile_block_computation(block_extractor=None):
    """Each call is one block; block_extractor(args, kwargs) gives block_index, block_size, ..."""
    def keep(profiler, data, given):
        known = {key: data[key] for key in ("block_index", "block_size", "computation_time_ms", "memory_usage_mb")
                 if key in data}
        if profiler is None:
            if given:
                memory_mb = known.get("memory_usage_mb")
                _record.block_record(known.get("block_index", 0), frames=known.get("block_size", 1),
                                     seconds=known["computation_time_ms"] / 1e3,
                                     memory_bytes=-1 if memory_mb is None else int(memory_mb * 1048576))
        elif given:
            profiler.record_block_computation(**known)
        elif profiler.config.profile_block_computation:
            profiler._session.diffusion.record_block_computation(**known)
            profiler._say_where("block_analysis")

    def decorate(function):
        return _measured(function, None if function is block_extractor else block_extractor, "block", ROLE_BLOCK,
                         {"block_index": "index", "block_size": "block_size"}, keep)
    return _bare_or_not(block_extractor, decorate)


def _bare_or_not(target, decorate):
    """@decorator without parentheses: the target is the function, not an extractor. A method is
    known by its self; a plain function when it is first called with anything but a function."""
    if not inspect.isfunction(target) or target.__name__ == "<lambda>":
        return decorate
    bare = decorate(target)
    if _takes_self(target):
        return bare

    @functools.wraps(target)
    def call(*args, **kwargs):
        if len(args) == 1 and not kwargs and inspect.isfunction(args[0]):
            return decorate(args[0])
        return bare(*args, **kwargs)
    return call


def profile_model_parameters(params_extractor=None):
    """After each call the model is known; params_extractor(args, kwargs) gives model_name, parameters_count, model_type."""
    def decorate(function):
        @contextlib.contextmanager
        def enter(args, kwargs):
            def after(result):
                extractor = None if function is params_extractor else params_extractor
                data = _extract("the parameters of a model", extractor, *_as_called(function, args, kwargs))
                known = {"model_name": str(data.get("model_name", "unknown_model")),
                         "parameters_count": int(data.get("parameters_count", 0)),
                         "model_type": str(data.get("model_type", "unknown"))}
                profiler = _profiler_of(args)
                if profiler is not None:
                    profiler.record_model_parameters(**known)
                else:
                    native.model(known["model_name"], known["parameters_count"], known["model_type"], -1)
            yield after
        return _around(function, enter)
    return _bare_or_not(params_extractor, decorate)


def profile_layer(layer_name=None):
    """Each call is one layer's computation."""
    if callable(layer_name):
        return profile_layer()(layer_name)

    def decorate(function):
        name = layer_name or function.__name__

        @contextlib.contextmanager
        def enter(args, kwargs):
            profiler = _profiler_of(args)
            if profiler is not None:
                profiler.start_layer_computation(name)
            else:
                native.zone_begin(name)
            native.role(ROLE_LAYER)
            try:
                yield None
            finally:
                if profiler is not None:
                    profiler.end_layer_computation(name)
                else:
                    native.zone_end(name)
        return _around(function, enter)
    return decorate


def profile_streaming(batch_extractor=None):
    """Each call sends one batch; batch_extractor(args, kwargs) gives batch_size, encoding_time_ms, ..."""
    def decorate(function):
        @contextlib.contextmanager
        def enter(args, kwargs):
            begin = time.perf_counter()

            def after(result):
                extractor = None if function is batch_extractor else batch_extractor
                data = _extract("the numbers of a batch", extractor, *_as_called(function, args, kwargs))
                known = {key: data[key] for key in ("batch_size", "encoding_time_ms", "network_latency_ms",
                                                    "buffer_occupancy") if key in data}
                known.setdefault("encoding_time_ms", (time.perf_counter() - begin) * 1e3)
                profiler = _profiler_of(args)
                if profiler is not None:
                    profiler.record_streaming_event(**known)
                else:
                    record_batch(**known)
            with section(function.__name__):
                yield after
        return _around(function, enter)
    return _bare_or_not(batch_extractor, decorate)
