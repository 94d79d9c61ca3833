/* A zone counts in the bin it begins in; its time goes to every bin it covers. */
#include "report/timeline/profile.h"

#include "report/timeline/rows.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

void sb_timeline_profile_init(struct sb_timeline_profile *p, int64_t start_ns, int64_t end_ns)
{
	int64_t span_ns = end_ns > start_ns ? end_ns - start_ns : 1;

	memset(p, 0, sizeof *p);
	p->start_ns = start_ns;
	p->bin_ns = (span_ns + SB_PROFILE_BINS - 1) / SB_PROFILE_BINS;
}

void sb_timeline_profile_done(struct sb_timeline_profile *p)
{
	for (uint32_t i = 0; i < p->name_count; i++)
		free(p->bins[i]);
	free(p->slots);
	memset(p, 0, sizeof *p);
}

/* Names may be new during the pass. */
static bool slot_for(struct sb_timeline_profile *p, uint32_t name)
{
	uint32_t count = name + 64 + p->slot_count;
	uint32_t *slots;

	if (name < p->slot_count)
		return true;
	slots = realloc(p->slots, count * sizeof *slots);
	if (!slots)
		return false;
	memset(slots + p->slot_count, 0, (count - p->slot_count) * sizeof *slots);
	p->slots = slots;
	p->slot_count = count;
	return true;
}

static struct sb_profile_bins *bins_of(struct sb_timeline_profile *p, uint32_t name)
{
	if (!slot_for(p, name))
		return NULL;
	if (p->slots[name])
		return p->bins[p->slots[name] - 1];
	if (p->name_count == SB_PROFILE_NAMES)
		return NULL;
	p->bins[p->name_count] = calloc(1, sizeof *p->bins[0]);
	if (!p->bins[p->name_count])
		return NULL;
	p->names[p->name_count] = name;
	p->slots[name] = ++p->name_count;
	return p->bins[p->name_count - 1];
}

static uint32_t bin_at(const struct sb_timeline_profile *p, int64_t t_ns)
{
	int64_t bin = t_ns <= p->start_ns ? 0 : (t_ns - p->start_ns) / p->bin_ns;

	return bin < SB_PROFILE_BINS ? (uint32_t)bin : SB_PROFILE_BINS - 1;
}

void sb_timeline_profile_add(struct sb_timeline_profile *p, uint32_t name, int64_t start_ns, int64_t end_ns)
{
	struct sb_profile_bins *b = bins_of(p, name);
	uint32_t first, last;

	if (!b) {
		p->left_out++;
		return;
	}
	first = bin_at(p, start_ns);
	last = bin_at(p, end_ns);
	b->count[first]++;
	if (first == last) {
		b->total_ns[first] += (uint64_t)(end_ns - start_ns);
		return;
	}
	b->total_ns[first] += (uint64_t)(p->start_ns + (first + 1) * p->bin_ns - start_ns);
	for (uint32_t i = first + 1; i < last; i++)
		b->total_ns[i] += (uint64_t)p->bin_ns;
	b->total_ns[last] += (uint64_t)(end_ns - (p->start_ns + last * p->bin_ns));
}

void sb_timeline_profile_write(const struct sb_timeline_profile *p, struct sb_buf *out)
{
	for (uint32_t n = 0; n < p->name_count; n++) {
		const struct sb_profile_bins *b = p->bins[n];
		uint32_t used = 0, last = 0;

		for (uint32_t i = 0; i < SB_PROFILE_BINS; i++)
			used += b->count[i] || b->total_ns[i];
		sb_varint(out, used);
		for (uint32_t i = 0; i < SB_PROFILE_BINS; i++) {
			if (!b->count[i] && !b->total_ns[i])
				continue;
			sb_varint(out, i + 1 - last);
			sb_varint(out, b->count[i]);
			sb_varint(out, b->total_ns[i]);
			last = i + 1;
		}
	}
}
