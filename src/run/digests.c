/* Digests become sums: zones whose detail was folded away, and their attributes. */
#include "run/pass.h"

#include "base/role.h"

static uint32_t fill_buckets(struct sb_engine *e, const struct sb_digest *d, const struct sb_folded_node *n,
	struct sb_digest_bucket *out_buckets)
{
	for (uint32_t i = 0; i < n->bucket_count; i++) {
		const struct sb_folded_bucket *b = &d->buckets[n->first_bucket + i];

		sb_digest_bucket_range(b->bucket, &out_buckets[i].low_ns, &out_buckets[i].high_ns);
		out_buckets[i].low_ns *= e->p->ns_per_tick;
		out_buckets[i].high_ns *= e->p->ns_per_tick;
		out_buckets[i].count = b->count;
	}
	return n->bucket_count;
}

static bool is_warming(const struct sb_digest *d, const struct sb_folded_node *n)
{
	for (uint32_t at = n->parent; at; at = d->nodes[at - 1].parent)
		if (sb_role_read(d->nodes[at - 1].role) == STROBE_ROLE_WARMUP)
			return true;
	return false;
}

static void give_node(struct sb_engine *e, const struct sb_digest *d, const struct sb_folded_node *n,
	uint32_t path, struct sb_stack *stack, const struct sb_digest_bucket *buckets, uint32_t bucket_count)
{
	struct sb_event ev = { .kind = SB_EVENT_DIGEST_NODE,
		.process = e->process,
		.track = stack->track,
		.name = sb_engine_name(e, n->name),
		.path = path & ~SB_PATH_RECURSIVE };
	bool top = !n->parent && !(n->flags & 3);

	ev.t_ns = sb_process_ns(e->p, n->sum.first_ticks);
	ev.digest.role = sb_role_read(n->role);
	ev.digest.flags = (n->flags & 1 ? SB_ZONE_SPAN : 0) |
			  (path & SB_PATH_RECURSIVE ? SB_ZONE_RECURSIVE : 0) |
			  (is_warming(d, n) ? SB_ZONE_WARMING : 0);
	ev.digest.on_task = n->flags & 2;
	ev.digest.on_main = top && e->run->tracks[stack->track].main;
	ev.digest.count = n->sum.count;
	ev.digest.total_ns = sb_process_duration_ns(e->p, n->sum.total_ticks);
	ev.digest.self_ns = sb_process_duration_ns(e->p, n->sum.self_ticks);
	ev.digest.min_ns = sb_process_duration_ns(e->p, n->sum.min_ticks);
	ev.digest.max_ns = sb_process_duration_ns(e->p, n->sum.max_ticks);
	ev.digest.first_ns = ev.t_ns;
	ev.digest.last_ns = sb_process_ns(e->p, n->sum.last_ticks);
	ev.digest.buckets = buckets;
	ev.digest.bucket_count = bucket_count;
	if (e->cut && (ev.digest.first_ns < e->run->from_ns || ev.digest.last_ns > e->run->to_ns))
		return;
	e->index->pass.folded_zones += n->sum.count;
	if (ev.digest.on_main)
		e->index->attributed_ns += ev.digest.total_ns;
	sb_event_give(e, &ev);
}

static void give_sum(struct sb_engine *e, const struct sb_folded_sum *s, uint32_t path, uint32_t track)
{
	struct sb_event ev = { .kind = SB_EVENT_DIGEST_SUM,
		.process = e->process,
		.track = track,
		.path = path,
		.name = sb_engine_name(e, s->key),
		.t_ns = e->p->start_ns };

	ev.digest_sum.what = s->node ? SB_SUM_COUNT : (enum sb_digest_what)(s->key >> SB_ID_BITS);
	ev.digest_sum.count = s->sum.count;
	ev.digest_sum.sum_int = s->sum.sum_int;
	ev.digest_sum.sum_float = s->sum.sum_float;
	ev.digest_sum.last = s->sum.last;
	if (!e->cut)
		sb_event_give(e, &ev);
}

/* A node that seems to be inside its own path, but has another role: as sb_stack_role() does it. */
static uint32_t path_by_role(struct sb_engine *e, const struct sb_digest *d, const uint32_t *paths,
	const struct sb_folded_node *n, uint32_t path)
{
	uint32_t at = n->parent, role = sb_role_read(n->role);

	if (!(path & SB_PATH_RECURSIVE) || !role)
		return path;
	while (at && (paths[at - 1] & ~SB_PATH_RECURSIVE) != (path & ~SB_PATH_RECURSIVE))
		at = d->nodes[at - 1].parent;
	if (!at || sb_role_read(d->nodes[at - 1].role) == role)
		return path;
	return sb_run_path_of_role(
		e->run, paths[n->parent - 1] & ~SB_PATH_RECURSIVE, sb_engine_name(e, n->name));
}

static bool is_inside_itself(const struct sb_digest *d, const uint32_t *paths, uint32_t parent, uint32_t path)
{
	for (; parent; parent = d->nodes[parent - 1].parent)
		if ((paths[parent - 1] & ~SB_PATH_RECURSIVE) == path)
			return true;
	return false;
}

void sb_digest_give(struct sb_engine *e, const struct sb_digest *d, uint32_t writer_tid,
	struct sb_stack *stack, uint32_t *out_paths)
{
	struct sb_digest_bucket buckets[SB_DIGEST_BUCKETS];

	for (uint32_t i = 0; i < d->node_count; i++) {
		const struct sb_folded_node *n = &d->nodes[i];
		uint32_t parent = n->parent ? out_paths[n->parent - 1] & ~SB_PATH_RECURSIVE : 0;

		out_paths[i] = sb_run_path_of(e->run, parent, sb_engine_name(e, n->name));
		out_paths[i] = path_by_role(e, d, out_paths, n, out_paths[i]);
		if (is_inside_itself(d, out_paths, n->parent, out_paths[i]))
			out_paths[i] |= SB_PATH_RECURSIVE;
		if (n->sum.count)
			give_node(e, d, n, out_paths[i], stack, buckets,
				n->bucket_count <= SB_DIGEST_BUCKETS ? fill_buckets(e, d, n, buckets) : 0);
	}
	for (uint32_t i = 0; i < d->sum_count; i++)
		give_sum(e, &d->sums[i],
			d->sums[i].node ? out_paths[d->sums[i].node - 1] & ~SB_PATH_RECURSIVE : 0,
			stack->track);
}
