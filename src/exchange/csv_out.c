/* Writes CSV: one row per zone, GPU record, mark and counter value. */
#include "exchange/export.h"

#include "base/buf.h"
#include "base/csv.h"
#include "base/error.h"
#include "base/json.h"

#include <stdio.h>
#include <string.h>

#define NAME_LIMIT 2048u

struct csv {
	struct sb_run *run;
	struct sb_out *out;
	struct sb_export_summary *summary;
	struct sb_buf attrs;
	uint32_t named_track; /* whose name is kept; UINT32_MAX: none */
	char track_name[512];
};

struct row {
	const char *kind, *name, *code, *role;
	int64_t start_ns, duration_ns, self_ns; /* duration, self < 0: none */
	uint32_t process, track; /* UINT32_MAX: none */
	int64_t depth; /* -1: none */
	const char *where; /* instead of a thread: "gpu 0 stream 7" */
	bool has_value;
	double value;
	int64_t bytes; /* -1: none */
};

static const char *attrs_json(struct csv *c, const struct sb_run_attr *attrs, uint32_t count)
{
	struct sb_json j;

	sb_buf_clear(&c->attrs);
	if (!count)
		return "";
	sb_json_init(&j, &c->attrs, false);
	sb_json_object_begin(&j, NULL);
	for (uint32_t i = 0; i < count && c->attrs.size < 16000; i++) {
		switch (attrs[i].type) {
		case STROBE_TYPE_FLOAT: sb_json_double(&j, attrs[i].key, attrs[i].f); break;
		case STROBE_TYPE_STRING: sb_json_string(&j, attrs[i].key, attrs[i].s); break;
		case STROBE_TYPE_BOOL: sb_json_bool(&j, attrs[i].key, attrs[i].i != 0); break;
		default: sb_json_int(&j, attrs[i].key, attrs[i].i); break;
		}
	}
	sb_json_object_end(&j);
	return sb_buf_text(&c->attrs);
}

static char *put_place(struct csv *c, char *at, const struct row *r)
{
	const char *name = "";

	at = sb_put_u64(at, sb_export_pid(c->run, r->process));
	*at++ = ',';
	if (r->track != UINT32_MAX) {
		at = sb_put_u64(at, sb_export_tid(&c->run->tracks[r->track]));
		if (r->track != c->named_track) {
			sb_export_track_name(c->run, r->track, c->track_name, sizeof c->track_name);
			c->named_track = r->track;
		}
		name = c->track_name;
	}
	*at++ = ',';
	at = sb_csv_put(at, r->where ? r->where : name, sizeof c->track_name);
	*at++ = ',';
	return at;
}

/* Of a job's row: the node and the rank, which the process number alone does not tell. */
static char *put_rank(const struct csv *c, char *at, const struct row *r)
{
	const struct sb_file_header *h = &c->run->processes[r->process].reader->head;

	*at++ = ',';
	at = sb_csv_put(at, h->host, sizeof h->host);
	*at++ = ',';
	return h->rank >= 0 ? sb_put_i64(at, h->rank) : at;
}

static void put_row(struct csv *c, const struct row *r, const char *attrs)
{
	char *at = sb_out_room(c->out, SB_OUT_RECORD_MAX);

	at = sb_out_put(at, r->kind, strlen(r->kind));
	*at++ = ',';
	at = sb_put_i64(at, r->start_ns);
	*at++ = ',';
	if (r->duration_ns >= 0)
		at = sb_put_i64(at, r->duration_ns);
	*at++ = ',';
	if (r->self_ns >= 0)
		at = sb_put_i64(at, r->self_ns);
	*at++ = ',';
	at = put_place(c, at, r);
	if (r->depth >= 0)
		at = sb_put_i64(at, r->depth);
	*at++ = ',';
	at = sb_out_put(at, r->role, strlen(r->role));
	*at++ = ',';
	at = sb_csv_put(at, r->code, 64);
	*at++ = ',';
	at = sb_csv_put(at, r->name, NAME_LIMIT);
	*at++ = ',';
	if (r->has_value && r->value == r->value)
		at = sb_put_double(at, r->value);
	*at++ = ',';
	if (r->bytes >= 0)
		at = sb_put_i64(at, r->bytes);
	*at++ = ',';
	at = sb_csv_put(at, attrs, 20000);
	if (c->run->job)
		at = put_rank(c, at, r);
	at = SB_PUT(at, SB_CSV_LINE_END);
	c->out->at = at;
}

static void take_zone(void *self, const struct sb_zone *z)
{
	struct csv *c = self;
	const struct sb_run_name *name = &c->run->names[z->name];
	bool span = z->flags & SB_ZONE_SPAN;
	struct row r = { .kind = z->flags & SB_ZONE_OPEN      ? span ? "open_span" : "open"
				 : z->flags & SB_ZONE_CLIPPED ? span ? "cut_span" : "cut"
				 : span                       ? "span"
							      : "zone",
		.name = name->text,
		.code = name->code,
		.role = sb_export_role_name(z->role),
		.start_ns = z->begin_ns,
		.duration_ns = z->end_ns - z->begin_ns,
		.self_ns = z->end_ns - z->begin_ns - z->child_ns,
		.process = z->process,
		.track = z->track,
		.depth = z->depth,
		.bytes = -1 };

	c->summary->zones++;
	put_row(c, &r, attrs_json(c, z->attrs, z->attr_count));
}

static void put_gpu(struct csv *c, const struct sb_event *ev)
{
	static const char *const kinds[] = { "", "gpu_range", "kernel", "copy_h2d", "copy_d2h", "copy_d2d",
		"copy", "memset", "gpu_sync" };
	char where[64];
	struct row r = { .kind = kinds[ev->gpu.kind <= SB_GPU_SYNC ? ev->gpu.kind : 0],
		.name = c->run->names[ev->name].text,
		.code = "",
		.role = "",
		.start_ns = ev->t_ns,
		.duration_ns = ev->gpu.duration_ns,
		.self_ns = -1,
		.process = ev->process,
		.track = UINT32_MAX,
		.depth = -1,
		.where = where,
		.bytes = ev->gpu.bytes };

	snprintf(where, sizeof where, "gpu %u stream %u", ev->gpu.device, ev->gpu.stream);
	c->summary->gpu++;
	put_row(c, &r, "");
}

/* A row at a moment, without a duration. */
static struct row moment_row(const struct sb_event *ev, const char *kind, const char *name)
{
	return (struct row){ .kind = kind,
		.name = name,
		.code = "",
		.role = "",
		.start_ns = ev->t_ns,
		.duration_ns = -1,
		.self_ns = -1,
		.process = ev->process,
		.track = ev->track,
		.depth = -1,
		.bytes = -1 };
}

static void put_value(
	struct csv *c, const struct sb_event *ev, const char *kind, const char *name, double value)
{
	struct row r = moment_row(ev, kind, name);

	r.has_value = true;
	r.value = value;
	c->summary->counters++;
	put_row(c, &r, "");
}

static void put_mark(struct csv *c, const struct sb_event *ev)
{
	const struct sb_run_name *name = &c->run->names[ev->name];
	struct sb_run_attr reason = { .key = "reason", .type = STROBE_TYPE_STRING, .s = ev->text };
	bool skipped = ev->kind == SB_EVENT_SKIPPED;
	struct row r = moment_row(ev, skipped ? "skipped" : "mark", name->text);

	r.code = name->code;
	c->summary->marks++;
	put_row(c, &r,
		skipped ? attrs_json(c, &reason, ev->text != NULL)
			: attrs_json(c, ev->attrs, ev->attr_count));
}

static void take_event(void *self, const struct sb_event *ev)
{
	struct csv *c = self;
	char name[300];

	switch (ev->kind) {
	case SB_EVENT_GPU: put_gpu(c, ev); break;
	case SB_EVENT_SAMPLE:
		for (uint32_t i = 0; i < ev->sample.schema->column_count; i++) {
			sb_export_column_name(ev->sample.schema, i, name, sizeof name);
			put_value(c, ev, "sample", name, ev->sample.values[i]);
		}
		break;
	case SB_EVENT_SNAPSHOT:
		put_value(c, ev, "snapshot", c->run->names[ev->name].text,
			(double)ev->snapshot.allocated_bytes);
		break;
	case SB_EVENT_GAUGE: put_value(c, ev, "counter", c->run->names[ev->name].text, ev->value); break;
	case SB_EVENT_COUNT:
		put_value(c, ev, "count", c->run->names[ev->name].text, (double)ev->delta);
		break;
	default: put_mark(c, ev); break;
	}
}

static int write_csv(struct sb_run *run, const struct sb_markers *markers, struct sb_out *out,
	struct sb_export_summary *summary)
{
	struct csv c = { .run = run, .out = out, .summary = summary, .named_track = UINT32_MAX };
	struct sb_visitor visitor = { .self = &c,
		.roles = SB_EVERY_ZONE,
		.zone = take_zone,
		.event = take_event,
		.kinds = SB_EXPORT_KINDS };
	int err;

	out->at = SB_PUT(sb_out_room(out, 256), "kind,start_ns,duration_ns,self_ns,pid,tid,thread,depth,role,"
						"code,name,value,bytes,attributes");
	if (run->job)
		out->at = SB_PUT(out->at, ",host,rank");
	out->at = SB_PUT(out->at, SB_CSV_LINE_END);
	err = sb_run_visit(run, &visitor, 1);
	summary->folded_zones = sb_run_pass(run)->folded_zones;
	sb_buf_done(&c.attrs);
	return err ? err : out->err;
}

const struct sb_exporter sb_csv_exporter = { .name = "csv",
	.file_name = "trace.csv",
	.summary = "one row per zone, GPU record, mark and counter value",
	.readable = true,
	.write = write_csv };
