"""Sections and stages of the program's own inside what a framework is recorded by."""
from test_auto import hooked, without_imports  # noqa: F401


def test_a_stage_may_be_a_function_that_a_framework_is_recorded_by(hooked):
    recording, = hooked("""
        from diffusers import TinyVideoPipeline
        TinyVideoPipeline()("a cat", num_inference_steps=2)
    """, env={"STROBE_STAGES": "diffusers.pipelines.pipeline_tiny:AutoencoderTiny.decode=4c VAE decode;"
                               "diffusers.pipelines.pipeline_tiny:Transformer.forward=the forward"}).recordings
    g = ("TinyVideoPipeline",)
    assert without_imports(recording).items() >= {g + ("vae_decode",): 1, g + ("vae_decode", "VAE decode"): 1,
                                                  g + ("denoise",): 2, g + ("denoise", "transformer", "the forward"): 4}.items()
    assert recording.named("VAE decode")[0].code == "4c" and "frames" in recording.named("vae_decode")[0].attrs


def test_sections_of_the_program_between_the_steps_last_as_long_as_their_blocks(hooked):
    """What a pipeline does inside one does not end it: a preview in a callback, a subclass with sections of its own."""
    recording, = hooked("""
        import torch
        from diffusers import TinyVideoPipeline
        import strobe
        class Previewing(TinyVideoPipeline):
            def preview(self):
                with strobe.section("preview"):
                    self.vae.decode(torch.ones(1, 3, 2, 2, 2))
                    with strobe.section("to disk"):
                        pass
                for _ in strobe.iterations(range(2), name="look"):
                    self.vae.decode(torch.ones(1, 3, 2, 2, 2))
                    with strobe.section("at it"):
                        pass
            def __call__(self):
                self.scheduler.set_timesteps(2)
                x = torch.ones(1, 4)
                for t in self.scheduler.timesteps:
                    x = self.scheduler.step(self.transformer(x), t, x)
                    self.preview()
        Previewing()()
    """).recordings
    paths = without_imports(recording)
    for phase in ("between_steps", "after_steps"):
        around = ("Previewing", phase)
        assert paths.get(around + ("preview", "vae_decode")) == paths.get(around + ("preview", "to disk")) == 1, paths
        assert paths.get(around + ("look", "vae_decode")) == paths.get(around + ("look", "at it")) == 2, paths
    assert not [path for path in paths if path[-1].endswith("_steps") and len(path) > 2]


def test_a_section_around_the_solvers_step_keeps_the_step_open(hooked):
    recording, = hooked("""
        import torch
        from diffusers import TinyVideoPipeline
        import strobe
        class Solving(TinyVideoPipeline):
            def __call__(self):
                self.scheduler.set_timesteps(3)
                x = torch.ones(1, 4)
                for t in self.scheduler.timesteps:
                    y = self.transformer(x)
                    with strobe.section("solve"):
                        x = self.scheduler.step(y, t, x)
                        with strobe.section("clamp"):
                            x = x.clamp(-1, 1)
                self.vae.decode(x.reshape(1, 1, 1, 2, 2).repeat(1, 3, 2, 1, 1))
        Solving()()
    """).recordings
    paths, step = without_imports(recording), ("Solving", "denoise")
    assert {path: n for path, n in paths.items() if path[:2] == step} == {
        step: 3, step + ("transformer",): 3, step + ("solve",): 3, step + ("solve", "scheduler_step"): 3, step + ("solve", "clamp"): 3}
    assert paths["Solving", "vae_decode"] == 1


def test_a_section_around_a_step_and_one_around_its_solver_both_last(hooked):
    recording, = hooked("""
        import torch
        from diffusers import TinyVideoPipeline
        import strobe
        class Nested(TinyVideoPipeline):
            def __call__(self):
                self.scheduler.set_timesteps(3)
                x = torch.ones(1, 4)
                for t in self.scheduler.timesteps:
                    with strobe.section("round"):
                        y = self.transformer(x)
                        with strobe.section("solve"):
                            x = self.scheduler.step(y, t, x)
                self.vae.decode(x.reshape(1, 1, 1, 2, 2).repeat(1, 3, 2, 1, 1))
        Nested()()
    """).recordings
    paths = without_imports(recording)
    assert not [zone for zone in recording.zones if not zone.closed], paths
    assert sum(n for path, n in paths.items() if path[-1] == "solve") == 3, paths
    assert paths["Nested", "vae_decode"] == 1, paths


def test_steps_in_sections_of_the_program_have_no_phases_around_them(hooked):
    recording, = hooked("""
        import torch
        from diffusers import TinyVideoPipeline
        import strobe
        class Marked(TinyVideoPipeline):
            def __call__(self):
                self.scheduler.set_timesteps(3)
                x = torch.ones(1, 4)
                for t in self.scheduler.timesteps:
                    with strobe.section("model"):
                        y = self.transformer(x)
                        with strobe.section("guided"):
                            y = y * 2
                    x = self.scheduler.step(y, t, x)
                return self.vae.decode(x.reshape(1, 1, 1, 2, 2).repeat(1, 3, 2, 1, 1))
        Marked()()
    """).recordings
    paths, first, later = without_imports(recording), ("Marked", "before_steps", "model"), ("Marked", "model")
    for around, count in ((first, 1), (later, 2)):
        assert paths[around] == paths[around + ("denoise", "transformer")] == paths[around + ("denoise", "guided")] == count, paths
    assert paths["Marked", "vae_decode"] == 1 and not [path for path in paths if path[-1] in ("between_steps", "after_steps")]
