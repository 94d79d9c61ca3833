# A pipeline with every decorator there is.
from inferix.profiling.decorators import add_profiling_event, profile_block_computation, profile_diffusion_step, profile_method, profile_model_parameters, profile_session


class Pipeline:
    @profile_method("load_weights")
    def prepare(self):
        work()

    @profile_session("text_to_video", {"mode": "t2v"})
    @add_profiling_event("video_done", lambda video, **kwargs: {"shape": list(video.shape) if video is not None else None})
    def generate(self, prompts, **kwargs):
        return self.make(prompts, **kwargs)

    @profile_method("read_checkpoint")
    @add_profiling_event("checkpoint_read", lambda _, path, **kwargs: {"path": path})
    def read(self, path, **kwargs):
        work()

    @profile_diffusion_step(lambda args, kwargs: {"step": args[0], "timestep": args[1], "block_size": args[2]})
    def denoise(self, step, timestep, block_size):
        work()

    @profile_model_parameters(lambda args, kwargs: {"model_name": args[0], "parameters_count": args[1], "model_type": args[2]})
    def describe(self, model_name, parameters_count, model_type):
        work()

    @profile_block_computation(lambda args, kwargs: {"block_index": args[0], "block_size": args[1], "computation_time_ms": args[2], "memory_usage_mb": args[3]})
    def finish_block(self, block_index, block_size, computation_time_ms, memory_usage_mb):
        work()
