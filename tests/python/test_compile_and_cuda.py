"""With torch 2: sections inside compiled code are inert, the automatic recording
changes no graph, and on CUDA every section has GPU time. Also runs by itself,
where there is no pytest: python3 tests/python/test_compile_and_cuda.py"""
import os
import subprocess
import sys
import tempfile
import textwrap

import strobe

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
PACKAGE = os.path.dirname(os.path.abspath(strobe.__file__))


def skip(reason):
    try:
        import pytest
    except ImportError:
        raise SystemExit("skipped: " + reason)
    pytest.skip(reason)


def need(cuda=False, compile=False):
    try:
        import torch
    except ImportError:
        skip("torch is not installed")
    if compile and not hasattr(getattr(torch, "compiler", None), "substitute_in_graph"):
        skip("needs torch.compile with substitute_in_graph (torch 2.5)")
    if cuda and not torch.cuda.is_available():
        skip("no CUDA device")
    return torch


def run(source, hooked=False):
    """In a process of its own; returns its standard output and its recording."""
    import strobe_file
    folder = tempfile.mkdtemp()
    env = {k: v for k, v in os.environ.items() if not k.startswith("STROBE_")}
    env.update(STROBE_GENERATE_FINAL_REPORT="0", STROBE_OUTPUT_DIR=folder, STROBE_DEBUG="1")
    env["PYTHONPATH"] = os.path.dirname(PACKAGE)
    if hooked:
        os.makedirs(os.path.join(folder, "run"))
        env.update(STROBE_ENABLED="1", STROBE_RUN_DIR=os.path.join(folder, "run"),
                   PYTHONPATH=os.path.join(PACKAGE, "hook"))
    path = os.path.join(folder, "program.py")
    with open(path, "w") as file:
        file.write(textwrap.dedent(source))
    done = subprocess.run([sys.executable, path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env,
                          timeout=280)
    assert done.returncode == 0, done.stderr
    assert not done.stderr.count("strobe: fault"), done.stderr[-4000:]
    runs = [os.path.join(folder, name) for name in os.listdir(folder)
            if name != "last" and os.path.isdir(os.path.join(folder, name))]
    return done.stdout, strobe_file.read(runs[0])[0] if runs and os.listdir(runs[0]) else None


COMPILED = """
    import torch, strobe
    strobe.start("compiled")

    @strobe.profile
    def inner(x):
        with strobe.section("inside", frames=3):
            return torch.sin(x) * 2

    @torch.compile(fullgraph=True, backend="eager")
    def f(x):
        with strobe.section("outer"):
            strobe.event("e", n=1)
            return inner(x) + 1

    x = torch.arange(8.0)
    with strobe.section("call"):
        for _ in range(3):
            y = f(x)
    assert torch.equal(y, torch.sin(x) * 2 + 1)
    import torch._dynamo.utils as u
    print(u.counters["graph_break"], u.counters["stats"]["unique_graphs"])
    strobe.stop()
"""


def test_sections_in_compiled_code_break_no_graph():
    need(compile=True)
    out, done = run(COMPILED)
    assert out.split() == ["Counter()", "1"], out
    names = {zone.name for zone in done.zones}
    assert "call" in names and not names & {"inside", "outer", "inner"}, names
    assert done.lost[12] == 3, done.lost  # SB_LOST_COMPILED: once each, not once a call


EVERYTHING = """
    import torch, strobe

    @strobe.section("decorated", code="4c")
    def decorated(x):
        return x + 1

    @strobe.profile("method", code="4d", batch=4)
    def method(x):
        return x * 2

    def body(x):
        with strobe.section("outer", code="4a", tokens=3) as section:
            section.set(tokens=4)
            x = decorated(method(x))
        with strobe.generation(frames=3) as generation:
            generation.set(prompt="p")
        with strobe.span("request") as span:
            x = x + 1
        span.end(n=1)
        for t in strobe.steps([3, 2, 1], block_size=3, guidance_scale=5.0):
            x = x + t
        for i in strobe.iterations(2):
            x = x + i
        for b in strobe.blocks([1, 2], frames=3):
            x = x * b
        strobe.counter("n"); strobe.gauge("g", 1.0); strobe.frames(3); strobe.frames_dropped(1)
        strobe.cache("teacache", "hit", score=0.1, threshold=0.2); strobe.event("e", n=1); strobe.attrs(a=1)
        strobe.streaming(3, encode_ms=1.0); strobe.snapshot("s"); strobe.alloc(4); strobe.free(4); strobe.skip("s", "why")
        strobe.duration("d", 0.1); strobe.step_record(1, seconds=0.1); strobe.block_record(1, frames=3, seconds=0.1)
        strobe.model("m", 12); strobe.thread_name("t"); strobe.tag(a=1)
        return x + 1 if strobe.recording() else x

    x = torch.arange(8.0)
    plain = body(x)
    strobe.start("everything")
    y = torch.compile(body, fullgraph=True, backend="eager")(x)
    assert torch.equal(plain, y), (plain, y)
    import torch._dynamo.utils as u
    print(u.counters["graph_break"], u.counters["stats"]["unique_graphs"])
    strobe.stop()
"""


def test_every_call_in_compiled_code_breaks_no_graph():
    need(compile=True)
    out, done = run(EVERYTHING)
    assert out.split() == ["Counter()", "1"], out
    assert {zone.name for zone in done.zones} <= {"torch.compile"}, done.zones


HOOKED = """
    import torch
    class Block(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.l = torch.nn.Linear(8, 8)
        def forward(self, x):
            return torch.relu(self.l(x))
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.blocks = torch.nn.ModuleList([Block() for _ in range(3)])
        def forward(self, x):
            for block in self.blocks:
                x = block(x)
            return x
    torch.manual_seed(0)
    net, x = Net().eval(), torch.ones(2, 8)
    Block()(x)                      # Block is top-level once: its class is known from here on
    with torch.no_grad():
        plain = net(x)
        fast = torch.compile(net, fullgraph=True, backend="eager")
        for _ in range(100):
            y = fast(x)
        whole = torch.compile(lambda x: net(x) + 1, fullgraph=True, backend="eager")
        whole(x)
    assert torch.equal(plain, y)
    import torch._dynamo.utils as u
    print(u.counters["graph_break"], u.counters["stats"]["unique_graphs"])
"""


def test_the_automatic_recording_breaks_no_graph():
    need(compile=True)
    out, done = run(HOOKED, hooked=True)
    assert out.split() == ["Counter()", "2"], out
    counts = {path: n for path, n in done.counts().items() if not path[0].startswith("import ")}
    assert counts["Net",] == 101, counts
    assert any(path[-1] == "torch.compile" for path in counts), counts


def test_strobe_never_initialises_cuda():
    need(cuda=True)
    run("""
        import torch, strobe
        strobe.start("cold")
        with strobe.section("a", gpu=True):
            strobe.snapshot("s")
        strobe.stop()
        assert not torch.cuda.is_initialized()
    """)


def test_sections_on_cuda_have_gpu_time():
    need(cuda=True)
    out, done = run("""
        import strobe, torch
        strobe.start("warm")
        x = torch.ones(2048, 2048, device="cuda")
        other = torch.cuda.Stream()
        for t in strobe.steps([3, 2, 1]):
            with strobe.section("matmul"):
                for _ in range(10):
                    x = x @ x * 1e-4
            with torch.cuda.stream(other), strobe.section("other stream"):
                y = torch.ones(1000, device="cuda") * 2
        with strobe.section("host only", gpu=False):
            pass
        torch.cuda.synchronize()
        with strobe.section("end"):
            pass
        strobe.stop()
    """)
    import strobe_file
    timed = [done.names[aux & 0xFFFFF] for aux, _ in done.records[strobe_file.GPU]]
    assert timed.count("matmul") == 3 and timed.count("denoise") == 3 and timed.count("other stream") == 3, timed
    assert "host only" not in timed
    streams = {done.names[aux & 0xFFFFF]: payload[3] >> 32 for aux, payload in done.records[strobe_file.GPU]}
    assert streams["matmul"] != streams["other stream"], streams


def test_sections_survive_cuda_graph_capture_and_change_nothing():
    need(cuda=True)
    run("""
        import strobe, torch
        strobe.start("graph")
        torch.manual_seed(0)
        net = torch.nn.Linear(64, 64).cuda()
        x = torch.ones(4, 64, device="cuda")
        with torch.no_grad():
            side = torch.cuda.Stream()
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                for _ in range(3):
                    net(x)
            torch.cuda.current_stream().wait_stream(side)
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                with strobe.section("captured"):
                    y = net(x)
            for _ in range(5):
                with strobe.section("replay"):
                    graph.replay()
            assert torch.equal(y, net(x))
        strobe.stop()
    """)


if __name__ == "__main__":
    for name, test in sorted(globals().items()):
        if name.startswith("test_"):
            try:
                test()
                print("%-70s ok" % name, flush=True)
            except SystemExit as reason:
                print("%-70s %s" % (name, reason), flush=True)
            except BaseException as error:
                print("%-70s FAILED\n%s" % (name, str(error)[-3000:]), flush=True)
