"""strobe run: what ran is told truly, and passes through untouched."""
import json
import os
import re
import signal
import stat
import subprocess

import pytest

from conftest import BUILD, PYTHON, TOOL, Recorded


def test_sleep_is_recorded_from_outside(strobe):
    done = strobe.run("--", "sleep", "0.3")
    assert done.returncode == 0
    assert done.stdout == ""
    seen = strobe.recorded()
    assert seen.meta("run", "command") == "sleep 0.3"
    assert seen.meta("run", "outcome") == "exit 0"
    assert seen.meta("run", "exit_code") == "0"
    assert {"cpu", "memory", "disk"} <= seen.sources()
    assert [what for _, what, _ in seen.processes] == ["start", "end"]
    assert seen.meta("missing", "GPU metrics").startswith("there is no NVIDIA driver here")
    assert seen.meta("missing", "stages").startswith("no program recorded any")


def test_run_folder_is_the_owners_only(strobe):
    strobe.run("--name", "my run/../x", "--", "true")
    folder = strobe.last()
    assert folder.parent == strobe.folder / "strobe-runs"
    assert re.fullmatch(r"my_run_.._x-\d{8}-\d{6}-\d+", folder.name)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    for file in folder.iterdir():
        assert stat.S_IMODE(file.stat().st_mode) == 0o600, file


def test_two_runs_never_share_a_folder(strobe):
    strobe.run("-q", "--", "true")
    strobe.run("-q", "--", "true")
    assert len(strobe.runs()) == 2


@pytest.mark.parametrize("code", [0, 1, 2, 7, 255])
def test_exit_code_is_passed_on(strobe, code):
    assert strobe.run("-q", "--", "sh", "-c", "exit %d" % code).returncode == code


def test_kill_9_is_told(strobe):
    done = strobe.run("--", "sh", "-c", "kill -9 $$")
    assert done.returncode == 128 + 9
    assert "killed by SIGKILL" in done.stderr
    seen = strobe.recorded()
    assert seen.meta("run", "outcome") == "killed by SIGKILL"
    assert seen.meta("run", "exit_signal") == "9"
    assert seen.meta("run", "exit_code") is None


def test_command_that_is_not_there_leaves_nothing(strobe):
    done = strobe.run("--", "no-such-command")
    assert done.returncode == 127
    assert done.stderr == "strobe run: cannot run 'no-such-command': no such command\n"
    assert strobe.runs() == []
    assert strobe.run("--", "/etc/passwd").returncode == 126


def test_missing_dashes_are_explained(strobe):
    done = strobe.run("sleep", "1")
    assert done.returncode == 2
    assert "put '--' before the command" in done.stderr
    assert strobe.run().returncode == 2


def test_stdin_and_stdout_are_untouched(strobe):
    done = strobe.run("--", "cat", input="a\0b" * 1000)
    assert done.stdout == "a\0b" * 1000


def test_plain_python_program(strobe):
    script = strobe.script("import sys\nprint('hello')\nsys.exit(3)\n")
    done = strobe.run("--", PYTHON, script)
    assert done.returncode == 3
    assert done.stdout == "hello\n"
    assert strobe.last().name.startswith("script-")


def test_make_builds_a_project(strobe):
    (strobe.folder / "Makefile").write_text(
        "all: one two\none: one.c\n\tcc -o $@ $<\ntwo: two.c\n\tcc -o $@ $<\n")
    for name in ("one", "two"):
        (strobe.folder / (name + ".c")).write_text("int main(void) { return 0; }\n")
    done = strobe.run("--", "make", "-j2")
    assert done.returncode == 0
    assert (strobe.folder / "two").exists()
    seen = strobe.recorded()
    assert seen.meta("run", "outcome") == "exit 0"
    assert float(seen.meta("run", "cpu_s")) > 0
    assert seen.meta("run", "left_behind") is None


def test_fork_without_exec(strobe):
    script = strobe.script(
        "import os\npid = os.fork()\nif pid == 0:\n    os._exit(4)\n"
        "print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))\n")
    done = strobe.run("--", PYTHON, script)
    assert (done.returncode, done.stdout) == (0, "4\n")


def test_daemon_left_behind_is_named(strobe):
    script = strobe.script(
        "import os, signal\nr, w = os.pipe()\nif os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n"
        "        for fd in (0, 1, 2): os.close(fd)\n        os.write(w, str(os.getpid()).encode())\n"
        "        signal.pause()\n    os._exit(0)\nos.wait()\nprint(os.read(r, 20).decode())\n")
    done = strobe.run("--", PYTHON, script)
    daemon = int(done.stdout)
    try:
        assert done.returncode == 0
        assert "1 process still running: %d" % daemon in strobe.recorded().meta("run", "left_behind")
        assert "1 process still running: %d" % daemon in done.stderr
    finally:
        os.kill(daemon, signal.SIGKILL)


def test_a_helper_that_ends_with_its_program_is_not_still_running(strobe):
    # as the resource tracker of Python's multiprocessing: at the end of its pipe, and a moment for it
    done = strobe.run("--", PYTHON, strobe.script(
        "import os, sys\nr, w = os.pipe()\nif os.fork() == 0:\n    os.close(w)\n    os.read(r, 1)\n"
        "    os.execv(sys.executable, [sys.executable, '-c', ''])\n"))
    assert done.returncode == 0 and "still running" not in done.stderr, done.stderr


def test_wait_stays_for_daemons(strobe):
    done = strobe.run("--wait", "--", "sh", "-c", "(sleep 0.2; echo later > late) > /dev/null 2>&1 &")
    assert done.returncode == 0
    assert (strobe.folder / "late").exists()
    assert strobe.recorded().meta("run", "left_behind") is None


def test_sigterm_to_strobe_reaches_the_program(strobe):
    script = strobe.script(
        "import signal, sys, time\nsignal.signal(signal.SIGTERM, lambda *a: sys.exit(5))\n"
        "print('ready', flush=True)\nwhile True:\n    time.sleep(0.01)\n")
    process = strobe.start("run", "--", PYTHON, script, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 5
    assert strobe.recorded().meta("run", "outcome") == "exit 5 after SIGTERM"


def test_nothing_of_the_environment_is_stored(strobe):
    strobe.environment["SECRET_TOKEN"] = "hunter2-in-the-environment"
    strobe.run("--", "sh", "-c", "true typed-on-the-command-line")
    everything = b"".join(p.read_bytes() for p in strobe.last().rglob("*") if p.is_file())
    assert b"hunter2" not in everything
    assert b"typed-on-the-command-line" in everything
    strobe.run("--no-command", "--", "sh", "-c", "true typed-on-the-command-line")
    everything = b"".join(p.read_bytes() for p in strobe.last().rglob("*") if p.is_file())
    assert b"typed-on-the-command-line" not in everything


def test_tags_keep_their_types(strobe):
    strobe.run("-t", "steps=50", "-t", "model=wan", "--", "true")
    seen = strobe.recorded()
    assert seen.meta("tag", "steps") == "50"
    assert seen.meta("tag", "model") == "wan"


def test_disk_bytes_are_those_of_dd(strobe):
    big = strobe.folder / "big"
    big.write_bytes(os.urandom(1 << 20) * 32)
    os.sync()
    done = strobe.run("--", "dd", "if=%s" % big, "of=/dev/null", "bs=1M", "iflag=direct")
    if done.returncode:
        pytest.skip("no O_DIRECT on this filesystem")
    read = strobe.recorded().last("disk", "read_bytes")
    assert 32 << 20 <= read <= 1.1 * (32 << 20)


def test_bytes_of_short_lived_children_count(strobe):
    target = strobe.folder / "written"
    done = strobe.run("--", "sh", "-c", "for i in 1 2 3; do dd if=/dev/zero of=%s bs=1M count=4 oflag=direct; done"
                      % target)
    if done.returncode:
        pytest.skip("no O_DIRECT on this filesystem")
    assert strobe.recorded().last("disk", "write_bytes") >= 12 << 20


def test_switched_off_is_not_sampled(strobe):
    strobe.run("--monitor-cpu-usage=false", "--monitor-disk-io=false", "--monitor-system-memory=false", "--", "true")
    assert strobe.recorded().sources() == set()
    strobe.run("--preset", "production", "--", "true")
    assert {"memory", "disk"} <= strobe.recorded().sources() <= {"memory", "process", "disk"}


def test_recording_can_be_switched_off_for_the_program(strobe):
    strobe.environment["STROBE_ENABLED"] = "0"
    done = strobe.run("--", "sh", "-c", "echo $STROBE_ENABLED")
    assert done.stdout == "0\n"


def test_program_gets_its_settings(strobe):
    done = strobe.run("--gpu-trace=steps:3", "--stage", "a.b:C.d=4c VAE", "--max-trace-bytes", "8MiB", "--", "sh", "-c",
                      "echo $STROBE_ENABLED:$STROBE_GPU_TRACE:$STROBE_STAGES:$STROBE_MAX_TRACE_BYTES:$STROBE_MONITOR;"
                      "echo $STROBE_RUN_DIR; echo ${STROBE_DISPLAY_INTERVAL-unset}")
    first, folder, display = done.stdout.splitlines()
    assert first == "1:steps:3:a.b:C.d=[4c] VAE:8 MiB:0"
    assert folder == str(strobe.last())
    assert display == "unset"


def test_users_pythonpath_stays(strobe):
    strobe.environment["PYTHONPATH"] = "/my/modules"
    done = strobe.run("--", "sh", "-c", "echo $PYTHONPATH")
    assert done.stdout.strip().endswith(":/my/modules")
    done = strobe.run("--no-python-hook", "--", "sh", "-c", "echo $PYTHONPATH")
    assert done.stdout == "/my/modules\n"


def test_stacks_that_nobody_sampled_are_missed(strobe):
    strobe.run("--sample=50", "--", "true")
    report = json.loads((strobe.last() / "profiling_report.json").read_text())
    assert "Python stacks" in [missing["what"] for missing in report["not_recorded"]]


def test_quiet_says_nothing(strobe):
    done = strobe.run("-q", "--", "true")
    assert (done.stdout, done.stderr) == ("", "")


def test_out_of_memory_kill_is_called_so(strobe):
    group = "/sys/fs/cgroup/memory/strobe-test-%d" % os.getpid()
    limit = group + "/memory.limit_in_bytes"
    if not os.path.isdir("/sys/fs/cgroup/memory"):
        group = "/sys/fs/cgroup/strobe-test-%d" % os.getpid()
        limit = group + "/memory.max"
    try:
        os.mkdir(group)
    except OSError as error:
        pytest.skip("no control group can be made: %s" % error)
    try:
        try:
            with open(limit, "w") as file:
                file.write("64000000")
        except OSError as error:
            pytest.skip("no memory limit can be set: %s" % error)
        script = strobe.script("held = []\nwhile True:\n    held.append(bytearray(1 << 20))\n")
        done = subprocess.run(["sh", "-c", "echo $$ > %s/cgroup.procs && exec %s run -- %s %s"
                               % (group, TOOL, PYTHON, script)], cwd=strobe.folder, env=strobe.environment,
                              capture_output=True, text=True, timeout=120)
        assert done.returncode == 137
        assert Recorded(strobe.last()).meta("run", "outcome") == "killed by SIGKILL (out of memory)"
    finally:
        os.rmdir(group)


def test_reports_are_written(strobe):
    strobe.run("-q", "--", "sleep", "0.1")
    assert {p.name for p in strobe.last().iterdir()} >= {"run.strobe", "profiling_report.json", "profiling_report.html",
                                                         "timing_summary.txt"}
    strobe.run("-q", "--report-format", "json", "--", "true")
    assert not (strobe.last() / "profiling_report.html").exists()
    assert (strobe.last() / "profiling_report.json").exists()
    strobe.run("-q", "--generate-final-report=false", "--", "true")
    assert {p.name for p in strobe.last().iterdir()} == {"run.strobe"}


def test_raw_data_holds_every_sample(strobe):
    strobe.run("-q", "--save-raw-data", "--", "sleep", "0.2")
    series = json.loads((strobe.last() / "raw_profiling_data.json").read_text())["series"]
    memory = next(s for s in series if s["source"] == "memory")
    assert memory["sample_count"] == len(memory["t_s"]) == len(memory["used_mb"]) >= 2
    assert memory["t_s"] == sorted(memory["t_s"])
    strobe.run("-q", "--", "true")
    assert not (strobe.last() / "raw_profiling_data.json").exists()


def test_report_agrees_with_the_recording(strobe):
    strobe.run("-q", "-t", "steps=50", "--", "sh", "-c", "exit 3")
    report = json.loads((strobe.last() / "profiling_report.json").read_text())
    assert report["session_info"]["command"] == "sh -c 'exit 3'"
    assert report["session_info"]["tags"]["steps"] == 50
    assert any(missing["what"] == "stages" for missing in report["not_recorded"])


def test_a_forked_child_leaves_sampling_to_its_parent(strobe):
    if not (BUILD / "python" / "strobe").exists():
        pytest.skip("no Python package in this build")
    script = strobe.script(
        "import os, strobe\nstrobe.start()\nwith strobe.section('parent'): pass\npid = os.fork()\nif pid == 0:\n"
        "    with strobe.section('child'): pass\n    os._exit(0)\nos.waitpid(pid, 0)\nprint(pid)\nstrobe.stop()\n")
    environment = dict(strobe.environment, PYTHONPATH=str(BUILD / "python"))
    done = subprocess.run([PYTHON, script], cwd=strobe.folder, env=environment, capture_output=True, text=True,
                          timeout=120)
    assert done.returncode == 0, done.stderr
    child = strobe.last() / ("run.%s.strobe" % done.stdout.split()[0])
    assert Recorded(child).sources() == set()
    assert "memory" in Recorded(strobe.last() / "run.strobe").sources()


def test_a_program_that_dies_of_the_sigterm_passed_on_says_so_once(strobe):
    process = strobe.start("run", "--", "sh", "-c", "echo ready; exec sleep 600", stdout=subprocess.PIPE,
                           stderr=subprocess.DEVNULL, text=True)
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGTERM)
    process.wait(60)
    assert strobe.recorded().meta("run", "outcome") == "killed by SIGTERM"


def test_a_name_comes_from_a_script_not_from_a_sentence(strobe):
    strobe.run("-q", "--", "sh", "-c", "true wan.py")
    assert strobe.last().name.startswith("sh-")


def test_a_kernel_trace_without_a_driver_is_missed(strobe):
    strobe.environment["STROBE_CUDA_PATH"] = "/nonexistent/libcuda.so.1"
    done = strobe.run("--gpu-trace", "--", "true")
    assert "Not recorded: kernels: there is no NVIDIA driver here" in done.stderr
    assert strobe.recorded().meta("missing", "kernels").startswith("there is no NVIDIA driver here (libcuda.so.1)")


def test_a_run_inside_a_run_has_its_own_and_both_say_so(strobe):
    pipeline = str(BUILD / "examples" / "video_pipeline")
    done = strobe.run("--name", "outer", "--", TOOL, "run", "--", pipeline)
    assert done.returncode == 0
    outer, inner = strobe.runs() if strobe.runs()[0].name.startswith("outer") else reversed(strobe.runs())
    assert inner.name.startswith("video_pipeline-")
    assert "strobe: inside the run '%s': what this command records goes to './strobe-runs/%s'" % (
        outer.name, inner.name) in done.stderr
    assert {"cpu", "memory"} <= Recorded(inner / "run.strobe").sources()  # sampled as always
    told = Recorded(outer / "run.strobe").meta("missing", "stages of inner runs")
    assert told.startswith("1 'strobe run' inside the command recorded into a run of its own") and str(inner) in told
    assert Recorded(outer / "run.strobe").meta("missing", "stages") is None
    assert not (outer / "inner_runs.txt").exists()


@pytest.mark.parametrize("content, message", [
    ("#!/no/such/interpreter -x\n", "cannot run './it': its first line names '/no/such/interpreter', which does not exist"),
    ("pipe", "cannot run './it': Permission denied"),
    (None, "cannot run './it': it is a folder")])
def test_what_cannot_run_is_said_and_leaves_nothing(strobe, content, message):
    strobe.run("-q", "--", "true")
    before = os.readlink(strobe.folder / "strobe-runs" / "last")
    if content == "pipe":
        os.mkfifo(strobe.folder / "it", 0o755)
    elif content:
        os.chmod(strobe.script(content, "it"), 0o755)
    else:
        (strobe.folder / "it").mkdir()
    done = strobe.run("--stage", "mod:f=x", "--", "./it")
    assert done.returncode == (127 if "first line" in message else 126)
    assert done.stderr == "strobe run: %s\n" % message
    assert len(strobe.runs()) == 1
    assert os.readlink(strobe.folder / "strobe-runs" / "last") == before


def test_a_script_without_a_first_line_is_the_shells(strobe):
    os.chmod(strobe.script("echo by the shell: $1; exit 3\n", "it"), 0o755)
    done = strobe.run("-q", "--", "./it", "words")
    assert (done.returncode, done.stdout) == (3, "by the shell: words\n")


def test_a_summary_nobody_reads_does_not_change_the_exit_code(strobe):
    read, write = os.pipe()
    os.close(read)
    process = strobe.start("run", "--", "sh", "-c", "exit 3", stderr=write)
    os.close(write)
    assert process.wait(60) == 3


def test_programs_still_die_of_a_closed_pipe(strobe):
    read, write = os.pipe()
    os.close(read)
    process = strobe.start("run", "-q", "--", "sh", "-c", "while echo more; do :; done", stdout=write)
    os.close(write)
    assert process.wait(60) == 128 + signal.SIGPIPE


@pytest.mark.parametrize("limit", [0, 20])
def test_a_file_size_limit_leaves_no_empty_folder(strobe, limit):
    script = 'ulimit -f %d; exec "$@"' % limit
    done = subprocess.run(["sh", "-c", script, "sh", TOOL, "run", "--", "sh", "-c", "exit 4"], cwd=strobe.folder,
                          env=strobe.environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 4
    assert "the limit on file sizes (ulimit -f) allows" in done.stderr
    assert "strobe: the command runs unrecorded\n" in done.stderr
    assert strobe.runs() == [] and not os.path.lexists(strobe.folder / "strobe-runs" / "last")


def test_everything_is_ended_and_named_with_all_monitors_off(strobe):
    script = strobe.script(
        "import os, signal\nr, w = os.pipe()\nif os.fork() == 0:\n    os.setsid()\n"
        "    for fd in (0, 1, 2): os.close(fd)\n    os.write(w, b'x')\n    signal.pause()\nos.read(r, 1)\n")
    done = strobe.run("--monitor-cpu-usage=false", "--monitor-disk-io=false", "--monitor-system-memory=false",
                      "--monitor-gpu-memory=false", "--", PYTHON, script)
    left = re.search(r"1 process still running: (\d+)", done.stderr)
    assert left, done.stderr
    os.kill(int(left.group(1)), signal.SIGKILL)


def test_a_small_program_is_not_given_strobes_own_size(strobe):
    """It begins with strobe's memory until exec; only what is larger is surely its own."""
    strobe.run("--", "true")
    seen = strobe.recorded().meta("run", "peak_rss_bytes")
    assert seen is None or int(seen) > 6 << 20
    strobe.run("--", PYTHON, "-c", "x = bytearray(256 << 20)")
    assert int(strobe.recorded().meta("run", "peak_rss_bytes")) > 256 << 20


def test_a_python_that_records_by_itself_is_not_missed(strobe):
    """-I keeps the hook out, but not a strobe that is installed in the environment."""
    if not (BUILD / "python" / "strobe").exists():
        pytest.skip("no Python package in this build")
    made = subprocess.run([PYTHON, "-m", "venv", "--without-pip", str(strobe.folder / "venv")], capture_output=True)
    if made.returncode:
        pytest.skip("no venv can be made here")
    packages = next((strobe.folder / "venv" / "lib").glob("python*")) / "site-packages"
    (packages / "strobe.pth").write_text(str(BUILD / "python") + "\n")
    python = str(strobe.folder / "venv" / "bin" / "python")
    script = strobe.script("import strobe\nstrobe.start()\nwith strobe.section('own'): pass\nstrobe.stop()\n")
    done = strobe.run("--", python, "-I", script)
    assert done.returncode == 0, done.stderr
    assert "own" in done.stderr
    assert "Python program" not in done.stderr and "start-up hook" not in done.stderr
    done = strobe.run("--stage", "json:dumps=dump", "--", python, "-c", "import json; json.dumps(1)")  # and the hook in a venv
    assert "dump" in done.stderr and "start-up hook" not in done.stderr


@pytest.mark.parametrize("arguments, name", [(["-c", "import strobe; strobe.start(); strobe.stop()"], "python"),
                                             (["-m", "pipe_line"], "pipe_line"), (["-B", "pipe_line.py"], "pipe_line")])
def test_a_program_that_records_itself_is_called_after_its_script(strobe, arguments, name):
    if not (BUILD / "python" / "strobe").exists():
        pytest.skip("no Python package in this build")
    strobe.script("import strobe; strobe.start(); strobe.stop()\n", "pipe_line.py")
    environment = dict(strobe.environment, PYTHONPATH=str(BUILD / "python"))
    done = subprocess.run([PYTHON, *arguments], cwd=strobe.folder, env=environment, capture_output=True, text=True,
                          timeout=60)
    assert done.returncode == 0, done.stderr
    assert re.match(name + r"[\d.]*-\d{8}-", strobe.last().name), strobe.last().name


def test_many_short_processes_are_all_waited_for(strobe):
    done = strobe.run("--", "sh", "-c", "for i in $(seq 300); do true & /bin/true & done; wait; exit 3")
    assert done.returncode == 3
    assert "exit 3" in done.stderr and "still running" not in done.stderr


def test_a_signal_without_a_name_has_its_number(strobe):
    done = strobe.run("--", PYTHON, "-c", "import os, signal; os.kill(os.getpid(), signal.SIGRTMIN + 1)")
    assert "killed by signal %d" % (signal.SIGRTMIN + 1) in done.stderr


@pytest.mark.parametrize("arguments, folder, name", [
    (["-m", "pkg.launch", "gen.py"], "gen", "pkg.launch"),
    (["-X", "utf8", "-m", "pkg.launch"], "pkg.launch", "pkg.launch"),
    (["-W", "ignore", "gen.py"], "gen", "gen")])
def test_a_run_is_called_after_the_script_or_the_whole_module(strobe, arguments, folder, name):
    strobe.environment["PYTHONPATH"] = str(BUILD / "python")
    (strobe.folder / "pkg").mkdir()
    for file in ("gen.py", "pkg/launch.py"):
        (strobe.folder / file).write_text("import strobe\nwith strobe.section('s'): pass\n")
    done = strobe.run("--", PYTHON, *arguments)
    assert re.fullmatch(re.escape(folder) + r"-\d{8}-\d{6}-\d+", strobe.last().name)
    assert "== strobe: %s, exit 0" % name in done.stderr


def test_a_program_that_becomes_another_one_records_both(strobe):
    strobe.environment["PYTHONPATH"] = str(BUILD / "python")
    done = strobe.run("--", PYTHON, "-c", "import os, sys, strobe\nwith strobe.section('before'): pass\n"
                      "os.execv(sys.executable, [sys.executable, '-c', "
                      "'import strobe\\nwith strobe.section(\"after\"): pass'])")
    assert done.returncode == 0 and "unrecorded" not in done.stderr
    report = json.loads(strobe("report", "last", "--format", "json").stdout)
    assert {stage["name"] for stage in report["stage_analysis"]["stages"]} >= {"before", "after"}
