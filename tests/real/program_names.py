"""The cases of the programs, for tests that cannot import them without the frameworks."""
PIPELINES = ("wan", "wan without guidance", "wan with transformer_2", "wan image to video", "ltx", "cogvideox", "hunyuanvideo", "mochi", "animatediff", "svd", "flux", "sdxl")
