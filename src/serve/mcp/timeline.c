/* The tool timeline: the longest zones and pieces of GPU work in a range of time. */
#include "serve/mcp/tool.h"

#include "base/error.h"
#include "base/role.h"
#include "run/events.h"

#include <math.h>
#include <stdlib.h>

#define MARKS_SHOWN 50u

struct piece {
	int64_t begin_ns, duration_ns;
	uint32_t name, track, depth, role, flags;
	uint32_t device, stream; /* of GPU work */
	bool gpu;
};

struct range {
	struct sb_run *run;
	struct piece *longest; /* a heap, the shortest first */
	size_t count, limit;
	uint64_t seen;
	struct mark {
		int64_t t_ns;
		uint32_t name;
	} marks[MARKS_SHOWN];
	size_t mark_count;
};

/* ---- the longest ---- */

static void sink(struct range *r, size_t at)
{
	for (;;) {
		size_t child = 2 * at + 1;
		struct piece swap;

		if (child + 1 < r->count && r->longest[child + 1].duration_ns < r->longest[child].duration_ns)
			child++;
		if (child >= r->count || r->longest[at].duration_ns <= r->longest[child].duration_ns)
			return;
		swap = r->longest[at];
		r->longest[at] = r->longest[child];
		r->longest[child] = swap;
		at = child;
	}
}

static void rise(struct range *r, size_t at)
{
	while (at && r->longest[at].duration_ns < r->longest[(at - 1) / 2].duration_ns) {
		struct piece swap = r->longest[at];

		r->longest[at] = r->longest[(at - 1) / 2];
		r->longest[(at - 1) / 2] = swap;
		at = (at - 1) / 2;
	}
}

static void take(struct range *r, const struct piece *p)
{
	r->seen++;
	if (r->count < r->limit) {
		r->longest[r->count++] = *p;
		rise(r, r->count - 1);
	} else if (p->duration_ns > r->longest[0].duration_ns) {
		r->longest[0] = *p;
		sink(r, 0);
	}
}

static void take_zone(void *self, const struct sb_zone *z)
{
	take(self, &(struct piece){ .begin_ns = z->begin_ns,
			   .duration_ns = z->end_ns - z->begin_ns,
			   .name = z->name,
			   .track = z->track,
			   .depth = z->depth,
			   .role = z->role,
			   .flags = z->flags });
}

static void take_event(void *self, const struct sb_event *ev)
{
	struct range *r = self;

	if (ev->kind == SB_EVENT_GPU)
		take(r, &(struct piece){ .begin_ns = ev->t_ns,
				.duration_ns = ev->gpu.duration_ns,
				.name = ev->name,
				.device = ev->gpu.device,
				.stream = ev->gpu.stream,
				.gpu = true });
	else if (r->mark_count < MARKS_SHOWN && r->mark_count < r->limit)
		r->marks[r->mark_count++] = (struct mark){ ev->t_ns, ev->name };
}

/* ---- the answer ---- */

static int earlier_first(const void *a, const void *b)
{
	const struct piece *x = a, *y = b;

	if (x->begin_ns != y->begin_ns)
		return x->begin_ns < y->begin_ns ? -1 : 1;
	return x->duration_ns > y->duration_ns ? -1 : x->duration_ns < y->duration_ns;
}

static void put_where(const struct range *r, const struct piece *p, struct sb_json *j)
{
	const struct sb_run_track *t = p->track < r->run->track_count ? &r->run->tracks[p->track] : NULL;

	if (p->gpu) {
		sb_json_uint(j, "gpu_index", p->device);
		sb_json_uint(j, "stream_index", p->stream);
		return;
	}
	if (t && *t->name)
		sb_json_string(j, "track", t->name);
	else
		sb_json_string(j, "track", t && t->main ? "main thread" : t && t->track ? "task" : "thread");
	sb_json_uint(j, "depth", p->depth);
	if (p->role && sb_role_name(p->role))
		sb_json_string(j, "role", sb_role_name(p->role));
	if (p->flags & SB_ZONE_OPEN)
		sb_json_string(j, "state", "open");
	else if (p->flags & SB_ZONE_CLIPPED)
		sb_json_string(j, "state", "cut");
}

static void put_range(struct range *r, struct sb_json *j)
{
	qsort(r->longest, r->count, sizeof *r->longest, earlier_first);
	sb_json_double(j, "from_s", (double)r->run->from_ns / 1e9);
	sb_json_double(j, "to_s", (double)r->run->to_ns / 1e9);
	sb_json_array_begin(j, "zones");
	for (size_t i = 0; i < r->count; i++) {
		const struct piece *p = &r->longest[i];

		sb_json_object_begin(j, NULL);
		sb_json_string(j, "name", r->run->names[p->name].text);
		sb_json_double(j, "t_s", (double)p->begin_ns / 1e9);
		sb_json_double(j, "duration_s", (double)p->duration_ns / 1e9);
		put_where(r, p, j);
		sb_json_object_end(j);
	}
	sb_json_array_end(j);
	if (r->seen > r->count)
		sb_json_uint(j, "left_out_count", r->seen - r->count);
	sb_json_array_begin(j, "marks");
	for (size_t i = 0; i < r->mark_count; i++) {
		sb_json_object_begin(j, NULL);
		sb_json_string(j, "name", r->run->names[r->marks[i].name].text);
		sb_json_double(j, "t_s", (double)r->marks[i].t_ns / 1e9);
		sb_json_object_end(j);
	}
	sb_json_array_end(j);
}

static int visit(struct range *r, struct sb_json *j)
{
	struct sb_visitor v = { .self = r,
		.kinds = 1u << SB_EVENT_GPU | 1u << SB_EVENT_MARK | 1u << SB_EVENT_EVENT,
		.roles = SB_EVERY_ZONE,
		.zone = take_zone,
		.event = take_event };
	int err;

	r->longest = calloc(r->limit, sizeof *r->longest);
	if (!r->longest)
		return sb_fail(STROBE_ENOMEM, "no memory");
	err = sb_run_visit(r->run, &v, 1);
	if (!err)
		put_range(r, j);
	free(r->longest);
	return err;
}

static int timeline(struct sb_mcp *m, const struct sb_mcp_call *call, struct sb_json *j)
{
	double from_s = sb_mcp_number(call, "from_s"), to_s = sb_mcp_number(call, "to_s");
	struct sb_cut cut = { .has_from = !isnan(from_s), .has_to = !isnan(to_s) };
	struct range r = { .limit = call->limit };
	int err;

	if (cut.has_from && cut.has_to && to_s <= from_s)
		return sb_fail(STROBE_EINVAL, "'to_s' (%g) is not after 'from_s' (%g)", to_s, from_s);
	cut.from_ns = cut.has_from ? (int64_t)(from_s * 1e9) : 0;
	cut.to_ns = cut.has_to ? (int64_t)(to_s * 1e9) : 0;
	err = sb_mcp_run(m, sb_mcp_text(call, "run"), &cut, &r.run);
	if (!err)
		err = visit(&r, j);
	sb_run_close(r.run);
	return err;
}

const struct sb_mcp_tool sb_mcp_tool_timeline = {
	.name = "timeline",
	.title = "A range of the timeline",
	.description = "What happened between two times of a run: the longest zones of its threads and tasks "
		       "and the "
		       "longest pieces of GPU work in that range, in order, with t_s and duration_s; marks "
		       "and events. "
		       "A zone with state cut goes on outside the range. left_out_count: shorter ones.",
	.arguments = { SB_MCP_RUN,
		{ "from_s", SB_MCP_NUMBER, "seconds since the start of the run (0)", false, 0, 1e9 },
		{ "to_s", SB_MCP_NUMBER, "seconds since the start of the run (its end)", false, 0, 1e9 } },
	.limit_default = 60,
	.limit_most = 300,
	.answer = timeline,
};
