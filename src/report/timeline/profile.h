/* Time and count per name over equal bins of a run: what a selected range held,
 * true to one bin, even where single zones were merged. */
#ifndef SB_REPORT_TIMELINE_PROFILE_H
#define SB_REPORT_TIMELINE_PROFILE_H

#include "base/buf.h"

#include <stdint.h>

#define SB_PROFILE_BINS 512u
#define SB_PROFILE_NAMES 512u

struct sb_timeline_profile {
	int64_t start_ns, bin_ns;
	uint32_t *slots; /* run name -> index of names + 1 */
	uint32_t slot_count;
	uint32_t name_count;
	uint32_t names[SB_PROFILE_NAMES]; /* run names, in order of appearance */
	struct sb_profile_bins {
		uint64_t total_ns[SB_PROFILE_BINS];
		uint32_t count[SB_PROFILE_BINS];
	} * bins[SB_PROFILE_NAMES];
	uint64_t left_out; /* zones of names past the limit */
};

void sb_timeline_profile_init(struct sb_timeline_profile *p, int64_t start_ns, int64_t end_ns);
void sb_timeline_profile_done(struct sb_timeline_profile *p); /* p may be zeroed */
void sb_timeline_profile_add(struct sb_timeline_profile *p, uint32_t name, int64_t start_ns, int64_t end_ns);
/* Per name: how many bins follow, then distance, count, time of each. */
void sb_timeline_profile_write(const struct sb_timeline_profile *p, struct sb_buf *out);

#endif
