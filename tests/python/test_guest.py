"""What a program would print without strobe, it prints with it: warnings of Python itself, Ctrl-C, sub-interpreters."""
import glob
import os
import subprocess
import sys

import pytest

import strobe

PACKAGE = os.path.dirname(os.path.abspath(strobe.__file__))
PYENV = os.environ.get("PYENV_ROOT", os.path.expanduser("~/.pyenv"))


def newer_pythons():
    """Of 3.12 and later, where strobe's own is older."""
    if sys.version_info >= (3, 12):
        return [sys.executable]
    return [path for path in sorted(glob.glob(PYENV + "/versions/3.1[2-9].*/bin/python3") + glob.glob("/usr/bin/python3.1[2-9]"))
            if loads(path)][:2]


def loads(python):
    code = "import strobe._native; assert strobe._native.loaded"
    return not subprocess.run([python, "-c", code], env={"PYTHONPATH": os.path.dirname(PACKAGE)}, capture_output=True).returncode


@pytest.fixture(params=["hook", "import"])
def guest(request, tmp_path):
    """Runs a program in every newer Python, below the start-up hook and with a session of its own."""
    pythons = newer_pythons()
    if not pythons:
        pytest.skip("no Python 3.12 or later here")
    hooked = request.param == "hook"

    def go(source):
        path = tmp_path / "program.py"
        path.write_text(source if hooked else "import strobe; strobe.start()\n" + source)
        environment = {"PATH": os.environ["PATH"], "STROBE_OUTPUT_DIR": str(tmp_path / "runs"), "STROBE_GENERATE_FINAL_REPORT": "0",
                       "PYTHONPATH": os.path.join(PACKAGE, "hook") if hooked else os.path.dirname(PACKAGE)}
        if hooked:
            environment["STROBE_ENABLED"] = "1"
        return [subprocess.run([python, str(path)], env=environment, capture_output=True, text=True, timeout=120)
                for python in pythons]
    go.hooked = hooked
    return go


FORK = """
import os
def fork():
    child = os.fork()
    if not child:
        os._exit(0)
    os.waitpid(child, 0)
assert any("strobe-" in open("/proc/self/task/%s/comm" % task).read() for task in os.listdir("/proc/self/task"))
"""


def test_a_fork_beside_strobes_threads_alone_is_not_warned_of(guest):
    for done in guest(FORK + "fork()"):
        assert (done.returncode, done.stderr) == (0, "")


def test_nor_where_the_program_sets_its_own_filters(guest):
    for done in guest(FORK + "import warnings\nfork()\nwarnings.resetwarnings()\nwarnings.simplefilter('always')\nfork()"):
        assert (done.returncode, done.stderr) == (0, "")


def test_a_fork_beside_a_thread_of_the_program_is(guest):
    for done in guest(FORK + """
import threading
go_on = threading.Event()
thread = threading.Thread(target=go_on.wait)
thread.start()
fork()
go_on.set()
thread.join()
"""):
        assert done.returncode == 0 and done.stderr.count("is multi-threaded, use of fork()") == 1, done.stderr


def test_a_sub_interpreter_below_the_hook_says_nothing(guest):
    if not guest.hooked:
        pytest.skip("a program that asks for strobe there is told that it records nothing")
    for done in guest("""
try:
    import _interpreters as subs
except ImportError:
    import _xxsubinterpreters as subs
one = subs.create()
subs.run_string(one, "print('in it', flush=True)")
subs.destroy(one)
"""):
        assert (done.returncode, done.stdout, done.stderr) == (0, "in it\n", "")


def test_ctrl_c_while_strobe_ends_the_session_prints_nothing_and_the_recording_is_whole(program):
    """Ctrl-C a second time, or a signal to the whole process group that `strobe run` passes on too."""
    done = program("""
        import os, signal
        import strobe, strobe._session
        strobe.start()
        with strobe.section("work"):
            pass
        def interrupted(was=strobe._session._say_missing):
            strobe._session._say_missing = was
            os.kill(os.getpid(), signal.SIGINT)
            was()
        strobe._session._say_missing = interrupted
    """)
    assert done.stderr == ""
    (recording,) = done.recordings
    assert recording.counts() == {("work",): 1}
    with open(recording.path, "rb") as file:
        assert file.read(1024)[888] == 1  # closed in order


def test_a_start_with_a_full_descriptor_table_raises_nothing_and_says_why(program):
    done = program("""
        import resource, strobe
        resource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))
        strobe.start()
        print("goes on")
    """)
    assert done.stdout == "goes on\n" and "RuntimeWarning: strobe records nothing: " in done.stderr
    assert "Too many open files" in done.stderr, done.stderr


HELD = """
import sys, threading
from strobe import _imports

begun, looking = threading.Event(), threading.Event()
sys.modules["events"] = sys.modules["__main__"]
threading.Thread(target=lambda: __import__("held"), daemon=True).start()
begun.wait()


def callback():
    looking.set()
    import held


_imports.when_looked_for("no_such_package", callback)
try:
    import no_such_package
except ImportError:
    print("went on", sys.modules["held"].value)
"""


def test_what_strobe_imports_where_a_package_is_looked_for_waits_for_no_thread_that_waits_for_it(tmp_path):
    (tmp_path / "held.py").write_text("import events\nevents.begun.set()\nevents.looking.wait()\nimport colorsys\nvalue = 7\n")
    (tmp_path / "program.py").write_text(HELD)
    done = subprocess.run([sys.executable, str(tmp_path / "program.py")], capture_output=True, text=True, timeout=60,
                          env={"PATH": os.environ["PATH"], "PYTHONPATH": os.path.dirname(PACKAGE)})
    assert done.stdout == "went on 7\n", done.stderr
