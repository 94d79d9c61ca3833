/* The recording that a snapshot becomes: what each device had allocated over time, its peak, and which lines
 * of the program held what then and at last. */
#include "exchange/snapshot.h"

#include "base/buf.h"
#include "base/filename.h"
#include "format/builder.h"
#include "format/run_keys.h"

#include <stdio.h>
#include <string.h>

struct writing {
	const struct sb_snapshot *s;
	const struct sb_snapshot_stages *stages; /* NULL: not known */
	bool by_stage; /* its lines are stages */
	struct sb_builder *builder;
	int64_t start_us;
	struct sb_import_summary *summary;
};

static uint64_t since_start(const struct writing *w, int64_t time_us)
{
	return time_us > w->start_us ? (uint64_t)(time_us - w->start_us) * 1000 : 0;
}

static const struct sb_snapshot_frame *frame_of(const struct sb_snapshot *s, uint32_t number)
{
	return &((const struct sb_snapshot_frame *)s->frames.items)[number];
}

static const char *text_of(const struct sb_snapshot *s, uint32_t number)
{
	return sb_strings_text(&s->strings, number);
}

/* The highest reading of a bin, then its last. */
static void put_samples(struct writing *w, const struct sb_snapshot_device *d)
{
	static const char *const columns[] = { "allocated_bytes", "reserved_bytes" };
	uint32_t schema = sb_builder_schema(w->builder, "allocator", (int)d->device, columns, 2);
	int64_t before_us = d->first_us;

	for (uint32_t i = 0; i < d->bin_count; i++) {
		const struct sb_snapshot_bin *b = &d->bins[i];
		double row[2] = { (double)(d->base + b->most), (double)(d->reserved_base + b->reserved) };

		if (b->most > b->last) {
			sb_builder_sample(w->builder, schema,
				since_start(w, before_us + (b->time_us - before_us) / 2), row, 2);
			w->summary->samples++;
		}
		row[0] = (double)(d->base + b->last);
		sb_builder_sample(w->builder, schema, since_start(w, b->time_us), row, 2);
		w->summary->samples++;
		before_us = b->time_us;
	}
}

static void put_snapshots(struct writing *w, const struct sb_snapshot_device *d)
{
	if (d->entries) {
		sb_builder_snapshot(w->builder, since_start(w, d->first_us), "the history begins",
			(int)d->device, d->base, d->reserved_base, d->base);
		sb_builder_snapshot(w->builder, since_start(w, d->peak_us), "the peak of the history",
			(int)d->device, d->peak, d->reserved_most, d->peak);
		w->summary->snapshots += 2;
	}
	sb_builder_snapshot(w->builder, since_start(w, d->last_us) + 1000, "the snapshot", (int)d->device,
		d->end, d->reserved_end, d->peak > d->end ? d->peak : d->end);
	w->summary->snapshots++;
}

/* "model.py:12 forward < pipeline.py:80 __call__" */
static void put_stack(const struct sb_snapshot *s, uint32_t number, struct sb_buf *out)
{
	const struct sb_snapshot_stack *stack = &((const struct sb_snapshot_stack *)s->stacks.items)[number];

	sb_buf_clear(out);
	for (uint32_t i = 0; i < stack->count; i++) {
		const struct sb_snapshot_frame *f = frame_of(s, stack->frames[i]);

		sb_buf_printf(out, "%s%.80s:%u %.60s", i ? " < " : "", sb_filename_of(text_of(s, f->file)),
			f->line, text_of(s, f->name));
	}
	sb_buf_putc(out, 0);
}

struct attrs {
	struct strobe_attr all[16];
	size_t count;
};

static void add_int(struct attrs *a, const char *key, int64_t value)
{
	a->all[a->count++] = (struct strobe_attr){ key, STROBE_TYPE_INT, { .i = value } };
}

static void add_text(struct attrs *a, const char *key, const char *value)
{
	if (value && *value)
		a->all[a->count++] = (struct strobe_attr){ key, STROBE_TYPE_STRING, { .s = value } };
}

static void add_place(
	struct attrs *a, const struct sb_snapshot *s, uint32_t frame, uint32_t stack, struct sb_buf *buf)
{
	const struct sb_snapshot_frame *f = frame_of(s, frame);

	add_text(a, "function", text_of(s, f->name));
	add_text(a, "file", text_of(s, f->file));
	if (f->line)
		add_int(a, "line", f->line);
	put_stack(s, stack, buf);
	add_text(a, "stack", buf->data);
}

static void put_held(struct writing *w, const struct sb_snapshot_device *d, struct sb_buf *buf)
{
	const struct sb_snapshot_held *all = d->held.items;

	for (size_t i = 0; i < d->held.count; i++) {
		struct attrs a = { .count = 0 };

		add_int(&a, "device", d->device);
		if (w->by_stage)
			add_int(&a, "by_stage", 1);
		add_int(&a, "peak_bytes", all[i].peak > 0 ? all[i].peak : 0);
		add_int(&a, "peak_count", all[i].peak_count > 0 ? all[i].peak_count : 0);
		add_int(&a, "end_bytes", all[i].end > 0 ? all[i].end : 0);
		add_int(&a, "end_count", all[i].end_count > 0 ? all[i].end_count : 0);
		if (all[i].by_size)
			add_int(&a, "by_size", 1);
		if (all[i].peak_us > 0)
			add_int(&a, "allocated_ns", (int64_t)since_start(w, all[i].peak_us));
		if (w->by_stage)
			add_text(&a, "function", text_of(w->s, frame_of(w->s, all[i].frame)->name));
		else
			add_place(&a, w->s, all[i].frame, all[i].stack, buf);
		if (!w->by_stage && w->stages)
			add_text(&a, "stage", sb_snapshot_stages_name(w->stages, all[i].peak_us));
		sb_builder_event(
			w->builder, since_start(w, d->peak_us), SB_EVENT_MEMORY_HELD, 0, a.all, a.count);
	}
}

/* What the largest lines held, over time; the rest of what was allocated is in "all". */
static void put_moments(struct writing *w, const struct sb_snapshot_device *d)
{
	static const char *const keys[SB_SNAPSHOT_LAYERS] = { "line0", "line1", "line2", "line3", "line4",
		"line5", "line6", "line7", "line8", "line9" };
	const struct sb_snapshot_moment *all = d->moments.items;

	for (size_t i = 0; i < d->moments.count; i++) {
		struct attrs a = { .count = 0 };

		add_int(&a, "device", d->device);
		if (w->by_stage)
			add_int(&a, "by_stage", 1);
		add_int(&a, "all", all[i].all);
		for (size_t k = 0; k < SB_SNAPSHOT_LAYERS && k < d->held.count; k++)
			add_int(&a, keys[k], all[i].held[k]);
		sb_builder_event(w->builder, since_start(w, all[i].time_us), SB_EVENT_MEMORY_MOMENT, 0, a.all,
			a.count);
	}
}

static void put_segments(struct writing *w, const struct sb_snapshot_device *d, struct sb_buf *buf)
{
	const struct sb_snapshot_segment *all = w->s->segments.items;

	for (size_t i = 0; i < w->s->segments.count; i++) {
		struct attrs a = { .count = 0 };

		if (all[i].device != d->device)
			continue;
		sb_buf_clear(buf);
		for (size_t k = 0; k < all[i].part_count; k++)
			sb_buf_printf(buf, "%s%lld:%.0f", k ? " " : "", (long long)all[i].parts[k].bytes,
				1000 * (double)all[i].parts[k].used / (double)all[i].parts[k].bytes);
		sb_buf_putc(buf, 0);
		add_int(&a, "device", d->device);
		add_int(&a, "bytes", all[i].bytes);
		add_int(&a, "free_bytes", all[i].free_bytes);
		add_int(&a, "free_count", all[i].free_count);
		add_int(&a, "largest_free_bytes", all[i].largest_free);
		add_text(&a, "parts", buf->data);
		sb_builder_event(w->builder, since_start(w, d->last_us) + 1000, SB_EVENT_MEMORY_SEGMENT, 0,
			a.all, a.count);
	}
}

static uint32_t frame_of_stack(const struct sb_snapshot *s, uint32_t stack)
{
	uint32_t line = ((const struct sb_snapshot_stack *)s->stacks.items)[stack].line;

	return ((const struct sb_snapshot_line *)s->lines.items)[line].frame;
}

static void put_failures(struct writing *w, struct sb_buf *buf)
{
	const struct sb_snapshot_failure *all = w->s->failures.items;

	for (size_t i = 0; i < w->s->failures.count; i++) {
		struct attrs a = { .count = 0 };

		add_int(&a, "requested_bytes", all[i].size);
		if (all[i].free_bytes >= 0)
			add_int(&a, "free_bytes", all[i].free_bytes);
		add_int(&a, "allocated_bytes", all[i].allocated);
		add_int(&a, "device", all[i].device);
		add_place(&a, w->s, frame_of_stack(w->s, all[i].stack), all[i].stack, buf);
		sb_builder_event(
			w->builder, since_start(w, all[i].time_us), "out_of_memory", 0, a.all, a.count);
		w->summary->marks++;
	}
}

static void put_notes(struct writing *w, uint64_t entries)
{
	const struct sb_snapshot *s = w->s;
	char *note = w->summary->note;
	size_t size = sizeof w->summary->note;

	if (!entries)
		snprintf(note, size, "no history: it was not switched on; what is allocated is listed");
	else if (s->untracked_count)
		snprintf(note, size, "%llu allocations beyond the first million at once are left out",
			(unsigned long long)s->untracked_count);
	if (*note)
		sb_builder_meta_string(w->builder, SB_META_RUN, SB_RUN_IMPORT_NOTE, note);
	sb_builder_meta_string(w->builder, SB_META_MISSING, "stages",
		"a memory snapshot knows allocations and stacks, no times of stages|record with 'strobe run "
		"--memory-history'");
}

int sb_snapshot_write(struct sb_snapshot *s, struct sb_snapshot *by_stage,
	const struct sb_snapshot_stages *stages, const char *path, const char *strobe_path,
	struct sb_import_summary *out_summary)
{
	const struct sb_snapshot_device *devices = s->devices.items;
	struct sb_builder_options o = SB_BUILDER_DEFAULTS;
	struct writing w = { .s = s, .stages = stages, .summary = out_summary };
	struct sb_buf buf = { 0 };
	int64_t end_us = 0;
	uint64_t entries = 0;
	bool dated;
	int err;

	for (size_t i = 0; i < s->devices.count; i++) {
		if (devices[i].entries && (!entries || devices[i].first_us < w.start_us))
			w.start_us = devices[i].first_us;
		end_us = devices[i].last_us > end_us ? devices[i].last_us : end_us;
		entries += devices[i].entries;
	}
	o.name = sb_filename_of(path);
	o.host = "imported";
	/* Times of the system's clock, in microseconds; before 2001 they are another clock's. */
	dated = w.start_us > 1000000000000000 && w.start_us < 9000000000000000;
	o.start_real_ns = dated ? (uint64_t)w.start_us * 1000
				: sb_import_start_real_ns(path, (end_us - w.start_us) * 1000);
	err = sb_builder_open(strobe_path, &o, &w.builder);
	if (err)
		return err;
	sb_builder_meta_string(w.builder, SB_META_RUN, SB_RUN_IMPORTED_FROM, path);
	if (!dated)
		sb_import_note_file_date(w.builder);
	for (size_t i = 0; i < s->devices.count; i++) {
		put_samples(&w, &devices[i]);
		put_snapshots(&w, &devices[i]);
		put_held(&w, &devices[i], &buf);
		put_moments(&w, &devices[i]);
		put_segments(&w, &devices[i], &buf);
	}
	devices = by_stage ? by_stage->devices.items : NULL;
	w.by_stage = true;
	w.s = by_stage;
	for (size_t i = 0; by_stage && i < by_stage->devices.count; i++) {
		put_held(&w, &devices[i], &buf);
		put_moments(&w, &devices[i]);
	}
	w.s = s;
	put_failures(&w, &buf);
	put_notes(&w, entries);
	sb_buf_done(&buf);
	return sb_builder_close(w.builder, since_start(&w, end_us) + 2000);
}
