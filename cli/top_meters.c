/* GPU, CPU, memory and disk: a sparkline each, and what can be said beside it. */
#include "top_lines.h"

#include "report/panels/panel.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { METERS_MAX = 80, LABEL = 7, CELLS_LEAST = 8, CELLS_MOST = 60, GAP = 2, COUNTERS_FIRST = 6 };
#define SPARK_WINDOW_S 60.0

struct meter {
	char label[16];
	const struct sb_series *series;
	const double *values; /* NULL: no sparkline */
	double *own; /* values that were computed */
	double top_value;
	struct top_facts facts;
	bool many_facts; /* only the first COUNTERS_FIRST shorten sparklines */
};

struct meters {
	struct meter all[METERS_MAX];
	size_t count;
};

/* ---- sparklines ------------------------------------------------------------------- */

void top_sparkline(struct sb_buf *out, const double *t_s, const double *values, size_t count, double from_s,
	double to_s, double top_value, int cells, bool utf8)
{
	static const char *const bars[] = { "\xe2\x96\x81", "\xe2\x96\x82", "\xe2\x96\x83", "\xe2\x96\x84",
		"\xe2\x96\x85", "\xe2\x96\x86", "\xe2\x96\x87", "\xe2\x96\x88" };
	static const char ascii[] = "_.:-=+*#";
	double cell_s = (to_s - from_s) / cells, last = NAN;
	size_t i = 0;

	while (i < count && t_s[i] < from_s)
		last = values[i++];
	for (int cell = 0; cell < cells; cell++) {
		double end_s = from_s + cell_s * (cell + 1), sum = 0, level;
		int samples = 0;

		for (; i < count && (t_s[i] < end_s || cell == cells - 1); i++)
			if (!isnan(values[i])) {
				sum += values[i];
				samples++;
			}
		if (samples) /* between samples the last value holds */
			last = sum / samples;
		if (isnan(last) || !(top_value > 0)) {
			sb_buf_putc(out, ' ');
			continue;
		}
		level = fmin(fmax(last / top_value, 0), 1) * 7.999;
		if (utf8)
			sb_buf_puts(out, bars[(int)level]);
		else
			sb_buf_putc(out, ascii[(int)level]);
		if (i >= count && cell + 1 < cells && t_s[count - 1] < from_s + cell_s * (cell - 3))
			last = NAN; /* the samples have ended */
	}
}

/* Live: the last minute; afterwards the whole run. */
static void put_spark(struct top_view *v, const struct meter *m, int cells)
{
	double to_s = v->whole->session.duration_s, from_s = v->now ? fmax(0, to_s - SPARK_WINDOW_S) : 0;

	if (!m->series || !m->values || !m->series->count) {
		sb_buf_printf(&v->text, "%*s", cells, "");
		return;
	}
	top_sparkline(&v->text, m->series->t_s, m->values, m->series->count, from_s,
		to_s > from_s ? to_s : from_s + 1, m->top_value, cells, v->utf8);
}

/* ---- values ----------------------------------------------------------------------- */

static const struct sb_series_column *column(const struct sb_series *s, const char *name)
{
	return s ? sb_series_column_find(s, name) : NULL;
}

static double last_known(const struct sb_series *s, const struct sb_series_column *c)
{
	for (size_t i = c ? s->count : 0; i-- > 0;)
		if (!isnan(c->values[i]))
			return c->values[i];
	return NAN;
}

/* Its last row says that nothing is known: nothing came after it. */
static bool has_ended(const struct sb_series *s)
{
	for (size_t c = 0; c < s->column_count; c++)
		if (s->count && !isnan(s->columns[c].values[s->count - 1]))
			return false;
	return s->count > 0;
}

static double last_of(const struct sb_series *s, const char *name)
{
	return last_known(s, column(s, name));
}

/* Running totals to bytes per second. */
static double *rates_of(const struct sb_series *s, const struct sb_series_column *c)
{
	double *rates = c ? calloc(s->count + 1, sizeof *rates) : NULL;

	for (size_t i = 0; rates && i < s->count; i++)
		rates[i] = i && s->t_s[i] > s->t_s[i - 1]
				   ? (c->values[i] - c->values[i - 1]) / (s->t_s[i] - s->t_s[i - 1])
				   : NAN;
	return rates;
}

/* ---- the meters ------------------------------------------------------------------- */

static struct meter *add(
	struct meters *all, const struct sb_series *series, const double *values, double top_value)
{
	static struct meter spare;
	struct meter *m = all->count < METERS_MAX ? &all->all[all->count++] : &spare;

	memset(m, 0, sizeof *m);
	m->series = series;
	m->values = values;
	m->top_value = top_value;
	return m;
}

static const struct counter {
	const char *column, *name;
	bool always; /* in the GPU's own line, too, where counters have none of their own */
} counters[] = {
	{ "tensor_active_percent", "tensor", true },
	{ "dram_active_percent", "DRAM", true },
	{ "fp32_active_percent", "FP32", false },
	{ "occupancy_percent", "occupancy", false },
	{ "fp64_active_percent", "FP64", false },
	{ "nvdec_active_percent", "NVDEC", false },
	{ "tensor_float_percent", "tensor floats", false },
	{ "tensor_integer_percent", "tensor integers", false },
};
static const char *const links[][3] = { { "PCIe", "pcie_rx_gb_per_s", "pcie_tx_gb_per_s" },
	{ "NVLink", "nvlink_rx_gb_per_s", "nvlink_tx_gb_per_s" } };

static void counter_facts(const struct sb_series *s, bool whole, struct top_facts *facts)
{
	for (size_t i = 0; i < sizeof counters / sizeof counters[0]; i++) {
		double value = last_of(s, counters[i].column);

		if (!isnan(value) && (whole || counters[i].always))
			top_fact(facts, "%s %.0f %%", counters[i].name, value);
	}
}

/* Of a link the busier way. */
static void link_facts(const struct sb_series *gpu, struct top_facts *facts)
{
	for (size_t i = 0; i < sizeof links / sizeof links[0]; i++) {
		double value = fmax(last_of(gpu, links[i][1]), last_of(gpu, links[i][2]));

		if (!isnan(value))
			top_fact(facts, "%s %.1f GB/s", links[i][0], value);
	}
}

/* Utilisation says that a kernel ran; this line, how much of the chip it used. */
static void add_counters(struct meters *all, const struct sb_series *s, const struct sb_series *gpu)
{
	const struct sb_series_column *active = column(s, "sm_active_percent");
	struct meter *m = add(all, s, active ? active->values : NULL, 100);
	double value = last_known(s, active);

	snprintf(m->label, sizeof m->label, "  SM");
	m->many_facts = true;
	if (isnan(value))
		top_fact(&m->facts, "n/a");
	else
		top_fact(&m->facts, "%3.0f %%", value);
	counter_facts(s, true, &m->facts);
	link_facts(gpu, &m->facts);
}

static void add_gpu(struct meters *all, const struct top_view *v, const struct sb_series *s, bool two_lines)
{
	const struct sb_series *read = sb_model_series(v->whole, "gpu_counters", s->device);
	const struct sb_series_column *busy = column(s, "utilization_percent"),
				      *used = column(s, "memory_used_mb");
	double total = last_of(s, "memory_total_mb"), value;
	struct meter *m = add(all, s, busy ? busy->values : used ? used->values : NULL, busy ? 100 : total);

	snprintf(m->label, sizeof m->label, "GPU %d", s->device);
	if (has_ended(s)) {
		top_fact(&m->facts, "lost");
		return;
	}
	if (read && has_ended(read))
		read = NULL;
	if (!isnan(value = last_known(s, busy)))
		top_fact(&m->facts, "%3.0f %%", value);
	if (!two_lines && !isnan(last_of(read, "sm_active_percent"))) {
		top_fact(&m->facts, "SM %.0f %%", last_of(read, "sm_active_percent"));
		counter_facts(read, false, &m->facts);
	}
	if (used)
		top_fact(&m->facts, "memory %.0f / %.0f MB, peak %.0f", last_known(s, used), total,
			used->stats.max);
	if (!isnan(value = last_of(s, "temperature_c")))
		top_fact(&m->facts, "%.0f %sC", value, v->utf8 ? "\xc2\xb0" : "");
	if (!isnan(value = last_of(s, "power_w")))
		top_fact(&m->facts, "%.0f W", value);
	if (two_lines && read)
		add_counters(all, read, s);
}

static size_t series_of(const struct sb_model *model, const char *source)
{
	size_t count = 0;

	for (size_t i = 0; i < model->series_count; i++)
		count += !strcmp(model->series[i].source, source);
	return count;
}

/* So many GPUs that the stages would find no room have one line each, then are counted, not listed. */
static void add_gpus(struct meters *all, const struct top_view *v)
{
	size_t room = v->rows > 18 ? (size_t)v->rows / 3 : 4, gpus = 0;
	bool two_lines = series_of(v->whole, "gpu") + series_of(v->whole, "gpu_counters") <= room;

	for (size_t i = 0; i < v->whole->series_count; i++)
		if (!strcmp(v->whole->series[i].source, "gpu") && gpus++ < room)
			add_gpu(all, v, &v->whole->series[i], two_lines);
	if (gpus > room)
		top_fact(&add(all, NULL, NULL, 0)->facts, "and %zu GPUs more", gpus - room);
	if (gpus)
		return;
	snprintf(add(all, NULL, NULL, 0)->label, 16, "GPU");
	top_fact(&all->all[all->count - 1].facts, "n/a");
}

static void add_cpu(struct meters *all, const struct top_view *v)
{
	const struct sb_series *s = sb_model_series(v->whole, "cpu", -2);
	const struct sb_series_column *usage = column(s, "usage_percent");
	double own = last_of(s, "process_percent"), load = last_of(s, "load1_count"), now;
	struct meter *m;

	if (!usage)
		return;
	m = add(all, s, usage->values, 100);
	snprintf(m->label, sizeof m->label, "CPU");
	if (!isnan(now = last_known(s, usage)))
		top_fact(&m->facts, "%3.0f %%", now);
	if (!isnan(own))
		top_fact(&m->facts, "program %.0f %% of one core", own);
	if (!isnan(load))
		top_fact(&m->facts, "load %.2f", load);
}

static void add_memory(struct meters *all, const struct top_view *v)
{
	const struct sb_series *s = sb_model_series(v->whole, "memory", -2),
			       *p = sb_model_series(v->whole, "process", -2);
	const struct sb_series_column *used = column(s, "used_mb"), *rss = column(p, "rss_mb");
	double total = last_of(s, "total_mb"), swap = last_of(s, "swap_used_mb");
	struct meter *m;

	if (!used)
		return;
	m = add(all, s, used->values, total);
	snprintf(m->label, sizeof m->label, "RAM");
	top_fact(&m->facts, "%3.0f %%", 100 * last_known(s, used) / total);
	top_fact(&m->facts, "%.0f / %.0f MB, peak %.0f", last_known(s, used), total, used->stats.max);
	if (rss)
		top_fact(&m->facts, "program %.0f, peak %.0f", last_known(p, rss), rss->stats.max);
	if (swap >= 1)
		top_fact(&m->facts, "swap %.0f", swap);
}

static double or_zero(double value)
{
	return isnan(value) ? 0 : value;
}

static void add_disk(struct meters *all, const struct top_view *v)
{
	const struct sb_series *s = sb_model_series(v->whole, "disk", -2);
	const struct sb_series_column *read = column(s, "read_bytes"), *written = column(s, "write_bytes");
	double *reads = rates_of(s, read), *writes = rates_of(s, written), top_value = 1e6;
	char text[4][32];
	struct meter *m;

	if (!reads || !writes || !s->count) {
		free(reads);
		free(writes);
		return;
	}
	sb_text_bytes(text[0], sizeof text[0], or_zero(reads[s->count - 1]));
	sb_text_bytes(text[1], sizeof text[1], or_zero(writes[s->count - 1]));
	sb_text_bytes(text[2], sizeof text[2], last_known(s, read));
	sb_text_bytes(text[3], sizeof text[3], last_known(s, written));
	for (size_t i = 0; i < s->count; i++) {
		reads[i] += writes[i];
		top_value = fmax(top_value, reads[i]);
	}
	free(writes);
	m = add(all, s, reads, top_value);
	m->own = reads;
	snprintf(m->label, sizeof m->label, "Disk");
	top_fact(&m->facts, "read %s/s, write %s/s", text[0], text[1]);
	top_fact(&m->facts, "so far %s, %s", text[2], text[3]);
}

/* ---- layout ----------------------------------------------------------------------- */

/* Facts come first, the sparklines share what is left; all are equally long. */
static int cells_for(const struct meters *all, int columns)
{
	int longest = 0, cells;

	for (size_t i = 0; i < all->count; i++) {
		const struct top_facts *f = &all->all[i].facts;
		size_t count = all->all[i].many_facts && f->count > COUNTERS_FIRST ? COUNTERS_FIRST
										   : f->count;
		int facts = (int)top_facts_columns(f, count, GAP);

		if (all->all[i].values && facts > longest)
			longest = facts;
	}
	cells = columns - LABEL - 1 - longest;
	return cells < CELLS_LEAST ? CELLS_LEAST : cells > CELLS_MOST ? CELLS_MOST : cells;
}

static void put_meter(struct top_view *v, const struct meter *m, int cells)
{
	int room = v->columns - LABEL - (m->values ? cells + 1 : 0);
	size_t fit = top_facts_fitting(&m->facts, room > 0 ? (size_t)room : 0, GAP);

	top_line_begin(v, m->values ? TOP_PLAIN : TOP_DIM);
	sb_buf_printf(&v->text, "%-*s", LABEL, m->label);
	if (m->values)
		put_spark(v, m, cells);
	for (size_t i = 0; i < fit; i++)
		sb_buf_printf(&v->text, "%*s%s", i ? GAP : m->values ? 1 : 0, "", m->facts.text[i]);
	top_line_end(v);
}

void top_meters(struct top_view *v)
{
	struct meters *all = calloc(1, sizeof *all);
	int cells;

	if (!all)
		return;
	add_gpus(all, v);
	add_cpu(all, v);
	add_memory(all, v);
	add_disk(all, v);
	cells = cells_for(all, v->columns);
	for (size_t i = 0; i < all->count; i++) {
		put_meter(v, &all->all[i], cells);
		free(all->all[i].own);
	}
	free(all);
}
