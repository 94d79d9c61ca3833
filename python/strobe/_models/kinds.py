"""Models that are alike: of one class, made of the same parts, with the same settings. A program that makes its pipeline
anew for each video has one kind of each model: what takes time to find out is found out once for each kind."""
import types
import weakref

PARTS_MOST = 20000  # of a model with more, each one is a kind of its own
DTYPES_MOST = 64    # parts whose dtype is looked at, beside a configuration
MODELS_MOST = 1000  # that are remembered at once
KINDS_MOST = 128    # then no new model is looked at
OF_ALL = "_parameters", "_buffers", "_modules"
PLAIN = (bool, int, float, str, type(None))

_kinds = {}         # what a kind looks like -> Kind
_of = {}            # id of a model -> (weak reference to it, its kind)


class Kind:
    """model: a weak reference to a model of this kind."""
    model = None


def kind_of(module):
    """None: there are too many kinds already."""
    known = _of.get(id(module))
    if known is not None and known[0]() is module:
        return known[1]
    if len(_kinds) >= KINDS_MOST:
        return None
    if len(_of) >= MODELS_MOST:
        _of.clear()
    kind = _kinds.setdefault(_looks(module), Kind())
    model = weakref.ref(module, lambda gone, key=id(module): _gone(key, gone))
    if kind.model is None or kind.model() is None:
        kind.model = model
    _of[id(module)] = model, kind
    return kind


def _gone(key, model):
    if _of.get(key, (None,))[0] is model:
        _of.pop(key, None)


def forget():
    _kinds.clear()
    _of.clear()


def _looks(module):
    """What two models must have in common to be of one kind. With a configuration that says what they are, their parts'
    classes and the first ones' dtypes are enough; else everything plain that their parts hold."""
    try:
        parts = _parts(module)
    except (AttributeError, KeyError):  # a scripted module
        parts = None
    if parts is None:
        return id(module)
    config = getattr(module, "config", None)
    settings = config if isinstance(config, dict) else getattr(config, "__dict__", None)
    if settings is None:
        return tuple((type(part), _plain(vars(part)), _weights(part)) for part in parts)
    settings = {key: value for key, value in settings.items() if not str(key).startswith("_")}
    return repr(settings), tuple(map(type, parts)), tuple(map(_dtype, parts[:DTYPES_MOST]))


def _parts(module):
    """All of them; None: too many."""
    found = [module]
    for part in found:  # grows meanwhile
        found.extend([inner for inner in part.__dict__["_modules"].values() if inner is not None])
        if len(found) > PARTS_MOST:
            return None
    return found


def _dtype(part):
    weights = part.__dict__["_parameters"]
    for weight in weights.values():
        if weight is not None:
            return weight.dtype
    return None


def _plain(attributes):
    return tuple([(name, _look(value)) for name, value in attributes.items() if name not in OF_ALL])


def _look(value):
    """Of a function its code; of a tensor, or what holds one, no more than its class: to read it would wait for the GPU."""
    if isinstance(value, types.MethodType):
        value = value.__func__
    if isinstance(value, types.FunctionType):
        return value.__code__
    items = value if isinstance(value, tuple) else (value,)
    return repr(value) if all(isinstance(item, PLAIN) for item in items) else type(value)


def _weights(part):
    return tuple([(tuple(weight.shape), weight.dtype) for group in ("_parameters", "_buffers")  # quantised weights are often buffers
                  for weight in part.__dict__[group].values() if weight is not None])
