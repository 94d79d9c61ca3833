/* Which run `strobe top` looks at: a RUN, or the one a process records into. */
#ifndef CLI_TOP_TARGET_H
#define CLI_TOP_TARGET_H

#include <stddef.h>

/* spec may be NULL (last), a RUN or a process id. Complains itself. */
int top_target_find(const char *spec, char *out_run, size_t size);

#endif
