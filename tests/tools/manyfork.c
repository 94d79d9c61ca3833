/* usage: manyfork N: forks N workers one after the other; each records one zone and
 * ends by _exit(), as the workers of Python's multiprocessing do. */
#include "strobe.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int count, char **values)
{
	int workers = count > 1 ? atoi(values[1]) : 1;

	if (!getenv("STROBE_RUN_DIR"))
		strobe_start(NULL);
	STROBE_ZONE_BEGIN("parent");
	for (int i = 0; i < workers; i++) {
		pid_t pid = fork();

		if (!pid) {
			STROBE_ZONE_BEGIN("job");
			STROBE_ZONE_END();
			_exit(0);
		}
		if (pid < 0)
			return 1;
		waitpid(pid, NULL, 0);
	}
	STROBE_ZONE_END();
	return 0;
}
