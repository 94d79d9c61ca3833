"""A stand-in with diffusers' shapes: lazily imported pipelines, components,
schedulers, tiled VAEs, export. Only what the automatic recording touches."""


def __getattr__(name):
    if name in ("DiffusionPipeline", "TinyVideoPipeline", "NovelPipeline"):
        from .pipelines import pipeline_tiny, pipeline_utils
        return getattr(pipeline_utils if name == "DiffusionPipeline" else pipeline_tiny, name)
    raise AttributeError(name)
