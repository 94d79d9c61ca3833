/* Who got a signal that strobe got: strobe alone, its process group, or every process one by one? A witness in strobe's
 * group tells the first two apart; where the program is in a group or a session of its own, a second one in the
 * same place as the program tells whether the program has the signal. */
#ifndef CLI_RUN_GROUP_H
#define CLI_RUN_GROUP_H

#include "run_witness.h"

struct run_group {
	char **command;
	struct run_witness in_group; /* without one, every signal counts as sent to strobe alone */
	struct run_witness with_program; /* only where the program is not in the group */
};

/* A signal and the places where it arrived as well: a bit for each enum run_place. */
struct run_heard {
	siginfo_t info;
	unsigned places;
};

/* Starts the witness in the group. Signals that are asked about are blocked in strobe. command: the tail of strobe's
 * own arguments. */
void run_group_begin(struct run_group *group, char **command);
/* Where the program is by now: starts the second witness there when that is not the group. */
void run_group_follow(struct run_group *group, pid_t program);
enum run_place run_group_place(pid_t pid);
/* Finds out who else got what strobe has just got. Waits a moment while places are missing of those that matter, and
 * while its sender may be still at it; what the same sender sends in that time to strobe and others is one with
 * it. True: another signal with the same number came, to be dealt with next. */
bool run_group_hear(
	struct run_group *group, unsigned matter, struct run_heard *heard, struct run_heard *out_next);
/* Witnesses may have been killed: leaves no zombie. */
void run_group_look(struct run_group *group);
void run_group_end(struct run_group *group);

#endif
