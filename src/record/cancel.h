/* Keeps a thread from being cancelled while strobe holds a lock: the lock would stay held for ever. */
#ifndef SB_RECORD_CANCEL_H
#define SB_RECORD_CANCEL_H

#include <pthread.h>

/* Returns what sb_cancel_restore() takes. */
static inline int sb_cancel_off(void)
{
	int before;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
	return before;
}

static inline void sb_cancel_restore(int before)
{
	pthread_setcancelstate(before, NULL);
}

#endif
