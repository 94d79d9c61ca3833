"""strobe top, driven in a real terminal (tmux) and as text."""
import re
import subprocess
import time

import pytest

from conftest import BUILD, TOOL, Runner

PIPELINE = str(BUILD / "examples" / "video_pipeline")
LIMIT_S = 60


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A run with two GPUs, recorded once."""
    runner = Runner(tmp_path_factory.mktemp("finished"))
    runner.fake_nvml("gpus 2\n")
    assert runner.run("-q", "--gpu-monitor-interval", "0.05", "--cpu-monitor-interval", "0.05", "--",
                      PIPELINE).returncode == 0
    return str(runner.last())


def live(strobe):
    """A run that goes on until its standard input is closed."""
    process = strobe.start("run", "-q", "--gpu-monitor-interval", "0.05", "--cpu-monitor-interval", "0.05", "--", "sh",
                           "-c", PIPELINE + " >&2; echo recorded; cat", stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                           stderr=subprocess.DEVNULL, text=True)
    assert process.stdout.readline() == "recorded\n"
    return process


def test_a_finished_run_on_the_screen(strobe, screen):
    strobe.fake_nvml("")
    assert strobe.run("-q", "--gpu-monitor-interval", "0.05", "--", PIPELINE).returncode == 0
    top = screen(TOOL, "top", str(strobe.last()))
    seen = top.until("events dropped", "denoise_step", "unattributed")
    lines = seen.splitlines()
    assert lines[0].startswith("strobe top: video_pipeline   ended, exit 0")
    assert "40 steps   20 frames   5 blocks" in lines[1]
    assert "GPU 0" in seen and "memory 8420 / 24564 MB, peak 8420" in seen and "300 W" in seen
    assert "█" in seen
    assert next(line for line in lines if "denoise_step" in line).startswith("      denoise_step")
    assert "0 events dropped" in seen and "sort (tree)" in seen
    top.tmux("send-keys", "s")
    seen = top.until("sort (self time)")
    first = seen.splitlines()[next(i for i, line in enumerate(seen.splitlines()) if line.startswith("Stage")) + 1]
    assert first.startswith("transformer")
    top.tmux("send-keys", "q")
    assert top.until_gone()


def assert_whole(seen, columns):
    """Every number has its unit, every line fits: nothing was cut or wrapped."""
    lines = seen.rstrip("\n").split("\n")
    assert all(len(line) <= columns for line in lines)
    heading = next(i for i, line in enumerate(lines) if line.startswith("Stage "))
    titles = lines[heading].split()
    last = {"share": r" %", "rate": r"/s", "mean": r"( s|ms|us)", "calls": r"\d"}[titles[-1]]
    for line in lines[heading + 1:]:
        if line.startswith(("unattributed", "[5] upscale", "load_model")):
            break
        assert re.search(r"\d+\.\d (s|%)|\d ms", line) and re.search(last + "$", line), line
    meters = [line for line in lines if re.match(r"(GPU \d|CPU|RAM|Disk) ", line)]
    assert len(meters) == 5
    assert len({re.match(r".{7}[\u2581-\u2588 ]+", line).end() >= 15 for line in meters}) == 1
    for line in meters:
        assert re.search(r"(%|MB, peak \d+|\d+ W|°C|load \d+\.\d+|program \d+, peak \d+|B/s|[Bk] ?B?|of one core)$", line), line
    assert [i for i, line in enumerate(lines) if "events dropped" in line] == [len(lines) - 1]
    return lines


@pytest.mark.parametrize("columns, rows", [(60, 24), (80, 24), (100, 24), (110, 24), (120, 24), (200, 50)])
def test_nothing_is_cut_or_wrapped_at_any_width(finished, screen, columns, rows):
    top = screen(TOOL, "top", finished, columns=columns, rows=rows)
    lines = assert_whole(top.until("events dropped", "unattributed"), columns)
    titles = next(line for line in lines if line.startswith("Stage ")).split()
    assert titles == ["Stage", "total", "share", "calls", "rate"] + (["mean"] if columns >= 80 else [])
    assert ("300 W" in "".join(lines)) == (columns >= 80)
    assert any(line.startswith("[5] upscale") and "skipped (not asked for)" in line for line in lines)
    assert any("q quit  s sort (tree)" in line for line in lines)


def test_a_resize_leaves_nothing_of_the_old_screen(finished, screen):
    top = screen(TOOL, "top", finished, columns=120, rows=40)
    top.until("events dropped", "unattributed", "mean")
    for columns, rows in ((60, 24), (100, 30), (80, 24), (60, 14), (120, 40)):
        top.tmux("resize-window", "-x", str(columns), "-y", str(rows))
        end = time.monotonic() + LIMIT_S
        while True:  # the screen of the new size comes by itself
            seen = top.text()
            lines = seen.split("\n")[:-1]
            if len(lines) == rows and "events dropped" in lines[-1] and seen.count("strobe top:") == 1:
                break
            assert time.monotonic() < end, seen
        assert seen.count("events dropped") == 1 and seen.count("Stage ") == 1 and seen.count("GPU 0") == 1
        if rows > 14:
            assert_whole(seen, columns)


def test_scrolling_ends_with_the_last_stage(finished, screen):
    top = screen(TOOL, "top", finished, columns=120, rows=14)
    top.until("events dropped", "arrows 1-")
    for _ in range(30):
        top.tmux("send-keys", "j")
    seen = top.until("[5] upscale", "-11 of 11")
    top.tmux("send-keys", "k")
    top.until("-10 of 11")
    assert "text_to_video  " not in seen


def test_a_running_program_by_its_pid(strobe, screen):
    strobe.fake_nvml("utilization 42\n")
    process = live(strobe)
    try:
        top = screen(TOOL, "top", "-i", "0.1", str(process.pid))
        seen = top.until("LIVE", "42 %", "denoise_step", "now")
        assert "video_pipeline" in seen or "sh" in seen.splitlines()[0]
        strobe.say_nvml("utilization 97\n")
        top.until("97 %")  # it follows
        process.stdin.close()
        process.wait(LIMIT_S)
        top.until("ended, exit 0")
    finally:
        process.kill()
        process.wait()


def test_a_child_leads_to_its_run(strobe):
    process = live(strobe)
    try:
        with open("/proc/%d/task/%d/children" % (process.pid, process.pid)) as file:
            child = file.read().split()[-1]  # the command; the first only watches for signals
        done = strobe("top", "--once", child)
        assert done.returncode == 0, done.stderr
        assert "LIVE" in done.stdout and "denoise_step" in done.stdout
    finally:
        process.stdin.close()
        process.wait(LIMIT_S)


def test_text_without_a_terminal(strobe):
    strobe.run("-q", "--", "sleep", "0.1")
    done = strobe("top", "--once")
    assert done.returncode == 0
    assert "no stages recorded" in done.stdout and "GPU    n/a" in done.stdout
    assert "quit" not in done.stdout and "sort" not in done.stdout
    done = strobe("top")
    assert done.returncode == 2 and "--once" in done.stderr


def test_what_is_not_there_is_said(strobe):
    assert "does not record" in strobe("top", "--once", "1").stderr
    assert "no process 4194304999" in strobe("top", "--once", "4194304999").stderr
    assert strobe("top", "--once", "nowhere").returncode == 2
    assert "--sort takes" in strobe("top", "--once", "--sort", "x").stderr


def counted(strobe, script):
    """A finished run whose counters were read."""
    strobe.fake_nvml(script)
    assert strobe.run("-q", "--gpu-monitor-interval", "0.05", "--gpu-counters-interval", "0.05", "--", "sleep", "0.5").returncode == 0
    return str(strobe.last())


def test_what_a_gpu_counts_stands_below_it(strobe, screen):
    run = counted(strobe, "gpm 40\ngpm5 61\ngpm10 12\ngpus 2\nnvlink_kib 5000\n")
    lines = strobe("top", "--once", run).stdout.splitlines()
    own = [line for line in lines if line.startswith("GPU ")]
    read = [line for line in lines if line.startswith("  SM ")]
    assert len(own) == len(read) == 2 and not any("SM" in line for line in own)
    assert all(re.search(r"40 %  tensor 61 %  DRAM 12 %  FP32 \d+ %  occupancy \d+ %  FP64 \d+ %", line) for line in read), read
    top = screen(TOOL, "top", run, columns=60, rows=24)
    seen = [line for line in top.until("events dropped").splitlines() if line.startswith("  SM ")]
    assert len(seen) == 2 and all(len(line) <= 60 and re.search(r"(%|GB/s)$", line.rstrip()) for line in seen), seen


def test_counters_of_many_gpus_stand_in_their_lines(strobe, screen):
    run = counted(strobe, "gpm 40\ngpm5 61\ngpus 8\n")
    seen = screen(TOOL, "top", run, columns=140, rows=24).until("events dropped").splitlines()
    own = [line for line in seen if line.startswith("GPU ")]
    assert len(own) == 8 and all("SM 40 %  tensor 61 %" in line for line in own), own
    assert not any(line.startswith("  SM ") for line in seen)


@pytest.mark.parametrize("terminal", ["dumb", "no-such-terminal"])
def test_a_terminal_that_cannot_move_its_cursor_is_refused(finished, screen, terminal):
    top = screen("sh", "-c", "TERM=%s %s top %s; cat" % (terminal, TOOL, finished))
    seen = top.until("or --once")
    assert "strobe top: cannot drive the terminal '%s'; try TERM=xterm, or --once" % terminal in seen
