"""Configuration: files, presets, environment, flags, and where a value came from."""
import os

import pytest


def effective(strobe, *arguments):
    done = strobe.run(*arguments, "--print-config")
    assert done.returncode == 0, done.stderr
    values = {}
    for line in done.stdout.splitlines()[1:]:
        key, _, rest = line.strip().partition(": ")
        value, _, origin = rest.rpartition("# ")
        values[key] = (value.strip(), origin)
    return values


def write(strobe, text):
    (strobe.folder / "profiling.yaml").write_text(text)
    return "profiling.yaml"


def test_each_layer_beats_the_one_below(strobe):
    config = write(strobe, "profiling:\n  preset: production\n  max_data_points: 200\n  cpu_monitor_interval: 3\n"
                           "  display_interval: 7\n")
    strobe.environment["STROBE_CPU_MONITOR_INTERVAL"] = "4"
    strobe.environment["STROBE_DISPLAY_INTERVAL"] = "8"
    values = effective(strobe, "--config", config, "--display-interval", "9")
    assert values["display_interval"] == ("9", "command line")
    assert values["cpu_monitor_interval"] == ("4", "environment STROBE_CPU_MONITOR_INTERVAL")
    assert values["max_data_points"] == ("200", "profiling.yaml:3")
    assert values["gpu_monitor_interval"] == ("1", "preset production")
    assert values["monitor_gpu_memory"] == ("true", "default")
    assert values["enabled"] == ("true", "default")


def test_a_flag_preset_beats_the_files(strobe):
    config = write(strobe, "profiling:\n  preset: production\n")
    assert effective(strobe, "-c", config, "-p", "development")["gpu_monitor_interval"] == ("0.1", "preset development")


def test_printed_config_can_be_read_back(strobe):
    arguments = ("-p", "development", "-t", "a=1", "-t", "b=x: y", "-t", "c=\"2\"", "--stage", "m.n:F.g=[4e.1] VAE: all",
                 "--target-fps", "30", "--thresholds", "gpu_utilization_percent=40")
    printed = strobe.run(*arguments, "--print-config").stdout
    (strobe.folder / "again.yaml").write_text(printed)
    again = strobe.run("-c", "again.yaml", "--print-config")
    assert again.returncode == 0, again.stderr
    strip = lambda text: [line.rpartition("# ")[0].strip() for line in text.splitlines()]
    assert strip(again.stdout) == strip(printed)


@pytest.mark.parametrize("text, message", [
    ("profiling:\n  displya_interval: 2\n",
     "strobe run: profiling.yaml:2:3: unknown key 'displya_interval'; did you mean 'display_interval'?\n"
     "      displya_interval: 2\n      ^\n"),
    ("profiling:\n  max_data_points: many\n",
     "strobe run: profiling.yaml:2:20: 'max_data_points' takes a whole number from 16 to 10000000, not 'many'\n"
     "      max_data_points: many\n                       ^\n"),
    ("profiling:\n  enabled: true\n enabled: [\n", "strobe run: profiling.yaml:3:"),
    ("", "strobe run: profiling.yaml: empty; the root key 'profiling:' is missing\n"),
])
def test_a_wrong_file_is_refused_with_its_place(strobe, text, message):
    done = strobe.run("-c", write(strobe, text), "--", "true")
    assert done.returncode == 2
    assert done.stderr.startswith(message)
    assert strobe.runs() == []


def test_a_missing_file_is_named(strobe):
    done = strobe.run("-c", "nowhere.yaml", "--", "true")
    assert done.returncode == 2
    assert "nowhere.yaml" in done.stderr


def test_a_wrong_flag_is_named(strobe):
    done = strobe.run("--display-interval", "0.01", "--", "true")
    assert done.returncode == 2
    assert done.stderr == ("strobe run: --display-interval: 'display_interval' takes seconds from 0.1 to 86400, "
                           "not '0.01'\n")
    assert strobe.run("--preset", "fast", "--", "true").returncode == 2
    assert strobe.run("--tag", "novalue", "--", "true").returncode == 2


def test_an_unknown_threshold_is_refused(strobe):
    done = strobe.run("--thresholds", "gpu_utilisation_percent=40", "--", "true")
    assert done.returncode == 2
    assert "did you mean 'gpu_utilization_percent'?" in done.stderr


def test_a_gpu_trace_that_does_not_exist_is_refused(strobe):
    done = strobe.run("--gpu-trace=foo", "--", "true")
    assert done.returncode == 2
    assert done.stderr == "strobe run: --gpu-trace: 'gpu_trace' takes all, steps:3, steps:3@10 (after ten steps), seconds:5, slow:1.5 or slow:1.5,3 (the worst three), not 'foo'\n"
    done = strobe.run("-c", write(strobe, "profiling:\n  gpu_trace: bananas\n"), "--", "true")
    assert done.returncode == 2
    assert "profiling.yaml:2:14: 'gpu_trace' takes all, steps:3, steps:3@10 (after ten steps), seconds:5, slow:1.5 or slow:1.5,3 (the worst three), not 'bananas'" in done.stderr


def test_counters_of_slow_moments_without_their_trace_are_refused_before_the_start(strobe):
    words = "'gpu_counters' of slow needs a 'gpu_trace' of slow:1.5 (--gpu-trace=slow:1.5), which finds the slow moments; it is '%s'"
    for given in (("--gpu-counters=slow", "--gpu-trace=steps:3"), ("--gpu-counters=slow",)):
        done = strobe.run(*given, "--", "sh", "-c", "echo ran")
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr == "strobe run: " + words % ("steps:3" if len(given) > 1 else "off") + "\n"
    config = write(strobe, "profiling:\n  gpu_counters: slow\n  gpu_trace: all\n")
    done = strobe.run("-c", config, "--", "true")
    assert done.returncode == 2 and words % "all" in done.stderr
    assert strobe.run("-c", config, "--gpu-trace=slow:2", "--", "true").returncode == 0
    strobe.environment["STROBE_GPU_COUNTERS"] = "slow"
    assert strobe.run("--", "true").returncode == 2
    strobe.environment["STROBE_GPU_TRACE"] = "slow:1.5"
    assert strobe.run("--", "true").returncode == 0


def test_a_misspelt_option_names_the_nearest(strobe):
    done = strobe.run("--tagg", "a=1", "--", "true")
    assert done.returncode == 2
    assert done.stderr == "strobe run: unknown option '--tagg'; did you mean '--tag'?\n"


def test_switched_off_the_command_runs_unrecorded(strobe):
    config = write(strobe, "profiling:\n  enabled: false\n")
    done = strobe.run("-c", config, "--", "sh", "-c", "echo $STROBE_RUN_DIR ran; exit 3")
    assert (done.returncode, done.stdout) == (3, "ran\n")
    assert done.stderr == "strobe: recording is switched off (enabled: false in profiling.yaml:2)\n"
    strobe.environment["STROBE_ENABLED"] = "0"
    done = strobe.run("--", "sh", "-c", "exit 4")
    assert done.returncode == 4
    assert done.stderr == "strobe: recording is switched off (STROBE_ENABLED=0)\n"
    assert strobe.runs() == []


def test_where_nothing_can_be_written_the_command_still_runs(strobe):
    (strobe.folder / "file").write_text("")
    done = strobe.run("-o", "file/runs", "--", "sh", "-c", "echo ran; exit 5")
    assert (done.returncode, done.stdout) == (5, "ran\n")
    assert "the command runs unrecorded; -o names a folder that can be written" in done.stderr


def test_a_misspelt_root_key_names_the_right_one(strobe):
    done = strobe.run("-c", write(strobe, "profilling:\n  enabled: true\n"), "--", "true")
    assert done.returncode == 2
    assert "profiling.yaml:1:1: unknown root key; did you mean 'profiling:'?" in done.stderr


def test_an_unknown_threshold_of_a_file_is_named_with_its_place(strobe):
    done = strobe.run("-c", write(strobe, "profiling:\n  thresholds:\n    gpu_utilisation_percent: 4\n"), "--", "true")
    assert done.returncode == 2
    assert done.stderr == (
        "strobe run: profiling.yaml:3:5: no rule has the threshold 'gpu_utilisation_percent'; "
        "did you mean 'gpu_utilization_percent'?\n        gpu_utilisation_percent: 4\n        ^\n")


@pytest.mark.parametrize("content, message", [
    (b"profiling:\n\tenabled: true\n", "profiling.yaml:2:1: tab character may not be used as indentation\n"
                                       "     enabled: true\n    ^\n"),
    (b"profiling:\n  enabled: *nope\n", "profiling.yaml:2:13: invalid alias\n"),
    (b"profiling: &p\n  session_tags: *p\n", "profiling.yaml:2:3: a tag is text, a number, true or false"),
    pytest.param(b"profiling:\n  session_tags:\n" + b"".join(b"    t%d: 1\n" % i for i in range(200000)),
                 "profiling.yaml: too many keys for a file with settings\n", id="200000 keys"),
    pytest.param(b"a: &a [" + b",".join([b"lol"] * 9) + b"]\n" +
     b"".join(b"%c: &%c [%s]\n" % (c, c, b",".join([b"*%c" % (c - 1)] * 9)) for c in range(ord("b"), ord("p"))) +
     b"profiling:\n  session_tags:\n    x: *o\n", "profiling.yaml:18:5: a tag is text, a number, true or false",
                 id="9 to the 15th"),
    (b"a: &a {<<: [*a, *a]}\nprofiling:\n  <<: *a\n", "more than 64 mappings are merged (<<)\n"),
    (b"\x7fELF\x02\x00", "profiling.yaml: not a text file (byte 0x7f at offset 0)\n"),
    (b"profiling:\n  name: \xff\n", "profiling.yaml: not a text file (byte 0xff at offset 19)\n"),
    (b"profiling: 5\n", "profiling.yaml:1:12: 'profiling' takes key: value pairs\n"),
    (b"profiling:\n  preset: developmnt\n",
     "profiling.yaml:2:11: there is no preset 'developmnt'; did you mean 'development'?\n"),
    (b"profiling:\n  target_fps: -1\n", "profiling.yaml:2:15: 'target_fps' takes a number from 0 to 1000000, or none"),
    (b"profiling:\n  output_dir: ''\n", "profiling.yaml:2:16: 'output_dir' takes a folder, such as ./strobe-runs\n"),
])
def test_a_broken_file_gets_one_clear_message(strobe, content, message):
    (strobe.folder / "profiling.yaml").write_bytes(content)
    done = strobe.run("-c", "profiling.yaml", "--", "true")
    assert done.returncode == 2
    assert done.stderr.startswith("strobe run: " + message)
    assert strobe.runs() == []


def test_aliases_and_merges_are_followed(strobe):
    config = write(strobe, "hz: &hz 3\nslow: &slow {cpu_monitor_interval: *hz, display_interval: 4}\n"
                           "more: &more {<<: *slow, max_data_points: 300, display_interval: 5}\n"
                           "profiling:\n  max_data_points: 200\n  <<: [*more]\n")
    values = effective(strobe, "-c", config)
    assert values["max_data_points"] == ("200", "profiling.yaml:5")
    assert values["cpu_monitor_interval"] == ("3", "profiling.yaml:2")
    assert values["display_interval"] == ("5", "profiling.yaml:3")


def test_a_fifo_as_a_file_is_refused_at_once(strobe):
    os.mkfifo(strobe.folder / "pipe")
    done = strobe.run("-c", "pipe", "--", "true")
    assert (done.returncode, done.stderr) == (2, "strobe run: 'pipe' is not a file\n")


def test_a_huge_file_is_not_read(strobe):
    done = strobe.run("-c", write(strobe, "#" * (5 << 20)), "--", "true")
    assert done.stderr == "strobe run: 'profiling.yaml' is larger than 4 MiB: not a file of this kind\n"


def test_settings_may_come_through_a_pipe(strobe):
    done = strobe.run("-c", "/dev/stdin", "--print-config", input="profiling:\n  max_data_points: 200\n")
    assert "max_data_points: 200" in done.stdout


def test_a_folder_for_a_file_is_said(strobe):
    done = strobe.run("-c", ".", "--", "true")
    assert (done.returncode, done.stderr) == (2, "strobe run: cannot read '.': Is a directory\n")


def test_an_empty_output_variable_is_none(strobe):
    strobe.environment["STROBE_OUTPUT_DIR"] = ""
    assert effective(strobe)["output_dir"] == ("./strobe-runs", "default")
