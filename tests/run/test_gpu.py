"""GPU samples of whole runs, against the fake libnvidia-ml."""
import itertools
import json
import re
import subprocess

from conftest import PYTHON

FAST = ("--gpu-monitor-interval", "0.02")


def until_line(strobe, *options):
    """A run that lasts until its standard input is closed."""
    return strobe.start("run", *FAST, *options, "--", "sh", "-c", "echo ready; cat", stdin=subprocess.PIPE,
                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def end(process):
    process.communicate(timeout=60)
    return process.returncode


def test_values_and_facts(strobe):
    strobe.fake_nvml("gpus 2\nthrottle 4\n")
    process = until_line(strobe)
    process.stdout.readline()
    assert end(process) == 0
    seen = strobe.recorded()
    assert seen.last("gpu", "memory_used_mb", 0) == 8420
    assert seen.last("gpu", "memory_used_mb", 1) == 8421
    assert seen.last("gpu", "power_w", 0) == 300
    assert seen.meta("system", "gpu0.name") == "Fake GPU 9000"
    assert seen.meta("system", "gpu1.uuid").startswith("GPU-0000abc1")
    assert seen.meta("system", "gpu0.driver") == "580.65.06"
    assert "gpu_throttle" in seen.events
    assert "software power cap" in seen.meta("system", "gpu0.throttled")


def test_hidden_gpus_are_not_sampled(strobe):
    strobe.fake_nvml("gpus 8\n")
    strobe.environment["CUDA_VISIBLE_DEVICES"] = "6"
    strobe.run("--", "true")
    seen = strobe.recorded()
    assert seen.last("gpu", "memory_used_mb", 0) == 8426
    assert ("gpu", 1, "memory_used_mb") not in seen.samples


def test_a_rank_samples_its_own_gpu_only(strobe):
    strobe.fake_nvml("gpus 8\n")
    strobe.environment.update(RANK="3", LOCAL_RANK="3", WORLD_SIZE="8", TORCHELASTIC_RUN_ID="job1")
    done = strobe.run("--", "true")
    assert done.returncode == 0, done.stderr
    folder = next((strobe.folder / "strobe-runs").glob("*/rank_3"))
    from conftest import Recorded
    assert {device for source, device, _ in Recorded(folder).samples if source == "gpu"} == {3}


def test_the_command_does_not_wait_for_the_driver(strobe):
    strobe.fake_nvml("hang load\n")
    (strobe.folder / "nvml.quick").write_text("gpus 1\n")
    done = strobe.run("--", "sh", "-c", "test ! -e nvml.loaded && mv nvml.quick nvml")
    assert done.returncode == 0, done.stderr
    assert strobe.recorded().last("gpu", "memory_used_mb", 0) == 8420


def test_a_driver_that_hangs_does_not_hang_the_run(strobe):
    strobe.fake_nvml("hang temperature\n")
    done = strobe.run("--", "sh", "-c", "exit 4")
    assert done.returncode == 4
    seen = strobe.recorded()
    assert "has not answered since" in seen.meta("missing", "GPU metrics")
    assert {"cpu", "memory"} <= seen.sources()


def test_a_driver_that_is_not_loaded_is_said(strobe):
    strobe.fake_nvml("driver missing\n")
    strobe.run("--", "true")
    assert strobe.recorded().meta("missing", "GPU metrics").startswith("the NVIDIA driver is not loaded")


def test_a_gpu_that_is_lost_while_it_runs_is_named_and_the_rest_goes_on(strobe):
    strobe.fake_nvml("gpus 2\n")
    process = until_line(strobe, "--real-time-display", "--display-interval", "0.1")
    process.stdout.readline()
    for line in process.stderr:  # the display: both are sampled
        if line.startswith("GPU 1: Memory"):
            break
    strobe.say_nvml("gpus 2\nlost 1\n")
    for line in itertools.islice(process.stderr, 5000):
        if line == "GPU 1: n/a\n":  # not what was read last
            break
    assert line == "GPU 1: n/a\n"
    assert end(process) == 0
    seen = strobe.recorded()
    lost = [why for why in seen.metas["missing"].values() if "the GPU was lost while recording" in why]
    assert len(lost) == 1 and lost[0].startswith("GPU 1 after ")
    assert seen.last("gpu", "memory_used_mb", 0) == 8420
    assert seen.last("gpu", "memory_used_mb", 1) == 8421  # the last that was read
    lines = strobe("top", "--once").stdout.splitlines()
    assert any(re.fullmatch(r"GPU 1 .* lost", line) for line in lines) and not any(re.fullmatch(r"GPU 0 .* lost", line) for line in lines)
    device = json.loads(strobe("report", "--format", "json").stdout)["gpu_metrics"]["devices"][1]
    assert device["memory_used_max_mb"] == 8421


def test_a_driver_that_hangs_at_its_start_delays_nobody(strobe):
    strobe.fake_nvml("hang init\n")
    process = until_line(strobe)
    assert process.stdout.readline() == "ready\n"  # the program has begun, NVML never does
    assert end(process) == 0
    seen = strobe.recorded()
    assert "the driver has not answered since " in seen.meta("missing", "GPU metrics")  # the moment depends on the machine
    assert {"cpu", "memory", "disk"} <= seen.sources()


def test_a_driver_that_differs_from_its_library_is_said(strobe):
    strobe.fake_nvml("mismatch\n")
    done = strobe.run("--", "true")
    assert "Not recorded: GPU metrics: the NVIDIA driver and its library differ in version" in done.stderr
    assert "restart the machine, or reload the driver: it was updated meanwhile" in done.stderr


def test_a_slice_of_a_gpu_is_followed_by_its_uuid(strobe):
    strobe.fake_nvml("mig 2\n")
    strobe.environment["CUDA_VISIBLE_DEVICES"] = "MIG-00000001-0000-0000-0000-000000000000"
    strobe.run("--", "true")
    seen = strobe.recorded()
    assert seen.last("gpu", "memory_used_mb", 0) == 1001
    assert seen.meta("system", "gpu0.name") == "Fake GPU 9000 MIG 1g.10gb"
    assert seen.meta("system", "gpu0.uuid").startswith("MIG-00000001")


def test_pcie_and_nvlink_are_in_the_report(strobe):
    strobe.fake_nvml("pcie_bytes 1000000\npcie_wide\nnvlink_kib 5000\n")
    process = until_line(strobe, "--real-time-display", "--display-interval", "0.3")
    process.stdout.readline()
    shown = 0
    while shown < 2:  # the second reading of the counters is due by then
        shown += process.stderr.readline().startswith("===")
    assert end(process) == 0
    text = strobe("report").stdout
    assert "PCIe to the GPU" in text and "NVLink from the GPU" in text
    device = json.loads(strobe("report", "--format", "json").stdout)["gpu_metrics"]["devices"][0]
    assert device["pcie_rx_mean_gb_per_s"] > 0 and device["nvlink_tx_max_gb_per_s"] > 0


def test_a_stage_of_the_program_has_the_counters_read_beside_it(strobe):
    """`strobe run` reads them, the program records the stage: two files."""
    strobe.fake_nvml("gpm 40\n")
    program = "import strobe, sys\nwith strobe.section('denoise'):\n    print('ready', flush=True)\n    sys.stdin.read()"
    process = strobe.start("run", "--gpu-counters-interval", "0.2", "--real-time-display", "--display-interval", "0.5", "--", PYTHON,
                           "-c", program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\n"
    shown = 0
    while shown < 4:  # several readings lie between the second and the last
        shown += process.stderr.readline().startswith("===")
    assert end(process) == 0
    stage = json.loads(strobe("report", "--format", "json").stdout)["stage_analysis"]["stages"][0]
    assert stage["name"] == "denoise" and round(stage["gpu_counters"]["sm_active_percent"], 6) == 40
