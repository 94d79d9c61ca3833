"""Zero-code recording: an unmodified program under the start-up hook."""
import os

import pytest

import strobe

PACKAGE = os.path.dirname(os.path.abspath(strobe.__file__))
HOOK = os.path.join(PACKAGE, "hook")
FAKES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "fake_diffusers")
GENERATION, STEP, IMPORT, LOAD, OFFLOAD, FORWARD = 1, 3, 6, 7, 9, 11


@pytest.fixture
def hooked(program, tmp_path):
    """The program as `strobe run` starts it: environment and PYTHONPATH, nothing else."""
    def run(source, *args, env=None, path="", **options):
        folder = tmp_path / "runs" / "run-1"
        folder.mkdir(parents=True, exist_ok=True)
        environment = {"STROBE_ENABLED": "1", "STROBE_RUN_DIR": str(folder),
                       "PYTHONPATH": os.pathsep.join(part for part in (HOOK, FAKES, path) if part)}
        environment.update(env or {})
        done = program(source, *args, env=environment, **options)
        assert "strobe: fault" not in done.stderr, done.stderr
        return done
    return run


def without_imports(recording):
    return {path: n for path, n in recording.counts().items() if not any(p.startswith("import ") for p in path)}


TINY = """
    from diffusers import TinyVideoPipeline
    pipe = TinyVideoPipeline()
    pipe("a cat", num_inference_steps=4, guidance_scale=5.0, width=16, height=8)
"""


def test_a_pipeline_call_is_a_generation_with_its_parts(hooked, torch):
    done, = hooked(TINY).recordings
    g = "TinyVideoPipeline"
    assert without_imports(done) == {
        (g,): 1, (g, "text_encode"): 1, (g, "text_encode", "text_encoder"): 1, (g, "denoise"): 4,
        (g, "denoise", "transformer"): 8, (g, "denoise", "scheduler_step"): 4, (g, "vae_decode"): 1}
    generation, = done.named(g)
    assert generation.attrs["strobe.role"] == GENERATION and generation.attrs["frames"] == 8
    assert generation.attrs["num_inference_steps"] == 4
    assert done.counters["frames"] == 8
    decode, = done.named("vae_decode")
    assert decode.attrs == {"latent_frames": 2, "frames": 8, "tiles": 3}
    assert all(zone.closed for zone in done.zones)


def test_the_two_forwards_of_cfg_are_one_step(hooked, torch):
    done, = hooked(TINY).recordings
    steps = done.named("denoise")
    assert [s.attrs["step"] for s in steps] == [0, 1, 2, 3]
    assert all(s.attrs["strobe.role"] == STEP and s.attrs["guidance_scale"] == 5.0 for s in steps)
    assert all([c.name for c in s.children] == ["transformer", "transformer", "scheduler_step"] for s in steps)
    assert steps[0].attrs["timestep"] == 999.0 and "cached" not in steps[0].attrs
    assert all(z.attrs["strobe.role"] == FORWARD for z in done.named("transformer"))


def test_a_second_transformer_does_not_multiply_steps(hooked, torch):
    done, = hooked("""
        from diffusers import TinyVideoPipeline
        from diffusers.pipelines.pipeline_tiny import Transformer
        TinyVideoPipeline(transformer_2=Transformer())("a cat", num_inference_steps=4)
    """).recordings
    assert len(done.named("denoise")) == 4
    assert len(done.named("transformer")) == 4 and len(done.named("transformer_2")) == 4


def test_steps_served_by_a_cache_are_marked(hooked, torch):
    done, = hooked("""
        from diffusers import TinyVideoPipeline
        TinyVideoPipeline(cached_steps=(2, 3))("a cat", num_inference_steps=5)
    """).recordings
    assert [s.attrs.get("cached", 0) for s in done.named("denoise")] == [0, 0, 1, 1, 0]


def test_results_are_bit_equal_with_and_without(hooked, program, torch, tmp_path):
    source = """
        import sys, numpy
        from diffusers import TinyVideoPipeline
        pipe = TinyVideoPipeline()
        numpy.save(sys.argv[1], pipe("a cat", num_inference_steps=6).frames)
    """
    hooked(source, str(tmp_path / "with.npy"))
    program(source, str(tmp_path / "without.npy"), env={"PYTHONPATH": FAKES})
    assert (tmp_path / "with.npy").read_bytes() == (tmp_path / "without.npy").read_bytes()


def test_pipelines_never_seen_before_survive(hooked, torch):
    done, = hooked("""
        from diffusers import NovelPipeline
        assert NovelPipeline()(2).shape == (1, 4)
    """).recordings
    assert without_imports(done) == {("NovelPipeline",): 1, ("NovelPipeline", "brain"): 1}


def test_an_exception_in_a_pipeline_is_the_users_own(hooked, torch):
    done = hooked("""
        from diffusers import TinyVideoPipeline
        pipe = TinyVideoPipeline()
        pipe.vae.decode = None
        try:
            pipe("a cat")
        except TypeError:
            print("mine")
        pipe.text_encoder(__import__("torch").ones(1, 4))
    """)
    assert done.stdout == "mine\n"
    recording, = done.recordings
    assert recording.named("TinyVideoPipeline")[0].attrs["error"] == "TypeError"
    assert ("text_encoder",) in recording.counts()


def test_loading_importing_and_exporting_stand_apart(hooked, torch, tmp_path):
    done, = hooked("""
        import torch
        from diffusers import TinyVideoPipeline
        from diffusers.utils import export_to_video
        pipe = TinyVideoPipeline.from_pretrained("x")
        torch.save({"a": torch.ones(1000)}, "w.pt")
        assert torch.load("w.pt")["a"].sum() == 1000
        assert export_to_video([], "out.mp4") == "out.mp4"
    """).recordings
    assert done.named("import torch")[0].attrs == {"strobe.role": IMPORT}
    assert done.counts()["load:TinyVideoPipeline", "load:ModelMixin"] == 1
    load, = done.named("torch.load")
    assert load.attrs["strobe.role"] == LOAD and load.attrs["bytes"] > 4000
    assert done.counts()["export",] == 1


def test_offloading_is_a_stage_of_its_own(hooked, torch):
    done, = hooked("""
        import torch
        from accelerate.hooks import CpuOffload, UserCpuOffloadHook
        from diffusers.hooks.group_offloading import ModuleGroup
        from diffusers import TinyVideoPipeline
        pipe = TinyVideoPipeline()
        hook = CpuOffload("cpu")
        hook.pre_forward(pipe.text_encoder)          # is there already: no move
        CpuOffload("meta").pre_forward(pipe.text_encoder, 1)
        ModuleGroup([pipe.transformer]).onload_()
    """).recordings
    moved, = done.named("offload:text_encoder")
    assert moved.attrs == {"strobe.role": OFFLOAD, "bytes": 80}
    assert done.named("offload:transformer")[0].attrs["bytes"] == 320


def test_a_torch_programs_top_level_modules(hooked, torch):
    done, = hooked("""
        import torch
        class Inner(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.linear = torch.nn.Linear(2, 2)
            def forward(self, x):
                return self.linear(x)
        class Net(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.a, self.b = Inner(), Inner()
            def forward(self, x):
                return self.b(self.a(x))
        net, plain = Net(), torch.nn.Sequential(torch.nn.Linear(2, 2))
        for _ in range(200):
            net(torch.ones(1, 2))
        plain(torch.ones(1, 2))
        Inner()(torch.ones(1, 2))
    """).recordings
    assert without_imports(done) == {("Net",): 200, ("Sequential",): 1, ("Inner",): 1}


def test_modules_still_pickle_copy_and_script(hooked, torch):
    hooked("""
        import copy, io, torch
        class Net(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.l = torch.nn.Linear(2, 2)
            def forward(self, x):
                return self.l(x)
        net = Net()
        x = torch.ones(1, 2)
        y = net(x)
        assert torch.equal(copy.deepcopy(net)(x), y)
        buffer = io.BytesIO(); torch.save(net, buffer); buffer.seek(0)
        assert b"strobe" not in buffer.getvalue()
        assert torch.equal(torch.load(buffer, weights_only=False)(x), y)
        assert torch.equal(torch.jit.trace(net, x)(x), y)
        traced = torch.fx.symbolic_trace(net)
        assert torch.equal(traced(x), y)
    """)


def test_stages_by_name(hooked, tmp_path):
    (tmp_path / "mypkg.py").write_text("class Base:\n    def inherited(self): return 1\n"
                                       "class Model(Base):\n    def encode(self, x): return x\n"
                                       "    @staticmethod\n    def fixed(): return 2\n"
                                       "def free(): return 3\n")
    done = hooked("""
        import mypkg
        m = mypkg.Model()
        assert (m.encode(1), m.inherited(), mypkg.Model.fixed(), mypkg.free(), mypkg.Base().inherited()) == (1, 1, 2, 3, 1)
    """, env={"STROBE_STAGES": "mypkg:Model.encode=[4c] VAE encode;mypkg:Model.inherited=base;mypkg:Model.fixed=\n"
                               "mypkg:free=4d.1 free one;mypkg:Nowhere.f=x;never.imported:f=y"}, path=str(tmp_path))
    recording, = done.recordings
    assert without_imports(recording) == {("VAE encode",): 1, ("base",): 1, ("fixed",): 1, ("free one",): 1}
    assert recording.named("VAE encode")[0].code == "4c" and recording.named("free one")[0].code == "4d.1"
    assert "mypkg:Nowhere.f was not recorded: its module has no Nowhere.f" in done.stderr
    assert "never.imported:f was not recorded: its module was never imported" in done.stderr


def test_the_users_own_sitecustomize_still_runs(hooked, tmp_path):
    own = tmp_path / "own"
    own.mkdir()
    (own / "sitecustomize.py").write_text("import builtins\nbuiltins.mine = 41\nflag = True\n")
    done = hooked("""
        import sitecustomize, sys
        assert sitecustomize.flag and mine == 41
        assert not any(p.endswith("hook") for p in sys.path), sys.path
    """, path=str(own))
    assert done.stderr == ""


def test_a_foreign_package_called_strobe_is_left_alone(hooked, tmp_path):
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    (foreign / "strobe.py").write_text("answer = 42\n")
    hooked("import strobe\nassert strobe.answer == 42", path=str(foreign))


def test_off_with_one_flag(hooked):
    done = hooked("import sys\nassert 'strobe' not in sys.modules", env={"STROBE_HOOK": "0"})
    assert done.recordings == []


def test_the_programs_own_sections_join(hooked):
    done, = hooked("""
        import strobe
        strobe.start(tags={"a": 1})
        with strobe.section("mine"):
            pass
    """).recordings
    assert without_imports(done) == {("mine",): 1}
