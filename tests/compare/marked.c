/* A program that marks its iterations, and meets other ranks in each.
 * usage: marked ITERATIONS [videos|apart]: marks videos of 12 frames and 3 steps instead,
 * or empty videos with a block of 12 frames after each */
#include "strobe.h"

#include <math.h>
#include <stdlib.h>

static void video(void)
{
	strobe_generation_begin("video", &(struct strobe_generation){ .frames = 12 });
	for (int i = 0; i < 3; i++) {
		strobe_step_begin("denoise", &(struct strobe_step){ .step = i, .guidance_scale = NAN });
		strobe_step_end();
	}
	strobe_zone_begin("vae_decode");
	strobe_attr_int("frames", 12);
	strobe_zone_end();
	strobe_zone_begin("save");
	strobe_zone_end();
	strobe_generation_end();
}

static void apart(void)
{
	strobe_generation_begin("video", NULL);
	strobe_generation_end();
	strobe_block_begin("block", 0, 12);
	strobe_block_end(-1);
}

int main(int argc, char **argv)
{
	int iterations = argc > 1 ? atoi(argv[1]) : 5;

	strobe_start(NULL);
	for (int i = 0; i < iterations && argc > 2; i++)
		argv[2][0] == 'v' ? video() : apart();
	for (int i = 0; i < iterations && argc <= 2; i++) {
		strobe_iteration_begin("iteration", i);
		strobe_zone_begin("work");
		strobe_frames(4);
		strobe_zone_end();
		strobe_zone_begin("barrier");
		strobe_role(STROBE_ROLE_COLLECTIVE);
		strobe_zone_end();
		strobe_iteration_end();
	}
	strobe_stop();
	return 0;
}
