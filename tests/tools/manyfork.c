/* usage: manyfork N [exec]: forks N workers one after the other; each records one zone
 * and ends by _exit(), as the workers of Python's multiprocessing do. With exec each is
 * a program of its own. */
#include "strobe.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void work(void)
{
	STROBE_ZONE_BEGIN("job");
	STROBE_ZONE_END();
	_exit(0);
}

int main(int count, char **values)
{
	int workers = count > 1 ? atoi(values[1]) : 1;

	if (!workers)
		work();
	if (!getenv("STROBE_RUN_DIR"))
		strobe_start(NULL);
	STROBE_ZONE_BEGIN("parent");
	for (int i = 0; i < workers; i++) {
		pid_t pid = fork();

		if (!pid && count > 2)
			_exit(execl(values[0], values[0], "0", NULL));
		if (!pid)
			work();
		if (pid < 0)
			return 1;
		waitpid(pid, NULL, 0);
	}
	STROBE_ZONE_END();
	return 0;
}
