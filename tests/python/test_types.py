"""The type stubs: a demanding checker takes a program that uses them, and they say
of every name and argument what the package has."""
import ast
import importlib
import inspect
import os
import shutil
import subprocess

import pytest

import strobe

PACKAGE = os.path.dirname(os.path.abspath(strobe.__file__))
PROGRAM = '''
import asyncio
import strobe
from strobe import compat, nn

strobe.start("x", config={"enabled": True}, tags={"a": 1}, output_dir="/tmp/x", max_trace_bytes="64 MiB")
with strobe.section("vae", frames=16, code="4c") as section:
    section.set(tokens=3)

@strobe.profile
def plain(x: int) -> str:
    return str(x)

@strobe.profile("name", code="4c", batch=3)
async def later(x: int) -> str:
    return str(x)

@strobe.section("load")
def loaded(x: int) -> int:
    return x

a: str = plain(3)
b: str = asyncio.run(later(3))
c: int = loaded(3)
for t in strobe.steps([1.0, 2.0], block_size=3, guidance_scale=5.0):
    d: float = t
for i in strobe.blocks(10, frames=3):
    e: int = i
report = strobe.stop()
if report is not None:
    text: str = report.text

class Pipeline:
    @compat.profile_session(tags={"kind": "t2v"})
    def generate(self, prompt: str) -> str:
        with compat.profile_section("denoise"):
            return prompt

    @compat.profile_method
    def decode(self, n: int) -> int:
        return n

p: str = Pipeline().generate("a cat")
n: int = Pipeline().decode(3)
compat.get_global_stats().print_summary(top_n=5)
profiler = compat.InferixProfiler(compat.ProfilingConfig(enabled=True))
with profiler.stage("vae", {"frames": 3}):
    profiler.record_diffusion_step(step=1, timestep=999.0, block_size=3, computation_time_ms=5.0)
profiler.cleanup()
timing = nn.benchmark(lambda: 3, iterations=2)
mean: float = timing.mean_ms
'''


@pytest.mark.skipif(shutil.which("mypy") is None, reason="mypy is not installed")
def test_mypy_takes_a_program_strictly(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    done = subprocess.run(["mypy", "--strict", "--cache-dir", str(tmp_path / "cache"), "program.py"], cwd=str(tmp_path),
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          env=dict(os.environ, MYPYPATH=os.path.dirname(PACKAGE)))
    assert done.returncode == 0, done.stdout


def stub(module):
    with open(os.path.join(PACKAGE, *module.split(".")[1:], "__init__.pyi")) as file:
        return ast.parse(file.read()).body


def arguments(node, skip):
    a = node.args
    return [arg.arg for arg in [*(a.posonlyargs + a.args)[skip:], a.vararg, *a.kwonlyargs, a.kwarg] if arg is not None]


def functions(module):
    """(what, stub node, object) of every function and method of a stub, overloads apart."""
    found = importlib.import_module(module)
    for node in stub(module):
        if isinstance(node, ast.FunctionDef):
            yield node.name, node, getattr(found, node.name), 0
        elif isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            for inner in node.body:
                if isinstance(inner, ast.FunctionDef) and not inner.name.startswith("__"):
                    yield "%s.%s" % (node.name, inner.name), inner, getattr(getattr(found, node.name), inner.name), 1


@pytest.mark.parametrize("module", ["strobe", "strobe.compat", "strobe.nn"])
def test_the_stubs_have_the_arguments_that_are_there(module):
    seen = 0
    for what, node, thing, skip in functions(module):
        overloaded = any(getattr(d, "id", "") == "overload" for d in node.decorator_list)
        if isinstance(thing, property) or overloaded or not callable(thing):
            continue
        try:
            real = list(inspect.signature(thing).parameters)
        except ValueError:
            continue
        wanted = arguments(node, skip)
        if wanted and wanted[-1] == "options" or what in ("session",):  # **options, spelt out
            continue
        assert wanted == [name for name in real if name not in ("self", "cls")], what
        seen += 1
    assert seen > 10


@pytest.mark.parametrize("module", ["strobe.compat", "strobe.nn"])
def test_every_exported_name_has_a_type(module):
    typed = {node.name for node in stub(module) if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    assert {name for name in typed if not name.startswith("_")} == set(importlib.import_module(module).__all__)
