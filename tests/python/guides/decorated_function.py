# Every call of a function, without touching its callers.
from diffusers_helper.profiling import get_global_stats, profile_function


@profile_function("sharpen")
def sharpen(frames):
    return work()


for batch in range(3):
    sharpen([batch])
calls = get_global_stats().get_stats("sharpen")["count"]
