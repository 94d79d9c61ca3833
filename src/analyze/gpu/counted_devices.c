/* The readings of each GPU's counters, with what the driver said of that GPU meanwhile. Samples come before zones; a reading is
 * of the time since the one before. */
#include "analyze/gpu/counted_devices.h"

#include "base/error.h"

#include <math.h>
#include <string.h>

#define BESIDE_MOST 1e6 /* percent, GB/s */

bool sb_counted_source_of(const struct sb_run_schema *schema, enum sb_counter_source *out)
{
	if (strcmp(schema->source, "gpu_counters") != 0 && strcmp(schema->source, "gpu_pm") != 0)
		return false;
	*out = strcmp(schema->source, "gpu_pm") ? SB_COUNTED_GPM : SB_COUNTED_PM;
	return true;
}

static struct sb_counted_device *device_of(struct sb_counted_devices *c, const struct sb_event *e)
{
	struct sb_counted_device d = { .device = e->sample.schema->device };

	if (!sb_counted_source_of(e->sample.schema, &d.source))
		return NULL;
	if (d.source == SB_COUNTED_PM) { /* by the process itself, which has its own numbers */
		d.process = e->process;
		d.device = sb_device_number(&c->numbers, e->process, d.device);
	}
	for (size_t i = 0; i < c->count; i++)
		if (c->all[i].device == d.device && c->all[i].source == d.source &&
			c->all[i].process == d.process)
			return &c->all[i];
	if (c->count == SB_COUNTED_DEVICES_MAX)
		return NULL;
	c->all[c->count] = d;
	return &c->all[c->count++];
}

static double column_of(const struct sb_event *e, const char *column)
{
	const struct sb_run_schema *schema = e->sample.schema;

	for (uint32_t i = 0; i < schema->column_count; i++)
		if (!strcmp(schema->columns[i], column))
			return e->sample.values[i];
	return NAN;
}

/* The same thread samples both, this one first. Samples come later. */
static void take_device(struct sb_counted_devices *c, const struct sb_event *e)
{
	for (size_t k = 0; k < c->count; k++) {
		struct sb_counted_device *d = &c->all[k];

		if (d->device != e->sample.schema->device || d->source == SB_COUNTED_PM)
			continue;
		for (int i = 0; i < SB_BESIDES; i++) {
			double value = column_of(e, sb_gpu_beside_columns[i]);

			d->last[i] = value;
			if (!isnan(value)) {
				d->beside[i] += value;
				d->beside_count[i]++;
			}
		}
	}
}

/* ---- NVLink ---- */

struct sb_link_rates { /* GB/s since the rates before */
	int64_t t_ns;
	double rx, tx;
};

static struct sb_counted_links *links_of(struct sb_counted_devices *c, int device)
{
	for (size_t i = 0; i < c->link_count; i++)
		if (c->links[i].device == device)
			return &c->links[i];
	return NULL;
}

static int take_links(struct sb_counted_devices *c, const struct sb_event *e)
{
	struct sb_link_rates rates = { e->t_ns, column_of(e, sb_gpu_beside_columns[SB_BESIDE_NVLINK_RX]),
		column_of(e, sb_gpu_beside_columns[SB_BESIDE_NVLINK_TX]) },
			     *last, *n;
	struct sb_counted_links *l = links_of(c, e->sample.schema->device);

	if (isnan(rates.rx) && isnan(rates.tx))
		return 0;
	if (!l) {
		if (c->link_count == SB_COUNTED_DEVICES_MAX)
			return 0;
		l = &c->links[c->link_count++];
		l->device = e->sample.schema->device;
	}
	last = l->rates.count ? (struct sb_link_rates *)l->rates.items + l->rates.count - 1 : NULL;
	if (last && e->t_ns <= last->t_ns) /* another sampler's */
		return 0;
	n = sb_vec_push(&l->rates, sizeof *n);
	if (!n)
		return sb_fail(STROBE_ENOMEM, "no memory for the GPU counters");
	*n = rates;
	return 0;
}

/* Of the time that the sample is in. */
static struct sb_link_rates rates_at(struct sb_counted_devices *c, int device, int64_t t_ns)
{
	const struct sb_counted_links *l = links_of(c, device);
	const struct sb_link_rates *all = l ? l->rates.items : NULL;
	size_t low = 0, high = l ? l->rates.count : 0, count = high;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (all[middle].t_ns < t_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low < count ? all[low] : (struct sb_link_rates){ t_ns, NAN, NAN };
}

/* ---- rows ---- */

static void end_sampled(struct sb_counted_devices *c, const struct sb_counted_device *d,
	const struct sb_event *e, double *out)
{
	struct sb_link_rates links = rates_at(c, d->device, e->t_ns);

	out[SB_BESIDE_UTILIZATION] = column_of(e, "engine_active_percent");
	out[SB_BESIDE_PCIE_RX] = column_of(e, "pcie_read_bytes_per_s") / 1e9;
	out[SB_BESIDE_PCIE_TX] = column_of(e, "pcie_write_bytes_per_s") / 1e9;
	out[SB_BESIDE_NVLINK_RX] = links.rx;
	out[SB_BESIDE_NVLINK_TX] = links.tx;
}

/* Means of what the driver said since the row before. known: where it said nothing meanwhile, what it said last. */
static void end_beside(struct sb_counted_devices *c, struct sb_counted_device *d, const struct sb_event *e,
	double *out_mean, double *out_known)
{
	for (int i = 0; i < SB_BESIDES; i++) {
		out_mean[i] = d->beside_count[i] ? d->beside[i] / d->beside_count[i] : NAN;
		out_known[i] = d->beside_count[i] ? out_mean[i] : d->last[i];
		d->beside[i] = d->beside_count[i] = 0;
	}
	if (d->source == SB_COUNTED_PM) {
		end_sampled(c, d, e, out_mean);
		end_sampled(c, d, e, out_known);
	}
	out_mean[SB_BESIDE_DRAM] = out_known[SB_BESIDE_DRAM] =
		(column_of(e, "dram_read_bytes_per_s") + column_of(e, "dram_write_bytes_per_s")) / 1e9;
}

/* Sums would keep what is not for all that follows. */
static double sane(double value, double most)
{
	return value >= 0 && value <= most ? value : NAN;
}

static bool add_percents(
	const struct sb_event *e, double dt_s, struct sb_counter_sums *sums, double *out_percent)
{
	bool known = false;

	for (int k = 0; k < SB_COUNTERS; k++) {
		out_percent[k] = sane(column_of(e, sb_gpu_counter_columns[k]), SB_PERCENT_MOST);
		if (isnan(out_percent[k]))
			continue;
		sums->weighted[k] += dt_s * out_percent[k];
		sums->known_s[k] += dt_s;
		known = true;
	}
	return known;
}

/* What a row says, into the sums that end with it. A row without values ends a gap. */
static void add_row(struct sb_counted_devices *c, struct sb_counted_device *d, const struct sb_event *e,
	double dt_s, struct sb_counter_reading *r)
{
	struct sb_counter_sums *sums = &r->sums;
	double percent[SB_COUNTERS], mean[SB_BESIDES], known[SB_BESIDES], pcie, nvlink;

	end_beside(c, d, e, mean, known);
	pcie = fmax(known[SB_BESIDE_PCIE_RX], known[SB_BESIDE_PCIE_TX]);
	nvlink = fmax(known[SB_BESIDE_NVLINK_RX], known[SB_BESIDE_NVLINK_TX]);
	r->utilization = (float)known[SB_BESIDE_UTILIZATION];
	r->nvlink = (float)nvlink;
	if (!add_percents(e, dt_s, sums, percent))
		return;
	sums->covered_s += dt_s;
	for (int i = 0; i < SB_BESIDES; i++)
		if (!isnan(sane(mean[i], BESIDE_MOST))) {
			sums->beside[i] += dt_s * mean[i];
			sums->beside_s[i] += dt_s;
		}
	if (!isnan(percent[SB_COUNTER_SM]))
		sums->bound_s[sb_counter_bound(percent, known[SB_BESIDE_UTILIZATION], pcie, nvlink)] += dt_s;
}

int sb_counted_devices_take(struct sb_counted_devices *c, const struct sb_event *e)
{
	struct sb_counted_device *d;
	struct sb_counter_reading *r, *before;

	if (!strcmp(e->sample.schema->source, "gpu")) {
		take_device(c, e);
		return take_links(c, e);
	}
	d = device_of(c, e);
	if (!d)
		return 0;
	before = d->readings.count ? (struct sb_counter_reading *)d->readings.items + d->readings.count - 1
				   : NULL;
	if (before && e->t_ns <= before->t_ns)
		return 0;
	r = sb_vec_push(&d->readings, sizeof *r);
	if (!r)
		return sb_fail(STROBE_ENOMEM, "no memory for the GPU counters");
	before = d->readings.count > 1 ? r - 1 : NULL;
	if (before)
		*r = *before;
	r->t_ns = e->t_ns;
	add_row(c, d, e, before ? (double)(e->t_ns - before->t_ns) / 1e9 : 0, r);
	return 0;
}

/* ---- the busiest ---- */

/* How busy the SMs were, in percent, in the readings that have a part of that time; -1: not known. */
static double mean_sm(const struct sb_counted_device *d, int64_t from_ns, int64_t to_ns)
{
	const struct sb_counter_reading *all = d->readings.items;
	size_t count = d->readings.count, first, last;
	struct sb_counter_sums sums = { 0 };

	if (count < 2)
		return -1;
	first = sb_counter_readings_from(all, count, from_ns + 1);
	last = sb_counter_readings_from(all, count, to_ns);
	first = first ? first - 1 : 0;
	last = last < count ? last : count - 1;
	if (last > first)
		sb_counter_readings_add(&sums, all, first, last);
	return sums.known_s[SB_COUNTER_SM] > 0 ? sums.weighted[SB_COUNTER_SM] / sums.known_s[SB_COUNTER_SM]
					       : -1;
}

const struct sb_counted_device *sb_counted_busiest(const struct sb_counted_devices *c,
	enum sb_counter_source source, uint32_t process, uint64_t devices, int64_t from_ns, int64_t to_ns)
{
	const struct sb_counted_device *best = NULL;
	double most = NAN; /* where there is another */

	for (size_t i = 0; i < c->count; i++) {
		const struct sb_counted_device *d = &c->all[i];
		bool counts = !devices ||
			      (d->device >= 0 && d->device < (int)SB_DEVICES_MAX && devices >> d->device & 1);
		double sm;

		if (d->source != source || d->readings.count < 2 || !counts ||
			(source == SB_COUNTED_PM && process != SB_ANY_PROCESS && d->process != process))
			continue;
		if (!best) {
			best = d;
			continue;
		}
		if (isnan(most))
			most = mean_sm(best, from_ns, to_ns);
		sm = mean_sm(d, from_ns, to_ns);
		if (!(sm > most))
			continue;
		best = d;
		most = sm;
	}
	return best;
}

void sb_counted_devices_done(struct sb_counted_devices *c)
{
	for (size_t i = 0; i < c->count; i++)
		sb_vec_done(&c->all[i].readings);
	for (size_t i = 0; i < c->link_count; i++)
		sb_vec_done(&c->links[i].rates);
}
