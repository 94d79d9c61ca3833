"""strobe bench."""
import csv
import io
import json
import os
import select
import signal
import subprocess

import pytest

from conftest import BUILD, TOOL, environment


def bench(strobe, *args, code=0, **env):
    return json.loads(strobe("bench", "--format", "json", *args, code=code, **env).stdout)


def test_bench_measures_after_the_warmup(strobe, tmp_path):
    result = bench(strobe, "-n", "4", "-w", "2", "--frames", "81", "--", "sh", "-c", f"echo x >> {tmp_path}/runs")
    row = result["rows"][0]
    assert (tmp_path / "runs").read_text() == "x\n" * 6
    assert row["count"] == 4 and len(row["seconds_s"]) == 4 and row["state"] == "ok"
    assert row["mean_s"] == pytest.approx(sum(row["seconds_s"]) / 4)
    assert row["median_s"] == pytest.approx(sum(sorted(row["seconds_s"])[1:3]) / 2)
    assert row["clips_per_second"] == pytest.approx(1 / row["mean_s"])
    assert row["frames_fps"] == pytest.approx(81 / row["mean_s"])
    assert row["median_low_s"] <= row["median_s"] <= row["median_high_s"]


def test_bench_sweeps_the_full_grid_in_turns(strobe, tmp_path):
    result = bench(strobe, "-n", "2", "-w", "0", "--sweep", "a=1,2", "--sweep", "b=x,y,z", "--",
                   "sh", "-c", f"echo {{a}}{{b}} >> {tmp_path}/runs")
    assert [row["values"] for row in result["rows"]] == [{"a": a, "b": b} for a in "12" for b in "xyz"]
    assert (tmp_path / "runs").read_text().split() == ["1x", "1y", "1z", "2x", "2y", "2z"] * 2


OUT_OF_MEMORY = """
import resource, sys, strobe
with open("/proc/self/status") as status:
    used = next(int(line.split()[1]) << 10 for line in status if line.startswith("VmData"))
resource.setrlimit(resource.RLIMIT_DATA, (used + (160 << 20), resource.RLIM_INFINITY))
with strobe.generation(frames=8), strobe.section("vae_decode"):
    bytearray(int(sys.argv[1]) << 20)
"""


@pytest.mark.skipif("STROBE_SANITIZED" in os.environ, reason="no Python package in a build with sanitizers")
@pytest.mark.parametrize("how", [(), ("--marks",)])
def test_a_row_without_memory_says_what_held_it(strobe, tmp_path, how):
    """With --marks from its own recording; else the command runs once more, recorded."""
    (tmp_path / "program.py").write_text(OUT_OF_MEMORY)
    command = ("-n", "1", "-w", "0", *how, "--sweep", "mb=1,4000", "--", "/usr/bin/python3", str(tmp_path / "program.py"), "{mb}")
    result = bench(strobe, *command, PYTHONPATH=os.path.join(BUILD, "python"))
    fits, not_so = result["rows"]
    assert fits["state"] == "ok" and "memory_held" not in fits
    assert not_so["state"] == "oom" and " in vae_decode; held: " in not_so["memory_held"], not_so
    table = strobe("bench", *command, PYTHONPATH=os.path.join(BUILD, "python")).stdout
    assert "in vae_decode; held:" in table


def test_bench_keeps_failing_rows_and_goes_on(strobe):
    script = 'case {n} in 1) exit 3;; 2) echo "CUDA out of memory" >&2; exit 1;; 3) kill -KILL $$;; 5) sleep 60;; esac'
    rows = bench(strobe, "-n", "2", "-w", "1", "--timeout", "1", "--sweep", "n=1,2,3,4,5", "--", "sh", "-c", script)["rows"]
    assert [row["state"] for row in rows] == ["failed", "oom", "oom", "ok", "timeout"]
    assert rows[0]["exit_code"] == 3 and rows[1]["reason"] == "CUDA out of memory"
    assert [row["count"] for row in rows] == [0, 0, 0, 2, 0]
    table = strobe("bench", "-n", "1", "-w", "0", "--sweep", "n=2,4", "--", "sh", "-c", script).stdout
    assert "OOM: CUDA out of memory" in table


def test_bench_passes_the_code_on_when_everything_fails(strobe):
    strobe("bench", "-n", "2", "--", "sh", "-c", "exit 7", code=7)
    strobe("bench", "-n", "2", "--", "sh", "-c", "kill -TERM $$", code=128 + signal.SIGTERM)
    assert "cannot run" in strobe("bench", "-n", "2", "--", "./no-such-program", code=127).stdout


def test_bench_judges_the_target(strobe):
    ok = strobe("bench", "-n", "2", "--frames", "1000", "--target-fps", "30", "--", "true").stdout
    assert "target 30 frames/s: PASS" in ok
    missed = strobe("bench", "-n", "2", "--frames", "1", "--target-fps", "1000000", "--", "true", code=1).stdout
    assert "FAIL" in missed
    assert "--frames" in strobe("bench", "--target-fps", "30", "--", "true", code=2).stderr
    some = strobe("bench", "-n", "2", "--frames", "1000", "--target-fps", "30", "--sweep", "c=true,false", "--", "{c}").stdout
    assert "target 30 frames/s: PASS, met by 1 of 1 that ran: c=true" in some


def test_bench_ladder_tells_step_and_total(strobe, tmp_path):
    (tmp_path / "ladder").write_text("# variants\nbaseline: 0.06\nfp16: 0.03\n+compile: '0.01'\nbroken: x\n")
    rows = bench(strobe, "-n", "3", "--ladder", "ladder", "--", "sleep")["rows"]
    assert [row["name"] for row in rows] == ["baseline", "fp16", "+compile", "broken"]
    assert rows[3]["state"] == "failed"
    median = [row["median_s"] for row in rows[:3]]
    assert rows[2]["step_speedup_ratio"] == pytest.approx(median[1] / median[2])
    assert rows[2]["total_speedup_ratio"] == pytest.approx(median[0] / median[2])


@pytest.mark.parametrize("args, words", [
    (["--sweep", "a=1", "--", "true"], "{a}"), (["--sweep", "a", "--", "true"], "KEY=VALUE"), ([], "no command"),
    (["-n", "0", "--", "true"], "--iterations"), (["--ladder", "nosuch", "--", "true"], "nosuch"), (["true"], "--")])
def test_bench_refuses_nonsense(strobe, args, words):
    assert words in strobe("bench", *args, code=2).stderr


def test_bench_csv_quotes(strobe):
    lines = strobe("bench", "-n", "1", "-w", "0", "--format", "csv", "--sweep", 'a=x"y,z', "--", "echo", "{a}").stdout.splitlines()
    assert lines[1].startswith('"a=x""y",ok,"x""y",1,') and lines[2].startswith("a=z,ok,z,1,")


def test_bench_csv_has_no_formula(strobe):
    text = strobe("bench", "-n", "1", "-w", "0", "--format", "csv", "--sweep", "a==1+1", "--", "echo", "{a}").stdout
    assert next(csv.DictReader(io.StringIO(text)))["a"] == " =1+1"


def test_bench_stops_at_ctrl_c_and_keeps_what_it_has(tmp_path):
    os.mkfifo(tmp_path / "second")
    second = os.open(tmp_path / "second", os.O_RDONLY | os.O_NONBLOCK)
    script = f"[ -e {tmp_path}/first ] && {{ echo begun > {tmp_path}/second; exec sleep 60; }}; touch {tmp_path}/first"
    tool = subprocess.Popen([TOOL, "bench", "-n", "5", "-w", "0", "--format", "json", "--", "sh", "-c", script],
                            stdout=subprocess.PIPE, text=True, env=environment(tmp_path))
    assert select.select([second], [], [], 60)[0], "the second run did not begin"
    os.close(second)
    tool.send_signal(signal.SIGINT)
    out, _ = tool.communicate(timeout=30)
    assert tool.returncode == 130
    assert json.loads(out)["interrupted"] and json.loads(out)["rows"][0]["count"] == 1


def test_bench_measures_marks_inside_the_process(strobe, tmp_path):
    result = bench(strobe, "--marks", "-w", "2", "-n", "2", "--", BUILD / "tests" / "marked", "10")
    row = result["rows"][0]
    assert result["measured"] == "marks" and row["count"] == 2 * (10 - 2)
    assert row["frames_per_clip_count"] == 4  # 40 frames in 10 iterations
    nothing = bench(strobe, "--marks=no_such_name", "--", BUILD / "tests" / "marked", "10", code=1)["rows"][0]
    assert nothing["state"] == "empty" and "no_such_name" in nothing["reason"]
    assert not (tmp_path / "strobe-runs").exists() and not (tmp_path / "history.db").exists()


def test_bench_measures_the_calls_of_a_stage(strobe):
    command = ("--", BUILD / "tests" / "marked", "10", "videos")
    videos, steps, decode, save = (bench(strobe, mark, "-w", "2", *command)["rows"][0]
                                   for mark in ("--marks", "--marks=denoise", "--marks=vae_decode", "--marks=save"))
    assert (videos["count"], steps["count"], decode["count"], save["count"]) == (8, 28, 8, 8)
    assert videos["clips_per_second"] and videos["frames_per_clip_count"] == 12
    # a step is no clip, and the frames of the run are not its own
    assert "clips_per_second" not in steps and "frames_fps" not in steps and "frames_fps" not in save
    assert decode["frames_fps"] == pytest.approx(12 / decode["mean_s"])
    text = strobe("bench", "--marks=denoise", *command).stdout
    assert "steps/s" in text and "clips/s" not in text
    assert "calls/s" in strobe("bench", "--marks=save", *command).stdout


def test_the_frames_of_a_clip_are_shared_out_among_its_steps(strobe):
    row = bench(strobe, "--marks=denoise", "-w", "2", "--frames", "12", "--", BUILD / "tests" / "marked", "10", "videos")["rows"][0]
    assert row["frames_per_clip_count"] == pytest.approx(4)  # three steps a video


def test_a_sweep_over_frames_says_how_many_a_run_makes(strobe):
    rows = bench(strobe, "-n", "2", "-w", "0", "--target-fps", "0.001", "--sweep", "frames=8,16", "--", "true", "{frames}")["rows"]
    assert [row["frames_per_clip_count"] for row in rows] == [8, 16] and all(row["target_met"] for row in rows)
    said = strobe("bench", "-n", "1", "-w", "0", "--", "true", "a\nb").stdout
    assert said.splitlines()[0] == "== strobe bench: true 'a b'"


def test_frames_of_blocks_outside_the_videos_are_not_theirs(strobe):
    row = bench(strobe, "--marks", "--", BUILD / "tests" / "marked", "10", "apart")["rows"][0]
    assert row["count"] == 9 and "frames_fps" not in row and "frames_per_clip_count" not in row


def test_a_target_without_frames_is_not_judged(strobe):
    command = ("--target-fps", "1", "--", BUILD / "tests" / "marked", "10", "videos")
    assert "PASS" in strobe("bench", "--marks", *command).stdout
    unknown = strobe("bench", "--marks=save", *command, code=2).stdout
    assert "not judged" in unknown and "FAIL" not in unknown and "frames/s unknown" in unknown
    assert "target_met" not in bench(strobe, "--marks=save", *command, code=2)["rows"][0]
