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
	int device;
	struct sb_pm_session session;
	struct sb_counter_rows rows;
	double dram_peak_bytes_per_s;
	uint64_t begin_ticks; /* of its sampling */
	uint64_t cut_ticks; /* samples that end later are not wanted; 0: all are */
	uint64_t unusable; /* samples since the last good one */
	bool interrupted; /* by a full buffer or an error, since the last good one */
	bool gone; /* given back before the end, or never got */
};

static struct counted devices[DEVICES_MAX]; /* that were in use so far */
static uint32_t device_count;
static bool too_many; /* there were more */
static const struct sb_cupti *cupti;
static const struct sb_pm_cupti *pm;
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

static bool is_among(const int *all, uint32_t count, int device)
{
	for (uint32_t i = 0; i < count; i++)
		if (all[i] == device)
			return true;
	return false;
}

/* Contexts that a program made for itself are known by the GPU zones in them; they are none of the primary ones. */
static uint32_t find_devices(int *out, uint32_t limit)
{
	uint32_t count = sb_cuda_devices_used(out, limit);
	const struct sb_gpu_context *c;

	if (!sb_cuda_initialised())
		return 0;
	for (uint32_t i = 0; count < limit && (c = sb_gpu_context_at(i)); i++)
		if (!atomic_load(&c->dead) && !is_among(out, count, c->device))
			out[count++] = c->device;
	return count;
}

bool sb_counted_in_use(void)
{
	int ignored[1];

	return find_devices(ignored, 1) > 0;
}

void sb_counted_close(void)
{
	int mode = device_count ? sb_cuda_capture_relax() : -1;

	for (uint32_t i = 0; i < device_count; i++) {
		overflow_count += devices[i].session.overflow_count;
		sb_pm_session_close(&devices[i].session);
	}
	sb_cuda_capture_restore(mode);
	device_count = 0;
	too_many = false;
}

void sb_counted_forget(void)
{
	device_count = 0; /* neither stopped nor freed here */
	sb_pm_sessions_forget();
}

static struct counted *entry_of(int device)
{
	for (uint32_t i = 0; i < device_count; i++)
		if (devices[i].device == device)
			return &devices[i];
	return NULL;
}

/* NULL: there are too many, which is said. */
static struct counted *add(int device)
{
	struct counted *d = &devices[device_count];

	if (device_count < DEVICES_MAX) {
		device_count++;
		*d = (struct counted){ .device = device };
		return d;
	}
	if (!too_many)
		sb_keep_missing("sampled counters of some GPUs", "16 are sampled at the most", HOW);
	too_many = true;
	return NULL;
}
_Static_assert(DEVICES_MAX == 16, "the words above say so");

/* One that cannot be got, because another profiler has it or for good, is tried once. */
static void get(struct counted *d, bool others)
{
	int err = sb_pm_session_open(&d->session, cupti, pm, d->device);

	if (err)
		say_refused(others, err);
	d->gone = err != 0;
	d->dram_peak_bytes_per_s = err ? 0 : sb_cuda_dram_peak(d->device);
}

static void start(struct counted *d, bool others)
{
	int err = d->gone ? 0 : sb_pm_session_start(&d->session);

	if (err) {
		say_refused(others, err);
		sb_pm_session_close(&d->session);
		d->gone = true;
	}
}

/* Samples of the time before are of setting up, too. */
static void count_from_now(struct counted *d)
{
	if (!d->gone)
		d->rows.schema = sb_schema_define("gpu_pm", d->device, sb_pm_column_names, SB_PM_COLUMNS);
	d->begin_ticks = sb_clock_ticks();
}

static int load(void)
{
	int err = sb_cupti_load(&cupti);

	if (!err)
		err = sb_pm_cupti_load(cupti, &pm);
	if (err)
		say_refused(false, err);
	return err;
}

bool sb_counted_open(void)
{
	struct sb_setup setup = sb_setup_begin("strobe: setting up the GPU counters");
	uint32_t count;
	int used[DEVICES_MAX + 1], mode = sb_cuda_capture_relax();

	sb_counted_close();
	count = load() ? 0 : find_devices(used, DEVICES_MAX + 1);
	for (uint32_t i = 0; i < count; i++) {
		struct counted *d = add(used[i]);

		if (d)
			get(d, count > 1);
	}
	sb_cuda_capture_restore(mode);
	sb_setup_end(setup, !sb_counted_any());
	return sb_counted_any();
}

bool sb_counted_start(void)
{
	struct sb_setup setup = sb_setup_begin("strobe: setting up the GPU counters");
	int mode = sb_cuda_capture_relax();

	stamps.count = 0;
	overflow_count = 0;
	sb_stamps_take(&stamps, cupti);
	for (uint32_t i = 0; i < device_count; i++)
		start(&devices[i], device_count > 1);
	sb_setup_end(setup, !sb_counted_any());
	sb_cuda_capture_restore(mode);
	begin_ticks = sb_clock_ticks();
	for (uint32_t i = 0; i < device_count; i++)
		count_from_now(&devices[i]);
	if (sb_counted_any())
		sb_keep_meta_int(SB_META_SYSTEM, "cupti_version", cupti->version);
	return sb_counted_any();
}

static void take_up(struct counted *d)
{
	struct sb_setup setup = sb_setup_begin("strobe: setting up the GPU counters");
	int mode = sb_cuda_capture_relax();

	get(d, true);
	start(d, true);
	sb_cuda_capture_restore(mode);
	sb_setup_end(setup, d->gone);
	count_from_now(d);
}

/* One at a time: getting it takes about half a second, in which the buffers of the others fill. */
bool sb_counted_look(void)
{
	int used[DEVICES_MAX + 1];
	uint32_t count = find_devices(used, DEVICES_MAX + 1);

	for (uint32_t i = 0; i < count; i++) {
		struct counted *d = entry_of(used[i]) ? NULL : add(used[i]);

		if (d) {
			take_up(d);
			return !d->gone;
		}
	}
	return false;
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

	if (s && (from < d->begin_ticks || (d->cut_ticks && to > d->cut_ticks)))
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

	snprintf(what, sizeof what, "sampled counters of GPU %d after %.1f s", d->device,
		(double)(sb_clock_ticks() - d->begin_ticks) / (double)sb_clock_hz());
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
			d->rows.seen_ticks = d->begin_ticks;
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
	uint64_t from = d->rows.seen_ticks ? d->rows.seen_ticks : d->begin_ticks;
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
