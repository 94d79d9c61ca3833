/* A program that writes nothing but its result, while its stages are printed to its standard error.
 * usage: silent FOLDER RESULT */
#include "strobe.h"

#include <fcntl.h>
#include <unistd.h>

int main(int count, char **arguments)
{
	struct strobe_options options = { .size = sizeof options, .name = "silent" };
	int result;

	if (count < 3)
		return 2;
	options.output_dir = arguments[1];
	strobe_start(&options);
	for (int i = 0; i < 3; i++) {
		STROBE_ZONE_BEGIN("stage");
		STROBE_ZONE_END();
	}
	strobe_stop();
	result = open(arguments[2], O_WRONLY | O_CREAT | O_TRUNC, 0600);
	return result < 0 || write(result, "end\n", 4) != 4;
}
