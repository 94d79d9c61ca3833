"""strobe doctor: every capability, said plainly and as JSON."""
import json
import os
import subprocess

import pytest

from conftest import TOOL

from conftest import BUILD


def checks(strobe):
    done = strobe("doctor", "--json")
    found = json.loads(done.stdout)
    return done.returncode, {check["name"]: check for check in found["checks"]}, found


def test_text_and_json_say_the_same(strobe):
    code, found, report = checks(strobe)
    text = strobe("doctor").stdout
    assert code == 0 and report["can_record"] is True
    for name, check in found.items():
        assert ("fix" in check) == (check["state"] != "ok"), check
        assert check.get("fix", "") in text
        assert name in text and check["detail"][:60] in text
        assert check["state"] in ("ok", "limited", "missing", "broken")


def test_a_gpu_is_seen(strobe):
    strobe.fake_nvml("gpus 8\n")
    _, found, _ = checks(strobe)
    assert found["NVML"]["state"] == "ok"
    assert found["NVML"]["detail"] == "driver 580.65.06, 8 GPUs visible: Fake GPU 9000"
    assert "8420 of 24564 MB" in found["sensors"]["detail"]
    assert found["AMD sysfs"]["state"] == "ok" and "not needed" in found["AMD sysfs"]["detail"]


FAKE = {"STROBE_CUDA_PATH": "libfake_cuda.so", "STROBE_CUPTI_PATH": "libfake_cupti.so"}


def test_counters_that_are_always_on_are_told(strobe):
    strobe.fake_nvml("gpus 2\ngpm 40\n")
    _, found, _ = checks(strobe)
    assert (found["counters"]["state"], found["counters"]["detail"]) == ("ok", "SM, tensor core and DRAM activity, always on")
    strobe.fake_nvml("gpus 2\ngpm 40\ngpm_gpus 1\n")
    _, found, _ = checks(strobe)
    assert found["counters"]["state"] == "limited" and found["counters"]["detail"].startswith("1 of 2 GPUs count")
    strobe.fake_nvml("gpus 2\n")
    _, found, _ = checks(strobe)
    assert found["counters"]["state"] == "limited" and "NVIDIA Hopper and newer do" in found["counters"]["detail"]
    assert found["counters"]["fix"] == "--gpu-trace shows what kernels do"
    for answer, why in (("999", "NVML refuses to read it (error 999)"), ("4", "no permission to read it")):
        strobe.fake_nvml("gpus 2\ngpm 40\ngpm_sample %s\n" % answer)
        _, found, _ = checks(strobe)
        assert found["counters"]["state"] == "limited" and why in found["counters"]["detail"], found["counters"]


def test_whether_counters_can_be_sampled_is_told(strobe):
    _, found, _ = checks(strobe)
    assert found["sampled counters"]["state"] == "missing"
    strobe.environment.update({name: str(BUILD / "tests/fake" / file) for name, file in FAKE.items()})
    _, found, _ = checks(strobe)
    assert found["sampled counters"]["state"] == "ok" and "--gpu-counters may sample" in found["sampled counters"]["detail"]
    strobe.environment["STROBE_CUPTI_PATH"] = str(BUILD / "tests/fake/libfake_cuda.so")
    _, found, _ = checks(strobe)
    assert found["sampled counters"]["state"] == "limited" and "CUDA 12.6 to 13" in found["sampled counters"]["fix"]


def test_cupti_of_the_python_on_the_path_is_found(strobe):
    """An environment whose python3 is called, and that is not activated."""
    library = strobe.folder / "environment/lib/python3.99/site-packages/nvidia/cu13/lib/libcupti.so.13"
    python = strobe.folder / "environment/bin/python3"
    for path in (library, python):
        path.parent.mkdir(parents=True)
        path.write_text("#!/bin/sh\n")
    python.chmod(0o755)
    for name in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        strobe.environment.pop(name, None)
    strobe.environment["PATH"] = "%s:%s" % (python.parent, strobe.environment["PATH"])
    _, found, _ = checks(strobe)
    assert (found["CUPTI"]["state"], found["CUPTI"]["detail"]) == ("ok", str(library)), found["CUPTI"]


def test_cupti_is_asked_only_where_a_gpu_is_seen(strobe):
    """CUDA 13.2's CUPTI crashes in its first call where there is a libcuda.so.1 and no driver behind it."""
    (strobe.folder / "libcuda.so.1").symlink_to(BUILD / "tests/fake/libfake_cuda.so")
    strobe.environment.update(LD_LIBRARY_PATH=str(strobe.folder), STROBE_CUPTI_PATH=str(BUILD / "tests/fake/libfake_cupti.so"), FAKE_CUPTI_CRASHES="1")
    code, found, _ = checks(strobe)
    assert code == 0 and found["CUDA driver"]["state"] != "missing"
    assert (found["sampled counters"]["state"], found["sampled counters"]["detail"]) == ("missing", "no GPU is seen: CUPTI is not asked")
    strobe.fake_nvml("gpus 1\n")
    del strobe.environment["FAKE_CUPTI_CRASHES"]
    _, found, _ = checks(strobe)
    assert found["sampled counters"]["state"] == "ok", found["sampled counters"]


@pytest.mark.parametrize("version, state", [("23", "limited"), ("24", "ok"), ("120900", "ok"), ("130000", "ok"), ("140000", "limited")])
def test_versions_of_cupti_that_sample(strobe, version, state):
    strobe.environment.update({name: str(BUILD / "tests/fake" / file) for name, file in FAKE.items()}, FAKE_CUPTI_VERSION=version)
    assert checks(strobe)[1]["sampled counters"]["state"] == state


def test_missing_sensors_are_named(strobe):
    strobe.fake_nvml("unsupported power processes\n")
    _, found, _ = checks(strobe)
    assert found["sensors"]["state"] == "limited"
    assert found["sensors"]["detail"].endswith("power, processes")


def test_no_driver_has_a_fix(strobe):
    _, found, _ = checks(strobe)
    assert found["NVML"]["state"] == "missing"
    assert found["NVML"]["fix"]


def test_a_folder_that_cannot_be_written_is_broken(strobe):
    strobe.environment["STROBE_OUTPUT_DIR"] = "/proc"
    code, found, report = checks(strobe)
    assert code == 1 and report["can_record"] is False
    assert found["output folder"]["state"] == "broken"


@pytest.mark.parametrize("script", ["", "driver missing\n", "gpus 0\n", "unsupported power processes\n", "mismatch\n"])
def test_whatever_is_not_ok_says_what_to_do(strobe, script):
    strobe.fake_nvml(script)
    _, found, _ = checks(strobe)
    assert [check["name"] for check in found.values() if check["state"] != "ok" and not check.get("fix")] == []
    assert [check["name"] for check in found.values() if check["state"] == "ok" and check.get("fix")] == []


@pytest.mark.skipif("STROBE_SANITIZED" in os.environ, reason="a build under a sanitizer has no Python package")
def test_the_hook_is_tried_in_this_python(strobe):
    _, found, _ = checks(strobe)
    assert found["python3"]["state"] == "ok"
    assert "records when started by strobe run" in found["python3"]["detail"]
    assert list(strobe.folder.iterdir()) == []
    strobe.environment["PATH"] = str(strobe.folder)
    _, found, _ = checks(strobe)
    assert found["python3"]["detail"] == "there is no python3 on the PATH"
    fake = strobe.folder / "python3"
    fake.write_text("#!/bin/sh\nprintf '3.8.0 0 /opt/old/python3'\n")
    fake.chmod(0o755)
    _, found, _ = checks(strobe)
    assert found["python3"]["state"] == "missing"
    assert found["python3"]["detail"] == "Python 3.8.0 (/opt/old/python3) does not load strobe"


def test_an_output_folder_that_run_would_make_is_fine(strobe):
    strobe.environment["STROBE_OUTPUT_DIR"] = str(strobe.folder / "not" / "there" / "yet")
    code, found, _ = checks(strobe)
    assert code == 0 and found["output folder"]["state"] == "ok"
    assert not (strobe.folder / "not").exists()


def test_a_folder_that_cannot_be_mapped_says_so_and_what_happens(strobe):
    def said(**more):
        strobe.environment.update(LD_PRELOAD=str(BUILD / "tests" / "harm_refuse.so"), HARM_UNMAPPABLE=str(strobe.folder), **more)
        found = checks(strobe)[1]["output folder"]
        return found["state"], found["detail"]

    state, detail = said()
    assert state == "limited" and "cannot be mapped (Operation not supported): recordings are spooled" in detail, detail
    state, detail = said(STROBE_SPOOL="0")
    assert state == "broken" and "STROBE_SPOOL=0 forbids" in detail, detail


def test_a_bundle_for_a_bug_report_names_nobody(strobe, tmp_path):
    strobe.environment.update(HOME=str(tmp_path), STROBE_OUTPUT_DIR=str(tmp_path / "runs"), OTHER="unasked",
                              STROBE_SESSION_TAGS="token=hf_abcdefghijklmnopqrstuvwxyz123456")
    done = strobe("doctor", "--bundle", "bug.md")
    assert done.returncode == 0 and done.stdout == "written to bug.md: read it before you send it\n"
    text = (strobe.folder / "bug.md").read_text()
    _, found, report = checks(strobe)
    assert "- strobe %s\n" % report["version"] in text
    for name, check in found.items():
        assert " %s: " % name in text
    assert "STROBE_OUTPUT_DIR=~/runs" in text and "hf_abc" not in text and "unasked" not in text
    assert str(tmp_path) not in text and os.uname().nodename not in text
    again = strobe("doctor", "--bundle", "bug.md", "--json")
    assert again.returncode == 2 and "cannot be combined" in again.stderr


def test_disks_are_missing_where_they_are_not_shown(strobe):
    hidden = subprocess.run(["unshare", "-rm", "sh", "-c", "mount -t tmpfs none /sys && exec \"$@\"", "sh", str(TOOL), "doctor", "--json"],
                            cwd=strobe.folder, env=strobe.environment, capture_output=True, text=True)
    if "mount" in hidden.stderr or "unshare" in hidden.stderr:
        pytest.skip("no mounts of its own here")
    disks = {check["name"]: check for check in json.loads(hidden.stdout)["checks"]}["disks"]
    assert disks["state"] == "missing" and "/sys/block" in disks["fix"]
