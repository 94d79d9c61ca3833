/* Why a measured command had too little memory: what asked for more, and what held it. */
#ifndef CLI_BENCH_HELD_H
#define CLI_BENCH_HELD_H

#include "bench_child.h"

/* From the last recording in folder; NULL: it does not say. Free it. */
char *bench_held_words(const char *folder);
/* The same of a command that was not recorded: it runs once more, recorded. */
char *bench_held_again(const struct bench_child *child, char **command);

#endif
