/* Turns the gathered events into a recording: zones nested thread by thread, then GPU
 * records, counters, marks and memory. */
#include "exchange/import.h"
#include "exchange/trace_store.h"
#include "format/run_keys.h"

#include "base/buf.h"
#include "base/error.h"
#include "base/filename.h"
#include "format/builder.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH_MAX 4096u
#define FOREIGN_TID 0x80000000u /* for threads without a usable number of their own */
#define DEVICES_MAX 16

struct writing {
	struct sb_trace *trace;
	struct sb_builder *builder;
	uint32_t *ids; /* trace name -> builder name */
	uint32_t memory_schema[DEVICES_MAX + 1];
	uint32_t main_thread;
	uint64_t span_id;
	bool file_date; /* the trace has no date */
	int err;
};

static uint64_t since_start(const struct writing *w, int64_t ns)
{
	return (uint64_t)(ns - w->trace->first_ns);
}

static const char *name_text(const struct writing *w, uint32_t name)
{
	return sb_strings_text(&w->trace->names, name);
}

static uint32_t name_id(struct writing *w, uint32_t name)
{
	if (!w->ids[name])
		w->ids[name] = sb_builder_name(w->builder, name_text(w, name), NULL);
	return w->ids[name];
}

/* ---- threads ---- */

static struct sb_stream_writer *open_thread(struct writing *w, uint32_t number)
{
	const struct sb_trace_thread *thread = &w->trace->threads[number];
	char name[600];

	sb_trace_thread_name(w->trace, w->main_thread, thread, name, sizeof name);
	return sb_builder_thread(w->builder, thread->tid, *name ? name : NULL);
}

/* ---- zones ---- */

struct open_zone {
	int64_t end_ns;
	uint32_t name;
};

struct nesting {
	struct sb_stream_writer *writer;
	struct open_zone open[DEPTH_MAX];
	size_t depth;
};

static size_t read_attrs(struct writing *w, uint64_t blob, struct sb_trace_attr *out_attrs)
{
	size_t size = blob & 0xffff;
	const void *bytes = size ? sb_blobs_get(w->trace->blobs, blob >> 16, size) : NULL;

	if (size && !bytes)
		w->err = STROBE_EIO;
	return bytes ? sb_trace_unpack_attrs(bytes, size, out_attrs) : 0;
}

/* For the calls that want NUL-terminated strings. */
static size_t public_attrs(
	struct writing *w, uint64_t blob, struct strobe_attr *out_attrs, struct sb_buf *text)
{
	struct sb_trace_attr attrs[SB_TRACE_ATTRS_MAX];
	size_t count = read_attrs(w, blob, attrs);

	sb_buf_clear(text);
	if (count && !sb_buf_reserve(text, SB_BLOB_MAX + SB_TRACE_ATTRS_MAX))
		return 0;
	for (size_t i = 0; i < count; i++) {
		out_attrs[i] = (struct strobe_attr){ .key = name_text(w, attrs[i].key),
			.type = attrs[i].type };
		if (attrs[i].type == STROBE_TYPE_STRING) {
			out_attrs[i].value.s = text->data + text->size;
			sb_buf_add(text, attrs[i].s, attrs[i].size);
			text->size++; /* keep the NUL */
		} else if (attrs[i].type == STROBE_TYPE_FLOAT) {
			out_attrs[i].value.f = attrs[i].f;
		} else {
			out_attrs[i].value.i = attrs[i].i;
		}
	}
	return count;
}

static void put_attrs(struct writing *w, struct sb_stream_writer *writer, uint64_t blob, struct sb_buf *text)
{
	struct strobe_attr attrs[SB_TRACE_ATTRS_MAX];
	size_t count = public_attrs(w, blob, attrs, text);

	for (size_t i = 0; i < count; i++) {
		uint32_t key = sb_builder_name(w->builder, attrs[i].key, NULL);

		if (attrs[i].type == STROBE_TYPE_STRING)
			sb_builder_attr_string(writer, key, attrs[i].value.s);
		else if (attrs[i].type == STROBE_TYPE_FLOAT)
			sb_builder_attr_float(writer, key, attrs[i].value.f);
		else
			sb_builder_attr(writer, key, attrs[i].value.i);
	}
}

static void end_zones(struct writing *w, struct nesting *n, int64_t until_ns)
{
	while (n->depth && n->open[n->depth - 1].end_ns <= until_ns) {
		const struct open_zone *z = &n->open[--n->depth];

		sb_builder_end(n->writer, since_start(w, z->end_ns), z->name);
	}
}

static void put_span(struct writing *w, struct nesting *n, const struct sb_trace_zone_record *r,
	int64_t start_ns, int64_t duration_ns, struct sb_buf *text)
{
	struct strobe_attr attrs[SB_TRACE_ATTRS_MAX + 1];
	size_t count = public_attrs(w, r->blob, attrs, text);

	if (r->role)
		attrs[count++] = (struct strobe_attr){
			.key = "strobe.role", .type = STROBE_TYPE_INT, .value.i = r->role
		};
	sb_builder_span(n->writer, name_id(w, r->name), ++w->span_id, since_start(w, start_ns),
		(uint64_t)duration_ns, 0, attrs, count);
}

static void put_zone(
	struct writing *w, struct nesting *n, const struct sb_trace_zone_record *r, struct sb_buf *text)
{
	int64_t start_ns = sb_trace_key_time(r->key[1]);
	int64_t duration_ns = (int64_t)~r->key[2];
	int64_t end_ns = start_ns + duration_ns;

	end_zones(w, n, start_ns);
	if (n->depth && end_ns > n->open[n->depth - 1].end_ns) {
		/* Whole microseconds: both ends were rounded, the child's up and the parent's down. */
		if (!w->trace->fractional && end_ns - n->open[n->depth - 1].end_ns <= 1000)
			end_ns = n->open[n->depth - 1].end_ns;
	}
	if (r->kind == SB_TRACE_SPAN || n->depth == DEPTH_MAX ||
		(n->depth && end_ns > n->open[n->depth - 1].end_ns)) {
		w->trace->counts.overlapping += r->kind != SB_TRACE_SPAN;
		put_span(w, n, r, start_ns, duration_ns, text);
		return;
	}
	n->open[n->depth++] = (struct open_zone){ end_ns, name_id(w, r->name) };
	sb_builder_begin(n->writer, since_start(w, start_ns), w->ids[r->name]);
	if (r->role)
		sb_builder_role(n->writer, r->role);
	if (r->blob)
		put_attrs(w, n->writer, r->blob, text);
}

static int write_zones(struct writing *w)
{
	struct sb_trace *t = w->trace;
	struct nesting *n = calloc(1, sizeof *n);
	const struct sb_trace_zone_record *r;
	struct sb_buf text = { 0 };
	uint64_t thread = UINT64_MAX;
	int err = n ? sb_extsort_finish(t->zones) : sb_fail(STROBE_ENOMEM, "no memory to import");

	while (!err && !w->err && (r = sb_extsort_next(t->zones))) {
		if (r->key[0] != thread) {
			end_zones(w, n, INT64_MAX);
			if (n->writer)
				sb_builder_thread_done(n->writer);
			thread = r->key[0];
			n->writer = open_thread(w, (uint32_t)thread);
			if (!n->writer)
				err = sb_fail(STROBE_ENOMEM, "no memory to import");
		}
		if (!err)
			put_zone(w, n, r, &text);
	}
	if (!err && n->writer)
		end_zones(w, n, INT64_MAX);
	if (!err)
		err = w->err ? w->err : sb_extsort_error(t->zones);
	sb_buf_done(&text);
	free(n);
	sb_extsort_free(t->zones);
	t->zones = NULL;
	return err;
}

/* ---- GPU ---- */

static int write_gpu(struct writing *w)
{
	const struct sb_trace_gpu_record *r;
	struct sb_trace *t = w->trace;
	int err = sb_trace_join_launches(t);

	if (!err)
		err = sb_extsort_finish(t->gpu);
	while (!err && (r = sb_extsort_next(t->gpu))) {
		bool known = r->launch_thread != UINT32_MAX;
		struct sb_builder_gpu g = { .name = name_id(w, r->name),
			.kind = (enum sb_gpu_kind)r->kind,
			.device = r->device,
			.flags = r->flags,
			.start_ns = since_start(w, r->start_ns),
			.duration_ns = (uint64_t)r->duration_ns,
			.stream = r->stream,
			.bytes = r->bytes,
			.shape = sb_gpu_shape_unpack(r->shape),
			.launch_ns = known ? since_start(w, r->launch_ns) : UINT64_MAX,
			.launch_tid = known ? t->threads[r->launch_thread].tid : 0 };

		sb_builder_gpu(w->builder, &g);
	}
	return err ? err : sb_extsort_error(t->gpu);
}

/* ---- counters, marks, memory ---- */

static void put_memory(struct writing *w, const struct sb_trace_moment_record *r, uint64_t t_ns)
{
	static const char *const columns[] = { "allocated_bytes", "reserved_bytes" };
	double values[] = { (double)(int64_t)r->value[0], (double)(int64_t)r->value[1] };
	uint32_t *schema = &w->memory_schema[r->device + 1];

	if (!*schema)
		*schema = sb_builder_schema(w->builder, "allocator", r->device, columns, 2);
	sb_builder_sample(w->builder, *schema, t_ns, values, 2);
}

static int write_moments(struct writing *w)
{
	const struct sb_trace_moment_record *r;
	struct sb_trace *t = w->trace;
	struct sb_buf text = { 0 };
	int err = sb_extsort_finish(t->moments);

	while (!err && !w->err && (r = sb_extsort_next(t->moments))) {
		uint64_t t_ns = since_start(w, sb_trace_key_time(r->key[0]));
		struct strobe_attr attrs[SB_TRACE_ATTRS_MAX];
		double value;

		switch (r->key[2]) {
		case SB_TRACE_COUNTER:
			memcpy(&value, r->value, sizeof value);
			sb_builder_gauge(w->builder, t_ns, name_text(w, r->name), value);
			break;
		case SB_TRACE_MARK:
			sb_builder_event(w->builder, t_ns, name_text(w, r->name), 0, attrs,
				public_attrs(w, r->blob, attrs, &text));
			break;
		default: put_memory(w, r, t_ns); break;
		}
	}
	sb_buf_done(&text);
	if (!err)
		err = w->err ? w->err : sb_extsort_error(t->moments);
	return err;
}

/* ---- the whole ---- */

static void write_meta(struct writing *w, const char *origin)
{
	const struct sb_trace *t = w->trace;
	char key[32];

	sb_builder_meta_string(w->builder, SB_META_RUN, SB_RUN_IMPORTED_FROM, origin);
	if (w->file_date)
		sb_import_note_file_date(w->builder);
	if (t->backend)
		sb_builder_meta_string(w->builder, SB_META_RUN, SB_RUN_BACKEND, name_text(w, t->backend));
	for (int i = 0; i < DEVICES_MAX; i++) {
		if (!t->gpu_name[i])
			continue;
		snprintf(key, sizeof key, "gpu%d", i);
		sb_builder_meta_string(w->builder, SB_META_SYSTEM, key, name_text(w, t->gpu_name[i]));
	}
	sb_builder_meta_string(w->builder, SB_META_MISSING, "monitors",
		"an imported trace has no samples of GPU, CPU, memory and disk|record with 'strobe run -- "
		"COMMAND'");
}

static int open_builder(struct writing *w, const char *path, const char *origin)
{
	struct sb_trace *t = w->trace;
	struct sb_builder_options o = SB_BUILDER_DEFAULTS;
	int64_t pid = 0;

	w->main_thread = sb_trace_pick_main_thread(t);
	sb_trace_give_tids(t, w->main_thread);
	sb_trace_key_number(t->threads[w->main_thread].pid_key, &pid);
	o.name = sb_filename_of(origin);
	o.host = "imported";
	o.pid = pid > 0 && pid < (int64_t)FOREIGN_TID ? (uint32_t)pid : 1;
	o.main_tid = t->threads[w->main_thread].tid;
	o.rank = t->rank;
	o.world_size = t->world_size;
	if (t->base_ns > 0 && t->first_ns > -t->base_ns && t->first_ns < INT64_MAX - t->base_ns)
		o.start_real_ns = (uint64_t)(t->base_ns + t->first_ns);
	else if ((w->file_date = t->last_ns > t->first_ns && t->last_ns - t->first_ns > 0))
		o.start_real_ns = sb_import_start_real_ns(origin, t->last_ns - t->first_ns);
	return sb_builder_open(path, &o, &w->builder);
}

static void note_losses(struct sb_trace *t)
{
	const struct sb_trace_counts *c = &t->counts;
	size_t used = 0;
	const struct {
		uint64_t count;
		const char *one, *many;
	} losses[] = {
		{ c->overlapping, "zone crosses another's end and is kept as a span",
			"zones cross another's end and are kept as spans" },
		{ c->unmatched, "end without a begin left out", "ends without a begin left out" },
		{ c->unended, "begin without an end closed at the trace's last time",
			"begins without an end closed at the trace's last time" },
		{ c->backward, "duration below zero taken as none", "durations below zero taken as none" },
		{ c->replaced_bytes, "byte of a name that is no text replaced",
			"bytes of names that are no text replaced" },
		{ c->orphan_gpu, "GPU record without a launch", "GPU records without a launch" },
	};

	for (size_t i = 0; i < sizeof losses / sizeof losses[0]; i++)
		if (losses[i].count && used < sizeof t->note)
			used += (size_t)snprintf(t->note + used, sizeof t->note - used, "%s%llu %s",
				used ? "; " : "", (unsigned long long)losses[i].count,
				losses[i].count == 1 ? losses[i].one : losses[i].many);
}

static int check_something(const struct sb_trace *t, const char *origin)
{
	const struct sb_trace_counts *c = &t->counts;

	if (c->zones || c->spans || c->gpu || c->counters || c->marks || c->memory)
		return 0;
	return sb_fail(STROBE_EFORMAT, "'%s' holds nothing that can be shown%s%s", origin,
		*t->note ? ": " : "", t->note);
}

/* Readers take what lies a year from a recording's start for damage. */
#define DAY_NS (86400.0 * 1e9)
#define DAYS_MOST 365

static int check_times(const struct sb_trace *t, const char *origin)
{
	double days = ((double)t->last_ns - (double)t->first_ns) / DAY_NS;

	if (t->first_ns == INT64_MAX)
		return sb_fail(STROBE_EFORMAT,
			"'%s' holds no events: nothing was recorded, or it is not a trace", origin);
	if (days > DAYS_MOST)
		return sb_fail(STROBE_EFORMAT,
			"'%s': its first and last event are %.0f days apart, more than one run lasts", origin,
			days);
	return 0;
}

int sb_trace_write(struct sb_trace *t, const char *path, const char *origin)
{
	struct writing w = { .trace = t };
	int err = sb_trace_match_pairs(t);

	if (!err)
		err = check_times(t, origin);
	if (!err && !t->thread_count && sb_trace_thread(t, 0, 0) == UINT32_MAX)
		err = STROBE_ENOMEM;
	if (err)
		return err;
	w.ids = calloc(t->names.count + 1, sizeof *w.ids);
	if (!w.ids)
		return sb_fail(STROBE_ENOMEM, "no memory to import");
	err = open_builder(&w, path, origin);
	if (!err) {
		write_meta(&w, origin);
		err = write_zones(&w);
	}
	if (!err)
		err = write_gpu(&w);
	if (!err)
		err = write_moments(&w);
	if (!err) {
		note_losses(t);
		err = check_something(t, origin);
	}
	if (!err && *t->note)
		sb_builder_meta_string(w.builder, SB_META_RUN, SB_RUN_IMPORT_NOTE, t->note);
	if (err)
		sb_builder_discard(w.builder);
	else
		err = sb_builder_close(w.builder, since_start(&w, t->last_ns));
	free(w.ids);
	return err;
}
