/* A job of several nodes without a folder of its own: each node has runs with some of the job's ranks, and they lie
 * below one folder, where they were copied or where the nodes share a disk. */
#ifndef SB_RUN_NODES_H
#define SB_RUN_NODES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sb_node {
	char *path; /* a run's or a job's folder, or a recording */
	int32_t first_rank; /* the lowest of its ranks */
};

struct sb_nodes {
	struct sb_node *all; /* by first_rank */
	size_t count; /* 0: no such job */
};

/* folder: neither a run nor a job. Takes the newest run below it and those with other ranks of a world of that size
 * that ran at the same time. None where the newest has all ranks of its world, or no rank. */
int sb_nodes_find(const char *folder, struct sb_nodes *out_nodes);
/* The same for a run of one node, with what lies beside it. */
int sb_nodes_find_beside(const char *run, struct sb_nodes *out_nodes);
void sb_nodes_done(struct sb_nodes *nodes); /* nodes may be zeroed */

/* True if the path is one of the nodes, or lies in one. */
bool sb_nodes_have(const struct sb_nodes *nodes, const char *path);

#endif
