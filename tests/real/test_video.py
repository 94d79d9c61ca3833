"""Video in and out with the real libraries: decode and encode are stages with frames and their size. Each library has
frames of its own size, which tells them apart."""
import re
import sys

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


CHAT = """
import av, numpy, torch
from torch.utils.data import DataLoader, Dataset
from transformers import T5Config, T5ForConditionalGeneration


class Clips(Dataset):
    def __len__(self):
        return 4

    def __getitem__(self, i):
        with av.open("clip.avi") as clip:
            return torch.stack([torch.from_numpy(frame.to_ndarray(format="rgb24")) for frame in clip.decode(video=0)])


if __name__ == "__main__":
    with av.open("clip.avi", "w") as clip:
        stream = clip.add_stream("mpeg4", rate=24, width=32, height=32, pix_fmt="yuv420p")
        for i in range(10):
            clip.mux(stream.encode(av.VideoFrame.from_ndarray(numpy.full((32, 32, 3), i * 20, dtype="uint8"), format="rgb24")))
        clip.mux(stream.encode())
    model = T5ForConditionalGeneration(T5Config(vocab_size=64, d_model=32, d_kv=8, d_ff=37, num_layers=2, num_heads=4, decoder_start_token_id=0)).eval()
    print(sum(len(clips.flatten(0, 1)) for clips in DataLoader(Clips(), num_workers=2) if model.generate(torch.tensor([[5]]), max_new_tokens=2) is not None))
"""


def test_what_workers_decode_for_generations_is_on_the_first_screen(run, tmp_path):
    (tmp_path / "chat.py").write_text(CHAT)
    done = run(sys.executable, "chat.py")
    assert done.stdout.split()[-1] == "40"
    assert re.search(r"^Beside: video_decode of 40 frames in .* on 2 threads \([\d.]+ frames/s\)$", done.stderr, re.M), done.stderr


def test_what_was_written_is_found(found):
    """Each library's file is an output of the run; what was only read, or piped, is none."""
    _, counted, run = found
    names = {"pyav": "av.mp4", "opencv": "cv.avi", "imageio": "io.mp4", "imageio_v3": "v3.mp4", "torchcodec": "tc.mp4", "ffmpeg_child": "scaled.mp4"}
    wanted = {name for library, name in names.items() if "missing" not in counted[library]}
    outputs = {output["path"].rsplit("/", 1)[-1]: output for output in run.report()["outputs"]}
    assert set(outputs) == wanted
    assert all(output["state"] == "written" and len(output["sha256"]) == 64 for output in outputs.values())
