/* Which GPUs a process sees: CUDA_VISIBLE_DEVICES by index, UUID or MIG name. */
#ifndef SB_MONITOR_VISIBLE_H
#define SB_MONITOR_VISIBLE_H

#include <stdbool.h>
#include <stdint.h>

enum { SB_VISIBLE_MAX = 64 };

struct sb_visible_entry {
	int index; /* -1: by uuid */
	char uuid[96]; /* "GPU-…", may be a prefix; "MIG-…" */
};

struct sb_visible {
	bool restricted; /* false: the variable is not set, all are visible */
	uint32_t count;
	struct sb_visible_entry entries[SB_VISIBLE_MAX];
};

struct sb_visible_text {
	bool set;
	char text[2048];
};
/* The value of the first variable that is set, out of a list that ends with NULL. */
void sb_visible_read(const char *const *variables, struct sb_visible_text *out_text);

/* text is the variable's value, NULL when it is not set. As CUDA does, the list
 * ends at the first entry that makes no sense; "-1" or "" hide everything. */
void sb_visible_parse(const char *text, struct sb_visible *out_visible);

#endif
