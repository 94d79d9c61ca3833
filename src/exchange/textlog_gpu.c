/* Kernels and copies that a table sums up, as if they had run one after the other. A table does not say
 * when each ran and what launched it. */
#include "exchange/textlog_clock.h"

#include <stdio.h>
#include <string.h>

#define RECORDS_MAX 300000 /* calls written one by one; the others make them longer */
#define SECONDS_MAX 1e8
#define STAGES_MAX 20000 /* that a name is looked up in */

typedef const struct sb_textlog_gpu *row;

static bool has_kernels(const struct sb_textlog *log)
{
	const struct sb_textlog_gpu *all = log->gpu.items;

	for (size_t i = 0; i < log->gpu.count; i++)
		if (all[i].device && !all[i].range)
			return true;
	return false;
}

/* A table that leaves the kernels out has the operators that launched them. */
static bool counts(row r, bool kernels)
{
	return kernels ? r->device && !r->range : !r->device;
}

static double rows_s(const struct sb_textlog *log, bool kernels)
{
	const struct sb_textlog_gpu *all = log->gpu.items;
	double sum_s = 0;

	for (size_t i = 0; i < log->gpu.count; i++)
		if (counts(&all[i], kernels))
			sum_s += all[i].total_s;
	return sum_s;
}

/* ---- ranges ---- */

static bool has_stage(const struct sb_textlog *log, const char *name)
{
	for (uint32_t i = 0; i < log->count && i < STAGES_MAX; i++)
		if (!strcmp(log->nodes[i].line->name, name))
			return true;
	return false;
}

static struct sb_textlog_gpu *longest_kernel(struct sb_textlog *log)
{
	struct sb_textlog_gpu *all = log->gpu.items, *longest = NULL;

	for (size_t i = 0; i < log->gpu.count; i++)
		if (counts(&all[i], true) && (!longest || all[i].total_s > longest->total_s))
			longest = &all[i];
	return longest;
}

/* A range of the program has a row for the CPU, and one of the same name for the GPU. Where the first was left out, the
 * second looks like a kernel, and lasts longer than those inside it: together they are more than the whole. */
static void find_ranges(struct sb_textlog *log)
{
	struct sb_textlog_gpu *all = log->gpu.items;

	for (size_t i = 0; i < log->gpu.count; i++)
		all[i].range |= all[i].device && has_stage(log, all[i].name);
	while (log->gpu_s > 0 && has_kernels(log) && rows_s(log, true) > log->gpu_s * 1.01)
		longest_kernel(log)->range = true;
}

int64_t sb_textlog_gpu_ns(struct sb_textlog *log)
{
	double sum_s;

	find_ranges(log);
	sum_s = log->gpu_s > 0 ? log->gpu_s : rows_s(log, has_kernels(log));
	return sum_s < SECONDS_MAX ? (int64_t)(sum_s * 1e9 + 0.5) : 0;
}

/* ---- rows ---- */

static enum sb_gpu_kind kind_of(const char *name)
{
	static const struct {
		const char *start;
		enum sb_gpu_kind kind;
	} kinds[] = { { "Memcpy HtoD", SB_GPU_COPY_H2D }, { "Memcpy DtoH", SB_GPU_COPY_D2H },
		{ "Memcpy DtoD", SB_GPU_COPY_D2D }, { "Memcpy PtoP", SB_GPU_COPY_D2D },
		{ "Memcpy", SB_GPU_COPY_OTHER }, { "Memset", SB_GPU_MEMSET } };

	for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
		if (!strncmp(name, kinds[i].start, strlen(kinds[i].start)))
			return kinds[i].kind;
	return SB_GPU_KERNEL;
}

static uint32_t flags_of(const char *name)
{
	return strstr(name, "Pageable") ? SB_GPU_PAGEABLE : strstr(name, "Pinned") ? SB_GPU_PINNED : 0;
}

/* Calls one after the other, evenly over the run: what it was longer than the GPU's work, the GPU was idle. Time and room
 * for records go on from row to row. */
struct laid {
	int64_t at_ns, room;
	double stretch; /* of the times at which they begin */
};

static int64_t one_call_ns(int64_t calls, double total_s)
{
	return (int64_t)(total_s * 1e9 / (double)(calls > 0 ? calls : 1));
}

/* So that the last call ends with the run. */
static double stretch_of(int64_t run_ns, double gpu_s, int64_t last_ns)
{
	double before_ns = gpu_s * 1e9 - (double)last_ns, room_ns = (double)(run_ns - last_ns);

	return before_ns > 0 && room_ns > before_ns ? room_ns / before_ns : 1;
}

static void put_calls(
	struct sb_textlog_clock *c, struct laid *laid, const char *name, int64_t calls, double total_s)
{
	int64_t whole_ns = (int64_t)(total_s * 1e9 + 0.5), count = calls < laid->room ? calls : laid->room;
	struct sb_builder_gpu g = { .name = sb_builder_name(c->builder, name, NULL),
		.kind = kind_of(name),
		.launch_ns = UINT64_MAX };

	count = count > 0 ? count : 1;
	if (g.kind != SB_GPU_KERNEL)
		g.flags = flags_of(name);
	for (int64_t i = 0; i < count; i++) { /* whole nanoseconds that add up to the row's */
		int64_t from_ns = (int64_t)((double)whole_ns * (double)i / (double)count);
		int64_t to_ns = (int64_t)((double)whole_ns * (double)(i + 1) / (double)count);

		g.start_ns = (uint64_t)((double)(laid->at_ns + from_ns) * laid->stretch);
		g.duration_ns = (uint64_t)(to_ns - from_ns);
		sb_builder_gpu(c->builder, &g);
	}
	laid->at_ns += whole_ns;
	laid->room -= count;
}

/* The last of them, which ends with the run. */
static int64_t last_ns(const struct sb_textlog *log, bool kernels, double rest_s)
{
	const struct sb_textlog_gpu *all = log->gpu.items;
	row last = NULL;

	for (size_t i = 0; i < log->gpu.count; i++)
		last = counts(&all[i], kernels) ? &all[i] : last;
	return rest_s > 0 || !last ? one_call_ns(last ? 1 : 2, rest_s)
				   : one_call_ns(last->calls, last->total_s);
}

void sb_textlog_put_gpu(struct sb_textlog_clock *c)
{
	const struct sb_textlog_gpu *all = c->log->gpu.items;
	bool kernels = has_kernels(c->log);
	double sum_s = rows_s(c->log, kernels), whole_s = c->log->gpu_s > 0 ? c->log->gpu_s : sum_s;
	double rest_s = whole_s - sum_s > whole_s * 0.001 ? whole_s - sum_s : 0;
	struct laid laid = { 0, RECORDS_MAX, 1 };

	if (!(whole_s > 0) || whole_s >= SECONDS_MAX)
		return;
	laid.stretch = stretch_of(c->whole_ns, whole_s, last_ns(c->log, kernels, rest_s));
	for (size_t i = 0; i < c->log->gpu.count; i++)
		if (counts(&all[i], kernels))
			put_calls(c, &laid, all[i].name, all[i].calls, all[i].total_s);
	if (rest_s > 0) /* alone it is in two, so that it begins and ends with the run */
		put_calls(c, &laid, "(rows that the table leaves out)", laid.at_ns ? 1 : 2, rest_s);
	sb_builder_meta_string(c->builder, SB_META_MISSING, "when the GPU worked",
		"a table has sums: its kernels are laid evenly over the CPU's time|record with 'strobe run "
		"-- COMMAND'");
}
