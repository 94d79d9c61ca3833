/* A witness: a small process of strobe's that blocks every signal and tells which ones came to it, so that strobe
 * knows who else got a signal. What follows from that is run_group.h's matter. */
#ifndef CLI_RUN_WITNESS_H
#define CLI_RUN_WITNESS_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

enum run_place {
	RUN_IN_GROUP, /* strobe's process group */
	RUN_IN_SESSION, /* another group of strobe's session */
	RUN_APART, /* another session */
};

struct run_witness {
	pid_t pid; /* 0: there is none */
	int fd;
	enum run_place place;
};

struct run_answer {
	int got; /* the signal, or -1 */
	pid_t pid; /* of the sender */
	uid_t uid;
};

/* command: the tail of strobe's own arguments. Where it cannot be started, pid is 0. */
void run_witness_begin(struct run_witness *witness, enum run_place place, char **command);
/* Takes a signal from it. False: it is gone, or does not answer, and has been ended. */
bool run_witness_ask(struct run_witness *witness, int signal_number, struct run_answer *out_answer);
/* It may have been killed: leaves no zombie. */
void run_witness_look(struct run_witness *witness);
void run_witness_end(struct run_witness *witness);

#endif
