/* Records until its standard input ends: a live recording for the server's
 * tests. Prints its run folder, then for every line it reads how many zones it
 * has recorded. usage: live_recorder FOLDER */
#include "strobe.h"

#include <poll.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	struct strobe_options o = {
		.size = sizeof o, .name = "live \"test\"", .output_dir = argc > 1 ? argv[1] : "."
	};
	struct pollfd in = { .fd = STDIN_FILENO, .events = POLLIN };
	unsigned long zones = 0;
	char byte;

	if (strobe_start(&o)) {
		fprintf(stderr, "%s\n", strobe_error());
		return 1;
	}
	printf("%s\n", strobe_run_dir());
	fflush(stdout);
	for (;;) {
		STROBE_ZONE_BEGIN("step");
		for (int i = 0; i < 4; i++) {
			STROBE_ZONE("block");
			zones++;
		}
		STROBE_ZONE_END();
		strobe_frames(1);
		zones++;
		if (poll(&in, 1, 1) <= 0)
			continue;
		if (read(STDIN_FILENO, &byte, 1) != 1)
			break;
		printf("%lu\n", zones);
		fflush(stdout);
	}
	return strobe_stop() ? 1 : 0;
}
