/* Writes the stages of a text as zones, on a made-up clock. Children follow one another from
 * their parent's begin, so that what the labels leave open shows as the parent's
 * own time; loops lie beside the stages, as they may hold them. */
#include "exchange/textlog_clock.h"

#include "base/error.h"
#include "base/filename.h"
#include "exchange/import.h"
#include "format/builder.h"
#include "format/run_keys.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define NONE SB_TEXTLOG_NONE
#define SAMPLE_APART_NS 1000000000 /* where nothing says how long anything took */

static int64_t put_node(struct sb_textlog_clock *c, uint32_t node, int64_t at_ns)
{
	struct sb_textlog_node *n = &c->log->nodes[node];
	int64_t end_ns = at_ns + sb_textlog_duration(n);
	int64_t child_ns = at_ns;
	uint32_t name;

	n->end_ns = at_ns;
	if (!sb_textlog_begin_stage(c, n, at_ns, &name))
		return at_ns;
	for (uint32_t child = n->first_child; child != NONE; child = c->log->nodes[child].next)
		child_ns = put_node(c, child, child_ns);
	sb_builder_end(c->writer, (uint64_t)end_ns, name);
	n->end_ns = end_ns;
	return end_ns;
}

/* ---- beside the stages ---- */

/* The run's length with its loops: beside the stages, or after them. */
static int64_t with_loops(const struct sb_textlog *log)
{
	const struct sb_textlog_loop *loops = log->loops.items;
	int64_t longest_ns = 0, whole_ns = log->whole_ns;

	for (size_t i = 0; i < log->loops.count; i++) {
		if (loops[i].aside)
			continue;
		if (loops[i].apart)
			whole_ns += sb_textlog_loop_ns(&loops[i]);
		else if (sb_textlog_loop_ns(&loops[i]) > longest_ns)
			longest_ns = sb_textlog_loop_ns(&loops[i]);
	}
	return whole_ns > longest_ns ? whole_ns : longest_ns;
}

static int put_loops(struct sb_textlog_clock *c, int64_t at_ns)
{
	const struct sb_textlog_loop *loops = c->log->loops.items;

	for (size_t i = 0; i < c->log->loops.count; i++) {
		struct sb_textlog_clock beside = *c;

		if (loops[i].aside) {
			sb_textlog_put_aside(c, &loops[i]);
			continue;
		}
		uint32_t name = sb_builder_name(c->builder, loops[i].name, NULL);

		int64_t begin_ns = loops[i].apart ? at_ns : 0;

		/* alone in the text they are the run */
		if (!loops[i].apart && (at_ns || i))
			beside.writer = sb_builder_thread(c->builder, 2000 + (uint32_t)i, loops[i].name);
		if (!beside.writer)
			return sb_fail(STROBE_ENOMEM, "no memory to import");
		sb_builder_begin(beside.writer, (uint64_t)begin_ns, name);
		sb_builder_role(beside.writer, STROBE_ROLE_ITERATION);
		sb_textlog_put_sums(&beside, loops[i].count, loops[i].min_s, loops[i].max_s,
			loops[i].median_s, loops[i].std_s);
		sb_builder_end(beside.writer, (uint64_t)(begin_ns + sb_textlog_loop_ns(&loops[i])), name);
		if (loops[i].apart)
			at_ns += sb_textlog_loop_ns(&loops[i]);
	}
	return 0;
}

/* A reading printed between two stage lines was taken while the second ran: a stage
 * prints its line as it ends. One after all of them, or before a table of sums, is at the
 * end; without stages they are spread evenly over the run. */
static uint64_t time_at(const struct sb_textlog_clock *c, struct sb_textlog_place p)
{
	int64_t from_ns, to_ns;

	if (!c->log->count)
		return p.count > 1 ? (uint64_t)((double)c->whole_ns * (double)p.index / (double)(p.count - 1))
				   : 0;
	if (p.after >= c->log->count || c->log->nodes[p.after].sums)
		return (uint64_t)c->whole_ns + 1; /* in no stage */
	from_ns = p.after ? c->log->nodes[p.after - 1].end_ns : 0;
	to_ns = c->log->nodes[p.after].end_ns;
	if (to_ns <= from_ns)
		return (uint64_t)from_ns;
	return (uint64_t)from_ns +
	       (uint64_t)((double)(to_ns - from_ns) * (double)(p.index + 1) / (double)(p.count + 1));
}

/* The places of all readings of a kind, which lie stride bytes apart. */
static void number_places(void *first, size_t count, size_t stride)
{
	struct sb_textlog_place *before = NULL;

	for (size_t i = 0; i < count; i++) {
		struct sb_textlog_place *p = (void *)((char *)first + i * stride);

		p->index = before && before->after == p->after ? before->index + 1 : 0;
		before = p;
	}
	for (size_t i = count; i-- > 0;) {
		struct sb_textlog_place *p = (void *)((char *)first + i * stride);
		struct sb_textlog_place *next = i + 1 < count ? (void *)((char *)p + stride) : NULL;

		p->count = next && next->after == p->after ? next->count : p->index + 1;
	}
}

static void number_readings(struct sb_textlog *log)
{
	struct sb_textlog_memory *memory = log->memory.items;
	struct sb_textlog_sample *samples = log->samples.items;

	if (log->memory.count)
		number_places(&memory->place, log->memory.count, sizeof *memory);
	if (log->samples.count)
		number_places(&samples->place, log->samples.count, sizeof *samples);
}

static uint64_t memory_time(const struct sb_textlog_clock *c, size_t i)
{
	const struct sb_textlog_memory *all = c->log->memory.items;
	size_t count = c->log->memory.count;
	double first_s = all[0].time_s, last_s = all[count - 1].time_s;

	if (isnan(first_s) || !(last_s > first_s) || !(all[i].time_s >= first_s) || (last_s - first_s) > 1e8)
		return time_at(c, all[i].place);
	return (uint64_t)((all[i].time_s - first_s) * 1e9);
}

static void put_memory(struct sb_textlog_clock *c)
{
	const struct sb_textlog_memory *all = c->log->memory.items;

	for (size_t i = 0; i < c->log->memory.count; i++)
		sb_builder_snapshot(c->builder, memory_time(c, i), all[i].label, all[i].device,
			sb_textlog_bytes(all[i].allocated_mb), sb_textlog_bytes(all[i].reserved_mb),
			sb_textlog_bytes(all[i].peak_mb));
}

/* device -1: of the machine, which every sample is about */
static bool any(const struct sb_textlog *log, int device, size_t offset)
{
	const struct sb_textlog_sample *all = log->samples.items;

	for (size_t i = 0; i < log->samples.count; i++)
		if ((device < 0 || all[i].device == device) &&
			!isnan(*(const double *)((const char *)&all[i] + offset)))
			return true;
	return false;
}

#define SAMPLE_COLUMNS_MAX 5

/* One series: where its values lie in a sample, and what they are called. */
static const struct series {
	const char *source;
	bool of_gpu;
	struct {
		const char *name;
		size_t offset;
	} columns[SAMPLE_COLUMNS_MAX];
} series[] = {
	{ "gpu", true,
		{ { "memory_used_mb", offsetof(struct sb_textlog_sample, gpu_used_mb) },
			{ "memory_total_mb", offsetof(struct sb_textlog_sample, gpu_total_mb) },
			{ "utilization_percent", offsetof(struct sb_textlog_sample, gpu_percent) },
			{ "temperature_c", offsetof(struct sb_textlog_sample, gpu_temperature_c) },
			{ "power_w", offsetof(struct sb_textlog_sample, gpu_power_w) } } },
	{ "cpu", false, { { "usage_percent", offsetof(struct sb_textlog_sample, cpu_percent) } } },
	{ "memory", false,
		{ { "total_mb", offsetof(struct sb_textlog_sample, ram_total_mb) },
			{ "used_mb", offsetof(struct sb_textlog_sample, ram_used_mb) } } },
};

static void put_series(struct sb_textlog_clock *c, const struct series *s, int device)
{
	const struct sb_textlog_sample *all = c->log->samples.items;
	const char *names[SAMPLE_COLUMNS_MAX];
	size_t offsets[SAMPLE_COLUMNS_MAX];
	uint32_t count = 0, schema;

	for (int i = 0; i < SAMPLE_COLUMNS_MAX && s->columns[i].name; i++)
		if (any(c->log, device, s->columns[i].offset)) {
			names[count] = s->columns[i].name;
			offsets[count++] = s->columns[i].offset;
		}
	if (!count)
		return;
	schema = sb_builder_schema(c->builder, s->source, device, names, count);
	for (size_t i = 0; i < c->log->samples.count; i++) {
		double values[SAMPLE_COLUMNS_MAX];

		if (device >= 0 && all[i].device != device)
			continue;
		for (uint32_t k = 0; k < count; k++)
			values[k] = *(const double *)((const char *)&all[i] + offsets[k]);
		sb_builder_sample(c->builder, schema, time_at(c, all[i].place), values, count);
	}
}

static void put_timed_series(struct sb_textlog_clock *c, const struct sb_textlog_series *s)
{
	const char *names[SB_TEXTLOG_COLUMNS_MAX];
	uint32_t schema;

	for (uint32_t i = 0; i < s->column_count; i++)
		names[i] = s->columns[i];
	schema = sb_builder_schema(c->builder, s->source, s->device, names, s->column_count);
	for (size_t i = 0; i < s->count; i++) {
		const double *row = s->values + i * (s->column_count + 1);

		uint64_t at_ns = row[0] >= 0 && row[0] < 1e9 ? (uint64_t)(row[0] * 1e9) : 0;

		if (c->log->sums_only && at_ns >= (uint64_t)c->whole_ns)
			at_ns = (uint64_t)c->whole_ns + 1; /* after the rows: in no stage */
		if (row[0] >= 0 && row[0] < 1e9)
			sb_builder_sample(c->builder, schema, at_ns, row + 1, s->column_count);
	}
}

static void put_speeds(struct sb_textlog_clock *c)
{
	const struct sb_textlog_speed *all = c->log->speeds.items;
	const struct sb_textlog_sample *samples = c->log->samples.items;

	for (size_t i = 0; i < c->log->speeds.count; i++) {
		const struct {
			const char *key;
			double value;
		} numbers[] = { { "fps", all[i].fps }, { "bps", all[i].bps },
			{ "steps_per_s", all[i].steps_per_s }, { "frames", all[i].frames },
			{ "blocks", all[i].blocks }, { "steps", all[i].steps } };
		struct strobe_attr attrs[sizeof numbers / sizeof numbers[0]];
		size_t count = 0;

		for (size_t k = 0; k < sizeof numbers / sizeof numbers[0]; k++)
			if (!isnan(numbers[k].value))
				attrs[count++] = (struct strobe_attr){ .key = numbers[k].key,
					.type = STROBE_TYPE_FLOAT,
					.value.f = numbers[k].value };
		if (count)
			sb_builder_event(c->builder, time_at(c, samples[all[i].sample].place), "speed", 0,
				attrs, count);
	}
}

/* A read rate as the counter a disk has: at the begin and at the end. */
static void put_disk(struct sb_textlog_clock *c)
{
	static const char *const columns[] = { "read_bytes" };
	const struct sb_textlog_sample *all = c->log->samples.items;
	double rate = NAN, values[1] = { 0 };
	uint32_t schema;

	for (size_t i = 0; i < c->log->samples.count; i++)
		if (!isnan(all[i].read_bytes_per_s))
			rate = all[i].read_bytes_per_s;
	if (isnan(rate) || c->whole_ns <= 0)
		return;
	schema = sb_builder_schema(c->builder, "disk", -1, columns, 1);
	sb_builder_sample(c->builder, schema, 0, values, 1);
	values[0] = rate * (double)c->whole_ns / 1e9;
	sb_builder_sample(c->builder, schema, (uint64_t)c->whole_ns, values, 1);
}

/* ---- the file ---- */

static bool rows_are_left_out(const struct sb_textlog *log)
{
	return log->own_times && log->count && log->nodes[log->count - 1].gap_ns > log->whole_ns / 100;
}

/* A report's own words about it come first. */
static void say_missing(struct sb_textlog_clock *c, const char *what, const char *why_how)
{
	const struct sb_textlog_missing *said = c->log->missing.items;

	for (size_t i = 0; i < c->log->missing.count; i++)
		if (!strcmp(said[i].what, what))
			return;
	sb_builder_meta_string(c->builder, SB_META_MISSING, what, why_how);
}

static void put_missing(struct sb_textlog_clock *c)
{
	const struct sb_textlog *log = c->log;
	const struct sb_textlog_missing *said = log->missing.items;

	for (size_t i = 0; i < log->missing.count; i++)
		sb_builder_meta_string(c->builder, SB_META_MISSING, said[i].what, said[i].why_how);
	if (!log->samples.count && !log->series.count)
		say_missing(c, "monitors",
			log->form_count ? "the text has none|record with 'strobe run -- COMMAND'"
					: "a stage log has times only|record with 'strobe run -- COMMAND'");
	if (log->sums_only)
		say_missing(c, "order of the operations",
			"a summary has sums: which operation is inside which, and each single call, it does "
			"not "
			"say; they are laid end to end|record with 'strobe run -- COMMAND'");
	if (rows_are_left_out(log))
		say_missing(c, "rows of the table",
			"its total is more than its rows|print all of them: table(row_limit=-1) of "
			"torch.profiler, print_stats() without a number");
	if (log->guessed_count)
		say_missing(c, "where steps and blocks ran",
			"the report has their sums: they stand in the stage whose own time holds them most "
			"closely|record with 'strobe run -- COMMAND'");
	if (log->samples.count && log->rank_count)
		say_missing(c, "values of single ranks",
			"the summary has minimum, maximum and average over its ranks|give their run folders "
			"to "
			"'strobe aggregate'");
	else if (log->samples.count)
		say_missing(c, "times of the samples",
			"the text has values without a clock: they stand where they were printed|record with "
			"'strobe run -- COMMAND'");
	if (log->memory.count && isnan(((const struct sb_textlog_memory *)log->memory.items)->time_s))
		say_missing(c, "times of the memory snapshots",
			"the text has them without a clock: they stand where they were printed|record with "
			"'strobe run -- COMMAND'");
}

/* A stage that does not fit after those before it ran beside them. */
static bool is_beside(const struct sb_textlog_clock *c, uint32_t node, int64_t at_ns)
{
	int64_t covered_ns = c->log->covered_ns ? c->log->covered_ns : c->whole_ns;

	return c->log->threads && at_ns > 0 &&
	       at_ns + sb_textlog_duration(&c->log->nodes[node]) > covered_ns + covered_ns / 200;
}

static int put_stages(struct sb_textlog_clock *c, int64_t *at_ns)
{
	const struct sb_textlog *log = c->log;

	for (uint32_t i = 0; i < log->count; i++) {
		struct sb_textlog_clock beside = *c;

		if (log->nodes[i].parent == NONE && is_beside(c, i, *at_ns)) {
			beside.writer = sb_builder_thread(c->builder, 1000 + i, "another thread");
			if (!beside.writer)
				return sb_fail(STROBE_ENOMEM, "no memory to import");
			put_node(&beside, i, 0);
		} else if (log->nodes[i].parent == NONE) {
			*at_ns = put_node(c, i, *at_ns);
		}
		*at_ns += log->nodes[i].gap_ns;
	}
	return 0;
}

static int put_everything(struct sb_textlog_clock *c)
{
	const struct sb_textlog *log = c->log;
	int64_t at_ns = 0;
	int err;

	if (log->frames)
		sb_builder_count(c->writer, SB_NAME_FRAMES, log->frames);
	err = put_stages(c, &at_ns);
	number_readings(c->log);
	if (!err)
		err = put_loops(c, at_ns);
	if (log->memory.count)
		put_memory(c);
	for (size_t i = 0; i < sizeof series / sizeof series[0]; i++)
		for (int device = series[i].of_gpu ? 0 : -1;
			device < (series[i].of_gpu ? SB_TEXTLOG_GPUS_MAX : 0); device++)
			put_series(c, &series[i], device);
	put_speeds(c);
	for (size_t i = 0; i < log->series.count; i++)
		put_timed_series(c, (const struct sb_textlog_series *)log->series.items + i);
	put_disk(c);
	sb_textlog_put_gpu(c);
	sb_textlog_put_facts(c);
	put_missing(c);
	return err;
}

static int64_t last_time_ns(const struct sb_textlog_series *s)
{
	double last_s = s->values[(s->count - 1) * (s->column_count + 1)];

	return last_s > 0 && last_s < 1e9 ? (int64_t)(last_s * 1e9) : 0;
}

/* How long the text says that the run is; 0: it says no time at all. */
static int64_t told_ns(const struct sb_textlog *log)
{
	const struct sb_textlog_memory *memory = log->memory.items;
	int64_t whole_ns = with_loops(log), span_ns = 0;

	if (log->no_times)
		return 0;
	for (size_t i = 0; i < log->series.count && !whole_ns; i++)
		whole_ns = last_time_ns((const struct sb_textlog_series *)log->series.items + i);
	if (log->memory.count > 1 && memory[log->memory.count - 1].time_s > memory[0].time_s)
		span_ns = (int64_t)(fmin(memory[log->memory.count - 1].time_s - memory[0].time_s, 1e8) * 1e9);
	for (size_t i = 0; i < log->cache_times.count; i++)
		span_ns = (int64_t)fmax((double)span_ns, ((const double *)log->cache_times.items)[i] * 1e9);
	return span_ns > whole_ns ? span_ns : whole_ns;
}

/* Where nothing has a time, a second for each reading. */
static int64_t whole_of(struct sb_textlog *log)
{
	int64_t told = told_ns(log), gpu_ns = sb_textlog_gpu_ns(log),
		whole_ns = told > gpu_ns ? told : gpu_ns;
	size_t readings = log->samples.count > log->memory.count ? log->samples.count : log->memory.count;

	for (size_t i = 0; i < log->series.count && !whole_ns; i++)
		whole_ns = last_time_ns((const struct sb_textlog_series *)log->series.items + i);
	if (!whole_ns && readings)
		whole_ns = (int64_t)(readings > 1 ? readings - 1 : 1) * SAMPLE_APART_NS;
	return whole_ns;
}

int sb_textlog_write(struct sb_textlog *log, const char *path, const char *strobe_path, const char *note)
{
	struct sb_textlog_clock c = { .log = log, .whole_ns = whole_of(log) };
	struct sb_builder_options o = SB_BUILDER_DEFAULTS;
	int err;

	o.name = *log->session ? log->session : strcmp(path, "-") ? sb_filename_of(path) : "stdin";
	o.host = "imported";
	o.chunk_bytes = SB_CHUNK_BYTES_SMALL;
	o.start_real_ns = log->start_real_ns ? log->start_real_ns : sb_import_start_real_ns(path, c.whole_ns);
	if (log->has_rank) {
		o.rank = log->rank;
		o.world_size = log->world_size;
	}
	err = sb_textlog_open(&c, strobe_path, &o);
	if (err)
		return err;
	sb_builder_meta_string(c.builder, SB_META_RUN, SB_RUN_IMPORTED_FROM, path);
	if (!log->start_real_ns)
		sb_import_note_file_date(c.builder);
	if (!told_ns(log))
		sb_builder_meta(c.builder, SB_META_RUN,
			&(struct strobe_attr){
				.key = SB_RUN_NO_TIMES, .type = STROBE_TYPE_INT, .value.i = 1 });
	if (log->digit_ns)
		sb_builder_meta(c.builder, SB_META_RUN,
			&(struct strobe_attr){ .key = SB_RUN_TIME_DIGIT_S,
				.type = STROBE_TYPE_FLOAT,
				.value.f = (double)log->digit_ns / 1e9 });
	if (*note)
		sb_builder_meta_string(c.builder, SB_META_RUN, SB_RUN_IMPORT_NOTE, note);
	err = put_everything(&c);
	if (err) {
		sb_builder_discard(c.builder);
		return err;
	}
	return sb_builder_close(c.builder, (uint64_t)c.whole_ns + (log->memory.count || log->samples.count));
}
