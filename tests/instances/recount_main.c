/* Prints how often a zone is in a recording, and how often open.
 * usage: recount FILE NAME */
#include "recount.c"

#include <stdio.h>

int main(int argc, char **argv)
{
	struct recount r;

	if (argc != 3)
		return 2;
	recount_file(argv[1], argv[2], &r);
	printf("%llu %llu\n", (unsigned long long)r.count, (unsigned long long)r.open_count);
	return 0;
}
