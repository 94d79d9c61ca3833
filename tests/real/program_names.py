"""The cases of the programs, for tests that cannot import them without the frameworks."""
PIPELINES = ("wan", "wan without guidance", "wan with transformer_2", "wan image to video", "wan modular", "ltx", "cogvideox", "hunyuanvideo", "mochi", "animatediff", "svd", "flux", "sdxl")
VIDEO_SIZES = {"pyav": 32, "opencv": 40, "imageio": 48, "imageio_v3": 56, "decord": 64, "torchcodec": 72}
