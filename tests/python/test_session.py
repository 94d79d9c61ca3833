"""Sessions, configuration, and the report that comes out of them."""
import base64
import json
import os
import re
import subprocess
import sys
import warnings

import pytest

import strobe
from strobe import _tool, notebook

needs_tool = pytest.mark.skipif(_tool.path() is None, reason="the strobe command is not built")
QUIET = {"generate_final_report": False}


@pytest.fixture(autouse=True)
def clean(monkeypatch):
    for key in list(os.environ):
        if key.startswith("STROBE_") and key != "STROBE_TOOL":
            monkeypatch.delenv(key)
    yield
    if strobe.recording():
        strobe.stop()


def test_start_and_stop(tmp_path):
    strobe.start("named", output_dir=tmp_path, config=QUIET, tags={"model": "wan", "n": 3, "flag": True})
    assert strobe.recording() and os.path.dirname(strobe.run_dir()) == str(tmp_path)
    assert os.path.basename(strobe.run_dir()).startswith("named-")
    strobe.tag(late=1)
    report = strobe.stop()
    assert not strobe.recording() and report.path == strobe.run_dir()


@needs_tool
@pytest.mark.parametrize("spec", ["", "steps:2", "seconds:5", "slow:1.5"])
def test_a_trace_that_ends_before_it_began_says_so(tmp_path, monkeypatch, spec):
    monkeypatch.setenv("STROBE_CUDA_PATH", "none")
    strobe.start(output_dir=tmp_path)
    with strobe.gpu_trace(spec):
        pass
    if not spec.startswith("slow"):
        with strobe.gpu_counters(spec):
            pass
    said = {m["what"]: m["why"] for m in strobe.stop().data["not_recorded"]}
    assert said["kernels"] == "the program never initialised CUDA"
    assert spec.startswith("slow") or said["sampled counters"] == "the program never used a GPU"


def test_starting_twice_joins_and_stopping_twice_is_nothing(tmp_path):
    strobe.start(output_dir=tmp_path, config=QUIET)
    first = strobe.run_dir()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        strobe.start(output_dir=tmp_path, config=QUIET, tags={"second": 2})
    assert strobe.run_dir() == first
    strobe.stop()
    strobe.stop()
    strobe.start(output_dir=tmp_path, config=QUIET)
    assert strobe.recording() and strobe.run_dir() != first


def test_a_session_ends_with_its_block(tmp_path):
    with pytest.raises(KeyError):
        with strobe.session("block", output_dir=tmp_path, config=QUIET):
            assert strobe.recording()
            raise KeyError
    assert not strobe.recording()


@pytest.mark.parametrize("config, words", [
    ({"gpu_monitor_intervall": 1.0}, "gpu_monitor_intervall.*gpu_monitor_interval"),
    ({"enabled": 3}, "enabled must be true or false"),
    ({"display_interval": -1}, "display_interval"),
    ({"report_format": "pdf"}, "html, json or both"),
    ({"profiling": ["x"]}, "must hold keys"),
])
def test_a_wrong_configuration_is_refused_with_its_reason(config, words, tmp_path):
    with pytest.raises(strobe.ConfigError, match=words):
        strobe.start(config=config, output_dir=tmp_path)
    assert not strobe.recording() and not list(tmp_path.iterdir())


@pytest.mark.parametrize("body, words", [
    ("profiling:\n  enabled: true\n  cpu_monitor_intervall: 1.0\n", r"bad.yaml:3.*cpu_monitor_interval"),
    ("profiling:\n  report_format: pdf\n", r"bad.yaml:2.*report_format"),
    ("profiling: [\n", r"bad.yaml:\d"),
])
def test_a_wrong_file_is_refused_with_file_and_line(body, words, tmp_path):
    path = tmp_path / "bad.yaml"
    path.write_text(body)
    with pytest.raises(strobe.ConfigError, match=words):
        strobe.start(config=path, output_dir=tmp_path / "runs")


def test_a_file_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(strobe.ConfigError, match="nowhere.yaml"):
        strobe.start(config=tmp_path / "nowhere.yaml", output_dir=tmp_path)


def test_settings_from_a_file_and_from_a_dict(tmp_path):
    path = tmp_path / "profiling.yaml"
    path.write_text("profiling:\n  enabled: true\n  generate_final_report: false\n  output_dir: %s\n"
                    "  session_tags:\n    model: wan\n" % (tmp_path / "from-file"))
    strobe.start(config=path)
    assert strobe.run_dir().startswith(str(tmp_path / "from-file"))
    strobe.stop()
    strobe.start(config={"profiling": {"generate_final_report": False, "output_dir": str(tmp_path / "from-dict")}})
    assert strobe.run_dir().startswith(str(tmp_path / "from-dict"))


def test_disabled_in_the_configuration(tmp_path):
    strobe.start(config={"enabled": False}, output_dir=tmp_path)
    assert not strobe.recording() and not list(tmp_path.iterdir())


def test_stages_of_the_configuration(tmp_path, monkeypatch):
    (tmp_path / "their_code.py").write_text("def work(): return 5\n")
    monkeypatch.syspath_prepend(tmp_path)
    strobe.start(config=dict(QUIET, stages=["their_code:work = 4c VAE encode"]), output_dir=tmp_path / "runs")
    import their_code
    assert their_code.work() == 5
    folder = strobe.run_dir()
    strobe.stop()
    import strobe_file
    zone, = strobe_file.read(folder)[0].named("VAE encode")
    assert zone.code == "4c"


@pytest.mark.parametrize("text, size", [("64 MiB", 64 << 20), ("1g", 1 << 30), (4096, 4096), ("1.5 KiB", 1536)])
def test_sizes(text, size):
    assert strobe._config.parse_bytes(text) == size


def test_a_size_that_is_none_is_refused():
    with pytest.raises(strobe.ConfigError, match="max_trace_bytes"):
        strobe.start(max_trace_bytes="lots")


# ---- with the tool ----

def record_something(tmp_path, **options):
    strobe.start("report", output_dir=tmp_path, config=QUIET, **options)
    with strobe.generation(frames=16, width=64, height=32):
        for _ in strobe.steps([3.0, 2.0, 1.0, 0.0]):
            with strobe.section("transformer"):
                pass
        with strobe.section("vae_decode", frames=16, code="4c"):
            pass
        strobe.frames(16)
    return strobe.stop()


@needs_tool
def test_the_report_has_what_was_recorded(tmp_path):
    report = record_something(tmp_path, tags={"model": "wan <1.3b>"})
    data = report.data
    assert data["session_info"]["tags"]["model"] == "wan <1.3b>"
    stages = {stage["name"]: stage for stage in data["stage_analysis"]["stages"]}
    assert stages["denoise"]["count"] == 4 and stages["transformer"]["parent"] == "denoise"
    assert stages["vae_decode"]["code"] == "4c" and report.stages["denoise"]["count"] == 4
    assert data["recording"]["zones"] == 10 and data["recording"]["dropped_count"] == 0
    assert "vae_decode" in report.text and str(report) == report.text


@needs_tool
def test_a_report_shows_itself_in_a_notebook(tmp_path):
    report = record_something(tmp_path)
    html = report._repr_html_()
    assert html.startswith(("<iframe", "<pre>")) and "<script" not in html.split(">", 1)[0]


def test_a_report_of_nothing_says_so_and_does_not_raise(tmp_path):
    report = strobe.report(tmp_path / "nowhere")
    assert "nowhere" in str(report) and report._repr_html_().startswith("<pre>")


class FakeShell:
    """The two things of IPython that the magic uses."""

    def __init__(self):
        self.magics, self.space = {}, {}

    def register_magic_function(self, function, kind, name):
        self.magics[kind, name] = function

    def run_cell(self, source):
        exec(source, self.space)


def test_the_cell_magic_records_the_cell(tmp_path):
    shell = FakeShell()
    strobe.load_ipython_extension(shell)
    magic = shell.magics["cell", "strobe"]
    result = magic("--name denoise --output-dir %s" % tmp_path, "import strobe\nwith strobe.section('cell'): x = 1\n")
    assert shell.space["x"] == 1 and isinstance(result, strobe.Report)
    import strobe_file
    assert strobe_file.read(result.path)[0].counts() == {("cell",): 1}


def test_the_magic_stops_when_the_cell_fails(tmp_path):
    with pytest.raises(ZeroDivisionError):
        notebook.strobe("--output-dir %s" % tmp_path, "1/0", FakeShell().run_cell)
    assert not strobe.recording()


@needs_tool
def test_under_strobe_run_the_program_is_recorded(tmp_path):
    (tmp_path / "program.py").write_text("import strobe\nwith strobe.section('mine', frames=2):\n    pass\n")
    done = subprocess.run([_tool.path(), "run", "-o", str(tmp_path / "run"), "--", sys.executable,
                           str(tmp_path / "program.py")], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          env={k: v for k, v in os.environ.items() if not k.startswith("STROBE_")}, cwd=str(tmp_path))
    assert done.returncode == 0, done.stderr
    folder = next(path for path, _, names in os.walk(tmp_path / "run") if any(n.endswith(".strobe") for n in names))
    out = subprocess.run([_tool.path(), "report", folder, "--format", "json"], stdout=subprocess.PIPE, check=True).stdout
    assert "mine" in {stage["name"] for stage in json.loads(out)["stage_analysis"]["stages"]}


@needs_tool
@pytest.mark.parametrize("example", ["numpy_pipeline.py", "causal_video.py"])
def test_the_examples_run_and_report(example, tmp_path):
    pytest.importorskip("numpy" if example.startswith("numpy") else "torch")
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    small = ["--frames", "4", "--size", "32"] if example.startswith("numpy") else ["--blocks", "2", "--steps", "2"]
    done = subprocess.run([sys.executable, os.path.join(root, "examples", example), "--enable-profiling",
                           "--profiling-output-dir", str(tmp_path / "runs"), *small],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=str(tmp_path))
    assert done.returncode == 0, done.stderr
    stages = strobe.report(tmp_path / "runs" / "last").stages
    assert ("propagation" if example.startswith("numpy") else "vae_decode") in stages


def test_what_start_refuses_is_said_once(tmp_path):
    source = "import strobe\ntry:\n    strobe.start(preset='x')\nexcept strobe.ConfigError as e:\n    print(e)\n" \
             "strobe.start(output_dir='/proc/nope')\n"
    done = subprocess.run([sys.executable, "-c", source], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          env={k: v for k, v in os.environ.items() if not k.startswith("STROBE_")}, cwd=str(tmp_path))
    assert "there is no preset 'x'" in done.stdout and "preset" not in done.stderr
    assert done.stderr.count("cannot make the folder '/proc/nope'") == 1, done.stderr


def test_nn_and_compat_are_there_when_they_are_named_and_not_before(program):
    done = program("""
        import sys, strobe
        assert "strobe.nn" not in sys.modules and "strobe.compat" not in sys.modules
        assert strobe.compat.profile_section and strobe.nn.describe
        assert not hasattr(strobe, "no_such_name")
    """)
    assert done.stderr == ""


@needs_tool
def test_in_a_notebook_a_report_shows_the_page_itself(tmp_path):
    with strobe.session("page", output_dir=tmp_path, config=QUIET):
        with strobe.section("on the page"):
            pass
    found = strobe.report(next(tmp_path.glob("page-*")))
    framed = re.search(r"base64,([^\"]+)", found._repr_html_()).group(1)
    for page in (found.html, base64.b64decode(framed).decode()):
        assert page.startswith("<!doctype html") and "on the page" in page
    assert not list(tmp_path.glob("page-*/*.html"))


def test_a_session_that_cannot_be_closed_raises_nothing_where_warnings_are_errors(tmp_path, monkeypatch, capfd):
    from strobe import _session
    stop = _session.native.stop
    monkeypatch.setattr(_session, "native", type("Native", (), {
        "__getattr__": lambda self, name: getattr(strobe._native.native, name), "stop": lambda self: (stop(), (-5, "no room left"))[1]})())
    ended = []
    with warnings.catch_warnings(), pytest.raises(KeyError, match="the program's own"):
        warnings.simplefilter("error")
        with strobe.session("one", output_dir=tmp_path, config=QUIET):
            _session.at_end(ended.append)
            raise KeyError("the program's own")
    assert ended == [strobe.run_dir()] and "strobe: no room left" in capfd.readouterr().err
