"""In which type a product is multiplied: what torch's switches say, in every version of it."""
from types import SimpleNamespace

import pytest

from strobe._models import multiplied


class Old:
    """torch 1's switch: what it does not know is an assertion."""
    allow_tf32 = True

    def __getattr__(self, name):
        raise AssertionError("Unknown attribute " + name)


class Newer:
    """torch 2.9's, where the program set the newer one: the older cannot be read."""

    def __init__(self, precision):
        self.fp32_precision = precision

    @property
    def allow_tf32(self):
        raise RuntimeError("mix of the legacy and new APIs")


@pytest.mark.parametrize("newer, older, tf32", [
    (Old(), Old(), True),
    (None, SimpleNamespace(allow_tf32=False), False),
    (Newer("tf32"), Newer("tf32"), True),
    (Newer("ieee"), Newer("ieee"), False),
], ids=("torch 1", "torch 2", "newer, on", "newer, off"))
def test_tf32_is_asked_of_the_switch_that_there_is(newer, older, tf32):
    assert multiplied._is_tf32(newer, older) is tf32
