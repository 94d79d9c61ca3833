/* Starts threads of strobe with their names already set, so that whatever counts a process's threads by
 * name never takes one for the program's. */
#ifndef SB_RECORD_BORN_H
#define SB_RECORD_BORN_H

#include <pthread.h>
#include <sys/prctl.h>

/* pthread_create() of a thread with a name. A new thread inherits the name of its creator, so the
 * creator takes on the new name for that moment. */
static inline int sb_thread_born(
	pthread_t *id, const pthread_attr_t *attr, const char *name, void *(*run)(void *), void *argument)
{
	char mine[16];
	int err, known = !prctl(PR_GET_NAME, mine);

	if (known)
		prctl(PR_SET_NAME, name);
	err = pthread_create(id, attr, run, argument);
	if (known)
		prctl(PR_SET_NAME, mine);
	return err;
}

#endif
