/* Errands: work on files while a session opens or closes, done by the helper thread because it has a
 * descriptor table of its own (descriptor.h). */
#ifndef SB_RECORD_ERRAND_H
#define SB_RECORD_ERRAND_H

/* Runs f(argument) on the helper thread and waits for it; on the calling thread where
 * there is no helper. Returns what f returns, with its message. */
int sb_errand_run(int (*f)(void *argument), void *argument);

#endif
