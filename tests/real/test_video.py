"""Video in and out with the real libraries: decode and encode are stages with frames and their size. Each library has
frames of its own size, which tells them apart."""
import pytest

from conftest import both_ways
from program_names import VIDEO_SIZES


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    return both_ways(tmp_path_factory.mktemp("video"), "program_video.py")


def frames(recording, name, size):
    zones = [zone for zone in recording.named(name) if zone.attrs.get("width") == size]
    assert all(zone.attrs["height"] == size for zone in zones)
    return sum(zone.attrs["frames"] for zone in zones)


def test_what_is_read_is_the_same_with_and_without(found):
    alone, counted, _ = found
    assert alone == counted


@pytest.mark.parametrize("library", VIDEO_SIZES)
def test_frames_read_and_written(found, library):
    _, counted, run = found
    if "missing" in counted[library]:
        pytest.skip("%s: %s" % (library, counted[library]["missing"]))
    assert frames(run.recording, "video_decode", VIDEO_SIZES[library]) == counted[library]["count"]
    assert frames(run.recording, "video_encode", VIDEO_SIZES[library]) == counted[library]["written"]


def test_the_end_of_a_loop_over_a_reader_is_no_error(found):
    _, _, run = found
    assert not [zone for zone in run.recording.named("video_decode") if "error" in zone.attrs]


def test_no_library_is_counted_inside_another(found):
    _, _, run = found
    for name in ("video_decode", "video_encode"):
        assert not any(parent in zone.path[:-1] for zone in run.recording.named(name) for parent in ("video_decode", "video_encode"))


def test_an_ffmpeg_child_is_a_span(found):
    """Two are the program's own; imageio starts another for what it writes and for what it reads."""
    _, _, run = found
    stages = run.report()["stage_analysis"]["stages"]
    row, = [stage for stage in stages if stage["name"] == "ffmpeg"]
    assert row["count"] >= 4


def test_data_loader_workers_decode_in_processes_of_their_own(found):
    _, counted, run = found
    others = [recording for recording in run.recordings if recording is not run.recording]
    assert sum(frames(recording, "video_decode", VIDEO_SIZES["pyav"]) for recording in others) == counted["data_loader"]["count"]
    assert len(run.recording.named("data_loading")) == counted["data_loader"]["batches"]


def test_what_was_written_is_found(found):
    """Each library's file is an output of the run; what was only read, or piped, is none."""
    _, counted, run = found
    names = {"pyav": "av.mp4", "opencv": "cv.avi", "imageio": "io.mp4", "imageio_v3": "v3.mp4", "torchcodec": "tc.mp4", "ffmpeg_child": "scaled.mp4"}
    wanted = {name for library, name in names.items() if "missing" not in counted[library]}
    outputs = {output["path"].rsplit("/", 1)[-1]: output for output in run.report()["outputs"]}
    assert set(outputs) == wanted
    assert all(output["state"] == "written" and len(output["sha256"]) == 64 for output in outputs.values())
