"""Programs in the shapes of the guides that users come from, with the guides' names and in our own words
(tests/python/guides), run after changing nothing but the import line."""
import json
import pathlib
import re
import types

import pytest

FOLDER = pathlib.Path(__file__).parent / "guides"
NEW = "from strobe.compat import"
OLD = re.compile(r"from (?:diffusers_helper\.profiling|inferix\.profiling(?:\.\w+)?) import")


@pytest.fixture
def run(tmp_path, monkeypatch, record):
    """Runs one of them with a profiler's session open; gives its names and the session's report."""
    from strobe import compat
    monkeypatch.chdir(tmp_path)
    profiler = compat.InferixProfiler(compat.ProfilingConfig(enabled=True, output_dir=str(tmp_path)))

    def run_one(name, then=lambda space, profiler: None):
        space = types.ModuleType(name).__dict__
        space.update(profiler=profiler, work=lambda: None)
        source = OLD.sub(NEW, (FOLDER / (name + ".py")).read_text())
        profiler.start_session("guide")
        exec(compile(source, name, "exec"), space)
        then(space, profiler)
        return space, profiler.end_session()

    yield run_one
    profiler.cleanup()


def test_every_program_here_is_run():
    mine = pathlib.Path(__file__).read_text()
    assert [path.stem for path in FOLDER.glob("*.py") if '"%s"' % path.stem not in mine] == []


def test_sections_and_memory_print_their_summaries(run, capsys):
    run("sections_and_memory")
    printed = capsys.readouterr().out
    assert "upscale" in printed and "empty" in printed and "model in place" in printed


def test_a_memory_log_has_the_moments_in_their_order(run):
    run("memory_log")
    text = pathlib.Path("memory_log.json").read_text()
    json.loads(text)
    assert text.index("start") < text.index("loaded") < text.index("sampled")


def test_the_numbers_of_a_section_are_there_by_its_name(run):
    space, _ = run("numbers_of_a_section")
    assert space["seconds"] >= 0
    assert {"prompt", "decode_chunk_0", "decode_chunk_1"} <= set(space["everything"])


def test_iterations_are_counted_and_summed_up(run, capsys):
    run("iterations")
    printed = capsys.readouterr().out
    assert "sampler" in printed and re.search(r"\b4\b", printed)
    assert all(word in printed.lower() for word in ("mean", "min", "max", "median"))


def test_a_torch_trace_is_a_file(run):
    pytest.importorskip("torch", reason="torch is not installed")
    run("torch_trace")
    json.loads(pathlib.Path("traces/forward.json").read_text())


def test_a_decorated_function_counts_its_calls(run):
    space, _ = run("decorated_function")
    assert space["calls"] == 3


def test_a_decorated_method_opens_a_session_with_its_tags(run):
    def then(space, profiler):
        assert space["made"] == 1
        report = json.loads(pathlib.Path([p for p in profiler.reports if p.endswith(".json")][0]).read_text())
        assert report["session_info"]["tags"]["mode"] == "t2v"
    run("decorated_methods", then)


def test_what_a_loop_measured_itself_is_counted(run):
    _, report = run("direct_calls")
    assert report["diffusion_analysis"]["total_steps"] == 4
    assert report["block_analysis"]["total_frames"] == 6


def test_a_pipeline_with_every_decorator(run):
    def then(space, profiler):
        pipeline = space["Pipeline"]()
        pipeline._profiler = profiler
        pipeline.make = lambda prompts, **kwargs: types.SimpleNamespace(shape=(1, 3))
        profiler.end_session()
        pipeline.prepare()
        pipeline.generate(["a cat"], seed=1)
        report = json.loads(pathlib.Path([p for p in profiler.reports if p.endswith(".json")][-1]).read_text())
        assert report["session_info"]["tags"]["mode"] == "t2v"
        assert {"shape": [1, 3]} in [event["data"] for event in report["events"]]
        profiler.start_session("rest")
        pipeline.read("/x")
        for step in range(4):
            pipeline.denoise(step, 1000.0 - step, 3)
        pipeline.describe("wan", 1300000000, "transformer")
        pipeline.finish_block(0, 3, 250.0, 100.0)
    _, report = run("custom_pipeline", then)
    assert {"path": "/x"} in [event["data"] for event in report["events"]]
    assert report["diffusion_analysis"]["total_steps"] == 4 and report["block_analysis"]["total_frames"] == 3
