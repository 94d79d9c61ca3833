"""What a framework calls the models that it is made of: transformer, vae, text_encoder_2. Frameworks say it, reports of
memory and of operations ask for it."""
import weakref

_name_of = {}  # id(module) -> (weak reference to it, what its framework calls it)
_closed = {}  # the same of models whose parts are not in it yet: most are never asked for


def uncompiled(module):
    """The module that torch.compile was given; a module that is not compiled itself. Looked up in the table of its parts:
    asking a module for an attribute that it lacks builds an error message on every call. A scripted module, whose table
    is no dictionary, is never compiled."""
    parts = vars(module).get("_modules")
    return parts.get("_orig_mod", module) if isinstance(parts, dict) else module


def inside(module):
    """What a wrapper that spreads a batch over GPUs or ranks calls with its own arguments."""
    module = uncompiled(module)
    while type(module).__name__ in ("DataParallel", "DistributedDataParallel") and "module" in vars(module)["_modules"]:
        module = uncompiled(vars(module)["_modules"]["module"])
    return module


def set_name(module, name):
    key = id(module)
    _name_of[key] = (weakref.ref(module, lambda gone: _gone(key, gone)), name)


def _gone(key, module):
    for known in (_name_of, _closed):
        if known.get(key, (None,))[0] is module:
            known.pop(key, None)


def set_name_with_parts(module, name):
    """Its parts have its name too: what a sequential offload moves is still this model."""
    set_name(module, name)
    _closed[id(module)] = _name_of[id(module)]


def _open_all():
    closed = dict(_closed)
    _closed.clear()
    for whole, name in closed.values():
        model = whole()
        for part in model.modules() if model is not None else ():
            if part is not model:
                set_name(part, name)


def _known(module):
    """(weak reference, name); None: no framework has named it."""
    if id(module) not in _name_of and _closed:
        _open_all()
    known = _name_of.get(id(module))
    return known if known is not None and known[0]() is module else None


def has_name(module):
    return _known(uncompiled(module)) is not None


def name(module):
    """Its class where no framework has named it."""
    module = uncompiled(module)
    known = _known(module)
    return known[1] if known is not None else type(module).__name__
