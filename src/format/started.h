/* What the beginning of a recording says about how its run was started, without reading the rest. */
#ifndef SB_FORMAT_STARTED_H
#define SB_FORMAT_STARTED_H

#include "base/infile.h"

#include <stdbool.h>

struct sb_started {
	char command[512]; /* cut where it is longer; "": not known */
	char commit[65];
};

/* Looks at the first chunks of a recording, plain or packed. False: it says nothing of this, or cannot be read. */
bool sb_started_read(const char *path, enum sb_infile_from from, struct sb_started *out_started);

#endif
