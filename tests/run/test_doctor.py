"""strobe doctor: every capability, said plainly and as JSON."""
import json


def checks(strobe):
    done = strobe("doctor", "--json")
    found = json.loads(done.stdout)
    return done.returncode, {check["name"]: check for check in found["checks"]}, found


def test_text_and_json_say_the_same(strobe):
    code, found, report = checks(strobe)
    text = strobe("doctor").stdout
    assert code == 0 and report["can_record"] is True
    for name, check in found.items():
        assert name in text and check["detail"][:60] in text
        assert check["state"] in ("ok", "limited", "missing", "broken")


def test_a_gpu_is_seen(strobe):
    strobe.fake_nvml("gpus 8\n")
    _, found, _ = checks(strobe)
    assert found["NVML"]["state"] == "ok"
    assert found["NVML"]["detail"] == "driver 580.65.06, 8 GPUs visible: Fake GPU 9000"
    assert "8420 of 24564 MB" in found["sensors"]["detail"]


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
