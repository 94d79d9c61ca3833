# A loop whose turns are alike.
from diffusers_helper.profiling import IterationProfiler

loop = IterationProfiler("sampler")
for turn in range(4):
    with loop.iteration():
        work()
loop.print_summary()
