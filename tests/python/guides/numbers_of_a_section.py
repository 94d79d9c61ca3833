# The numbers of one section, by its name.
from diffusers_helper.profiling import get_global_stats, profile_section

with profile_section("prompt"):
    work()
for chunk in range(2):
    with profile_section("decode_chunk_%d" % chunk):
        work()
numbers = get_global_stats()
numbers.print_summary(top_n=5)
everything = numbers.get_all_stats()
seconds = numbers.get_stats("prompt")["total"]
