/* Writes the random recording of a seed. usage: make_random FILE SEED */
#include <assert.h>
#define assert_true(it) assert(it)
#define assert_int_equal(a, b) assert((a) == (b))

#include "random_recording.h"

int main(int argc, char **argv)
{
	struct sb_builder_options options = SB_BUILDER_DEFAULTS;
	struct synthetic s = { 0 };

	if (argc != 3)
		return 2;
	options.chunk_bytes = 4096;
	if (sb_builder_open(argv[1], &options, &s.b))
		return 1;
	s.main = sb_builder_thread(s.b, 0, "main");
	return sb_builder_close(s.b, random_recording(&s, strtoull(argv[2], NULL, 10))) ? 1 : 0;
}
