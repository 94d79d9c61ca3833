"""Graphs of autograd that are kept: a loss that is added up, or listed, with all that was computed for it. Asked for where memory
grows and no container holds as much: a graph's memory is no object of Python's."""
import sys
from collections import Counter

from . import holders, owners

LISTED_LEAST = 8
REUSED_LEAST = 8   # how often a graph comes to each parameter: one step of a model comes once
NODES_MOST = 20_000


def describe():
    """Of what keeps graphs, as holders.describe(); {}: nothing does."""
    torch = sys.modules.get("torch")
    if torch is None or not hasattr(torch, "Tensor"):
        return {}
    listed = holders.of_kind(lambda value: _node(torch, value) is not None, LISTED_LEAST)
    if listed is not None:
        return holders.describe(listed, "graphs")
    reused, tensor = max(((_reused(_node(torch, one)), one) for one in _variables(torch)), key=lambda found: found[0], default=(0, None))
    if reused < REUSED_LEAST:
        return {}
    name = owners.name_of(tensor)
    if name is None:  # another thread let go of it meanwhile
        return {}
    line, text = name.put()
    place = " (%s)" % owners.place(name.file, line, text) if line else ""
    return {"holder": "the tensor `%s`%s kept the graphs of %d computations when it was found" % (name.text, place, reused),
            "file": name.file, "line": line}


def _node(torch, value):
    """Of plain tensors: a subclass may run code when it is asked."""
    return value.grad_fn if type(value) is torch.Tensor else None


def _variables(torch):
    for value in holders.variables():
        if _node(torch, value) is not None:
            yield value
        elif not isinstance(value, torch.nn.Module):
            yield from (one for one in holders.attributes(value) if _node(torch, one) is not None)


def _reused(node):
    """How often the graph comes to each of its parameters, on average."""
    level, seen, comes = [node], {node}, Counter()
    while level and len(seen) < NODES_MOST:
        for one, _ in level.pop().next_functions:
            if one is None:
                continue
            if one.name().endswith("AccumulateGrad"):
                comes[one] += 1
            elif one not in seen:
                seen.add(one)
                level.append(one)
    return sum(comes.values()) // len(comes) if comes else 0
