/* Writes OpenTelemetry's OTLP JSON, a message a line. Zones are spans: of a request's trace where a zone carries its
 * `traceparent` or `trace_id`, else of the session's. GPU work is inside the zone that launched it. Samples and
 * counters are metrics. */
#include "exchange/export.h"
#include "exchange/nested.h"

#include "base/filename.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_LIMIT 1024u
#define BATCH 500u /* spans or points of a line */

struct trace {
	char id[33]; /* hex */
	char parent[17]; /* of the request's own span; "": not known */
	size_t depth; /* of the zone that carries it */
};

struct otlp {
	struct sb_run *run;
	struct sb_out *out;
	struct sb_export_summary *summary;
	struct sb_nested_line line;
	uint64_t session; /* what span ids are made of */
	struct trace session_trace;
	struct trace traces[16]; /* of requests inside each other */
	size_t trace_count;
	size_t depth;
	uint32_t in_batch;
	uint32_t batch_process;
};

static void put_text(struct otlp *o, const char *text)
{
	sb_out_write(o->out, text, strlen(text));
}

static void put_quoted(struct otlp *o, const char *text)
{
	o->out->at = sb_put_json_string(sb_out_room(o->out, NAME_LIMIT * 6 + 16), text, NAME_LIMIT);
}

/* ,"key":"123": 64 bits are a string in OTLP's JSON */
static void put_u64(struct otlp *o, const char *key, uint64_t value)
{
	char *at = sb_out_room(o->out, 128);

	at = SB_PUT(at, ",\"");
	at = sb_out_put(at, key, strlen(key));
	at = SB_PUT(at, "\":\"");
	at = sb_put_u64(at, value);
	o->out->at = SB_PUT(at, "\"");
}

static uint64_t real_ns(const struct otlp *o, int64_t t_ns)
{
	return o->run->start_real_ns + (uint64_t)t_ns;
}

/* ---- attributes ---- */

static void put_string_attr(struct otlp *o, const char *key, const char *value)
{
	put_text(o, "{\"key\":");
	put_quoted(o, key);
	put_text(o, ",\"value\":{\"stringValue\":");
	put_quoted(o, value);
	put_text(o, "}}");
}

static void put_int_attr(struct otlp *o, const char *key, int64_t value)
{
	char *at;

	put_text(o, "{\"key\":");
	put_quoted(o, key);
	at = SB_PUT(sb_out_room(o->out, 64), ",\"value\":{\"intValue\":\"");
	at = sb_put_i64(at, value);
	o->out->at = SB_PUT(at, "\"}}");
}

/* The end of a JSON value that our own writer wrote. */
static const char *value_end(const char *at, const char *end)
{
	bool quoted = false;

	for (; at < end && (quoted || *at != ','); at++) {
		if (quoted && *at == '\\')
			at++;
		else if (*at == '"')
			quoted = !quoted;
	}
	return at < end ? at : end;
}

static const char *value_type(const char *value, size_t size)
{
	if (*value == '"')
		return "stringValue";
	if (*value == 't' || *value == 'f')
		return "boolValue";
	return memchr(value, '.', size) || memchr(value, 'e', size) || memchr(value, 'E', size)
		       ? "doubleValue"
		       : "intValue";
}

/* "key":value,… of a zone, as OTLP has it. */
static void put_attrs(struct otlp *o, const char *attrs, size_t size)
{
	const char *at = attrs, *end = attrs + size;

	while (at < end) {
		const char *colon = at + 1;
		const char *value, *next, *type;
		bool text_of_int;

		while (*colon != '"')
			colon += *colon == '\\' ? 2 : 1;
		value = colon + 2; /* past "": */
		next = value_end(value, end);
		type = value_type(value, (size_t)(next - value));
		text_of_int = !strcmp(type, "intValue") && *value != 'n';
		if (*value != 'n') { /* null is no value */
			put_text(o, ",{\"key\":");
			sb_out_write(o->out, at, (size_t)(colon + 1 - at));
			put_text(o, ",\"value\":{\"");
			put_text(o, type);
			put_text(o, text_of_int ? "\":\"" : "\":");
			sb_out_write(o->out, value, (size_t)(next - value));
			put_text(o, text_of_int ? "\"}}" : "}}");
		}
		at = next + 1;
	}
}

static void put_resource(struct otlp *o, uint32_t process)
{
	const struct sb_file_header *head = &o->run->processes[process].reader->head;
	char text[128];

	put_text(o, "{\"resource\":{\"attributes\":[");
	snprintf(text, sizeof text, "%.127s", head->name);
	put_string_attr(o, "service.name", *text ? text : "strobe");
	put_text(o, ",");
	snprintf(text, sizeof text, "%.63s", head->host);
	put_string_attr(o, "host.name", text);
	put_text(o, ",");
	put_int_attr(o, "process.pid", head->pid);
	if (head->rank >= 0) {
		put_text(o, ",");
		put_int_attr(o, "strobe.rank", head->rank);
	}
	put_text(o, "]},");
}

/* ---- ids ---- */

/* A number spread over 64 bits: never 0 for spans of one run. */
static uint64_t spread(uint64_t v)
{
	v ^= v >> 30;
	v *= 0xbf58476d1ce4e5b9ull;
	v ^= v >> 27;
	v *= 0x94d049bb133111ebull;
	return v ^ v >> 31;
}

static void span_id(const struct otlp *o, uint64_t number, char out[17])
{
	uint64_t id = spread(o->session + number);

	snprintf(out, 17, "%016llx", (unsigned long long)(id ? id : 1));
}

static bool is_hex(const char *text, size_t size)
{
	bool any = false;

	for (size_t i = 0; i < size; i++) {
		if (!isxdigit((unsigned char)text[i]))
			return false;
		any |= text[i] != '0';
	}
	return any; /* all zeros is no id */
}

static void copy_hex(char *to, const char *from, size_t size)
{
	for (size_t i = 0; i < size; i++)
		to[i] = (char)tolower((unsigned char)from[i]);
	to[size] = 0;
}

/* "traceparent":"00-<32>-<16>-01" (W3C) or "trace_id":"<32>" among a zone's attributes. */
static bool trace_of(const struct sb_nested_zone *z, struct trace *out)
{
	static const char parent_key[] = "\"traceparent\":\"", id_key[] = "\"trace_id\":\"";
	const char *end = z->attrs + z->attrs_size;
	const char *found = z->attrs_size ? memmem(z->attrs, z->attrs_size, parent_key, sizeof parent_key - 1)
					  : NULL;

	if (found && end - found >= (ptrdiff_t)sizeof parent_key + 54) {
		found += sizeof parent_key - 1 + 3;
		if (is_hex(found, 32) && found[32] == '-' && is_hex(found + 33, 16)) {
			copy_hex(out->id, found, 32);
			copy_hex(out->parent, found + 33, 16);
			return true;
		}
	}
	found = z->attrs_size ? memmem(z->attrs, z->attrs_size, id_key, sizeof id_key - 1) : NULL;
	if (!found || end - found < (ptrdiff_t)sizeof id_key + 32 || !is_hex(found + sizeof id_key - 1, 32))
		return false;
	copy_hex(out->id, found + sizeof id_key - 1, 32);
	out->parent[0] = 0;
	return true;
}

/* ---- spans ---- */

static void end_batch(struct otlp *o)
{
	if (o->in_batch)
		put_text(o, "]}]}]}\n");
	o->in_batch = 0;
}

static void begin_span(struct otlp *o)
{
	if (o->in_batch >= BATCH || (o->in_batch && o->batch_process != o->line.process))
		end_batch(o);
	if (!o->in_batch) {
		put_text(o, "{\"resourceSpans\":[");
		put_resource(o, o->line.process);
		put_text(o, "\"scopeSpans\":[{\"scope\":{\"name\":\"strobe\"},\"spans\":[");
		o->batch_process = o->line.process;
	} else {
		put_text(o, ",");
	}
	o->in_batch++;
}

static void take_line(void *self, const struct sb_nested_line *line)
{
	struct otlp *o = self;

	o->line = *line;
	o->trace_count = 0;
	o->depth = 0;
}

static void put_place(struct otlp *o)
{
	char name[300];

	if (o->line.kind == SB_NESTED_STREAM) {
		put_int_attr(o, "gpu.index", o->line.device);
		put_text(o, ",");
		put_int_attr(o, "gpu.stream", o->line.stream);
		return;
	}
	sb_export_track_name(o->run, o->line.track, name, sizeof name);
	put_string_attr(o, "thread.name", name);
}

static void put_span(
	struct otlp *o, const struct sb_nested_zone *z, const struct trace *trace, const char *parent)
{
	const struct sb_run_name *name = &o->run->names[z->name];
	const char *role = sb_export_role_name(z->role);
	char id[17];

	span_id(o, z->number, id);
	begin_span(o);
	put_text(o, "{\"traceId\":\"");
	put_text(o, trace->id);
	put_text(o, "\",\"spanId\":\"");
	put_text(o, id);
	if (*parent) {
		put_text(o, "\",\"parentSpanId\":\"");
		put_text(o, parent);
	}
	put_text(o, "\",\"kind\":1,\"name\":");
	put_quoted(o, *name->text ? name->text : SB_NO_NAME);
	put_u64(o, "startTimeUnixNano", real_ns(o, z->begin_ns));
	put_u64(o, "endTimeUnixNano", real_ns(o, z->end_ns));
	put_text(o, ",\"attributes\":[");
	put_place(o);
	if (*name->code) {
		put_text(o, ",");
		put_string_attr(o, "strobe.code", name->code);
	}
	if (*role) {
		put_text(o, ",");
		put_string_attr(o, "strobe.role", role);
	}
	put_attrs(o, z->attrs, z->attrs_size);
	put_text(o, "]}");
	o->summary->zones += o->line.kind != SB_NESTED_STREAM;
	o->summary->gpu += o->line.kind == SB_NESTED_STREAM;
}

static void open_zone(void *self, const struct sb_nested_zone *z)
{
	struct otlp *o = self;
	struct trace own = { .depth = o->depth };
	const struct trace *trace;
	char parent[17] = "";

	if (z->parent)
		span_id(o, z->parent, parent);
	if (o->trace_count < sizeof o->traces / sizeof o->traces[0] && trace_of(z, &own)) {
		o->traces[o->trace_count++] = own;
		memcpy(parent, own.parent, sizeof parent); /* the caller's span, not ours around it */
	}
	trace = o->trace_count ? &o->traces[o->trace_count - 1] : &o->session_trace;
	put_span(o, z, trace, parent);
	o->depth++;
}

static void take_launched(void *self, const struct sb_nested_line *stream, const struct sb_nested_zone *work,
	const struct sb_nested_zone *around)
{
	struct otlp *o = self;
	struct sb_nested_line line = o->line;
	char parent[17] = "";

	if (around)
		span_id(o, around->number, parent);
	o->line = *stream;
	put_span(o, work, o->trace_count ? &o->traces[o->trace_count - 1] : &o->session_trace, parent);
	o->line = line;
}

static void close_zone(void *self, const struct sb_nested_zone *z)
{
	struct otlp *o = self;

	o->depth--;
	if (o->trace_count && o->traces[o->trace_count - 1].depth == o->depth)
		o->trace_count--;
}

/* The unit a name ends in, as UCUM has it; "": not known. */
static const char *unit_of(const char *name)
{
	static const char *const units[][2] = { { "_bytes_per_s", "By/s" }, { "_gb_per_s", "GBy/s" },
		{ "_percent", "%" }, { "_ratio", "1" }, { "_count", "1" }, { "_bytes", "By" },
		{ "_mb", "MiBy" }, { "_mhz", "MHz" }, { "_ms", "ms" }, { "_us", "us" }, { "_ns", "ns" },
		{ "_wh", "W.h" }, { "_j", "J" }, { "_w", "W" }, { "_c", "Cel" }, { "_s", "s" } };

	for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
		if (sb_ends_with(name, units[i][0]))
			return units[i][1];
	return "";
}

/* ---- metrics: a point each ---- */

static void put_point(
	struct otlp *o, uint32_t process, const char *name, int64_t t_ns, double value, int device)
{
	char *at;

	if (value != value)
		return;
	if (o->in_batch >= BATCH || (o->in_batch && o->batch_process != process)) {
		put_text(o, "]}]}]}\n");
		o->in_batch = 0;
	}
	if (!o->in_batch) {
		put_text(o, "{\"resourceMetrics\":[");
		put_resource(o, process);
		put_text(o, "\"scopeMetrics\":[{\"scope\":{\"name\":\"strobe\"},\"metrics\":[");
		o->batch_process = process;
	} else {
		put_text(o, ",");
	}
	o->in_batch++;
	put_text(o, "{\"name\":");
	put_quoted(o, name);
	put_text(o, ",\"unit\":");
	put_quoted(o, unit_of(name));
	at = SB_PUT(sb_out_room(o->out, 256), ",\"gauge\":{\"dataPoints\":[{\"asDouble\":");
	at = sb_put_double(at, value);
	o->out->at = at;
	put_u64(o, "timeUnixNano", real_ns(o, t_ns));
	if (device >= 0) {
		put_text(o, ",\"attributes\":[");
		put_int_attr(o, "gpu.index", device);
		put_text(o, "]");
	}
	put_text(o, "}]}}");
	o->summary->counters++;
}

static void take_event(void *self, const struct sb_event *ev)
{
	struct otlp *o = self;
	char name[300];

	if (ev->kind == SB_EVENT_GAUGE) {
		put_point(o, ev->process, o->run->names[ev->name].text, ev->t_ns, ev->value, -1);
		return;
	}
	for (uint32_t i = 0; i < ev->sample.schema->column_count; i++) {
		snprintf(name, sizeof name, "strobe.%s.%s", ev->sample.schema->source,
			ev->sample.schema->columns[i]);
		put_point(o, ev->process, name, ev->t_ns, ev->sample.values[i], ev->sample.schema->device);
	}
}

/* ---- the whole ---- */

static void begin(struct otlp *o)
{
	const struct sb_file_header *head = &o->run->processes[o->run->main_process].reader->head;
	uint64_t halves[2];

	memcpy(halves, head->session_uuid, sizeof halves);
	if (!halves[0] && !halves[1]) /* an import has none */
		halves[0] = spread(head->start_real_ns + 1);
	o->session = spread(halves[0] ^ halves[1]);
	snprintf(o->session_trace.id, sizeof o->session_trace.id, "%016llx%016llx",
		(unsigned long long)halves[0], (unsigned long long)halves[1]);
}

static int write_otlp(struct sb_run *run, const struct sb_markers *markers, struct sb_out *out,
	struct sb_export_summary *summary)
{
	struct otlp o = { .run = run, .out = out, .summary = summary };
	struct sb_nested_visitor spans = { .self = &o,
		.with_attrs = true,
		.line = take_line,
		.open = open_zone,
		.close = close_zone,
		.launched = take_launched };
	struct sb_visitor metrics = {
		.self = &o, .kinds = 1u << SB_EVENT_SAMPLE | 1u << SB_EVENT_GAUGE, .event = take_event
	};
	int err;

	begin(&o);
	err = sb_nested_visit(run, &spans);
	end_batch(&o);
	summary->folded_zones = sb_run_pass(run)->folded_zones;
	if (!err)
		err = sb_run_visit(run, &metrics, 1);
	end_batch(&o);
	return err ? err : out->err;
}

const struct sb_exporter sb_otlp_exporter = { .name = "otlp",
	.file_name = "trace.otlp.jsonl",
	.summary = "OpenTelemetry's JSON: spans of the request's trace, and metrics",
	.write = write_otlp };
