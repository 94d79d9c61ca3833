"""Names for the program's modules where several have the same: of two `Net`s one is `encoder`, the other `decoder`, as the
program calls them; where it does not say, they are numbered. A module keeps the name it was given."""
import itertools
import weakref
from collections import Counter

from .._models import components

LOOKED_MOST = 16  # modules whose variable is looked for: each is a look at all objects

_given = {}  # id(module) -> (weak reference, name)


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
