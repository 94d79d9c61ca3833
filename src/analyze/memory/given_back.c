/* What a device's allocator gave back to the driver between two readings, as the process says it: without that the memory may have
 * been anything between them. A sample of the driver's in that time then says how much the allocator had reserved. */
#include "analyze/memory/residency.h"

#include "base/inorder.h"

#include <math.h>
#include <stdlib.h>

#define EVENTS_MOST 65536u

struct given_back { /* in the time up to the reading that follows */
	int64_t t_ns;
	int device;
	uint32_t process;
	double bytes;
};

void sb_residency_given_back_see(struct sb_residency_collected *c, const struct sb_event *e)
{
	const struct sb_run_attr *bytes = sb_attr_find(e->attrs, e->attr_count, "bytes"),
				 *device = sb_attr_find(e->attrs, e->attr_count, "device");
	struct given_back *g;

	if (!bytes || bytes->type != STROBE_TYPE_INT || bytes->i <= 0 || !device ||
		device->type != STROBE_TYPE_INT || c->given_back.count == EVENTS_MOST)
		return;
	g = sb_vec_push(&c->given_back, sizeof *g);
	c->failed |= !g;
	if (g)
		*g = (struct given_back){ e->t_ns, (int)device->i, e->process, (double)bytes->i };
}

static int by_device_and_time(const void *a, const void *b)
{
	const struct given_back *x = a, *y = b;

	if (x->device != y->device)
		return x->device < y->device ? -1 : 1;
	return x->t_ns < y->t_ns ? -1 : x->t_ns > y->t_ns;
}

static bool is_before(const struct sb_device_reading *r, const struct given_back *g)
{
	return r->device != g->device ? r->device < g->device : r->t_ns < g->t_ns;
}

void sb_residency_given_back_prepare(struct sb_residency_collected *c)
{
	struct sb_device_reading *all = c->readings.items;
	const struct given_back *given = c->given_back.items;
	size_t next = 0;

	if (c->given_back.count)
		qsort(c->given_back.items, c->given_back.count, sizeof *given, by_device_and_time);
	for (size_t i = 0; i < c->given_back.count; i++) {
		while (next < c->readings.count && is_before(&all[next], &given[i]))
			next++;
		for (size_t k = next; k < c->readings.count && all[k].device == given[i].device; k++)
			if (all[k].process == given[i].process) {
				all[k].given_back += given[i].bytes;
				break;
			}
	}
}

/* It was never less than what it began with less what it gave back, nor more than what it ended with and what it gave back. */
void sb_residency_between(
	const struct sb_device_reading *all, size_t count, double t_s, struct sb_device_values *v)
{
	size_t after = sb_first_after(&all->t_ns, sizeof *all, count, (int64_t)llround(t_s * 1e9));
	const struct sb_device_reading *earlier = after ? &all[after - 1] : NULL, *later = &all[after];
	double least, most, more;

	if (!after || after == count || later->process != earlier->process)
		return;
	least = fmax(0, earlier->reserved - later->given_back);
	most = later->reserved + later->given_back;
	if (!(most > least) || isnan(v->context))
		return;
	v->between = true;
	v->reserved = fmin(fmax(v->process - v->context, least), most);
	more = v->reserved - earlier->reserved; /* it is taken for what does not fit into what is free */
	v->allocated = fmin(earlier->allocated + fmax(0, more), v->reserved);
	if (later->most > 0)
		v->allocated = fmin(v->allocated, later->most);
}
