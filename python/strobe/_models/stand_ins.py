"""What torch would load to count on sizes that are plain numbers: its compiler, sympy, triton. They take seconds on a slow
machine, at the end of a program that never needed them. While strobe counts, modules of these names answer the few
questions asked of them; code that wants anything else of one gets the real one."""
import functools
import importlib
import importlib.util
import sys
import threading
import types


class StandIn(types.ModuleType):
    """A module of this name with these few attributes. Wanted for anything else, it and those put with it give way to the real ones."""

    def __init__(self, name, **own):
        super().__init__(name)
        self.__path__, self.own, self.others = [], own, ()

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        if sys.modules.get(self.__name__) is self and name in self.own:
            return self.own[name]
        self.take_away()
        for other in self.others:
            other.take_away()
        return getattr(importlib.import_module(self.__name__), name)

    def _parent(self):
        parent, _, name = self.__name__.rpartition(".")
        return sys.modules.get(parent), name

    def put(self):
        parent, name = self._parent()
        sys.modules[self.__name__] = self
        if parent is not None:
            setattr(parent, name, self)

    def take_away(self):
        parent, name = self._parent()
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        if parent is not None and vars(parent).get(name) is self:
            delattr(parent, name)


class Compiler(StandIn):
    """torch._dynamo: functions of torch that load it to be kept out of it are called as they are."""

    def __init__(self):
        super().__init__("torch._dynamo", disable=self._disable)
        self.kept_out = []

    def _disable(self, function, *how, **more):
        self.kept_out.append(function)
        return function

    def take_away(self):
        super().take_away()
        for function in self.kept_out:  # torch has noted there what to call
            vars(function).pop("__dynamo_disable", None)


class _Never:
    """A class without objects."""


SYMBOLIC = "torch.fx.experimental.symbolic_shapes"
COUNTER = "torch.utils.flop_counter"


def _is_plain(value):
    return all(map(_is_plain, value)) if isinstance(value, (list, tuple)) else isinstance(value, (bool, int, float))


def _asked(name, answer):
    """A function of torch's symbolic sizes for plain numbers; for others, now and later, it is torch's own."""
    def function(*values, **more):
        if more or not _is_plain(values):
            return getattr(importlib.import_module(SYMBOLIC), name)(*values, **more)
        return answer(*values)
    return function


def _same(value):
    return value


def _equal(one, other):
    return list(one) == list(other) if isinstance(one, (list, tuple)) else one == other


_ANSWERS = {
    "expect_true": _same, "guard_or_false": _same, "guard_or_true": _same, "guard_size_oblivious": _same, "statically_known_true": _same,
    "guarding_hint_or_throw": _same, "guard_int": _same, "guard_bool": _same, "guard_float": _same,
    "has_guarding_hint": lambda value: True, "is_nested_int": lambda value: False,
    "sym_eq": _equal, "sym_or": lambda *values: any(values), "sym_and": lambda *values: all(values)}


def _together(*modules):
    for module in modules:
        module.others = modules
    return modules


def _symbolic():
    return _together(StandIn("sympy", Basic=_Never),
                     StandIn(SYMBOLIC, **{name: _asked(name, answer) for name, answer in _ANSWERS.items()}))


def _triton():
    return _together(StandIn("triton"), StandIn("triton.runtime"), StandIn("triton.runtime.jit", JITFunction=_Never))


def _is_missing(name):
    return name not in sys.modules and importlib.util.find_spec(name) is not None


def is_alone():
    """A thread that goes on would see what is put here."""
    return all(thread.daemon or thread is threading.current_thread() for thread in threading.enumerate())


class UnreadMasks:
    """A with-statement: transformers leaves a mask out that holds nothing, and looks into it for that unless a graph is traced. A
    mask without memory is taken as one in a traced graph: it stays, and attention takes as many operations with it."""
    MODULES = "transformers.masking_utils", "transformers.modeling_attn_mask_utils"

    def __enter__(self):
        self.asked = False
        self.replaced = [(sys.modules[name], sys.modules[name].is_tracing) for name in self.MODULES
                         if "is_tracing" in vars(sys.modules.get(name, types))]
        for module, original in self.replaced:
            module.is_tracing = self._instead_of(original)
        return self

    def _instead_of(self, original):
        def is_tracing(tensor=None):
            if getattr(getattr(tensor, "device", None), "type", None) != "meta":
                return original() if tensor is None else original(tensor)
            self.asked = True
            return True
        return is_tracing

    def __exit__(self, *error):
        for module, original in self.replaced:
            module.is_tracing = original


class NoAutocast:
    """A with-statement: torch.autocast(x.device.type), which torch refuses for tensors without memory, does nothing."""

    def __init__(self, torch):
        self.autocast = torch.autocast

    def __enter__(self):
        self.original = original = self.autocast.__init__

        @functools.wraps(original)
        def __init__(autocast, device_type, *args, **more):
            if device_type != "meta":
                return original(autocast, device_type, *args, **more)
            return original(autocast, "cpu", enabled=False)
        self.autocast.__init__ = __init__

    def __exit__(self, *error):
        self.autocast.__init__ = self.original


class InPlace:
    """A with-statement: stand-ins of what the program has not loaded itself."""

    def __enter__(self):
        self.compiler = None if "torch._dynamo" in sys.modules else Compiler()
        self.made, alone = [], is_alone()
        if alone and _is_missing("sympy") and SYMBOLIC not in sys.modules:
            self.made += _symbolic()
        if alone and _is_missing("triton") and COUNTER not in sys.modules:
            self.made += _triton()
        for module in self._all():
            module.put()
        return self

    def __exit__(self, *error):
        if self.compiler is not None:
            self.compiler.take_away()
        self.give_way()

    def _all(self):
        return self.made if self.compiler is None else [self.compiler, *self.made]

    def give_way(self):
        """All but the compiler's. Whether there were any."""
        made, self.made = self.made, []
        for module in reversed(made):
            module.take_away()
        if any(module.__name__ == "triton" for module in made):  # it has noted that triton has no functions
            sys.modules.pop(COUNTER, None)
            vars(sys.modules["torch.utils"]).pop("flop_counter", None)
        return bool(made)
