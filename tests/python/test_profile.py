"""@strobe.profile on everything that can be called."""
import asyncio
import functools
import inspect
import pickle

import pytest

import strobe


@strobe.profile
def module_level(a, b=2):
    """Adds."""
    return a + b


@strobe.profile("whole class")
class Pipeline:
    def run(self, x):
        return self.helper(x) + self.static(1)

    def helper(self, x):
        return x

    @staticmethod
    def static(x):
        return x

    @classmethod
    def make(cls):
        return cls()


def test_a_decorated_function_is_the_function_to_others():
    assert module_level.__name__ == "module_level" and module_level.__doc__ == "Adds."
    assert str(inspect.signature(module_level)) == "(a, b=2)"
    assert pickle.loads(pickle.dumps(module_level)) is module_level
    assert isinstance(pickle.loads(pickle.dumps(Pipeline())), Pipeline)


def test_bare_named_and_with_attributes(record):
    @strobe.profile("named", code="4d", frames=8)
    def named():
        return 1

    @strobe.profile()
    def called():
        return 2

    assert (module_level(1), named(), called()) == (3, 1, 2)
    done = record()
    zone, = done.named("named")
    assert zone.code == "4d" and zone.attrs == {"frames": 8}
    assert done.counts()["module_level",] == 1
    assert len(done.named("test_bare_named_and_with_attributes.called")) == 1


def test_methods_of_a_class(record):
    assert Pipeline.make().run(3) == 4
    run = "whole class.run"
    assert record().counts() == {("whole class.make",): 1, (run,): 1, (run, "whole class.helper"): 1,
                                 (run, "whole class.static"): 1}


def test_coroutines(record):
    @strobe.profile("outer")
    async def outer():
        return await inner() + await inner()

    @strobe.profile("inner")
    async def inner():
        await asyncio.sleep(0)
        return 1

    assert inspect.iscoroutinefunction(outer)
    assert asyncio.run(outer()) == 2
    assert record().counts() == {("outer",): 1, ("outer", "inner"): 2}


def test_each_resumption_of_a_generator_is_a_zone(record):
    @strobe.profile("produce")
    def produce():
        got = yield 1
        try:
            yield got
        except KeyError:
            yield "caught"
        return "done"

    def consume():
        result = yield from produce()
        return result

    assert inspect.isgeneratorfunction(produce)
    source = consume()
    assert next(source) == 1
    with strobe.section("consumer"):
        pass
    assert source.send("sent") == "sent"
    assert source.throw(KeyError()) == "caught"
    with pytest.raises(StopIteration) as end:
        next(source)
    assert end.value.value == "done"
    done = record()
    assert done.counts() == {("produce",): 4, ("consumer",): 1}
    assert all("error" not in zone.attrs for zone in done.zones)


def test_a_generator_that_is_closed_closes_its_source():
    closed = []

    @strobe.profile
    def produce():
        try:
            yield 1
        finally:
            closed.append(True)

    source = produce()
    next(source)
    source.close()
    assert closed == [True]


def test_asynchronous_generators(record):
    @strobe.profile("agen")
    async def produce():
        for i in range(3):
            await asyncio.sleep(0)
            yield i

    async def main():
        return [i async for i in produce()]

    assert inspect.isasyncgenfunction(produce)
    assert asyncio.run(main()) == [0, 1, 2]
    assert record().counts() == {("agen",): 4}


def test_other_callables(record):
    assert strobe.profile(functools.partial(max, 1), name="partial")(2) == 2
    with pytest.raises(TypeError):
        strobe.profile(3)
    assert record().counts() == {("partial",): 1}
