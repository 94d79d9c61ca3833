/* `strobe share JOB`: the page of a job with all its ranks inside. */
#ifndef CLI_SHARE_JOB_H
#define CLI_SHARE_JOB_H

#include "command.h"

/* Returns the exit code. */
int share_job(const struct args *args, const char *spec, const char *output);

#endif
