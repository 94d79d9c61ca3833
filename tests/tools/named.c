/* usage: named ZONES: the main thread, one called "decoder" and one without a name of its
 * own record ZONES zones each, one after the other. */
#include "strobe.h"

#include <pthread.h>
#include <stdlib.h>

static int zones;

static void *work(void *name)
{
	if (name)
		pthread_setname_np(pthread_self(), name);
	for (int i = 0; i < zones; i++) {
		STROBE_ZONE_BEGIN("work");
		STROBE_ZONE_END();
	}
	return NULL;
}

int main(int count, char **values)
{
	static char name[] = "decoder";
	char *const names[] = { name, NULL };

	zones = count > 1 ? atoi(values[1]) : 1;
	work(NULL);
	for (int i = 0; i < 2; i++) {
		pthread_t thread;

		pthread_create(&thread, NULL, work, names[i]);
		pthread_join(thread, NULL);
	}
	return 0;
}
