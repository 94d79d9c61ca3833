/* The commit of the folder that a command is started in. */
#ifndef STROBE_RUN_COMMIT_H
#define STROBE_RUN_COMMIT_H

#include <stdbool.h>
#include <stddef.h>

/* What HEAD is, in hex; read from git's files, without git. False: no commit, or not a git tree. */
bool run_commit_of(const char *folder, char *out_commit, size_t size);
/* Records it where there is one. */
void run_record_commit(void);

#endif
