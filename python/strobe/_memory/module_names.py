"""The program's models, and names for them where several have the same: of two `Net`s one is `encoder`, the other `decoder`,
as the program calls them; where it does not say, they are numbered. A model keeps the name it was given."""
import itertools
import sys
import weakref
from collections import Counter

from .._models import components
from .._native import native, own_section
from .._share import Share
from . import held

LOOKED_MOST = 16  # modules whose variable is looked for: each is a look at all objects

_given = {}  # id(module) -> (weak reference, name)
_part_of = {}  # id(module) -> (weak reference to the model it is part of, the model's name, without what tells it from others)
_looking = Share(200)  # after so many looks that no pause follows
_looks = 0
_seen = set()  # ids of the models at the last look
LOOKS_MOST = 8


def _has_memory(module):
    """An outline that FLOPs will be counted on has none: it is no second model of that name."""
    return any(tensor.device.type != "meta" for tensor in held.weights(module))


def models(torch):
    """(module, name) of those that lie in no other."""
    modules = native.tracked((torch.nn.Module,), sys.maxsize)
    inner = {id(child) for one in modules for child in vars(one).get("_modules", {}).values()}
    whole = [one for one in modules if id(one) not in inner and _has_memory(one)]
    named = names(whole)
    _seen.clear()
    _seen.update(named)
    return [(one, named[id(one)]) for one in whole]


def was_seen(module):
    return id(module) in _seen


def owner(torch, module):
    """(the model that a module is part of, or is, and its name); None: not known now. A look at all modules where it was
    not seen before, or where a framework has named it since: programs place models, and then make a pipeline of them."""
    global _looks
    known = _part_of.get(id(module))
    if not _is_current(known) and (_looks < LOOKS_MOST or _looking.allows()):
        _looks += 1
        with _looking, own_section("what holds memory"):
            _part_of.clear()
            for one, name in models(torch):
                entry = weakref.ref(one), name, components.name(one)
                _part_of.update((id(part), entry) for part in one.modules())
        known = _part_of.get(id(module))
    whole = known[0]() if known is not None else None
    return (whole, known[1]) if whole is not None else None


def _is_current(known):
    whole = known[0]() if known is not None else None
    return whole is not None and components.name(whole) == known[2]


def forget():
    """A new session, or a forked child."""
    global _looks
    _looks = 0
    _seen.clear()
    _part_of.clear()
    _looking.forget()


def names(modules):
    """id(module) -> name, of modules that lie in no other."""
    plain = {id(one): components.name(one) for one in modules}
    count = Counter(plain.values())
    same = [one for one in modules if count[plain[id(one)]] > 1]
    for one in same:
        known = _given.get(id(one))
        if known is None or known[0]() is not one:
            _give(one, plain[id(one)])
    return {key: _given[key][1] if key in _given and count[name] > 1 else name for key, name in plain.items()}


def _give(module, plain):
    from . import owners
    variable = owners.variable_of(module) if len(_given) < LOOKED_MOST else None
    key, name = id(module), "%s (%s)" % (variable, plain) if variable else plain
    taken = {given for other, given in _given.values() if other() is not None}
    numbered = ("%s %d" % (name, number) for number in itertools.count(2 if variable else 1))
    free = next(one for one in itertools.chain([name] if variable else [], numbered) if one not in taken)
    _given[key] = weakref.ref(module, lambda gone: _forget(key, gone)), free


def _forget(key, gone):
    if key in _given and _given[key][0] is gone:
        del _given[key]
