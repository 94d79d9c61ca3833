"""%%strobe in a real IPython, and what a wrong use of it says."""
import pytest

import strobe
from strobe import notebook

IPython = pytest.importorskip("IPython", reason="IPython is not installed")


@pytest.fixture
def shell(tmp_path, monkeypatch):
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.setenv("STROBE_OUTPUT_DIR", str(tmp_path / "runs"))
    monkeypatch.setenv("STROBE_GENERATE_FINAL_REPORT", "0")
    from IPython.core.interactiveshell import InteractiveShell
    InteractiveShell.clear_instance()
    one = InteractiveShell.instance()
    one.history_manager.enabled = False
    one.run_line_magic("load_ext", "strobe")
    yield one
    one.history_manager.end_session()
    InteractiveShell.clear_instance()
    if strobe.recording():
        strobe.stop()


def test_a_cell_is_recorded_and_its_report_shows_itself(shell, capsys):
    shell.run_cell("%%strobe --name denoise\nimport strobe\nwith strobe.section('in the cell'):\n    x = 6 * 7\n")
    report = shell.user_ns["_"]
    assert isinstance(report, strobe.Report) and "denoise" in report.path and shell.user_ns["x"] == 42
    assert "in the cell" in capsys.readouterr().out  # a terminal shows the text, a notebook the page
    assert not strobe.recording()


def test_the_text_form_prints_the_report(shell, capsys):
    assert shell.run_cell("%%strobe --text\n1 + 1").result is None
    printed = capsys.readouterr().out
    assert "strobe: cell" in printed or "strobe.Report" in printed


@pytest.mark.parametrize("line, says", [
    ("--nmae x", "unrecognized arguments: --nmae x"), ("--name", "expected one argument"),
    ("--name 'x", "No closing quotation"), ("--preset fast", "fast")])
def test_a_wrong_option_is_one_readable_line_and_runs_nothing(shell, capsys, line, says):
    done = shell.run_cell("%%%%strobe %s\ny = 1" % line)
    printed = capsys.readouterr()
    assert isinstance(done.error_in_exec, notebook.UsageError) and "y" not in shell.user_ns
    assert "UsageError: %%strobe: " in printed.err and says in printed.err and "Traceback" not in printed.err + printed.out
    assert not strobe.recording()


def test_an_error_in_the_cell_is_the_cells_own(shell, capsys):
    shell.run_cell("%%strobe\n1 / 0")
    assert "ZeroDivisionError" in capsys.readouterr().out and not strobe.recording()


def test_a_session_that_is_open_is_not_ended_by_a_cell(shell, capsys):
    strobe.start("mine")
    shell.run_cell("%%strobe\nz = 1")
    assert "a session is open already" in capsys.readouterr().err and strobe.recording() and "z" not in shell.user_ns
