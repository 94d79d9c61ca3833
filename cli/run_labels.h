/* `strobe run --labels`: the stage lines that the command prints become zones when
 * they appear. What it prints passes through unchanged. */
#ifndef CLI_RUN_LABELS_H
#define CLI_RUN_LABELS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

struct sb_textlog;

struct label_stream {
	int from, to; /* -1: not watched; to: where strobe's own output goes */
	int write_end; /* the command's; strobe's copy, closed once it has started */
	char line[4096];
	size_t used;
};

struct run_labels {
	struct label_stream streams[2]; /* standard output, standard error */
	int stop[2]; /* a pipe: strobe says that the command has ended */
	pthread_t thread;
	struct timespec start;
	struct sb_textlog *log; /* the lines so far, with the times they appeared at */
	pthread_mutex_t lock; /* of last */
	char last[160]; /* the stage line that was printed last; "": none */
	bool failed;
	bool running;
};

/* Puts pipes (terminals where ours is one) in the place of standard output and error
 * for the command to be started; 0, or an exit code having complained. */
int run_labels_begin(struct run_labels *l);
/* The command was started, or was not: strobe's own output is its own again. */
int run_labels_started(struct run_labels *l);
/* The stage line that was printed last; false: none. of: a struct run_labels. Other threads may ask. */
bool run_labels_last(void *of, char *out, size_t size);
/* Takes what is still to be read, and writes the stages into the run folder (NULL: nowhere),
 * as recorded by that process. Takes a zeroed struct. Whether there were any. */
bool run_labels_end(struct run_labels *l, const char *folder, const char *name, pid_t pid);

#endif
