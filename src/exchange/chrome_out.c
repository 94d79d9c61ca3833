/* Writes Chrome JSON by Kineto's conventions, so that chrome://tracing, Perfetto
 * and HTA read it: microseconds with three decimals since baseTimeNanoseconds,
 * the rank before the events, GPU work under its device and stream. */
#include "exchange/chrome.h"

#include "base/buf.h"
#include "base/error.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ARGS_MAX 64u /* attributes of one event that are written */

/* ---- pieces kept per name and per thread ---- */

static bool starts_with(const char *s, const char *head)
{
	return !strncmp(s, head, strlen(head));
}

static bool is_runtime_call(const char *name)
{
	return (starts_with(name, "cuda") && name[4] >= 'A' && name[4] <= 'Z') ||
	       (starts_with(name, "cu") && name[2] >= 'A' && name[2] <= 'Z') ||
	       (starts_with(name, "hip") && name[3] >= 'A' && name[3] <= 'Z');
}

/* A call that starts work on the GPU, not one that waits for it. */
static bool is_launch_call(const char *name)
{
	static const char *const starts[] = { "cudaLaunch", "cuLaunch", "hipLaunch", "hipModuleLaunch",
		"cudaGraphLaunch", "cuGraphLaunch", "hipGraphLaunch", "cudaMemcpy", "cuMemcpy", "hipMemcpy",
		"cudaMemset", "cuMemset", "hipMemset", NULL };

	for (const char *const *s = starts; *s; s++)
		if (starts_with(name, *s))
			return true;
	return false;
}

static const char *category_of(const char *name)
{
	if (starts_with(name, "aten::") || starts_with(name, "autograd::") || starts_with(name, "c10d::"))
		return "cpu_op";
	return is_runtime_call(name) ? "cuda_runtime" : "user_annotation";
}

static struct sb_chrome_fragment *fragment_at(
	struct sb_chrome *c, struct sb_chrome_fragment **array, uint32_t *room, uint32_t index)
{
	if (index >= *room) {
		uint32_t bigger = *room ? *room : 256;
		struct sb_chrome_fragment *more;

		while (bigger <= index)
			bigger *= 2;
		more = realloc(*array, bigger * sizeof *more);
		if (!more) {
			c->failed = true;
			return NULL;
		}
		memset(more + *room, 0, (bigger - *room) * sizeof *more);
		*array = more;
		*room = bigger;
	}
	return &(*array)[index];
}

static void keep(struct sb_chrome *c, struct sb_chrome_fragment *f, const char *text, size_t size)
{
	f->text = malloc(size);
	if (!f->text) {
		c->failed = true;
		return;
	}
	memcpy(f->text, text, size);
	f->size = size;
}

static const struct sb_chrome_fragment *make_name(struct sb_chrome *c, uint32_t name)
{
	struct sb_chrome_fragment *f = fragment_at(c, &c->names, &c->name_room, name);
	char text[NAME_LIMIT * 6 + 128], *at = text;

	if (!f || f->text)
		return f;
	at = SB_PUT(at, "{\"ph\":\"X\",\"cat\":\"");
	at = sb_out_put(
		at, category_of(c->run->names[name].text), strlen(category_of(c->run->names[name].text)));
	at = SB_PUT(at, "\",\"name\":");
	at = sb_put_json_string(at, c->run->names[name].text, NAME_LIMIT);
	f->runtime = is_runtime_call(c->run->names[name].text);
	keep(c, f, text, (size_t)(at - text));
	return f;
}

static const struct sb_chrome_fragment *make_track(struct sb_chrome *c, uint32_t track)
{
	struct sb_chrome_fragment *f = fragment_at(c, &c->tracks, &c->track_room, track);
	char text[128], *at = text;

	if (!f || f->text)
		return f;
	at = SB_PUT(at, ",\"pid\":");
	at = sb_put_u64(at, sb_export_pid(c->run, c->run->tracks[track].process));
	at = SB_PUT(at, ",\"tid\":");
	at = sb_put_u64(at, sb_export_tid(&c->run->tracks[track]));
	at = SB_PUT(at, ",\"ts\":");
	keep(c, f, text, (size_t)(at - text));
	return f;
}

static inline const struct sb_chrome_fragment *name_fragment(struct sb_chrome *c, uint32_t name)
{
	return name < c->name_room && c->names[name].text ? &c->names[name] : make_name(c, name);
}

static inline const struct sb_chrome_fragment *track_fragment(struct sb_chrome *c, uint32_t track)
{
	return track < c->track_room && c->tracks[track].text ? &c->tracks[track] : make_track(c, track);
}

static bool ready(const struct sb_chrome_fragment *f)
{
	return f && f->text;
}

/* ---- events ---- */

static char *put_attr(char *at, const struct sb_run_attr *a)
{
	at = sb_put_json_string(at, a->key, 256);
	*at++ = ':';
	switch (a->type) {
	case STROBE_TYPE_FLOAT: return sb_put_double(at, a->f);
	case STROBE_TYPE_STRING: return sb_put_json_string(at, a->s, TEXT_LIMIT);
	case STROBE_TYPE_BOOL: return a->i ? SB_PUT(at, "true") : SB_PUT(at, "false");
	default: return sb_put_i64(at, a->i);
	}
}

/* Everything of a zone that is not its time: attributes, code, state. */
static char *put_zone_args(struct sb_chrome *c, char *at, const struct sb_zone *z, char *limit)
{
	const char *code = c->run->names[z->name].code;
	const char *comma = "";

	at = SB_PUT(at, ",\"args\":{");
	if (*code) {
		at = SB_PUT(at, "\"code\":");
		at = sb_put_json_string(at, code, 64);
		comma = ",";
	}
	if (z->role) {
		at = sb_out_put(at, comma, strlen(comma));
		at = SB_PUT(at, "\"strobe.role\":");
		at = sb_put_u64(at, z->role);
		comma = ",";
	}
	if (c->names[z->name].runtime) {
		at = sb_out_put(at, comma, strlen(comma));
		at = SB_PUT(at, "\"correlation\":");
		at = sb_put_u64(at, sb_chrome_correlation(z->track, z->begin_ns));
		comma = ",";
	}
	if (z->flags & SB_ZONE_OPEN) {
		at = sb_out_put(at, comma, strlen(comma));
		at = SB_PUT(at, "\"state\":\"open\"");
		comma = ",";
	}
	for (uint32_t i = 0; i < z->attr_count && i < ARGS_MAX && limit - at > 8192; i++) {
		at = sb_out_put(at, comma, strlen(comma));
		at = put_attr(at, &z->attrs[i]);
		comma = ",";
	}
	*at++ = '}';
	return at;
}

/* Spans may overlap on their thread: a pair of asynchronous events. */
static void put_span(struct sb_chrome *c, const struct sb_zone *z, const struct sb_chrome_fragment *track)
{
	uint64_t id = ++c->correlation;
	char *room = sb_out_room(c->out, SB_OUT_RECORD_MAX), *at = room;

	for (int end = 0; end < 2; end++) {
		at = end ? SB_PUT(at, "{\"ph\":\"e\",\"cat\":\"span\",\"id\":")
			 : SB_PUT(at, "{\"ph\":\"b\",\"cat\":\"span\",\"id\":");
		at = sb_put_u64(at, id);
		at = SB_PUT(at, ",\"name\":");
		at = sb_put_json_string(at, c->run->names[z->name].text, NAME_LIMIT);
		at = sb_out_put(at, track->text, track->size);
		at = sb_put_us(at, end ? z->end_ns : z->begin_ns);
		if (!end)
			at = put_zone_args(c, at, z, room + SB_OUT_RECORD_MAX - NAME_LIMIT * 6 - 1024);
		at = SB_PUT(at, "},\n");
	}
	c->out->at = at;
}

static int64_t number_of_step(struct sb_chrome *c, const struct sb_zone *z)
{
	double n = sb_attr_number(z->attrs, z->attr_count, z->role == STROBE_ROLE_STEP ? "step" : "index");

	return n >= 0 && n < 9e15 ? (int64_t)n : c->step_count;
}

/* HTA finds its iterations by these. Beside the zone itself it is a marker, which no import takes for another zone. */
static void put_profiler_step(
	struct sb_chrome *c, const struct sb_zone *z, const struct sb_chrome_fragment *track, bool marker)
{
	char *at = sb_out_room(c->out, 1024);

	at = SB_PUT(at, "{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"ProfilerStep#");
	at = sb_put_i64(at, number_of_step(c, z));
	*at++ = '"';
	at = sb_out_put(at, track->text, track->size);
	at = sb_put_us(at, z->begin_ns);
	at = SB_PUT(at, ",\"dur\":");
	at = sb_put_us(at, z->end_ns - z->begin_ns);
	if (marker)
		at = SB_PUT(at, ",\"args\":{\"strobe.marker\":true}");
	at = SB_PUT(at, "},\n");
	c->out->at = at;
	c->step_count++;
}

static bool is_step(struct sb_chrome *c, const struct sb_zone *z)
{
	c->seen_iteration |= z->role == STROBE_ROLE_ITERATION;
	return z->role == STROBE_ROLE_ITERATION || (z->role == STROBE_ROLE_STEP && !c->seen_iteration);
}

static void take_zone(void *self, const struct sb_zone *z)
{
	struct sb_chrome *c = self;
	const struct sb_chrome_fragment *name = name_fragment(c, z->name);
	const struct sb_chrome_fragment *track = track_fragment(c, z->track);
	bool plain = !z->attr_count && !z->role && !(z->flags & SB_ZONE_OPEN);
	char *room, *at;

	if (!ready(name) || !ready(track))
		return;
	c->summary->zones++;
	if (z->flags & SB_ZONE_SPAN) {
		put_span(c, z, track);
		return;
	}
	if (z->role && is_step(c, z)) {
		bool marker = strcmp(c->run->names[z->name].text, "ProfilerStep") != 0;

		put_profiler_step(c, z, track, marker);
		if (!marker)
			return;
	}
	room = at = sb_out_room(c->out, plain ? name->size + 1024 : SB_OUT_RECORD_MAX);
	at = sb_out_put(at, name->text, name->size);
	at = sb_out_put(at, track->text, track->size);
	at = sb_put_us(at, z->begin_ns);
	at = SB_PUT(at, ",\"dur\":");
	at = sb_put_us(at, z->end_ns - z->begin_ns);
	if (!plain || name->runtime || *c->run->names[z->name].code)
		at = put_zone_args(c, at, z, room + (plain ? 0 : SB_OUT_RECORD_MAX));
	at = SB_PUT(at, "},\n");
	c->out->at = at;
}

/* ---- counters, marks ---- */

static void put_counter(struct sb_chrome *c, uint32_t process, const char *name, const char *series,
	int64_t t_ns, double value)
{
	char *at = sb_out_room(c->out, NAME_LIMIT * 12 + 256);

	if (value != value)
		return;
	at = SB_PUT(at, "{\"ph\":\"C\",\"name\":");
	at = sb_put_json_string(at, name, NAME_LIMIT);
	at = sb_chrome_place(at, sb_export_pid(c->run, process), 0, t_ns);
	at = SB_PUT(at, ",\"args\":{");
	at = sb_put_json_string(at, series, NAME_LIMIT);
	*at++ = ':';
	at = sb_put_double(at, value);
	at = SB_PUT(at, "}},\n");
	c->out->at = at;
	c->summary->counters++;
}

static void put_sample(void *self, uint32_t process, const char *name, int64_t t_ns, double value)
{
	put_counter(self, process, name, "value", t_ns, value);
}

/* Deltas add up to what a viewer can draw. */
static void put_count(struct sb_chrome *c, const struct sb_event *ev)
{
	if (ev->name >= c->total_room) {
		uint32_t room = c->total_room ? c->total_room : 64;
		double *more;

		while (room <= ev->name)
			room *= 2;
		more = realloc(c->totals, room * sizeof *more);
		if (!more) {
			c->failed = true;
			return;
		}
		memset(more + c->total_room, 0, (room - c->total_room) * sizeof *more);
		c->totals = more;
		c->total_room = room;
	}
	c->totals[ev->name] += (double)ev->delta;
	put_counter(c, ev->process, c->run->names[ev->name].text, "value", ev->t_ns, c->totals[ev->name]);
}

static void put_snapshot(struct sb_chrome *c, const struct sb_event *ev)
{
	char name[64];

	snprintf(name, sizeof name, ev->snapshot.device < 0 ? "host memory" : "GPU %d memory",
		ev->snapshot.device);
	if (ev->snapshot.allocated_bytes >= 0)
		put_counter(c, ev->process, name, "allocated_bytes", ev->t_ns,
			(double)ev->snapshot.allocated_bytes);
	if (ev->snapshot.reserved_bytes >= 0)
		put_counter(c, ev->process, name, "reserved_bytes", ev->t_ns,
			(double)ev->snapshot.reserved_bytes);
}

static void put_instant(struct sb_chrome *c, const struct sb_event *ev, const char *reason)
{
	char *room = sb_out_room(c->out, SB_OUT_RECORD_MAX), *at = room;
	bool on_thread = ev->track != UINT32_MAX;
	const char *comma = "";

	at = on_thread ? SB_PUT(at, "{\"ph\":\"i\",\"s\":\"t\",\"name\":")
		       : SB_PUT(at, "{\"ph\":\"i\",\"s\":\"p\",\"name\":");
	at = sb_put_json_string(at, c->run->names[ev->name].text, NAME_LIMIT);
	at = sb_chrome_place(at, sb_export_pid(c->run, ev->process),
		on_thread ? sb_export_tid(&c->run->tracks[ev->track]) : 0, ev->t_ns);
	at = SB_PUT(at, ",\"args\":{");
	if (reason) {
		at = SB_PUT(at, "\"skipped\":");
		at = sb_put_json_string(at, reason, TEXT_LIMIT);
		comma = ",";
	}
	for (uint32_t i = 0; i < ev->attr_count && i < ARGS_MAX && room + SB_OUT_RECORD_MAX - at > 8192;
		i++) {
		at = sb_out_put(at, comma, strlen(comma));
		at = put_attr(at, &ev->attrs[i]);
		comma = ",";
	}
	at = SB_PUT(at, "}},\n");
	c->out->at = at;
	c->summary->marks++;
}

static void take_event(void *self, const struct sb_event *ev)
{
	struct sb_chrome *c = self;

	switch (ev->kind) {
	case SB_EVENT_GPU: sb_chrome_gpu(c, ev); break;
	case SB_EVENT_SAMPLE: sb_sample_values_take(&c->samples, ev); break;
	case SB_EVENT_SNAPSHOT: put_snapshot(c, ev); break;
	case SB_EVENT_GAUGE:
		put_counter(c, ev->process, c->run->names[ev->name].text, "value", ev->t_ns, ev->value);
		break;
	case SB_EVENT_COUNT: put_count(c, ev); break;
	case SB_EVENT_SKIPPED: put_instant(c, ev, ev->text ? ev->text : ""); break;
	case SB_EVENT_MARK:
	case SB_EVENT_EVENT: put_instant(c, ev, NULL); break;
	default: break;
	}
}

static void free_fragments(struct sb_chrome_fragment *all, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		free(all[i].text);
	free(all);
}

static int write_chrome(struct sb_run *run, const struct sb_markers *markers, struct sb_out *out,
	struct sb_export_summary *summary)
{
	struct sb_chrome c = { .run = run, .out = out, .summary = summary };
	struct sb_visitor visitor = { .self = &c,
		.roles = SB_EVERY_ZONE,
		.zone = take_zone,
		.event = take_event,
		.kinds = SB_EXPORT_KINDS };
	int err = sb_sample_values_init(&c.samples, run, put_sample, &c);

	if (err)
		return err;
	for (uint32_t i = 0; i < run->name_count && !c.runtime_zones; i++)
		c.runtime_zones = is_launch_call(run->names[i].text);
	sb_chrome_put_head(&c);
	err = sb_run_visit(run, &visitor, 1);
	sb_sample_values_done(&c.samples);
	sb_chrome_put_markers(&c, markers);
	sb_chrome_put_tail(&c);
	summary->folded_zones = sb_run_pass(run)->folded_zones;
	free_fragments(c.names, c.name_room);
	free_fragments(c.tracks, c.track_room);
	free(c.streams);
	free(c.totals);
	if (!err && c.failed)
		err = sb_fail(STROBE_ENOMEM, "no memory to export");
	return err ? err : out->err;
}

const struct sb_exporter sb_chrome_exporter = { .name = "chrome",
	.file_name = "trace.json",
	.takes_markers = true,
	.summary = "JSON as torch.profiler writes it: chrome://tracing, Perfetto and HTA read it",
	.write = write_chrome };
