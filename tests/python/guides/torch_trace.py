# A trace of torch.profiler, as a file.
from diffusers_helper.profiling import PyTorchProfiler

tracer = PyTorchProfiler(output_dir="./traces", record_shapes=True, profile_memory=True, with_stack=False)
with tracer.profile("forward"):
    work()
