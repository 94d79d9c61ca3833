/* strobe bench --compare and --commits: two commands, or one at two commits, recorded in turns and set
 * against each other. */
#ifndef CLI_BENCH_PAIR_H
#define CLI_BENCH_PAIR_H

#include "bench_child.h"
#include "command.h"

/* A B A B …: drift of the machine affects both equally. Returns an exit code. */
int bench_pair_run(const struct args *args, struct bench_child *child, int warmup, int iterations);

#endif
