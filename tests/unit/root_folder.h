/* A folder of its own for each test, and paths in it. */
#ifndef TESTS_ROOT_FOLDER_H
#define TESTS_ROOT_FOLDER_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char root[64];

static int make_root(void **state)
{
	(void)state;
	strcpy(root, "/tmp/strobe-root-XXXXXX");
	return mkdtemp(root) ? 0 : -1;
}

static int remove_root(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof command, "rm -rf %s", root);
	return system(command);
}

/* The path stays as it is for three more calls. */
__attribute__((unused)) static const char *in_root(const char *name)
{
	static char path[4][192];
	static int turn;

	turn = (turn + 1) % 4;
	snprintf(path[turn], sizeof path[turn], "%s/%s", root, name);
	return path[turn];
}

#endif
