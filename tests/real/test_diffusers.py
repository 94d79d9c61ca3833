"""diffusers' pipelines, real ones with small random weights: what strobe records against what the program
counts itself, and the same output with and without it."""
import pytest

from conftest import FORWARD, GENERATION, STEP, both_ways, inside, of_role
from program_names import PIPELINES


@pytest.fixture(scope="module")
def matrix(tmp_path_factory):
    alone, watched, run = both_ways(tmp_path_factory.mktemp("diffusers"), "program_diffusers.py")
    generations = of_role(run.recording.zones, GENERATION)
    assert [g.name for g in generations] == [case["pipeline"] for case in watched.values()]
    return {name: (alone[name], watched[name], zone) for name, zone in zip(watched, generations)}


@pytest.fixture(params=PIPELINES)
def case(matrix, request):
    return matrix[request.param]


def named(zone, name):
    return [child for child in inside(zone) if child.name == name]


def test_the_output_is_bit_equal(case):
    alone, watched, _ = case
    assert alone["digest"] == watched["digest"] and alone == watched


def test_steps_and_their_forwards(case):
    _, counted, generation = case
    steps = of_role(generation.children, STEP)
    assert [len(of_role(step.children, FORWARD)) for step in steps] == counted["forwards_per_step"]
    assert [step.attrs["step"] for step in steps] == list(range(len(steps)))
    assert [step.attrs["timestep"] for step in steps] == counted["timesteps"]
    assert all(len(named(step, "scheduler_step")) == 1 for step in steps)
    assert len(of_role(inside(generation), FORWARD)) == sum(counted["forwards_per_step"])


def test_zones_are_inside_what_they_are_a_part_of(case):
    """transformer in denoise in the generation, the scheduler's step too; encoders and the VAE beside the steps."""
    _, _, generation = case
    parents = {}
    for zone in inside(generation):
        name = "forward" if zone.attrs.get("strobe.role") == FORWARD else zone.name
        parents.setdefault(name, set()).add(zone.parent.name)
    assert parents["forward"] == parents["scheduler_step"] == {"denoise"} and parents["denoise"] == {generation.name}
    assert parents["vae_decode"] == {generation.name}
    assert all(up == {"text_encode"} for name, up in parents.items() if name.startswith("text_encoder"))


def test_text_is_encoded(case):
    _, counted, generation = case
    encoders = [zone for zone in inside(generation) if zone.name.startswith("text_encoder")]
    assert len(encoders) == counted["text_forwards"]
    for encode in named(generation, "text_encode"):
        assert [zone for zone in inside(encode) if zone.name.startswith("text_encoder")]
    assert bool(named(generation, "text_encode")) == bool(encoders)


def test_the_vae(case):
    _, counted, generation = case
    decodes = named(generation, "vae_decode")
    assert len(decodes) == len(counted["decodes"]) and len(named(generation, "vae_encode")) == counted["encodes"]
    assert len(named(generation, "image_encoder")) == counted["image_encodes"]
    for zone, shape in zip(decodes, counted["decodes"]):
        if len(counted["shape"]) == 5:
            assert zone.attrs["latent_frames"] == (shape[2] if len(shape) == 5 else shape[0])
            assert "tiles" not in zone.attrs


def test_frames_are_counted_where_they_leave(case):
    _, counted, generation = case
    if len(counted["shape"]) == 4:  # images
        batch, height, width, _ = counted["shape"]
        assert "frames" not in generation.attrs and generation.attrs["images"] == batch
        assert (generation.attrs["height"], generation.attrs["width"]) == (height, width)
        return
    batch, frames, height, width, _ = counted["shape"]
    assert generation.attrs["frames"] == batch * frames and generation.attrs.get("videos", 1) == batch
    assert (generation.attrs["height"], generation.attrs["width"]) == (height, width)
    assert sum(zone.attrs.get("frames", 0) for zone in named(generation, "vae_decode")) >= batch * frames


def test_what_lies_beside_the_stages_has_a_phase(case):
    """No two stages of a generation follow each other without one: nothing is left that belongs to no stage."""
    _, _, generation = case
    names = [zone.name for zone in generation.children]
    steps = [place for place, name in enumerate(names) if name == "denoise"]
    phases = ["before_steps" if place < steps[0] else "after_steps" if place > steps[-1] else "between_steps"
              for place in range(len(names))]
    assert names[::2] == phases[::2] and len(names) % 2
    assert not {"before_steps", "between_steps", "after_steps"} & set(names[1::2])


def test_frames_are_postprocessed(case):
    assert len(named(case[2], "postprocess")) == 1


def test_every_zone_has_ended(case):
    assert all(zone.closed for zone in inside(case[2])) and "error" not in case[2].attrs
