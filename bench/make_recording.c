/* A recording of so many zones, four names, two deep. Prints its run folder.
 * usage: make_recording ZONES */
#include <strobe.h>

#include <stdio.h>
#include <stdlib.h>

/* Work of uneven length, so that no duration is like the one before. */
static void work(void)
{
	static uint32_t state = 1;

	state = state * 1664525u + 1013904223u;
	for (uint32_t i = 0; i < state >> 25; i++)
		__asm__ volatile("" : : "r"(i));
}

int main(int argc, char **argv)
{
	long zones = argc > 1 ? atol(argv[1]) : 1000000;

	setenv("STROBE_GENERATE_FINAL_REPORT", "false", 1);
	setenv("STROBE_MONITOR", "0", 1);
	if (strobe_start(NULL))
		return 1;
	for (long i = 0; i < zones / 4; i++) {
		STROBE_ZONE("step");
		STROBE_ZONE_BEGIN("transformer");
		work();
		STROBE_ZONE_END();
		STROBE_ZONE_BEGIN("scheduler");
		work();
		STROBE_ZONE_END();
		STROBE_ZONE_BEGIN("cache");
		work();
		STROBE_ZONE_END();
	}
	strobe_stop();
	puts(strobe_run_dir());
	return 0;
}
