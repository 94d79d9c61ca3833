"""GPU samples of whole runs, against the fake libnvidia-ml."""
import subprocess

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
