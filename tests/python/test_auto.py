"""Zero-code recording: an unmodified program under the start-up hook."""
import os
import subprocess
import sys
import textwrap

import pytest

import strobe
import strobe_file
from conftest import run_program

PACKAGE = os.path.dirname(os.path.abspath(strobe.__file__))
HOOK = os.path.join(PACKAGE, "hook")
FAKES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "fake_diffusers")
GENERATION, STEP, IMPORT, LOAD, OFFLOAD, FORWARD = 1, 3, 6, 7, 9, 11


def start_hooked(folder, source, *args, env=None, path="", **options):
    """The program as `strobe run` starts it: environment and PYTHONPATH, nothing else."""
    run_dir = folder / "runs" / "run-1"
    run_dir.mkdir(parents=True, exist_ok=True)
    environment = {"STROBE_ENABLED": "1", "STROBE_RUN_DIR": str(run_dir),
                   "PYTHONPATH": os.pathsep.join(part for part in (HOOK, FAKES, path) if part)}
    environment.update(env or {})
    done = run_program(folder, source, *args, env=environment, **options)
    assert not done.stderr.count("strobe: fault"), done.stderr[-4000:]
    return done


@pytest.fixture
def hooked(tmp_path):
    return lambda source, *args, **options: start_hooked(tmp_path, source, *args, **options)


def without_imports(recording):
    return {path: n for path, n in recording.counts().items() if not any(p.startswith("import ") for p in path)}


ZOO = """
    import copy, io, os, sys
    import torch
    from accelerate.hooks import CpuOffload, UserCpuOffloadHook
    from diffusers import DiffusionPipeline, NovelPipeline, TinyVideoPipeline
    from diffusers.hooks.group_offloading import ModuleGroup
    from diffusers.pipelines.pipeline_tiny import Scheduler, Transformer
    from diffusers.utils import export_to_video

    pipe = TinyVideoPipeline()
    frames = pipe("a cat", num_inference_steps=4, guidance_scale=5.0, width=16, height=8).frames

    class Second(TinyVideoPipeline): pass
    Second(transformer_2=Transformer())("a cat", num_inference_steps=4)

    class Cached(TinyVideoPipeline): pass
    Cached(cached_steps=(2, 3))("a cat", num_inference_steps=5)

    assert NovelPipeline()(2).shape == (1, 4)

    class Odd(DiffusionPipeline):
        def __init__(self):
            self.register_modules(brain=Transformer(), scheduler=Scheduler())
        def __call__(self):
            x = torch.ones(1, 4)
            self.brain(x)                            # before the timesteps: not denoising yet
            self.scheduler.set_timesteps(3)
            for t in self.scheduler.timesteps:
                x = self.scheduler.step(self.brain(x), t, x)
            return x
    Odd()()

    class TimestepFirst(Scheduler):
        def step(self, timestep, output, sample):
            return sample - output
    class First(Odd):
        def __init__(self):
            self.register_modules(brain=Transformer(), scheduler=TimestepFirst())
        def __call__(self):
            x = torch.ones(1, 4)
            self.scheduler.set_timesteps(2)
            for t in self.scheduler.timesteps:
                x = self.scheduler.step(t, self.brain(x), x)
            return x
    First()()

    class Broken(TinyVideoPipeline): pass
    broken = Broken()
    broken.vae.decode = None
    try:
        broken("a cat")
    except TypeError:
        print("mine")
    broken.text_encoder(torch.ones(1, 4))            # outside of any pipeline call

    class Loaded(TinyVideoPipeline): pass
    Loaded.from_pretrained("x")
    torch.save({"a": torch.ones(1000)}, "w.pt")
    assert torch.load("w.pt")["a"].sum() == 1000
    assert export_to_video([], "out.mp4") == "out.mp4"

    CpuOffload("cpu").pre_forward(pipe.text_encoder)          # is there already: no move
    UserCpuOffloadHook(pipe.transformer, None).offload()      # is on the CPU: no move
    CpuOffload("meta").pre_forward(copy.deepcopy(pipe.text_encoder), 1)
    ModuleGroup([pipe.transformer]).onload_()

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
    net, plain, x = Net(), torch.nn.Sequential(torch.nn.Linear(2, 2)), torch.ones(1, 2)
    for _ in range(200):
        y = net(x)
    # Settled: nn.Module is as torch made it, and what was moved is known all the same.
    assert "strobe" not in torch.nn.Module.__call__.__module__
    plain.eval()
    plain(x)
    Inner()(x)

    assert torch.equal(copy.deepcopy(net)(x), y)
    buffer = io.BytesIO(); torch.save(net, buffer); buffer.seek(0)
    assert b"strobe" not in buffer.getvalue()
    assert torch.equal(torch.load(buffer, weights_only=False)(x), y)
    assert torch.equal(torch.jit.trace(net, x)(x), y)
    assert torch.equal(torch.fx.symbolic_trace(net)(x), y)

    from torch.utils.data import DataLoader
    assert [x.item() for x in DataLoader([1, 2, 3])] == [1, 2, 3]
    import torch.distributed as dist
    if dist.is_available():
        try:
            dist.init_process_group("gloo", rank=0, world_size=1, store=dist.HashStore())
            dist.all_reduce(torch.ones(2))
            print("collectives")
        except Exception as error:
            print("no gloo:", error)
"""


@pytest.fixture(scope="module")
def zoo(tmp_path_factory):
    """Every pipeline in one program, since torch takes seconds to import."""
    pytest.importorskip("torch", reason="torch is not installed")
    folder = tmp_path_factory.mktemp("zoo")
    done = start_hooked(folder, ZOO)
    return done


def under(recording, root):
    return {path: n for path, n in without_imports(recording).items() if path[0] == root}


def test_a_pipeline_call_is_a_generation_with_its_parts(zoo):
    done, g = zoo.recordings[0], "TinyVideoPipeline"
    assert under(done, g) == {
        (g,): 1, (g, "text_encode"): 1, (g, "text_encode", "text_encoder"): 1, (g, "denoise"): 4,
        (g, "denoise", "transformer"): 8, (g, "denoise", "scheduler_step"): 4, (g, "vae_decode"): 1,
        (g, "before_steps"): 2, (g, "between_steps"): 3, (g, "after_steps"): 2}
    generation, = done.named(g)
    assert generation.attrs["strobe.role"] == GENERATION and generation.attrs["frames"] == 8
    assert generation.attrs["num_inference_steps"] == 4
    decode = next(zone for zone in generation.children if zone.name == "vae_decode")
    assert decode.attrs == {"latent_frames": 2, "frames": 8, "tiles": 3, "flops_shape": decode.attrs["flops_shape"]}
    assert done.counters["frames"] == 3 * 8  # three videos left a pipeline
    assert all(zone.closed for zone in done.zones)


def test_the_two_forwards_of_cfg_are_one_step(zoo):
    generation, = zoo.recordings[0].named("TinyVideoPipeline")
    steps = [zone for zone in generation.children if zone.name == "denoise"]
    assert [s.attrs["step"] for s in steps] == [0, 1, 2, 3]
    assert all(s.attrs["strobe.role"] == STEP and s.attrs["guidance_scale"] == 5.0 for s in steps)
    assert all([c.name for c in s.children] == ["transformer", "transformer", "scheduler_step"] for s in steps)
    assert steps[0].attrs["timestep"] == 999.0 and "cached" not in steps[0].attrs
    assert all(c.attrs["strobe.role"] == FORWARD and set(c.attrs) <= {"strobe.role", "flops_shape"} for s in steps for c in s.children[:2])


def test_a_second_transformer_does_not_multiply_steps(zoo):
    counts = under(zoo.recordings[0], "Second")
    assert counts["Second", "denoise"] == 4
    assert counts["Second", "denoise", "transformer"] == counts["Second", "denoise", "transformer_2"] == 4


def test_steps_served_by_a_cache_are_marked(zoo):
    generation, = zoo.recordings[0].named("Cached")
    steps = [zone for zone in generation.children if zone.name == "denoise"]
    assert [s.attrs.get("cached", 0) for s in steps] == [0, 0, 1, 1, 0]


def test_pipelines_never_seen_before_survive(zoo):
    assert under(zoo.recordings[0], "NovelPipeline") == {("NovelPipeline",): 1, ("NovelPipeline", "brain"): 1}


def test_a_denoiser_of_any_name_makes_steps(zoo):
    assert under(zoo.recordings[0], "Odd") == {
        ("Odd",): 1, ("Odd", "brain"): 1, ("Odd", "denoise"): 3, ("Odd", "denoise", "brain"): 3,
        ("Odd", "denoise", "scheduler_step"): 3, ("Odd", "before_steps"): 2, ("Odd", "between_steps"): 2, ("Odd", "after_steps"): 1}


def test_a_scheduler_whose_first_argument_is_the_timestep(zoo):
    first, = zoo.recordings[0].named("First")
    assert [s.attrs["timestep"] for s in first.children if s.name == "denoise"] == [999.0, 1.0]


def test_an_exception_in_a_pipeline_is_the_users_own(zoo):
    assert "mine" in zoo.stdout
    assert zoo.recordings[0].named("Broken")[0].attrs["error"] == "TypeError"
    assert ("text_encoder",) in zoo.recordings[0].counts()


def test_loading_importing_and_exporting_stand_apart(zoo):
    done = zoo.recordings[0]
    assert done.named("import torch")[0].attrs == {"strobe.role": IMPORT}
    assert done.counts()["load:Loaded", "load:ModelMixin"] == 1
    load = done.named("torch.load")[0]
    assert load.attrs["strobe.role"] == LOAD and load.attrs["bytes"] > 4000
    assert done.counts()["export",] == 1


def test_offloading_is_a_stage_of_its_own(zoo):
    done = zoo.recordings[0]
    moved = [zone for zone in done.zones if zone.name.startswith("offload:")]
    assert [(zone.name, zone.attrs) for zone in moved] == [
        ("offload:TextEncoder", {"strobe.role": OFFLOAD, "bytes": 80, "from": "cpu", "to": "meta", "dtype": "float32"}),
        ("offload:transformer", {"strobe.role": OFFLOAD, "bytes": 320, "from": "cpu", "dtype": "float32"})]


def test_a_torch_programs_top_level_modules(zoo):
    done = zoo.recordings[0]
    assert done.counts()["Net",] >= 200 and done.counts()["Sequential",] == 1 and done.counts()["Inner",] >= 1
    assert not any(path[0] == "Net" and len(path) > 1 for path in done.counts())


def test_waiting_for_data_and_for_other_ranks(zoo):
    done = zoo.recordings[0]
    assert done.counts()["data_loading",] == 3 and done.counts()["data_loading_sampler",] == 4  # asked once more
    if "collectives" not in zoo.stdout:
        pytest.skip(zoo.stdout)
    assert done.named("collective:all_reduce")[0].attrs == {"strobe.role": 12, "bytes": 8, "dtype": "float32", "group": "gloo:0:0", "seq": 0}


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


SCRIPT = """
    import os
    def encode(x):
        return x + 1
    class VAE:
        def decode(self, x):
            return x * 2
    def main():
        return VAE().decode(encode(1))
    if __name__ == "__main__":
        assert main() == main() == 4
        import sys
        assert sys.gettrace() is None
        assert encode.__name__ == "encode" and encode.__module__ == "__main__"
"""


@pytest.mark.parametrize("module", ["__main__", "program"])
def test_stages_in_the_script_itself(hooked, module):
    done = hooked(SCRIPT, env={"STROBE_STAGES": "%s:encode=4b encode;%s:VAE.decode=4c VAE decode" % (module, module)})
    recording, = done.recordings
    assert without_imports(recording) == {("encode",): 2, ("VAE decode",): 2} and done.stderr == ""
    assert recording.named("VAE decode")[0].code == "4c"


def test_stages_in_a_script_that_imports_something_large(hooked, tmp_path):
    (tmp_path / "heavy.py").write_text("def f(): pass\nfor _ in range(300000): f()\n")
    done = hooked("import heavy\n" + textwrap.dedent(SCRIPT), path=str(tmp_path),
                  env={"STROBE_STAGES": "program:encode=4b encode;__main__:VAE.decode=4c VAE decode"})
    assert without_imports(done.recordings[0]) == {("encode",): 2, ("VAE decode",): 2} and done.stderr == ""


def test_stages_that_the_script_defines_after_much_work_are_found_soon(hooked):
    done = hooked("""
        def f(): pass
        for _ in range(100000): f()
        def late(): pass
        while not hasattr(late, "__wrapped__"):
            pass
        late()
        import builtins, sys
        assert sys.gettrace() is None and type(builtins.__import__).__name__ == "builtin_function_or_method"
    """, env={"STROBE_STAGES": "program:late=late"})
    assert without_imports(done.recordings[0]) == {("late",): 1} and done.stderr == ""


def test_stages_of_a_module_run_with_m(tmp_path):
    package = tmp_path / "pkg"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "tool.py").write_text(textwrap.dedent(SCRIPT))
    (tmp_path / "run").mkdir()
    done = subprocess.run([sys.executable, "-m", "pkg.tool"], cwd=tmp_path, stderr=subprocess.PIPE, text=True, check=True,
                          env=dict(os.environ, STROBE_ENABLED="1", STROBE_RUN_DIR=str(tmp_path / "run"), PYTHONPATH=HOOK,
                                   STROBE_STAGES="pkg.tool:encode=4b encode"))
    done.recordings = strobe_file.read(str(tmp_path / "run"))
    assert without_imports(done.recordings[0]) == {("encode",): 2} and done.stderr == ""


def test_a_stage_name_may_hold_what_separates_stages(hooked):
    done = hooked("def f(): pass\ndef g(): pass\nf()\ng()\n",
                  env={"STROBE_STAGES": "__main__:f=[4c] a%3B b 50%25;__main__:g=[] 4c"})
    recording, = done.recordings
    assert without_imports(recording) == {("a; b 50%",): 1, ("4c",): 1}
    assert recording.named("a; b 50%")[0].code == "4c" and not recording.named("4c")[0].code


def test_a_stage_that_the_script_does_not_have_is_said_and_costs_nothing_more(hooked):
    done = hooked("def there(): pass\nthere()\nassert __import__('sys').gettrace() is None or True\n",
                  env={"STROBE_STAGES": "__main__:missing=x;__main__:there=y"})
    assert "the stage __main__:missing was not recorded: the script has no missing" in done.stderr
    assert without_imports(done.recordings[0]) == {("y",): 1}


def test_waiting_for_a_script_that_never_comes_leaves_nothing_behind(tmp_path):
    source = "import weakref, os; d = weakref.WeakValueDictionary(); f = lambda: 1; d[1] = f"
    done = subprocess.run([sys.executable, "-c", source], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          env=dict(os.environ, STROBE_ENABLED="1", STROBE_RUN_DIR=str(tmp_path), PYTHONPATH=HOOK,
                                   STROBE_STAGES="__main__:missing=x"))
    assert done.stderr == "strobe: the stage __main__:missing was not recorded: no script was run\n"


def test_the_scripts_stages_in_spawned_workers(hooked):
    done = hooked("""
        import multiprocessing
        def work(x):
            return x + 1
        if __name__ == "__main__":
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                assert pool.map(work, [1, 2]) == [2, 3]
                pool.close()
                pool.join()
    """, env={"STROBE_STAGES": "__main__:work=work"})
    counts = [recording.counts().get(("work",), 0) for recording in done.recordings]
    assert sum(counts) == 2, (counts, done.stderr)


def test_stages_of_a_configuration_name_the_script_too(program):
    done = program("""
        import strobe
        def work(): pass
        strobe.start(config={"stages": ["__main__:work=4a work"]})
        work()
    """)
    assert done.recordings[0].counts() == {("work",): 1} and done.stderr == ""


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


def test_a_scripted_module_runs_as_without_strobe(hooked, tmp_path):
    """Its table of parts is no dictionary."""
    done = hooked("""
        import torch
        model = torch.jit.script(torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU()))
        for p in model.parameters():
            torch.nn.init.constant_(p, 0.5)
        with torch.no_grad():
            for _ in range(3):
                out = model(torch.ones(2, 4))
        print(out.sum().item())
    """)
    assert (done.returncode, done.stdout) == (0, "20.0\n"), done.stderr
    recording = strobe_file.read(str(tmp_path / "runs" / "run-1"))[0]
    assert recording.counts()[("RecursiveScriptModule",)] == 3


def test_what_a_pipeline_asks_for_is_read_ever_less_often(monkeypatch):
    from strobe.auto.frameworks import diffusers

    class Pipeline:
        components = {}
    told, count, pipeline = [], [0], Pipeline()
    monkeypatch.setattr(diffusers.asked, "tell_versions", lambda: None)
    monkeypatch.setattr(diffusers.asked, "tell", lambda components: told.append(count[0]))
    monkeypatch.setattr(diffusers, "_pipelines", 0)
    for count[0] in range(1, 41):
        diffusers._tell_asked(pipeline)
    assert told == [1, 2, 3, 4, 5, 6, 7, 8, 16, 32]


def test_a_pipeline_that_was_called_before_looks_for_no_new_class(monkeypatch):
    from strobe.auto import modules

    class Module:
        def __call__(self):
            return "called"
    original = Module.__call__
    for name, value in (("_nn_module", Module), ("_original_call", original), ("_calm", 0)):
        monkeypatch.setattr(modules, name, value)
    modules._look_for_modules()
    assert Module.__call__ is modules._discovering_call
    with modules.Known():
        assert Module.__call__ is original
        with modules.Known():  # of another thread
            modules._look_for_modules()
        assert Module.__call__ is original
    assert Module.__call__ is modules._discovering_call
    modules._calm = modules.SETTLED
    with modules.Known():
        pass
    assert Module.__call__ is original
