/* What strobe does on a thread of the program, inside a stage of that: a stage of its own, so that no stage of the program has its time. */
#ifndef SB_RECORD_OWN_STAGE_H
#define SB_RECORD_OWN_STAGE_H

#include <stdbool.h>

/* name: "strobe: setting up the GPU trace". False: this thread records nothing, as strobe's own threads; then nothing is to be ended. */
bool sb_own_stage_begin(const char *name);
void sb_own_stage_end(void);

#endif
