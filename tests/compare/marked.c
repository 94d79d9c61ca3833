/* A program that marks its iterations, and meets other ranks in each.
 * usage: marked ITERATIONS */
#include "strobe.h"

#include <stdlib.h>

int main(int argc, char **argv)
{
	int iterations = argc > 1 ? atoi(argv[1]) : 5;

	strobe_start(NULL);
	for (int i = 0; i < iterations; i++) {
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
