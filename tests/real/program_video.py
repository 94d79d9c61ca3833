"""An unmodified program: a small video written and read with each library there is.
usage: program_video.py RESULT.json"""
import json
import subprocess
import sys

import numpy

from program_names import VIDEO_SIZES as SIZES  # each library has a size of its own

FRAMES, RATE = 12, 8
CASES = {}


def video(size):
    return numpy.random.RandomState(0).randint(0, 255, (FRAMES, size, size, 3), dtype=numpy.uint8)


def case(function):
    CASES[function.__name__] = function
    return function


def digest(frames):
    from counting import digest as digest_of
    return digest_of(numpy.stack([numpy.asarray(frame) for frame in frames]))


def found(frames, **more):
    return dict(count=len(frames), digest=digest(frames), **more)


@case
def pyav():
    import av
    with av.open("av.mp4", "w") as out:
        stream = out.add_stream("mpeg4", rate=RATE)
        stream.width = stream.height = SIZES["pyav"]
        stream.pix_fmt = "yuv420p"
        for image in video(SIZES["pyav"]):
            for packet in stream.encode(av.VideoFrame.from_ndarray(image, format="rgb24")):
                out.mux(packet)
        for packet in stream.encode():
            out.mux(packet)
    with av.open("av.mp4") as container:
        frames = [frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)]
    return found(frames, written=FRAMES)


@case
def opencv():
    import cv2
    writer = cv2.VideoWriter("cv.avi", cv2.VideoWriter_fourcc(*"MJPG"), RATE, (SIZES["opencv"], SIZES["opencv"]))
    for image in video(SIZES["opencv"]):
        writer.write(image)
    writer.release()
    reader, frames = cv2.VideoCapture("cv.avi"), []
    while True:
        ok, frame = reader.read()
        if not ok:
            break
        frames.append(frame)
    reader.release()
    skipping = cv2.VideoCapture("cv.avi")
    while skipping.grab():
        if skipping.get(cv2.CAP_PROP_POS_FRAMES) % 2:
            frames.append(skipping.retrieve()[1])
    skipping.release()
    return found(frames, written=FRAMES)


@case
def imageio():
    import imageio
    with imageio.get_writer("io.mp4", fps=RATE, macro_block_size=8) as writer:
        for image in video(SIZES["imageio"]):
            writer.append_data(image)
    with imageio.get_reader("io.mp4") as reader:
        frames = [frame for frame in reader]
    return found(frames, written=FRAMES)


@case
def imageio_v3():
    import imageio.v3
    imageio.v3.imwrite("v3.mp4", video(SIZES["imageio_v3"]), plugin="pyav", codec="mpeg4", fps=RATE)
    frames = imageio.v3.imread("v3.mp4", plugin="pyav")
    return found(list(frames), written=FRAMES)


@case
def torchcodec():
    from torchcodec.decoders import VideoDecoder
    from torchcodec.encoders import VideoEncoder
    import torch
    VideoEncoder(torch.from_numpy(video(SIZES["torchcodec"])).permute(0, 3, 1, 2).contiguous(), frame_rate=RATE).to_file("tc.mp4")
    decoder = VideoDecoder("tc.mp4")
    frames = [decoder[0], *decoder.get_frames_at([1, 3]).data, *decoder.get_frames_in_range(4, 8).data,
              *[frame for frame in decoder]]
    return found(frames, written=FRAMES)


@case
def ffmpeg_child():
    import imageio_ffmpeg
    size = SIZES["decord"]
    command = [imageio_ffmpeg.get_ffmpeg_exe(), "-v", "error", "-y", "-i", "av.mp4", "-vf", "scale=%d:%d" % (size, size)]
    subprocess.run([*command, "scaled.mp4"], check=True)
    done = subprocess.run([*command, "-f", "rawvideo", "-pix_fmt", "rgb24", "-"], stdout=subprocess.PIPE, check=True)
    frames = numpy.frombuffer(done.stdout, numpy.uint8).reshape(-1, size, size, 3)
    return found(list(frames), written=0)


@case
def decord():
    import decord
    reader = decord.VideoReader("scaled.mp4")
    batch = reader.get_batch([0, 2, 4]).asnumpy()
    return found([*batch, reader[1].asnumpy(), *[frame.asnumpy() for frame in reader]], written=0)


@case
def data_loader():
    import torch
    from torch.utils.data import DataLoader

    class Clips(torch.utils.data.Dataset):
        def __len__(self):
            return 4

        def __getitem__(self, i):
            import av
            with av.open("av.mp4") as container:
                return torch.stack([torch.from_numpy(f.to_ndarray(format="rgb24")) for f in container.decode(video=0)])
    clips = [clip[0].numpy() for clip in DataLoader(Clips(), batch_size=1, num_workers=1)]
    return dict(found([frame for clip in clips for frame in clip], written=0), batches=len(clips))


if __name__ == "__main__":
    results = {}
    for name in sys.argv[2:] or CASES:
        try:
            results[name] = CASES[name]()
        except (ImportError, OSError, RuntimeError) as error:  # no wheel for this machine, or no FFmpeg for torchcodec
            results[name] = {"missing": str(error)[:200]}
    with open(sys.argv[1], "w") as out:
        json.dump(results, out)
