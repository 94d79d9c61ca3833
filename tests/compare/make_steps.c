/* Writes a recording of 12 videos, each with so many steps of about 10 ms. usage: make_steps FILE STEPS */
#include <assert.h>
#define assert_true(it) assert(it)
#define assert_int_equal(a, b) assert((a) == (b))

#include "synthetic.h"

int main(int argc, char **argv)
{
	struct sb_builder_options options = SB_BUILDER_DEFAULTS;
	struct synthetic s = { 0 };
	uint64_t t = 0;

	if (argc != 3 || sb_builder_open(argv[1], &options, &s.b))
		return 2;
	s.main = sb_builder_thread(s.b, 0, "main");
	for (uint64_t video = 0; video < 12; video++) {
		synthetic_begin(&s, t, "video", STROBE_ROLE_GENERATION);
		for (int step = 0; step < atoi(argv[2]); step++) {
			uint64_t end = t + 10 * MS + (video * 7 + (uint64_t)step * 3) % 5 * MS / 10;

			synthetic_stage(&s, t, end, "denoise", STROBE_ROLE_STEP);
			t = end;
		}
		synthetic_end(&s, t);
		t += MS;
	}
	return sb_builder_close(s.b, t) ? 1 : 0;
}
