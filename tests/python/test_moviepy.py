"""moviepy, by a stand-in with its two classes: each frame that is read or written, and the file that is made."""
from test_auto import hooked  # noqa: F401

READER = """
class FFMPEG_VideoReader:
    def read_frame(self):
        return Frame()

    def get_frame(self, t):
        return self.read_frame()


class Frame:
    shape = (48, 64, 3)
"""
WRITER = """
class FFMPEG_VideoWriter:
    def __init__(self, filename):
        self.filename = filename

    def write_frame(self, img_array):
        assert img_array.shape == (48, 64, 3)
"""
PROGRAM = """
from moviepy.video.io.ffmpeg_reader import FFMPEG_VideoReader
from moviepy.video.io.ffmpeg_writer import FFMPEG_VideoWriter
reader, writer = FFMPEG_VideoReader(), FFMPEG_VideoWriter("made.mp4")
for i in range(5):
    frame = reader.get_frame(i)
writer.write_frame(frame)
writer.write_frame(img_array=frame)
"""


def test_frames_read_and_written(hooked, tmp_path):
    folder = tmp_path / "packages" / "moviepy" / "video" / "io"
    folder.mkdir(parents=True)
    for package in (folder, folder.parent, folder.parent.parent):
        (package / "__init__.py").write_text("")
    (folder / "ffmpeg_reader.py").write_text(READER)
    (folder / "ffmpeg_writer.py").write_text(WRITER)
    recording, = hooked(PROGRAM, path=str(tmp_path / "packages")).recordings
    for name, count in (("video_decode", 5), ("video_encode", 2)):
        zones = recording.named(name)
        assert [(z.attrs["frames"], z.attrs["width"], z.attrs["height"]) for z in zones] == [(1, 64, 48)] * count
