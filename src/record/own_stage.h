/* A zone for strobe's own work on a thread of the program, so that no stage of the program is charged for it. */
#ifndef SB_RECORD_OWN_STAGE_H
#define SB_RECORD_OWN_STAGE_H

#include <stdint.h>

/* name: "strobe: …". Returns what the end takes; 0: this thread records nothing. */
uint32_t sb_own_stage_begin(const char *name);
void sb_own_stage_end(uint32_t stage);

#endif
