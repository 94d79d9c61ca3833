/* strobe's threads have their names from their first moment: a count of a process's threads by name never
 * takes one of them for the program's. */
#ifndef SB_RECORD_BORN_H
#define SB_RECORD_BORN_H

#include <pthread.h>
#include <sys/prctl.h>

/* pthread_create(); a thread begins with the name of the one that made it, which is lent to it here. */
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
