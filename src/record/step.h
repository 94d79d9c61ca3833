/* Tells the GPU trace and the sampling of counters that a step begins. */
#ifndef SB_RECORD_STEP_H
#define SB_RECORD_STEP_H

/* Called on the recording thread at the beginning of every zone that is a step;
 * NULL: none. One at a time, in all instances of the library. */
void sb_step_hook_set(void (*hook)(void));
/* A second hook, for the sampling of counters; it is called first. */
void sb_step_counting_hook_set(void (*hook)(void));

/* Calls both hooks: a step begins, recorded or not. */
void sb_step_passes(void);

#endif
