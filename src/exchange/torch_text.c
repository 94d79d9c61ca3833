/* The table that torch.profiler prints, prof.key_averages().table(): operators with their own CPU time, and where a GPU
 * was profiled, kernels. Own times add up to the run; which operator called which is in the trace alone. */
#include "base/error.h"
#include "exchange/textlog.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define SECONDS_MAX 1e8
#define GPU_ROWS_MAX 2000

enum column {
	OTHER,
	SELF_CPU,
	CPU_TOTAL,
	SELF_GPU,
	GPU_TOTAL,
	SELF_CPU_MEMORY,
	SELF_GPU_MEMORY,
	CALLS,
	COLUMN_KINDS
};

/* ---- cells ---- */

/* Cells have two spaces or more between them: cut in place. */
static size_t cut_cells(char *line, char **out_cells, size_t most)
{
	size_t count = 0;

	for (line += strspn(line, " \t"); *line && count < most; line += strspn(line, " \t")) {
		char *end = line;

		out_cells[count++] = line;
		while (*end && *end != '\t' && strncmp(end, "  ", 2))
			end++;
		line = *end ? end + 1 : end;
		for (*end = 0; end > out_cells[count - 1] && end[-1] == ' ';)
			*--end = 0;
	}
	return count;
}

static bool ends_in(const char *text, const char *end)
{
	size_t n = strlen(text), k = strlen(end);

	return n >= k && !strcasecmp(text + n - k, end);
}

/* "Self CUDA", in older versions "Self CUDA total" and "Self CUDA time"; "CUDA total"; "# of Calls". */
static enum column column_of(const char *heading)
{
	bool self = !strncasecmp(heading, "Self ", 5);
	const char *device = self ? heading + 5 : heading;
	bool cpu = !strncasecmp(device, "CPU", 3);

	if (ends_in(heading, "%"))
		return OTHER;
	if (ends_in(heading, " of Calls"))
		return CALLS;
	if (self && ends_in(heading, " Mem"))
		return cpu ? SELF_CPU_MEMORY : SELF_GPU_MEMORY;
	if (self && (!strchr(device, ' ') || ends_in(heading, " total") || ends_in(heading, " time")))
		return cpu ? SELF_CPU : SELF_GPU;
	if (!self && ends_in(heading, " total"))
		return cpu ? CPU_TOTAL : GPU_TOTAL;
	return OTHER;
}

static bool has_benchmark(const struct sb_textlog *log)
{
	const struct sb_textlog_loop *loops = log->loops.items;

	for (size_t i = 0; i < log->loops.count; i++)
		if (loops[i].apart)
			return true;
	return false;
}

static bool opens(struct sb_textlog *log, const char *line)
{
	char copy[1024], *cells[SB_TEXTLOG_CELLS_MAX];
	size_t count;
	bool timed = false, called = false;

	if (!strstr(line, "Self CPU") || !strstr(line, "of Calls"))
		return false;
	snprintf(copy, sizeof copy, "%s", line);
	count = cut_cells(copy, cells, SB_TEXTLOG_CELLS_MAX);
	if (count < 3 || strcmp(cells[0], "Name"))
		return false;
	memset(log->cells, OTHER, sizeof log->cells);
	for (size_t i = 1; i < count; i++) {
		log->cells[i] = (uint8_t)column_of(cells[i]);
		timed |= log->cells[i] == SELF_CPU;
		called |= log->cells[i] == CALLS;
	}
	log->cell_count = (uint32_t)count;
	/* of a program whose stages are known: the same work once more */
	log->form_node = log->count > 0 || has_benchmark(log);
	return timed && called;
}

/* "-768.00 MB", "384 B": what an operator kept, or gave back. */
static bool take_memory(const char *cell, double *out_mb)
{
	bool less = *cell == '-';
	const char *rest;
	char *end;
	double value;

	cell += less;
	value = strtod(cell, &end);
	if (end != cell && (!strcmp(end, " B") || !strcmp(end, " b")) && value >= 0 && value < 1e15)
		*out_mb = value / 1048576;
	else if (!sb_textlog_megabytes(cell, out_mb, &rest))
		return false;
	*out_mb = less ? -*out_mb : *out_mb;
	return true;
}

/* ---- rows ---- */

struct operation {
	const char *name;
	double value[COLUMN_KINDS]; /* seconds, MB; NaN: no such column */
};

static void note(struct sb_stagelog_line *line, const char *key, double value)
{
	struct sb_stagelog_attr *a = &line->attrs[line->attr_count];

	if (isnan(value) || value == 0 || line->attr_count == SB_STAGELOG_ATTRS_MAX)
		return;
	*a = (struct sb_stagelog_attr){ .f = value };
	snprintf(a->key, sizeof a->key, "%s", key);
	line->attr_count++;
}

static int add_operator(struct sb_textlog *log, const struct operation *op)
{
	struct sb_textlog_sums sums = { .name = op->name,
		.total_s = op->value[SELF_CPU],
		.min_s = NAN,
		.max_s = NAN,
		.median_s = NAN,
		.calls = (int64_t)op->value[CALLS] };
	struct sb_stagelog_line *line;
	uint32_t node;
	int err = sb_textlog_add_sums(log, &sums, &node);

	if (err)
		return err;
	line = log->nodes[node].line;
	note(line, "cumulative_s", op->value[CPU_TOTAL]);
	note(line, "gpu_s", op->value[SELF_GPU]);
	note(line, "gpu_cumulative_s", op->value[GPU_TOTAL]);
	note(line, "memory_mb", op->value[SELF_CPU_MEMORY]);
	note(line, "gpu_memory_mb", op->value[SELF_GPU_MEMORY]);
	log->sums_only = log->own_times = true;
	return 0;
}

static int add_gpu(struct sb_textlog *log, const struct operation *op, bool device)
{
	struct sb_textlog_gpu *g = log->gpu.count < GPU_ROWS_MAX ? sb_vec_push(&log->gpu, sizeof *g) : NULL;

	if (log->gpu.count == GPU_ROWS_MAX && !g)
		return 0; /* what the foot says beyond them is kept as one */
	if (!g)
		return sb_fail(STROBE_ENOMEM, "no memory to import");
	*g = (struct sb_textlog_gpu){
		.calls = (int64_t)op->value[CALLS], .total_s = op->value[SELF_GPU], .device = device
	};
	snprintf(g->name, sizeof g->name, "%s", op->name);
	return 0;
}

/* A row without any time on the CPU is one of the GPU: a kernel, a copy, or once more the name of a range. */
static int take_operator(struct sb_textlog *log, const struct operation *op)
{
	bool on_gpu = op->value[SELF_GPU] > 0;
	bool device = on_gpu && op->value[SELF_CPU] == 0 && !(op->value[CPU_TOTAL] > 0);
	int err = device ? 0 : add_operator(log, op);

	return !err && on_gpu ? add_gpu(log, op, device) : err;
}

/* Beside the stages: the largest of them. */
static int add_beside(struct sb_textlog *log, const struct operation *op)
{
	struct sb_textlog_operator *o = log->operators.count < GPU_ROWS_MAX
						? sb_vec_push(&log->operators, sizeof *o)
						: NULL;

	if (log->operators.count == GPU_ROWS_MAX && !o)
		return 0;
	if (!o)
		return sb_fail(STROBE_ENOMEM, "no memory to import");
	*o = (struct sb_textlog_operator){ .calls = (int64_t)op->value[CALLS],
		.self_s = op->value[SELF_CPU],
		.total_s = op->value[CPU_TOTAL],
		.gpu_s = op->value[SELF_GPU] };
	snprintf(o->name, sizeof o->name, "%s", op->name);
	return 0;
}

static bool is_time(double seconds)
{
	return seconds >= 0 && seconds < SECONDS_MAX;
}

/* False: the cell is none of its column. */
static bool take_cell(struct operation *op, enum column column, const char *cell)
{
	const char *rest;
	char *end;
	double *value = &op->value[column];

	switch (column) {
	case OTHER:
	case COLUMN_KINDS: return true;
	case SELF_CPU_MEMORY:
	case SELF_GPU_MEMORY: take_memory(cell, value); return true;
	case CALLS: *value = strtod(cell, &end); return end != cell && !*end && *value >= 1 && *value < 1e15;
	default: return sb_textlog_seconds(cell, value, &rest) && !*rest && is_time(*value);
	}
}

/* "Self CUDA time total: 43.662ms": the whole, also where rows are left out. */
static bool take_foot(struct sb_textlog *log, const char *line)
{
	const char *total = strstr(line, " time total:"), *rest;
	bool cpu = !strncmp(line, "Self CPU ", 9);
	double seconds;
	int64_t ns;

	if (strncmp(line, "Self ", 5) || !total || !sb_textlog_seconds(total + 12, &seconds, &rest) ||
		!is_time(seconds))
		return false;
	if (log->form_node) {
		log->operators_s = cpu ? seconds : log->operators_s;
		return true;
	}
	if (!cpu)
		log->gpu_s = seconds;
	ns = (int64_t)(seconds * 1e9 + 0.5);
	if (ns > log->segment_whole_ns) /* it took at least as long as the one that worked longer */
		log->segment_whole_ns = ns;
	return true;
}

static bool row(struct sb_textlog *log, char *line, int *out_err)
{
	char copy[4097], *cells[SB_TEXTLOG_CELLS_MAX];
	struct operation op;
	size_t count;

	line += strspn(line, " ");
	if (sb_textlog_take_rule(log, line) || take_foot(log, line))
		return true;
	snprintf(copy, sizeof copy, "%s", line);
	count = cut_cells(copy, cells, log->cell_count);
	if (count < 3)
		return false;
	op.name = cells[0];
	for (int i = 0; i < COLUMN_KINDS; i++)
		op.value[i] = NAN;
	for (size_t i = 1; i < count; i++)
		if (!take_cell(&op, (enum column)log->cells[i], cells[i]))
			return false;
	if (isnan(op.value[SELF_CPU]) || isnan(op.value[CALLS]))
		return false;
	*out_err = log->form_node ? add_beside(log, &op) : take_operator(log, &op);
	return true;
}

const struct sb_textform sb_torch_form = { "torch.profiler", opens, row };
