/* Reads back what a writer has folded, in one consistent state. */
#ifndef SB_FORMAT_DIGEST_H
#define SB_FORMAT_DIGEST_H

#include "format/reader.h"

struct sb_digest {
	uint64_t folded_seq; /* HOT chunks up to here are in the digest; 0: none */
	uint64_t folded_words;
	uint64_t first_ticks;
	uint64_t last_ticks; /* of any folded zone's end */
	struct sb_folded_node {
		uint32_t node, parent; /* index of nodes + 1; 0: top level */
		uint32_t name, flags, role;
		struct sb_digest_node_slot sum; /* count may be 0: nothing ended yet */
		uint32_t first_bucket, bucket_count; /* in buckets */
	} * nodes;
	uint32_t node_count;
	struct sb_folded_sum {
		uint32_t node; /* index of nodes + 1; 0: a counter */
		uint32_t key;
		struct sb_digest_sum_slot sum;
	} * sums;
	uint32_t sum_count;
	struct sb_digest_open_zone *open; /* outermost first; node: index + 1 */
	uint32_t open_count;
	uint32_t track; /* in force after the folded words */
	struct sb_folded_bucket {
		uint32_t node; /* index of nodes + 1 */
		uint32_t bucket;
		uint64_t count;
	} * buckets; /* by node */
	uint32_t bucket_count;
};

/* Writers without digest give an empty one. */
int sb_digest_load(struct sb_reader *r, uint32_t writer, struct sb_digest *out_digest);
void sb_digest_done(struct sb_digest *d);

/* Borders of a histogram bucket in ticks: low <= v < high. */
void sb_digest_bucket_range(uint32_t bucket, double *out_low, double *out_high);

#endif
