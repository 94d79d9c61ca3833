/* A program that closes every descriptor at random moments and opens files of its own,
 * while it is recorded and its sessions come and go. Every byte it wrote must be there,
 * every descriptor it opened must still be its own.
 * usage: descriptors FOLDER ROUNDS SEED own|shared
 * own: strobe has descriptor tables of its own; shared: the system refuses them. */
#include "record/descriptor.h"
#include "strobe.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { FILES = 4, BLOCK = 24 * 1024, SESSION_ROUNDS = 25 };

static const char *folder;
static bool shared;
static atomic_bool over;
static atomic_ulong zone_count;
static unsigned long round_count;
static pthread_mutex_t rounds_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t round_ended = PTHREAD_COND_INITIALIZER;
/* Where strobe shares the program's table, its transient descriptors while it opens a
 * session can be taken: sessions then change between rounds. */
static pthread_mutex_t table = PTHREAD_MUTEX_INITIALIZER;

struct own_file {
	int fd;
	struct stat as;
	size_t size;
	unsigned char seed;
};

static unsigned next_random(unsigned *state)
{
	*state = *state * 1664525u + 1013904223u;
	return *state >> 8;
}

static void fail(const char *what, unsigned long round, int fd)
{
	printf("round %lu, descriptor %d: %s\n", round, fd, what);
	exit(1);
}

/* What a daemon does, in the old way and in the new one. */
static void close_everything(unsigned long round)
{
	if (round % 16 && !syscall(SYS_close_range, 3u, ~0u, 0))
		return;
	for (int fd = 3; fd < 4096; fd++)
		close(fd);
}

static void fill(unsigned char *block, size_t size, unsigned char seed, size_t offset)
{
	for (size_t i = 0; i < size; i++)
		block[i] = (unsigned char)(seed + (offset + i) * 31);
}

static void open_own(struct own_file *f, int number, unsigned *random)
{
	char path[512];

	snprintf(path, sizeof path, "%s/own%d", folder, number);
	f->fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	f->seed = (unsigned char)next_random(random);
	f->size = 0;
	if (f->fd < 0 || fstat(f->fd, &f->as))
		fail("cannot be opened", 0, f->fd);
}

static void append(struct own_file *f, size_t size, unsigned long round)
{
	unsigned char block[BLOCK];

	fill(block, size, f->seed, f->size);
	if (write(f->fd, block, size) != (ssize_t)size)
		fail("cannot be written", round, f->fd);
	f->size += size;
}

static void check(const struct own_file *f, unsigned long round)
{
	unsigned char block[BLOCK], expected[BLOCK];
	struct stat now;

	if (fstat(f->fd, &now) || now.st_ino != f->as.st_ino || now.st_dev != f->as.st_dev)
		fail("is another file now", round, f->fd);
	if ((size_t)now.st_size != f->size)
		fail("has another size", round, f->fd);
	for (size_t at = 0; at < f->size; at += BLOCK) {
		size_t n = f->size - at < BLOCK ? f->size - at : BLOCK;

		fill(expected, n, f->seed, at);
		if (pread(f->fd, block, n, (off_t)at) != (ssize_t)n || memcmp(block, expected, n))
			fail("holds other bytes", round, f->fd);
	}
}

static void wait_for_rounds(unsigned long count)
{
	unsigned long until;

	pthread_mutex_lock(&rounds_lock);
	for (until = round_count + count; !atomic_load(&over) && round_count < until;)
		pthread_cond_wait(&round_ended, &rounds_lock);
	pthread_mutex_unlock(&rounds_lock);
}

static void end_round(bool last)
{
	pthread_mutex_lock(&rounds_lock);
	round_count++;
	atomic_store(&over, last);
	pthread_cond_broadcast(&round_ended);
	pthread_mutex_unlock(&rounds_lock);
}

static void go_rounds(unsigned long rounds, unsigned random)
{
	struct own_file files[FILES];

	for (unsigned long round = 0; round < rounds; round++) {
		if (shared)
			pthread_mutex_lock(&table);
		close_everything(round);
		for (int i = 0; i < FILES; i++)
			open_own(&files[i], i, &random);
		for (unsigned n = next_random(&random) % 6; n > 0; n--)
			append(&files[next_random(&random) % FILES], 1 + next_random(&random) % BLOCK, round);
		for (unsigned n = next_random(&random) % 3; n > 0; n--)
			sched_yield();
		for (int i = 0; i < FILES; i++)
			check(&files[i], round);
		if (shared)
			pthread_mutex_unlock(&table);
		end_round(round + 1 == rounds);
	}
}

static void *record(void *unused)
{
	while (!atomic_load(&over)) {
		for (int i = 0; i < 2000; i++) {
			STROBE_ZONE_BEGIN("work");
			STROBE_ZONE_END();
		}
		atomic_fetch_add(&zone_count, 2000);
		if (!shared)
			wait_for_rounds(1);
	}
	return NULL;
}

/* Sessions come and go: opening, growing and closing all meet the closing of everything. */
static void *keep_sessions(void *unused)
{
	unsigned long sessions = 0;

	while (!atomic_load(&over)) {
		char path[512];
		struct strobe_options options = { .size = sizeof options,
			.name = "theft",
			.output_dir = path,
			.max_trace_bytes = 24 << 20 };
		int err;

		snprintf(path, sizeof path, "%s/runs", folder);
		if (shared)
			pthread_mutex_lock(&table);
		err = strobe_start(&options);
		if (shared)
			pthread_mutex_unlock(&table);
		if (err) {
			printf("strobe_start: %s\n", strobe_error());
			exit(1);
		}
		wait_for_rounds(SESSION_ROUNDS);
		if (shared)
			pthread_mutex_lock(&table);
		err = strobe_stop();
		if (shared)
			pthread_mutex_unlock(&table);
		if (err) {
			printf("strobe_stop: %s\n", strobe_error());
			exit(1);
		}
		sessions++;
	}
	return (void *)sessions;
}

int main(int count, char **arguments)
{
	pthread_t sessions, recorder;
	unsigned long rounds;
	void *session_count;

	if (count != 5)
		return 2;
	folder = arguments[1];
	rounds = strtoul(arguments[2], NULL, 10);
	shared = !strcmp(arguments[4], "shared");
	sb_descriptor_refuse_table = shared;
	setvbuf(stdout, NULL, _IOLBF, 0);
	pthread_create(&recorder, NULL, record, NULL);
	pthread_create(&sessions, NULL, keep_sessions, NULL);
	go_rounds(rounds, (unsigned)strtoul(arguments[3], NULL, 10));
	pthread_join(sessions, &session_count);
	pthread_join(recorder, NULL);
	printf("%lu rounds, %lu sessions, %lu zones: every byte is there\n", rounds,
		(unsigned long)session_count, atomic_load(&zone_count));
	return 0;
}
