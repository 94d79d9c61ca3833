"""What a framework calls the models that it is made of: transformer, vae, text_encoder_2. Frameworks say it, reports of
memory and of operations ask for it."""
import weakref

_name_of = {}  # id(module) -> (weak reference to it, what its framework calls it)


def uncompiled(module):
    """What torch.compile was given; a module that is not compiled is that itself. Read from its table of parts: asked
    for an attribute that it has not, a module words an error first, on every call. The table of a scripted module is
    no dictionary: that is never compiled."""
    parts = vars(module).get("_modules")
    return parts.get("_orig_mod", module) if isinstance(parts, dict) else module


def set_name(module, name):
    key = id(module)
    _name_of[key] = (weakref.ref(module, lambda _: _name_of.pop(key, None)), name)


def has_name(module):
    return id(uncompiled(module)) in _name_of


def name(module):
    """Its class where no framework has named it."""
    module = uncompiled(module)
    known = _name_of.get(id(module))
    return known[1] if known is not None and known[0]() is module else type(module).__name__
