"""Dynamos of every age, by stand-ins: whatever torch.compile is like, a section in
compiled code is inert and no exception of ours reaches the program. The real ones
are tried in test_compile_and_cuda.py where torch 2 is installed."""
import pytest

FAKE_TORCH = """
class _C: pass
__version__ = "2.99"
class Tracing: now = False
class compiler:
    @staticmethod
    def is_compiling():
        return Tracing.now
"""
SUBSTITUTE = """
    taken = {}
    @staticmethod
    def substitute_in_graph(original, *, skip_signature_check=False):
        def decorate(function):
            compiler.taken[original.__name__] = function
            return function
        return decorate
"""
COMPTIME = """
from torch import Tracing
def comptime(function, fallback=lambda: None):
    function(None) if Tracing.now else fallback()
"""
PROGRAM = """
    import strobe
    @strobe.profile
    def decorated():
        return 3
    @strobe.section("by section")
    def other():
        return 4
    strobe.start("x")
    import torch, torch._dynamo
    def body():
        with strobe.section("inside", frames=3):
            strobe.event("e"); strobe.frames(2); strobe.attrs(a=1)
            return decorated()
    assert body() == 3
    torch.Tracing.now = True
    assert body() == body() == 3
    torch.Tracing.now = False
    assert body() == 3 and other() == 4
    strobe.stop()
"""
COMPILED_AWAY = 12  # SB_LOST_COMPILED


@pytest.fixture
def compiled(tmp_path, program):
    def run(torch=FAKE_TORCH, comptime=COMPTIME, source=PROGRAM, **env):
        folder = tmp_path / "fake" / "torch" / "_dynamo"
        folder.mkdir(parents=True)
        (folder.parent / "__init__.py").write_text(torch)
        (folder / "__init__.py").write_text("")
        if comptime is not None:
            (folder / "comptime.py").write_text(comptime)
        import os
        import strobe
        package = os.path.dirname(os.path.dirname(os.path.abspath(strobe.__file__)))
        return program(source, env=dict({"PYTHONPATH": os.pathsep.join([str(folder.parent.parent), package])}, **env))
    return run


def test_before_torch_2_5_sections_look_for_themselves(compiled):
    done = compiled()
    recording, = done.recordings
    assert recording.counts() == {("inside",): 2, ("inside", "decorated"): 2, ("by section",): 1}
    assert recording.lost[COMPILED_AWAY] == 4 and recording.counters["frames"] == 4
    assert done.stderr == ""


def test_a_dynamo_that_takes_no_stand_ins_is_said_once(compiled):
    done = compiled(FAKE_TORCH + "    def substitute_in_graph(original): raise TypeError('not like this')\n", STROBE_DEBUG="0")
    recording, = done.recordings
    assert recording.counts() == {("inside",): 2, ("inside", "decorated"): 2, ("by section",): 1}
    assert done.stderr.count("sections inside compiled code are not recorded") == 1 and "torch 2.99" in done.stderr


@pytest.mark.parametrize("comptime", [None, "raise RuntimeError('gone')\n"])
def test_a_dynamo_without_comptime_is_said_once(compiled, comptime):
    done = compiled(comptime=comptime)
    recording, = done.recordings
    assert recording.counts()["inside",] == 2 and not recording.lost[COMPILED_AWAY]
    assert done.stderr.count("sections inside compiled code are not recorded") == 1


def test_warnings_that_are_errors_do_not_reach_the_program(compiled):
    done = compiled(comptime=None, PYTHONWARNINGS="error::RuntimeWarning", STROBE_DEBUG="0")
    assert done.recordings[0].counts()["inside",] == 2 and done.stderr == ""


def test_every_call_has_a_stand_in_that_does_nothing(compiled):
    done = compiled(FAKE_TORCH + SUBSTITUTE, source="""
        import inspect, strobe
        from strobe import _core
        strobe.start("x")
        import torch, torch._dynamo
        taken = torch.compiler.taken
        with taken["section"]("s", code="4c", n=1) as one:
            one.set(n=2)
        with taken["again"](one):
            pass
        taken["span"]("s").end(n=1)
        assert list(taken["loop"]([1, 2], 3, "denoise", 0, None, None, None, {})) == [1, 2]
        assert taken["recording"]() is False and taken["event"]("e", n=1) is None
        public = {name for name in dir(_core.native) if not name.startswith("_") and callable(getattr(_core.native, name))}
        left = public - set(taken) - {"Section", "Span", "Loop"}
        print(sorted(left))
    """)
    assert done.recordings[0].counts() == {} and done.stderr == ""
    # What is left starts, asks or installs; nobody does that inside a model.
    assert done.stdout.strip() == str(sorted([
        "allocations_off", "allocations_on", "allocations_read", "exit_status", "garbage_seen", "gpu_counters_start", "gpu_counters_stop", "gpu_trace_resume", "gpu_trace_start", "gpu_trace_steps_state", "gpu_trace_stop", "gpu_trace_yield", "inside", "install", "line_before", "loops_end", "mask", "memory_error_raised", "missing", "mute", "owners", "rank", "readings_at_ends", "readings_host", "readings_install", "readings_now",
        "role_recorded", "run_dir",
        "sampler_ask", "sampler_ask_or_look", "sampler_claim", "sampler_clock", "sampler_drain", "sampler_exact", "sampler_forget", "sampler_join",
        "sampler_look", "sampler_opens", "sampler_run", "sampler_seen", "sampler_starting", "sampler_stop",
        "start", "steps_marked", "stop", "stream_install", "track_forget", "track_new", "tracked"]))


def test_gpu_zones_switched_off_leave_compiled_code_alone_too(compiled):
    done = compiled(STROBE_GPU_ZONES="0")
    assert done.recordings[0].counts()["inside",] == 2
