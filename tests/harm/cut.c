/* A program whose recording is cut short while it is written, and that has faults of its own.
 * usage: cut FOLDER BYTES: cuts its recording to BYTES and records on */
#include "strobe.h"

#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static sigjmp_buf own_fault;

static void on_own_fault(int number)
{
	siglongjmp(own_fault, 1);
}

static void record(int zones)
{
	for (int i = 0; i < zones; i++) {
		STROBE_ZONE_BEGIN("zone");
		STROBE_ZONE_END();
	}
}

static void *record_much(void *unused)
{
	record(200000);
	return NULL;
}

/* A mapping of the program's own, past the end of its file. */
static int own_fault_arrives(const char *folder)
{
	char path[512];
	volatile char *at;
	int fd;

	snprintf(path, sizeof path, "%s/own", folder);
	fd = open(path, O_RDWR | O_CREAT, 0600);
	at = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (sigsetjmp(own_fault, 1))
		return 1;
	at[0] = 1;
	return 0;
}

int main(int count, char **arguments)
{
	struct strobe_options options = { .size = sizeof options, .name = "cut", .output_dir = arguments[1] };
	struct sigaction own = { .sa_handler = on_own_fault };
	pthread_t threads[2];
	char path[1200];

	if (count != 3)
		return 2;
	sigaction(SIGBUS, &own, NULL);
	if (strobe_start(&options))
		return 3;
	record(30000);
	snprintf(path, sizeof path, "%s/run.strobe", strobe_run_dir());
	if (truncate(path, atol(arguments[2])))
		return 4;
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, record_much, NULL);
	record_much(NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	if (!own_fault_arrives(arguments[1]))
		return 5;
	strobe_stop();
	sigaction(SIGBUS, NULL, &own);
	if (own.sa_handler != on_own_fault)
		return 6;
	printf("alive\n");
	return 0;
}
