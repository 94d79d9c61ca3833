/* A program that says what it does while it is recorded, perhaps with its standard output
 * or error closed: what it opens first then gets that number.
 * usage: talk FOLDER [FILE]: opens FILE for itself before it starts */
#include "strobe.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Descriptors the program has open, itself aside. */
static int count_open(void)
{
	DIR *folder = opendir("/proc/self/fd");
	struct dirent *entry;
	int count = -1; /* the folder's own */

	while (folder && (entry = readdir(folder)))
		count += entry->d_name[0] != '.';
	if (folder)
		closedir(folder);
	return count;
}

int main(int count, char **arguments)
{
	struct strobe_options options = {
		.size = sizeof options, .name = "talk", .output_dir = arguments[1]
	};
	int before = -1, during, fd = -1;

	if (count > 2)
		fd = open(arguments[2], O_WRONLY | O_CREAT | O_TRUNC, 0600);
	before = count_open();
	strobe_start(&options);
	during = count_open();
	for (int i = 0; i < 100; i++) {
		STROBE_ZONE_BEGIN("z");
		printf("step %d of the program\n", i);
		fflush(stdout);
		fprintf(stderr, "warning %d of the program\n", i);
		STROBE_ZONE_END();
	}
	strobe_stop();
	printf("descriptors of strobe: %d during, %d after\n", during - before, count_open() - before);
	fflush(stdout);
	if (fd >= 0)
		dprintf(fd, "end\n");
	return 0;
}
