"""An unmodified program whose pipeline spends its time where no stage is: after the VAE, as a host that waits for the GPU
does. usage: program_unattributed.py RESULT.json"""
import json
import sys
import time

import torch

import tiny

torch.set_num_threads(1)


def wait_for_the_device(seconds):
    begin = time.process_time()
    while time.process_time() - begin < seconds:
        sum(range(1000))


if __name__ == "__main__":
    pipeline = tiny.wan()
    pipeline.set_progress_bar_config(disable=True)
    original = pipeline.video_processor.postprocess_video

    def postprocess_video(*args, **kwargs):
        wait_for_the_device(2)
        return original(*args, **kwargs)
    pipeline.video_processor.postprocess_video = postprocess_video
    pipeline(prompt="w1 w2", max_sequence_length=16, height=16, width=16, num_frames=5, num_inference_steps=2,
             generator=torch.Generator().manual_seed(0), output_type="np")
    with open(sys.argv[1], "w") as out:
        json.dump({}, out)
