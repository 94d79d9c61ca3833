"""profile_* settings that are off: nothing of the kind is recorded."""
import pytest

import strobe_file

PROGRAM = """
    import sys
    import strobe

    @strobe.profile("text_encoding")
    def encode():
        pass

    strobe.start("toggles", config=eval(sys.argv[1]))
    with strobe.section("around"):
        encode()
        for t in strobe.steps([3, 2, 1], name="denoise"):
            with strobe.section("inside"):
                pass
        for b in strobe.blocks(2, name="block"):
            pass
        strobe.step_record(0, seconds=0.1, name="denoise")
        strobe.model("transformer", 1000)
        for _ in range(2):
            with strobe.section("VAE decode", code="4c", frames=3) as zone:
                zone.set(tiles=4)
        with strobe.section("vae_encode"):
            pass
    strobe.stop()
"""


@pytest.mark.parametrize("toggle, gone", [
    (None, ()), ("profile_diffusion_steps", ("denoise",)), ("profile_inference_steps", ("denoise",)),
    ("profile_block_computation", ("block",)), ("profile_vae_decode", ("VAE decode",)),
    ("profile_text_encoding", ("text_encoding",)), ("profile_model_parameters", ("transformer",))])
def test_what_is_switched_off_is_not_recorded(program, toggle, gone):
    done = program(PROGRAM, repr({toggle: False} if toggle else {}))
    recording, = done.recordings
    counts = {name: len(recording.named(name)) for name in
              ("around", "text_encoding", "denoise", "inside", "block", "VAE decode", "vae_encode")}
    expected = {"around": 1, "text_encoding": 1, "denoise": 3, "inside": 3, "block": 2, "VAE decode": 2, "vae_encode": 1}
    assert counts == {name: 0 if name in gone else count for name, count in expected.items()}
    assert recording.named("around")[0].attrs == {}
    assert len(recording.of(strobe_file.MODEL)) == (0 if "transformer" in gone else 1)
