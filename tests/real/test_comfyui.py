"""ComfyUI, a real checkout on the CPU, where COMFYUI_PATH names one: prompts, nodes, steps, models, previews and saves.
COMFYUI_PYTHON is the interpreter that has what it needs (its requirements.txt); the same calls against a stand-in are in
tests/python/test_comfyui.py."""
import os

import pytest

from conftest import FORWARD, GENERATION, LOAD, OFFLOAD, STEP, both_ways, inside, of_role

EXPORT = 18
PATH = os.environ.get("COMFYUI_PATH")  # tools/real-test leaves this file out where it is not set
PYTHON = os.environ.get("COMFYUI_PYTHON")
PROMPTS = ("first", "seed", "cached", "heun", "adaptive", "video", "refined", "fails")
STEPS = {"first": 4, "seed": 4, "cached": 0, "heun": 3, "video": 3, "refined": 3, "fails": 0}

@pytest.fixture(scope="module")
def found(tmp_path_factory):
    return both_ways(tmp_path_factory.mktemp("comfyui"), "program_comfyui.py", python=PYTHON, COMFYUI_PATH=PATH)


@pytest.fixture(params=PROMPTS)
def prompt(found, request):
    _, counted, run = found
    generations = of_role(run.recording.zones, GENERATION)
    assert [zone.attrs["prompt_id"] for zone in generations] == list(PROMPTS)
    return request.param, counted["prompts"][request.param], generations[PROMPTS.index(request.param)]


def nodes_of(generation):
    return [zone for zone in generation.children if "node_id" in zone.attrs]


def in_any_order(prompts):
    """ComfyUI keeps nodes that are ready in sets of their ids: which of two comes first depends on the process's hash seed."""
    return {name: dict(prompt, nodes=sorted(prompt["nodes"])) for name, prompt in prompts.items()}


def test_pictures_are_the_same_with_and_without(found):
    alone, watched, _ = found
    assert alone["digests"] and alone["digests"] == watched["digests"][len(alone["digests"]):]
    assert in_any_order(alone["prompts"]) == in_any_order(watched["prompts"])


def test_every_executed_node_is_a_stage(prompt):
    _, counted, generation = prompt
    # The program counts what has a method of its own: PreviewImage inherits SaveImage's; nodes of the new kind have none.
    names = ["SaveImage" if zone.name == "PreviewImage" else zone.name for zone in nodes_of(generation)]
    assert [name for name in names if name not in ("CreateVideo", "SaveVideo")] == counted["nodes"]
    assert nodes_of(generation) == generation.children


def test_nodes_have_ids_and_titles(found):
    _, _, run = found
    first = nodes_of(of_role(run.recording.zones, GENERATION)[0])
    assert {zone.name: zone.attrs.get("title") for zone in first if zone.attrs.get("title")} == {
        "TinyModel": "The model", "KSampler": "First pass"}
    assert sorted(int(zone.attrs["node_id"]) for zone in first) == list(range(1, 11))


def test_steps_of_samplers_are_steps(prompt):
    name, counted, generation = prompt
    steps = [zone for zone in inside(generation) if zone.attrs.get("strobe.role") == STEP]
    expected = STEPS.get(name, len(counted["previews"]))  # an adaptive sampler chooses its own, each with a preview
    assert [zone.attrs["step"] for zone in steps] == list(range(expected))
    forwards = [zone for zone in inside(generation) if zone.attrs.get("strobe.role") == FORWARD]
    assert len(forwards) == len(counted["forwards"]) == sum(len(step.children) for step in steps)


def test_models_are_loaded_once_with_their_bytes(prompt):
    _, counted, generation = prompt
    loads = [zone for zone in inside(generation) if zone.attrs.get("strobe.role") == LOAD and not zone.name.endswith(".safetensors")]
    assert [[zone.name[len("load:"):], zone.attrs["bytes"]] for zone in loads] == counted["loads"]
    unloads = [zone for zone in inside(generation) if zone.attrs.get("strobe.role") == OFFLOAD]
    assert sorted([zone.name[len("offload:"):], zone.attrs["bytes"]] for zone in unloads) == sorted(counted["unloads"])


def test_a_file_of_weights_is_a_load(found):
    _, counted, run = found
    read = run.recording.named("load:tiny.safetensors")
    assert [zone.attrs["bytes"] for zone in read] == [counted["vae_bytes"]]


def test_previews_and_saves_are_export(prompt):
    name, counted, generation = prompt
    exports = [zone for zone in inside(generation) if zone.attrs.get("strobe.role") == EXPORT]
    assert len([zone for zone in exports if zone.name == "preview"]) == len(counted["previews"])
    saves = [zone for zone in exports if zone.name != "preview"]
    assert sorted(zone.name for zone in saves) == sorted(
        zone.name for zone in nodes_of(generation) if zone.name in ("SaveImage", "PreviewImage", "SaveVideo"))
    assert all(zone.attrs["frames"] == 3 for zone in saves)


def test_frames_leave_a_prompt_once(prompt):
    name, counted, generation = prompt
    assert generation.attrs.get("frames") == (3 if "SaveImage" in counted["nodes"] else None)


def test_text_encoder_and_vae_are_stages(found):
    _, _, run = found
    names = [zone.name for zone in run.recording.zones]
    assert names.count("text_encode") == 2 and names.count("vae_decode") == 7 and names.count("vae_encode") == 1
    tiled = [zone for zone in run.recording.named("vae_decode") if zone.parent.name == "VAEDecodeTiled"]
    assert tiled[0].attrs["tiles"] > 1


def test_a_prompt_that_fails_says_so(prompt):
    name, counted, generation = prompt
    assert counted["success"] == (name != "fails")
    assert generation.attrs.get("error") == (None if counted["success"] else "ValueError")


def test_files_are_results_and_nothing_is_missing(found):
    _, counted, run = found
    report = run.report()
    written = {os.path.basename(one["path"]) for one in report["outputs"]}
    assert written >= set(counted["names"][len(counted["names"]) // 2:])
    assert not [one for one in report["not_recorded"] if "ComfyUI" in one["why"]]
    assert "gil_contention" not in {one["id"] for one in report["recommendations"]}
