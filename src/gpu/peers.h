/* How long the last steps or generations of a kind took: a slow one is compared with these. */
#ifndef SB_GPU_PEERS_H
#define SB_GPU_PEERS_H

#include <stdbool.h>
#include <stdint.h>

#define SB_PEERS_KINDS 64u /* the kind that was seen longest ago makes room */
#define SB_PEERS_LAST 31u /* of each kind */
#define SB_PEERS_LEAST 4u /* fewer make no median */
#define SB_PEERS_RARE 8u /* fewer do not tell what is rare */

struct sb_peers {
	struct sb_peers_kind {
		uint64_t key;
		uint64_t seen; /* 0: a free place */
		uint32_t count, next;
		uint64_t ticks[SB_PEERS_LAST];
	} kinds[SB_PEERS_KINDS];
	uint64_t seen;
};

/* Adds one; returns the median of those before it, 0: they are too few. */
uint64_t sb_peers_add(struct sb_peers *peers, uint64_t key, uint64_t ticks);

/* The median of the last; 0: they are too few. */
uint64_t sb_peers_median(const struct sb_peers *peers, uint64_t key);

/* The longest but one of the last; UINT64_MAX: they are too few to tell. */
uint64_t sb_peers_second(const struct sb_peers *peers, uint64_t key);

/* True if it is slower than the median by the ratio, and by more than noise (1 ms). */
bool sb_peers_slow(uint64_t ticks, uint64_t median_ticks, double ratio, uint64_t hz);

#endif
