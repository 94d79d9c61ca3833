/* Medians of the last few durations, kind by kind. */
#include "gpu/peers.h"

#include <string.h>

static const struct sb_peers_kind *find(const struct sb_peers *p, uint64_t key)
{
	for (uint32_t i = 0; i < SB_PEERS_KINDS; i++)
		if (p->kinds[i].seen && p->kinds[i].key == key)
			return &p->kinds[i];
	return NULL;
}

static struct sb_peers_kind *kind_of(struct sb_peers *p, uint64_t key)
{
	struct sb_peers_kind *oldest = &p->kinds[0];

	for (uint32_t i = 0; i < SB_PEERS_KINDS; i++) {
		if (p->kinds[i].seen && p->kinds[i].key == key)
			return &p->kinds[i];
		if (p->kinds[i].seen < oldest->seen)
			oldest = &p->kinds[i];
	}
	memset(oldest, 0, sizeof *oldest);
	oldest->key = key;
	return oldest;
}

static uint64_t median(const struct sb_peers_kind *k)
{
	uint64_t sorted[SB_PEERS_LAST];

	if (k->count < SB_PEERS_LEAST)
		return 0;
	for (uint32_t i = 0; i < k->count; i++) {
		uint32_t at = i;

		for (; at && sorted[at - 1] > k->ticks[i]; at--)
			sorted[at] = sorted[at - 1];
		sorted[at] = k->ticks[i];
	}
	return k->count % 2 ? sorted[k->count / 2] : (sorted[k->count / 2 - 1] + sorted[k->count / 2]) / 2;
}

uint64_t sb_peers_add(struct sb_peers *p, uint64_t key, uint64_t ticks)
{
	struct sb_peers_kind *k = kind_of(p, key);
	uint64_t before = median(k);

	k->seen = ++p->seen;
	k->ticks[k->next] = ticks;
	k->next = (k->next + 1) % SB_PEERS_LAST;
	if (k->count < SB_PEERS_LAST)
		k->count++;
	return before;
}

uint64_t sb_peers_median(const struct sb_peers *p, uint64_t key)
{
	const struct sb_peers_kind *k = find(p, key);

	return k ? median(k) : 0;
}

uint64_t sb_peers_second(const struct sb_peers *p, uint64_t key)
{
	const struct sb_peers_kind *k = find(p, key);
	uint64_t first = 0, second = 0;

	if (!k || k->count < SB_PEERS_RARE)
		return UINT64_MAX;
	for (uint32_t t = 0; t < k->count; t++) {
		uint64_t ticks = k->ticks[t];

		second = ticks > first ? first : ticks > second ? ticks : second;
		first = ticks > first ? ticks : first;
	}
	return second;
}

bool sb_peers_slow(uint64_t ticks, uint64_t median_ticks, double ratio, uint64_t hz)
{
	return median_ticks && (double)ticks > (double)median_ticks * ratio &&
	       ticks - median_ticks > hz / 1000;
}
