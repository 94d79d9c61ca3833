/* Kernels and copies that a table sums up, as if they had run one after the other. When each ran, and who launched it,
 * a table does not say. */
#include "exchange/textlog_clock.h"

#include <stdio.h>
#include <string.h>

#define RECORDS_MAX 300000 /* calls written one by one; the others make them longer */
#define SECONDS_MAX 1e8

typedef const struct sb_textlog_gpu *row;

/* A range of the program has a row for the CPU, and one of the same name for the GPU: no kernel. */
static bool is_kernel(const struct sb_textlog *log, row r)
{
	if (!r->device)
		return false;
	for (uint32_t i = 0; i < log->count; i++)
		if (!strcmp(log->nodes[i].line->name, r->name))
			return false;
	return true;
}

static bool has_kernels(const struct sb_textlog *log)
{
	const struct sb_textlog_gpu *all = log->gpu.items;

	for (size_t i = 0; i < log->gpu.count; i++)
		if (is_kernel(log, &all[i]))
			return true;
	return false;
}

/* A table that leaves the kernels out has the operators that launched them. */
static bool counts(const struct sb_textlog *log, row r, bool kernels)
{
	return kernels ? is_kernel(log, r) : !r->device;
}

static double rows_s(const struct sb_textlog *log, bool kernels)
{
	const struct sb_textlog_gpu *all = log->gpu.items;
	double sum_s = 0;

	for (size_t i = 0; i < log->gpu.count; i++)
		if (counts(log, &all[i], kernels))
			sum_s += all[i].total_s;
	return sum_s;
}

int64_t sb_textlog_gpu_ns(const struct sb_textlog *log)
{
	double sum_s = log->gpu_s > 0 ? log->gpu_s : rows_s(log, has_kernels(log));

	return sum_s < SECONDS_MAX ? (int64_t)(sum_s * 1e9 + 0.5) : 0;
}

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

/* Calls laid end to end: time and room for records go on from row to row. */
struct laid {
	int64_t at_ns, room;
};

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

		g.start_ns = (uint64_t)(laid->at_ns + from_ns);
		g.duration_ns = (uint64_t)(to_ns - from_ns);
		sb_builder_gpu(c->builder, &g);
	}
	laid->at_ns += whole_ns;
	laid->room -= count;
}

void sb_textlog_put_gpu(struct sb_textlog_clock *c)
{
	const struct sb_textlog_gpu *all = c->log->gpu.items;
	bool kernels = has_kernels(c->log);
	double sum_s = rows_s(c->log, kernels), whole_s = c->log->gpu_s > 0 ? c->log->gpu_s : sum_s;
	struct laid laid = { 0, RECORDS_MAX };

	if (!(whole_s > 0) || whole_s >= SECONDS_MAX)
		return;
	/* Rows that take longer than the whole are not what they seem: the whole alone is certain. */
	for (size_t i = 0; i < c->log->gpu.count && sum_s <= whole_s * 1.01; i++)
		if (counts(c->log, &all[i], kernels))
			put_calls(c, &laid, all[i].name, all[i].calls, all[i].total_s);
	if (whole_s - (double)laid.at_ns / 1e9 > whole_s * 0.001)
		put_calls(
			c, &laid, "(rows that the table leaves out)", 1, whole_s - (double)laid.at_ns / 1e9);
	sb_builder_meta_string(c->builder, SB_META_MISSING, "when the GPU worked",
		"a table has sums: its kernels are laid end to end|record with 'strobe run -- COMMAND'");
}
