"""One real Wan pipeline in the ways people run it: offloads, tiles, caches, adapters, compilation, threads."""
import os

import pytest

from conftest import HERE, COMPILE, FORWARD, GENERATION, LOAD, OFFLOAD, STEP, both_ways, inside, of_role


class Found:
    def __init__(self, folder):
        self.alone, self.counted, self.run = both_ways(folder, "program_variants.py")
        self.recording = self.run.recording
        main, self.threads = [], {}
        for zone in of_role(self.recording.zones, GENERATION):
            if zone.tid == self.recording.main_tid:
                main.append(zone)
            else:
                self.threads.setdefault(zone.tid, []).append(zone)
        names = [name for name in self.counted if name != "in_two_threads"]
        assert len(main) == len(names)
        self.generation = dict(zip(names, main))

    def steps(self, name):
        return of_role(self.generation[name].children, STEP)

    def frames(self, name):
        return self.generation[name].attrs.get("frames")

    def decodes(self, name):
        return [zone for zone in self.generation[name].children if zone.name == "vae_decode"]


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    return Found(tmp_path_factory.mktemp("variants"))


def test_everything_the_program_saw_is_the_same_with_and_without(found):
    for name, counted in found.counted.items():
        if name == "in_two_threads":  # its last bits differ from run to run, with and without
            for one in (*counted, *found.alone[name]):
                one.pop("digest", None)
        assert found.alone[name] == counted, name


def test_steps_and_forwards_of_every_variant(found):
    for name in found.generation:
        steps = [len(of_role(step.children, FORWARD)) for step in found.steps(name)]
        assert steps == found.counted[name]["forwards_per_step"], name


def test_latents_are_no_frames(found):
    assert found.frames("latents") is None and not found.decodes("latents") and found.generation["latents"].attrs["videos"] == 0


def test_frames_of_images_tuples_and_batches(found):
    assert found.frames("pil_images") == 5 and found.generation["pil_images"].attrs["width"] == 16
    assert found.frames("a_tuple") == 5
    assert found.frames("two_videos_at_once") == found.frames("slicing") == 10
    assert found.generation["slicing"].attrs["videos"] == 2 and "videos" not in found.generation["a_tuple"].attrs


def test_tiles(found):
    assert [zone.attrs["tiles"] for zone in found.decodes("tiling")] == [found.counted["tiling"]["tiles"]]
    assert "tiles" not in found.decodes("slicing")[0].attrs


@pytest.mark.parametrize("cache", ["first_block_cache", "pyramid_attention_broadcast", "faster_cache", "taylorseer_cache"])
def test_steps_that_a_cache_served(found, cache):
    computed = found.counted[cache]["computed"]
    assert [step.attrs.get("cached", 0) for step in found.steps(cache)] == [int(not n) for n in computed]
    assert 0 in computed and computed[0]


def test_adapters_and_callbacks_leave_steps_alone(found):
    assert len(found.steps("lora")) == 2 and len(found.steps("step_callbacks")) == 3
    assert found.counted["step_callbacks"]["seen"] == [0, 1, 2]


def test_a_pipeline_that_raises_ends_all_its_zones(found):
    generation = found.generation["a_callback_that_raises"]
    assert found.counted["a_callback_that_raises"]["raised"] == generation.attrs["error"] == "ZeroDivisionError"
    assert all(zone.closed for zone in inside(generation)) and "frames" not in generation.attrs
    assert generation.attrs["error_message"] == "integer division or modulo by zero"
    failed, = [item for item in found.run.report()["generations"]["items"] if item.get("state") == "failed"]
    assert failed["error_stage"] == "between_steps"
    assert generation.attrs["error_file"].endswith("program_variants.py")
    assert len(found.steps("interrupted")) == len(found.counted["interrupted"]["forwards_per_step"]) == 2


@pytest.mark.parametrize("name, ways", [("sequential_offload", 1), ("group_offload", 2)])
def test_offloads_move_the_weights_of_each_forward(found, name, ways):
    """Weights that come from elsewhere move once; a group is given back after its call, with its buffers."""
    forwards = [zone for step in found.steps(name) for zone in of_role(step.children, FORWARD)]
    size = found.counted[name]["bytes"]
    for forward in forwards:
        moved = of_role(inside(forward), OFFLOAD)
        assert {zone.name for zone in moved} == {"offload:transformer"}
        assert sum(zone.attrs["bytes"] for zone in moved) == ways * size


@pytest.mark.parametrize("name", ["compiled", "compiled_in_place"])
def test_compiled_transformers_make_the_same_graphs(found, name):
    assert found.counted[name]["graphs"] == found.alone[name]["graphs"] >= 1
    assert found.counted[name]["breaks"] == found.alone[name]["breaks"]
    compiles = of_role(inside(found.generation[name]), COMPILE)
    assert len(compiles) >= 1 and len(found.steps(name)) == 2
    assert {zone.parent.name for zone in compiles} == {"transformer"}


def test_loads_have_the_bytes_of_their_files(found):
    loads = {zone.name: zone.attrs["bytes"] for zone in of_role(found.recording.zones, LOAD) if zone.name.startswith("load:")}
    weights = found.counted["loaded"]["weights"]
    assert loads == {"load:WanTransformer3DModel": weights["transformer"], "load:AutoencoderKLWan": weights["vae"],
                     "load:UMT5EncoderModel": weights["text_encoder"], "load:DiffusionPipeline": sum(weights.values())}


def test_export_has_its_frames(found):
    export, gif = found.recording.named("export")
    assert gif.attrs["frames"] == 3
    assert export.attrs["frames"] == found.counted["exported"]["exported"] == 5
    assert (export.attrs["width"], export.attrs["height"]) == (32, 32)
    assert found.counted["exported"]["written"]


def test_two_pipelines_in_two_threads(found):
    assert sorted(len(of_role(zone.children, STEP)) for zones in found.threads.values() for zone in zones) == [2, 3]
    assert len(found.threads) == 2


def test_the_report_counts_what_the_program_counted(found):
    report = found.run.report()
    generations = len(found.generation) + 2
    assert report["generations"]["count"] == generations
    failed, = [one for one in report["generations"]["items"] if one.get("state") == "failed"]
    assert failed["error"] == "ZeroDivisionError" and failed["error_place"].startswith(os.path.join(HERE, "program_variants.py:"))
    assert report["summary"]["failed_generation_count"] == 1 and report["summary"]["failure"] == failed["failure"]
    assert report["summary"]["video_count"] == generations - 1 - 1 + 2  # one failed, one ended in latents, two made two
    assert "1 of %d generations failed: ZeroDivisionError: " % generations in found.run.stderr
