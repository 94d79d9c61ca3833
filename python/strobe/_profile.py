"""@strobe.profile: functions, methods, coroutines, generators, whole classes."""
import functools
import types

from ._core import again, section


def profile(target=None, *, name=None, code=None, gpu=None, **attributes):
    """Makes each call of a function a zone.

    Use it bare, @strobe.profile, or with a name and attributes,
    @strobe.profile("vae_decode", code="4c"). Coroutines stay with their task;
    each resumption of a generator is one zone; a class gets all its methods.
    """
    if isinstance(target, str):
        name, target = target, None
    options = {key: value for key, value in (("code", code), ("gpu", gpu)) if value is not None}
    options.update(attributes)
    if target is None:
        return lambda function: _wrap(function, name, options)
    return _wrap(target, name, options)


def decorate_with(one, args):
    """section("x")(function): what a Section does when it is called."""
    function, = args
    return _in_section(function, lambda: again(one))


def _wrap(target, name, options):
    if isinstance(target, type):
        return _wrap_class(target, name or target.__name__, options)
    if isinstance(target, (staticmethod, classmethod)):
        return type(target)(_wrap(target.__func__, name, options))
    if not callable(target):
        raise TypeError("strobe.profile decorates functions and classes, not %r" % (target,))
    if name is None:
        name = getattr(target, "__qualname__", type(target).__qualname__).replace("<locals>.", "")
    if options:
        return _in_section(target, lambda: section(name, **options))
    return _in_section(target, None, name)


def _wrap_class(cls, name, options):
    for key, value in list(vars(cls).items()):
        if key.startswith("__") and key != "__call__":
            continue
        if isinstance(value, types.FunctionType) or isinstance(value, (staticmethod, classmethod)):
            setattr(cls, key, _wrap(value, "%s.%s" % (name, key), options))
    return cls


def _in_section(function, make, name=None):
    import inspect  # takes longer to load than all of strobe
    if make is None:
        if inspect.iscoroutinefunction(function) or inspect.isgeneratorfunction(function) \
                or inspect.isasyncgenfunction(function):
            return _in_section(function, lambda: section(name))
        return _call_in_section(function, name)
    if inspect.iscoroutinefunction(function):
        return _coroutine_in_section(function, make)
    if inspect.isgeneratorfunction(function):
        return _generator_in_section(function, make)
    if inspect.isasyncgenfunction(function):
        return _async_generator_in_section(function, make)

    @functools.wraps(function)
    def call(*args, **kwargs):
        with make():
            return function(*args, **kwargs)
    return call


def _call_in_section(function, name):
    @functools.wraps(function)
    def call(*args, **kwargs):
        with section(name):
            return function(*args, **kwargs)
    return call


def _coroutine_in_section(function, make):
    @functools.wraps(function)
    async def call(*args, **kwargs):
        with make():
            return await function(*args, **kwargs)
    return call


def _generator_in_section(function, make):
    @functools.wraps(function)
    def call(*args, **kwargs):
        source = function(*args, **kwargs)
        resume, value = source.send, None
        while True:
            try:
                with make():
                    item = resume(value)
            except StopIteration as end:
                return end.value
            try:
                value = yield item
                resume = source.send
            except GeneratorExit:
                source.close()
                raise
            except BaseException as error:
                resume, value = source.throw, error
    return call


def _async_generator_in_section(function, make):
    @functools.wraps(function)
    async def call(*args, **kwargs):
        source = function(*args, **kwargs)
        resume, value = source.asend, None
        while True:
            try:
                with make():
                    item = await resume(value)
            except StopAsyncIteration:
                return
            try:
                value = yield item
                resume = source.asend
            except GeneratorExit:
                await source.aclose()
                raise
            except BaseException as error:
                resume, value = source.athrow, error
    return call
