"""Pipelines with the shapes of real diffusers ones (Wan 2.2, CogVideoX, AnimateDiff): defaults,
tiles of causal VAEs, caches whose hooks sit in the blocks, solvers with other arguments."""
import pytest

from test_auto import start_hooked, under

PROGRAM = """
    import torch
    from accelerate.hooks import AlignDevicesHook
    from diffusers.hooks.group_offloading import ModuleGroup
    from diffusers.pipelines.pipeline_shapes import *

    wan = WanLikePipeline()
    wan("a cat")

    class Positional(WanLikePipeline): pass
    Positional(vae=AutoencoderKLWanLike(1))("a cat", None, 16, 32, 9, 2, 3.5)

    class Cached(WanLikePipeline): pass
    Cached(cached_steps=(1, 3))("a cat", num_inference_steps=6)

    class Partly(WanLikePipeline): pass
    Partly(cached_steps=(1, 3), first_cached=3)("a cat", num_inference_steps=6)

    class Unguided(WanLikePipeline): pass
    Unguided(guided_steps=2)("a cat", num_inference_steps=6)

    class Latent(WanLikePipeline): pass
    Latent()("a cat", output_type="latent")

    class Pil(WanLikePipeline): pass
    Pil()("a cat", output_type="pil", return_dict=False)

    class CogVideoX(WanLikePipeline): pass
    CogVideoX(AutoencoderKLCogVideoXLike(6), CogVideoXDPMLike())("a cat")

    AnimateLikePipeline()("a cat")
    ImageLikePipeline()("a cat")

    AlignDevicesHook(execution_device=0, offload=False).pre_forward(wan.text_encoder)      # inputs only
    AlignDevicesHook(execution_device="cpu", offload=True).pre_forward(wan.text_encoder)   # is there
    ModuleGroup([wan.text_encoder], parameters=[torch.ones(10)]).onload_()
"""


@pytest.fixture(scope="module")
def shapes(tmp_path_factory):
    pytest.importorskip("torch", reason="torch is not installed")
    done = start_hooked(tmp_path_factory.mktemp("shapes"), PROGRAM)
    assert done.stderr == ""
    return done.recordings[0]


def decodes(recording, name):
    generation, = recording.named(name)
    zones = [zone.attrs for zone in generation.children if zone.name == "vae_decode"]
    assert all("flops_shape" in attributes for attributes in zones)  # its number is the order of calls
    return [{key: value for key, value in attributes.items() if key != "flops_shape"} for attributes in zones]


def steps(recording, name):
    generation, = recording.named(name)
    return [zone for zone in generation.children if zone.name == "denoise"]


def test_a_call_with_nothing_but_a_prompt_has_its_defaults(shapes):
    generation, = shapes.named("WanLikePipeline")
    facts = {key: generation.attrs[key] for key in ("width", "height", "num_frames", "num_inference_steps", "frames")}
    assert facts == {"width": 8 // 2, "height": 2, "num_frames": 9, "num_inference_steps": 4, "frames": 9}
    assert all(step.attrs["guidance_scale"] == 5.0 for step in steps(shapes, "WanLikePipeline"))


def test_positional_arguments_count_too(shapes):
    generation, = shapes.named("Positional")
    assert generation.attrs["num_inference_steps"] == 2 and len(steps(shapes, "Positional")) == 2
    assert steps(shapes, "Positional")[0].attrs["guidance_scale"] == 3.5


def test_the_frames_of_a_causal_vaes_tile_are_no_tiles(shapes):
    assert decodes(shapes, "WanLikePipeline") == [{"latent_frames": 3, "frames": 9, "tiles": 12}]
    assert decodes(shapes, "CogVideoX") == [{"latent_frames": 3, "frames": 12, "tiles": 6}]
    assert decodes(shapes, "Positional") == [{"latent_frames": 3, "frames": 9}]  # tiling on, one tile


def test_a_cache_inside_the_blocks_is_seen(shapes):
    assert [step.attrs.get("cached", 0) for step in steps(shapes, "Cached")] == [0, 1, 0, 1, 0, 0]


def test_a_cache_of_some_blocks_leaves_a_step_that_is_not_whole(shapes):
    assert [step.attrs.get("partly_cached", 0) for step in steps(shapes, "Partly")] == [0, 1, 0, 1, 0, 0]
    assert not any("cached" in step.attrs for step in steps(shapes, "Partly"))


def test_steps_without_guidance_are_no_cached_ones(shapes):
    assert not any("cached" in step.attrs or "partly_cached" in step.attrs for step in steps(shapes, "Unguided"))


def test_two_transformers_and_cfg_are_one_step_each(shapes):
    counts = under(shapes, "WanLikePipeline")
    root = "WanLikePipeline"
    assert counts[root, "denoise"] == counts[root, "denoise", "scheduler_step"] == 4
    assert counts[root, "denoise", "transformer"] == counts[root, "denoise", "transformer_2"] == 4
    assert counts[root, "text_encode", "text_encoder"] == 2


def test_latents_are_no_frames(shapes):
    generation, = shapes.named("Latent")
    assert "frames" not in generation.attrs and not decodes(shapes, "Latent")


def test_lists_of_images_in_a_tuple_are_frames(shapes):
    assert shapes.named("Pil")[0].attrs["frames"] == 9


def test_a_solver_that_is_given_its_last_prediction_first(shapes):
    assert [step.attrs["timestep"] for step in steps(shapes, "CogVideoX")] == [999.0, pytest.approx(666.3, 0.01),
                                                                             pytest.approx(333.7, 0.01), 1.0]


def test_a_vae_for_images_decodes_frames_in_a_video_pipeline_only(shapes):
    assert decodes(shapes, "AnimateLikePipeline") == [{"latent_frames": 8, "frames": 8}] * 2
    assert shapes.named("AnimateLikePipeline")[0].attrs["frames"] == 16
    assert decodes(shapes, "ImageLikePipeline") == [{}] and "frames" not in shapes.named("ImageLikePipeline")[0].attrs


def test_hooks_that_move_no_weights_are_no_offload(shapes):
    moved = [(zone.name, zone.attrs["bytes"]) for zone in shapes.zones if zone.name.startswith("offload:")]
    assert moved == [("offload:text_encoder", 80 + 40)]
