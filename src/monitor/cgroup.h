/* What the control group allows this process, version 2 or 1. */
#ifndef SB_MONITOR_CGROUP_H
#define SB_MONITOR_CGROUP_H

#include <stdbool.h>
#include <stdint.h>

struct sb_cgroup {
	bool found;
	bool v2;
	char folder[400]; /* below the /sys root, of the memory controller */
};

void sb_cgroup_find(struct sb_cgroup *out_cgroup); /* of this process */
/* The tightest limit of the group and its parents; 0: none. */
uint64_t sb_cgroup_memory_limit(const struct sb_cgroup *cgroup);
/* In use, without page cache that can be dropped; 0: not known. */
uint64_t sb_cgroup_memory_used(const struct sb_cgroup *cgroup);
/* OOM kills so far in the group, or on the machine if the group has no count; false: not known. */
bool sb_cgroup_oom_kills(const struct sb_cgroup *cgroup, uint64_t *out_count);

#endif
