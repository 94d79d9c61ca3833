/* `strobe export RUN --to packed`: where the copy goes, and the copy of a job. */
#ifndef CLI_EXPORT_PACKED_H
#define CLI_EXPORT_PACKED_H

#include "command.h"

#include <stddef.h>

/* "<folder>.packed<ending>". */
void export_packed_path(const char *folder, const char *ending, char *out, size_t size);

/* A folder of the job's ranks, each of their recordings packed. output NULL: beside the job. Returns the exit
 * code. */
int export_packed_job(const struct args *args, const char *spec, const char *output);

#endif
