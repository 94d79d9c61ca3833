"""GPU time where the program uses CUDA and not torch: a stand-in for the driver, loaded as
CuPy or TensorRT would load libcuda."""
import os
import struct

import pytest

import strobe_file

MISSING = 5
DRIVER = os.path.join(os.path.dirname(os.environ.get("STROBE_TOOL", "")), "tests", "fake", "libfake_cuda.so")
STANDINS = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "fake")
PROGRAM = """
    import os, sys, strobe
    sys.path.append(os.environ["STANDINS"])
    import standins
    cuda = standins.load_cuda()
    strobe.start("x")
    with strobe.section("asked", gpu=True):
        pass
    for _ in strobe.steps(range(2), gpu=True):
        pass
    with strobe.section("plain"):
        pass
    strobe.stop()
"""


def missing(recording):
    """What -> "why|how"."""
    found = {}
    for aux, payload in recording.records[strobe_file.META]:
        if aux >> 24 == MISSING:
            raw = struct.pack("<%dQ" % (len(payload) - 1), *payload[1:])
            found[recording.names[aux & 0xFFFFF]] = raw[:payload[0]].decode()
    return found


@pytest.fixture
def driven(program):
    if not os.path.exists(DRIVER):
        pytest.skip("the stand-in for the driver is not built")
    return lambda **env: program(PROGRAM, env=dict(env, STROBE_CUDA_PATH=DRIVER, STANDINS=STANDINS)).recordings[0]


def test_asked_sections_have_gpu_time_and_the_others_are_said(driven):
    recording = driven()
    timed = [recording.names[aux & 0xFFFFF] for aux, _ in recording.records[strobe_file.GPU]]
    assert sorted(timed) == ["asked", "denoise", "denoise"]
    assert "gpu=True" in missing(recording)["GPU time of sections without gpu=True"]


STREAMS = """
    import os, sys, strobe
    sys.path.append(os.environ["STANDINS"])
    import standins
    cuda = standins.load_cuda()
    from strobe._native import native, own_section
    from strobe.auto.script import importing
    strobe.start("x")
    native.stream_install(lambda device: 0, None)  # as torch's is
    with own_section("counting FLOPs"):
        pass
    importing._begin("peft")
    importing._end("peft")
    with strobe.section("plain"):
        pass
    strobe.stop()
"""


def test_what_strobe_does_itself_and_imports_take_no_gpu_time(program):
    if not os.path.exists(DRIVER):
        pytest.skip("the stand-in for the driver is not built")
    recording = program(STREAMS, env={"STROBE_CUDA_PATH": DRIVER, "STANDINS": STANDINS}).recordings[0]
    assert recording.counts()["strobe: counting FLOPs",] == recording.counts()["import peft",] == 1
    assert [recording.names[aux & 0xFFFFF] for aux, _ in recording.records[strobe_file.GPU]] == ["plain"]


def test_gpu_zones_switched_off_take_and_say_nothing(driven):
    recording = driven(STROBE_GPU_ZONES="0")
    assert not recording.records[strobe_file.GPU] and not [what for what in missing(recording) if "sections" in what]


def test_without_cuda_nothing_is_said(program):
    recording = program("import strobe; strobe.start('x'); strobe.stop()").recordings[0]
    assert not [what for what in missing(recording) if "sections" in what]


def test_a_driver_that_nobody_initialised_is_not_used(program):
    """NVML loads libcuda, and strobe asks NVML."""
    if not os.path.exists(DRIVER):
        pytest.skip("the stand-in for the driver is not built")
    recording = program("""
        import ctypes, os, strobe
        strobe.start("x")
        ctypes.CDLL(os.environ["STROBE_CUDA_PATH"])
        strobe.stop()
    """, env={"STROBE_CUDA_PATH": DRIVER}).recordings[0]
    assert not [what for what in missing(recording) if "sections" in what]


def test_faults_of_strobe_are_said_once_at_the_end(program):
    recording = program("""
        import strobe
        from strobe import _faults
        strobe.start("x")
        for _ in range(2):
            try:
                raise ValueError
            except ValueError:
                _faults.count("when CUDA came up")
        strobe.stop()
    """).recordings[0]
    assert missing(recording)["GPU time of sections"].startswith("a fault of strobe itself when CUDA came up, 2 times|")
