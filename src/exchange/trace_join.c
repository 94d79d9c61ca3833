/* What belongs together in a trace: begins and their ends, launches and what they launched. */
#include "exchange/trace_store.h"

#include "base/error.h"

#include <stdlib.h>

#define DEPTH_MAX 4096u

static int add_matched(struct sb_trace *t, const struct sb_trace_pair_record *begin, int64_t end_ns)
{
	int64_t start_ns = sb_trace_key_time(begin->key[1]);
	struct sb_trace_zone_record r = { .name = begin->name,
		.role = begin->role,
		.blob = begin->blob,
		.kind = begin->async ? SB_TRACE_SPAN : SB_TRACE_ZONE };

	return sb_trace_add_zone_record(t, (uint32_t)begin->thread, start_ns, end_ns - start_ns, &r);
}

static int close_group(struct sb_trace *t, struct sb_trace_pair_record *open, size_t *depth)
{
	while (*depth) {
		int err = add_matched(t, &open[--*depth], t->last_ns);

		t->counts.unended++;
		if (err)
			return err;
	}
	return 0;
}

int sb_trace_match_pairs(struct sb_trace *t)
{
	struct sb_trace_pair_record *open = malloc(DEPTH_MAX * sizeof *open);
	const struct sb_trace_pair_record *r;
	uint64_t group = 0;
	size_t depth = 0;
	int err = open ? sb_extsort_finish(t->pairs) : sb_fail(STROBE_ENOMEM, "no memory to import");

	while (!err && (r = sb_extsort_next(t->pairs))) {
		if (depth && r->key[0] != group)
			err = close_group(t, open, &depth);
		group = r->key[0];
		if (r->kind == SB_TRACE_BEGIN && depth < DEPTH_MAX)
			open[depth++] = *r;
		else if (r->kind == SB_TRACE_END && depth && !err)
			err = add_matched(t, &open[--depth], sb_trace_key_time(r->key[1]));
		else
			t->counts.unmatched++;
	}
	if (!err)
		err = sb_extsort_error(t->pairs);
	if (!err)
		err = close_group(t, open, &depth);
	free(open);
	sb_extsort_free(t->pairs);
	t->pairs = NULL;
	return err;
}

/* Sorted by correlation, launches first: each GPU record gets its launch. */
int sb_trace_join_launches(struct sb_trace *t)
{
	struct sb_trace_gpu_record launch = { 0 };
	const struct sb_trace_gpu_record *r;
	int err = sb_extsort_finish(t->joins);

	while (!err && (r = sb_extsort_next(t->joins))) {
		struct sb_trace_gpu_record g = *r;

		if (r->is_launch) {
			/* The runtime call and the driver call inside it share an id: the first is meant. */
			if (launch.key[0] != r->key[0])
				launch = *r;
			continue;
		}
		if (r->key[0] && r->key[0] == launch.key[0]) {
			g.launch_ns = launch.launch_ns;
			g.launch_thread = launch.launch_thread;
			g.flags |= launch.flags;
		} else if (r->kind != SB_GPU_ZONE) {
			t->counts.orphan_gpu++;
		}
		g.key[0] = g.device;
		g.key[1] = sb_trace_time_key(g.start_ns);
		g.key[2] = (uint64_t)g.stream << 32 | (r->key[2] & UINT32_MAX);
		err = sb_extsort_add(t->gpu, &g);
	}
	if (!err)
		err = sb_extsort_error(t->joins);
	sb_extsort_free(t->joins);
	t->joins = NULL;
	return err;
}
