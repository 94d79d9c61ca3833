/* Says for each recording in a folder whether it is of a rank, of a helper of a rank (a data loader) or of
 * a launcher, and of which attempt. Reads only headers. */
#ifndef SB_RUN_MEMBERS_H
#define SB_RUN_MEMBERS_H

#include "format/wire.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sb_member {
	uint32_t pid, ppid;
	uint64_t machine; /* of one boot of one host: process numbers are its own */
	int32_t rank, world_size; /* as its header says; -1, 0: none */
	uint64_t start_real_ns;
	bool closed, live; /* closed: in order, and its process did not fail */
	bool tool; /* of `strobe run`: watches the others */
	/* out */
	int32_t of_rank; /* the rank it belongs to; -1: none, as of launchers */
	bool leader; /* it is the rank, and no helper of it */
	bool launcher; /* ranks were started below it */
	uint32_t attempt; /* from 1; 0: of no rank */
};

/* What the header says; tool: by the file's name. */
struct sb_member sb_member_of(const struct sb_file_header *head, bool tool);
/* The recording that `strobe run` makes itself, by the name of its file. */
bool sb_member_is_tool(const char *path);

/* Fills what is out; false: no memory. */
bool sb_members_settle(struct sb_member *all, size_t count);
/* The attempt that counts: the last one whose ranks all ended in order, else the last. 0: the folder is
 * one run, without several ranks. */
uint32_t sb_members_attempt(const struct sb_member *all, size_t count);

/* The members of a folder with recordings, settled. The caller frees them. */
int sb_members_read(const char *folder, struct sb_member **out_all, size_t *out_count);

#endif
