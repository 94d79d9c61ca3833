/* What was opened is closed once, also where it fails in the middle. How CUPTI samples is pm_session.c's business. */
#include "gpu/counted.h"

#include "base/error.h"
#include "gpu/counter_rows.h"
#include "gpu/driver.h"
#include "gpu/pm_session.h"
#include "gpu/pool.h"
#include "gpu/setup.h"
#include "gpu/stamps.h"
#include "record/clock.h"
#include "record/put.h"
#include "strobe.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define DEVICES_MAX 16u
#define USUAL_NS 500000u /* of a sample */
#define WIDEST_NS 4000000u /* the first sample after a start reaches back to the one before */
#define HOW "see docs/gpu.md, 'Sampled counters'"
#define HOW_PERMITTED "modprobe option NVreg_RestrictProfilingToAdminUsers=0, or root; see 'strobe doctor'"
#define HOW_BUSY "end it meanwhile; DCGM pauses with 'dcgmi profile --pause'"

struct counted {
	struct sb_pm_session session;
	struct sb_counter_rows rows;
	double dram_peak_bytes_per_s;
	uint64_t cut_ticks; /* samples that end later are not wanted; 0: all are */
	uint64_t unusable; /* samples since the last good one */
	bool interrupted; /* by a full buffer or an error, since the last good one */
	bool gone; /* given back before the end */
};

static struct counted devices[DEVICES_MAX];
static uint32_t device_count;
static const struct sb_cupti *cupti;
static struct sb_stamps stamps;
static uint64_t begin_ticks, overflow_count;

static void say_refused(bool some, int err)
{
	sb_keep_missing(some ? "sampled counters of some GPUs" : "sampled counters", strobe_error(),
		err == STROBE_EPERM   ? HOW_PERMITTED
		: err == STROBE_EBUSY ? HOW_BUSY
				      : HOW);
}

/* ---- getting and giving back ---------------------------------------------- */

/* Programs that make contexts of their own have no primary one. */
static uint32_t find_devices(int *out, uint32_t limit)
{
	uint32_t count = sb_cuda_devices_used(out, limit);
	const struct sb_gpu_context *c;

	for (uint32_t i = 0; !count && sb_cuda_initialised() && (c = sb_gpu_context_at(i)); i++)
		if (!atomic_load(&c->dead)) {
			out[0] = c->device;
			count = 1;
		}
	return count;
}

bool sb_counted_in_use(void)
{
	int ignored[1];

	return find_devices(ignored, 1) > 0;
}

void sb_counted_close(void)
{
	for (uint32_t i = 0; i < device_count; i++) {
		overflow_count += devices[i].session.overflow_count;
		sb_pm_session_close(&devices[i].session);
	}
	device_count = 0;
}

void sb_counted_forget(void)
{
	device_count = 0; /* neither stopped nor freed here */
	sb_pm_sessions_forget();
}

/* Those that another profiler has are left out. */
static int open_each(const struct sb_pm_cupti *pm, const int *used, uint32_t count)
{
	int first_err = 0;

	for (uint32_t i = 0; i < count; i++) {
		struct counted *d = &devices[device_count];
		int err;

		memset(d, 0, sizeof *d);
		err = sb_pm_session_open(&d->session, cupti, pm, used[i]);
		if (err) {
			first_err = first_err ? first_err : err;
			if (count > 1)
				say_refused(true, err);
			continue;
		}
		d->dram_peak_bytes_per_s = sb_cuda_dram_peak(used[i]);
		device_count++;
	}
	if (!device_count && count == 1)
		say_refused(false, first_err);
	return device_count ? 0 : first_err;
}

bool sb_counted_open(void)
{
	uint32_t setup = sb_setup_begin(), count;
	int used[DEVICES_MAX], mode = sb_cuda_capture_relax(), err;
	const struct sb_pm_cupti *pm;

	sb_counted_close();
	count = find_devices(used, DEVICES_MAX);
	err = sb_cupti_load(&cupti);
	if (!err)
		err = sb_pm_cupti_load(cupti, &pm);
	if (err)
		say_refused(false, err);
	else
		err = open_each(pm, used, count);
	sb_cuda_capture_restore(mode);
	sb_setup_end(setup, err != 0);
	return device_count > 0;
}

bool sb_counted_start(void)
{
	uint32_t setup = sb_setup_begin(), kept = 0, count = device_count;
	int mode = sb_cuda_capture_relax();

	stamps.count = 0;
	overflow_count = 0;
	sb_stamps_take(&stamps, cupti);
	for (uint32_t i = 0; i < count; i++) {
		int err = sb_pm_session_start(&devices[i].session);

		if (!err) {
			devices[kept++] = devices[i];
			continue;
		}
		say_refused(count > 1, err);
		sb_pm_session_close(&devices[i].session);
	}
	device_count = kept;
	sb_setup_end(setup, !kept);
	sb_cuda_capture_restore(mode);
	for (uint32_t i = 0; i < kept; i++)
		devices[i].rows.schema = sb_schema_define(
			"gpu_pm", devices[i].session.device, sb_pm_column_names, SB_PM_COLUMNS);
	begin_ticks = sb_clock_ticks();
	if (kept)
		sb_keep_meta_int(SB_META_SYSTEM, "cupti_version", cupti->version);
	return kept > 0;
}

uint64_t sb_counted_begin_ticks(void)
{
	return begin_ticks;
}

uint64_t sb_counted_overflows(void)
{
	return overflow_count;
}

/* ---- samples ---------------------------------------------------------------- */

static void take(void *user, const struct sb_pm_sample *s)
{
	struct counted *d = user;
	uint64_t from = s ? sb_stamps_ticks(&stamps, s->start) : 0;
	uint64_t to = s ? sb_stamps_ticks(&stamps, s->end) : 0, width = to - from;
	double row[SB_PM_COLUMNS];

	if (s && (from < begin_ticks || (d->cut_ticks && to > d->cut_ticks)))
		return;
	if (!s || to <= from || width > sb_clock_ticks_of_ns(WIDEST_NS)) {
		d->unusable++;
		return;
	}
	if (!d->rows.seen_ticks)
		sb_counter_rows_lose(d->unusable); /* later ones leave a gap */
	d->unusable = 0;
	d->interrupted = false;
	memcpy(row, s->row, sizeof row);
	sb_pm_metrics_rates(row, (double)width / (double)sb_clock_hz(), d->dram_peak_bytes_per_s);
	sb_counter_rows_take(&d->rows, from, to, row);
}

/* Gives one device back; the others go on. */
static void leave(struct counted *d)
{
	char what[80];

	snprintf(what, sizeof what, "sampled counters of GPU %d after %.1f s", d->session.device,
		(double)(sb_clock_ticks() - begin_ticks) / (double)sb_clock_hz());
	sb_keep_missing(what, strobe_error(), HOW);
	overflow_count += d->session.overflow_count;
	sb_pm_session_close(&d->session);
	d->gone = d->interrupted = true;
}

static void drain(struct counted *d)
{
	uint64_t overflows = d->session.overflow_count;

	sb_stamps_take(&stamps, cupti);
	sb_pm_session_drain(&d->session, take, d);
	if (d->session.overflow_count > overflows) {
		d->interrupted = true;
		if (!d->rows.seen_ticks)
			d->rows.seen_ticks = begin_ticks;
	}
	if (d->session.broken)
		leave(d);
}

void sb_counted_drain(uint64_t cut_ticks)
{
	for (uint32_t i = 0; i < device_count; i++) {
		devices[i].cut_ticks = cut_ticks;
		if (!devices[i].gone)
			drain(&devices[i]);
	}
	sb_counter_rows_look();
}

bool sb_counted_any(void)
{
	for (uint32_t i = 0; i < device_count; i++)
		if (!devices[i].gone)
			return true;
	return false;
}

/* What was lost at the end: no sample comes after it to show the gap. */
static void count_tail(const struct counted *d)
{
	uint64_t from = d->rows.seen_ticks ? d->rows.seen_ticks : begin_ticks;
	uint64_t width = d->rows.width_ticks ? d->rows.width_ticks : sb_clock_ticks_of_ns(USUAL_NS);

	if (!d->interrupted)
		sb_counter_rows_lose(d->unusable);
	else if (d->cut_ticks > from)
		sb_counter_rows_lose((d->cut_ticks - from) / width);
}

void sb_counted_end(uint64_t cut_ticks)
{
	for (uint32_t i = 0; i < device_count; i++)
		sb_pm_session_stop(&devices[i].session);
	sb_counted_drain(cut_ticks);
	for (uint32_t i = 0; i < device_count; i++)
		count_tail(&devices[i]);
	sb_counted_close();
}
