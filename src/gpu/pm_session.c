/* The order of calls that CUPTI's PM sampling wants. Each thing that was made is unmade once: CUPTI
 * crashes at a second time. */
#include "gpu/pm_session.h"

#include "base/error.h"

#include <stdlib.h>
#include <string.h>

#define INTERVAL_NS 500000u
#define INTERVAL_CYCLES 1000000u /* 0.5 to 0.7 ms: where the hardware cannot count time */
#define HARDWARE_BYTES (32u << 20) /* about two seconds */
#define SAMPLES_PER_DECODE 128u /* 30 KB each; clearing them takes its time */
#define DECODES_MAX 64
#define OVERFLOWS_MAX 3u /* in a row: the program waits while the device is got again */
#define FAILURES_MAX 20u /* a second */
#define APPEND_MODE_VERSION 130000u /* it may have come earlier; CUPTI reads as much as we say */

/* ---- opening ----------------------------------------------------------- */

static int refuse(const struct sb_pm_session *s, const char *what, int result)
{
	if (result == CUPTI_NO_PRIVILEGES || result == CUPTI_VIRTUALIZED_NO_PRIVILEGES)
		return sb_fail(STROBE_EPERM, "GPU %d: no permission to sample its counters", s->device);
	if (result == CUPTI_HARDWARE_BUSY || result == CUPTI_INVALID_OPERATION)
		return sb_fail(STROBE_EBUSY, "GPU %d: another profiler has its counters", s->device);
	return sb_fail(STROBE_EIO, "GPU %d: %s: %s (%d)", s->device, what, sb_cupti_error(result), result);
}

/* The process's, not a device's. */
static uint32_t initialized_count;

static int initialize(struct sb_pm_session *s)
{
	struct cupti_profiler_initialize p = { CUPTI_BYTES(struct cupti_profiler_initialize, private_data),
		NULL };
	int result = initialized_count ? 0 : s->pm->initialize(&p);

	s->initialized = !result;
	initialized_count += s->initialized;
	return result;
}

static void deinitialize(struct sb_pm_session *s)
{
	struct cupti_profiler_initialize p = { CUPTI_BYTES(struct cupti_profiler_initialize, private_data),
		NULL };

	if (s->initialized && !--initialized_count)
		s->pm->deinitialize(&p);
}

/* Which counters this device has free. The caller frees the image. */
static int availability(struct sb_pm_session *s, uint8_t **out_image)
{
	struct cupti_pm_availability a = { CUPTI_BYTES(struct cupti_pm_availability, image), NULL,
		(size_t)s->device, 0, NULL };
	int result = s->pm->availability(&a);

	if (result)
		return result;
	a.image = calloc(1, a.image_bytes + 1);
	if (!a.image)
		return CUPTI_OUT_OF_MEMORY;
	result = s->pm->availability(&a);
	if (result)
		free(a.image);
	else
		*out_image = a.image;
	return result;
}

static int choose_metrics(struct sb_pm_session *s)
{
	struct cupti_chip_name chip = { CUPTI_BYTES(struct cupti_chip_name, name), NULL, (size_t)s->device,
		NULL };
	uint8_t *image = NULL;
	int result = s->pm->chip_name(&chip);

	if (!result)
		result = availability(s, &image);
	if (!result)
		result = sb_pm_metrics_choose(
			s->pm, chip.name, image, &s->metrics, &s->host, &s->config, &s->config_bytes);
	free(image);
	return result;
}

static int configure_with(struct sb_pm_session *s, int trigger, uint64_t interval)
{
	struct cupti_pm_configure c = { 0, NULL, s->object, s->config_bytes, s->config, HARDWARE_BYTES,
		interval, trigger, CUPTI_PM_KEEP_OLDEST };

	c.size = s->cupti->version >= APPEND_MODE_VERSION
			 ? CUPTI_BYTES(struct cupti_pm_configure, append_mode)
			 : CUPTI_PM_CONFIGURE_BYTES_12_6;
	return s->pm->configure(&c);
}

static int enable(struct sb_pm_session *s)
{
	struct cupti_pm_enable e = { CUPTI_BYTES(struct cupti_pm_enable, object), NULL, (size_t)s->device,
		NULL };
	int result = s->pm->enable(&e);

	if (result)
		return result;
	s->object = e.object;
	result = configure_with(s, CUPTI_PM_TRIGGER_NS, INTERVAL_NS);
	if (result) /* Turing and A100 */
		result = configure_with(s, CUPTI_PM_TRIGGER_CYCLES, INTERVAL_CYCLES);
	return result;
}

static int clear_data(struct sb_pm_session *s)
{
	struct cupti_pm_data_initialize p = { CUPTI_BYTES(struct cupti_pm_data_initialize, data), NULL,
		s->object, s->data_bytes, s->data };

	return s->pm->data_initialize(&p);
}

static int make_data(struct sb_pm_session *s)
{
	struct cupti_pm_data_size size = { CUPTI_BYTES(struct cupti_pm_data_size, data_bytes), NULL,
		s->object, s->metrics.names, s->metrics.count, SAMPLES_PER_DECODE, 0 };
	int result = s->pm->data_size(&size);

	if (result)
		return result;
	s->data = malloc(size.data_bytes + 1);
	if (!s->data)
		return CUPTI_OUT_OF_MEMORY;
	s->data_bytes = size.data_bytes;
	return clear_data(s);
}

int sb_pm_session_open(
	struct sb_pm_session *s, const struct sb_cupti *cupti, const struct sb_pm_cupti *pm, int device)
{
	static const struct {
		int (*do_it)(struct sb_pm_session *);
		const char *what;
	} steps[] = { { initialize, "CUPTI's profiler does not start" },
		{ choose_metrics, "CUPTI samples none of its counters" },
		{ enable, "CUPTI does not sample it" }, { make_data, "CUPTI does not decode its samples" } };

	*s = (struct sb_pm_session){ .cupti = cupti, .pm = pm, .device = device };
	for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
		int result = steps[i].do_it(s);

		if (result) {
			int err = refuse(s, steps[i].what, result);

			sb_pm_session_close(s);
			return err;
		}
	}
	return 0;
}

/* ---- sampling ---------------------------------------------------------- */

static int call_with_object(struct sb_pm_session *s, int (*call)(struct cupti_pm_object *))
{
	return call(
		&(struct cupti_pm_object){ CUPTI_BYTES(struct cupti_pm_object, object), NULL, s->object });
}

int sb_pm_session_start(struct sb_pm_session *s)
{
	int result = call_with_object(s, s->pm->start);

	if (result)
		return refuse(s, "CUPTI does not start sampling", result);
	s->started = true;
	return 0;
}

void sb_pm_session_stop(struct sb_pm_session *s)
{
	if (s->started)
		call_with_object(s, s->pm->stop);
	s->started = false;
}

static bool read_sample(struct sb_pm_session *s, size_t index, struct sb_pm_sample *out)
{
	struct cupti_pm_sample_info info = { CUPTI_BYTES(struct cupti_pm_sample_info, end), NULL, s->object,
		s->data, s->data_bytes, index, 0, 0 };
	double values[SB_PM_COLUMNS];
	struct cupti_host_evaluate evaluate = { CUPTI_BYTES(struct cupti_host_evaluate, values), NULL,
		s->host, s->data, s->data_bytes, index, s->metrics.names, s->metrics.count, values };

	if (s->pm->sample_info(&info) || !info.start || info.end <= info.start || s->pm->evaluate(&evaluate))
		return false;
	out->start = info.start;
	out->end = info.end;
	sb_pm_metrics_row(&s->metrics, values, out->row);
	return true;
}

static void read_data(
	struct sb_pm_session *s, void (*take)(void *user, const struct sb_pm_sample *), void *user)
{
	struct cupti_pm_data_info info = { CUPTI_BYTES(struct cupti_pm_data_info, completed_count), NULL,
		s->data, s->data_bytes, 0, 0, 0 };
	struct sb_pm_sample sample;

	if (s->pm->data_info(&info))
		return;
	for (size_t i = 0; i < info.completed_count; i++) {
		bool good = read_sample(s, i, &sample);

		s->overflows = good ? 0 : s->overflows;
		take(user, good ? &sample : NULL);
	}
}

static void give_up(struct sb_pm_session *s, const char *what, int result)
{
	s->broken = true;
	refuse(s, what, result);
}

/* What a full buffer had is lost, and it takes nothing more: the device has to be got again. */
static void begin_again(struct sb_pm_session *s)
{
	bool was_started = s->started;
	int result;

	s->overflow_count++;
	sb_pm_session_stop(s);
	call_with_object(s, s->pm->disable);
	s->object = NULL;
	free(s->data);
	s->data = NULL;
	if (s->overflows++ == OVERFLOWS_MAX) {
		give_up(s, "its buffer is full whenever it is read", CUPTI_OUT_OF_MEMORY);
		return;
	}
	result = enable(s);
	if (!result)
		result = make_data(s);
	if (result)
		give_up(s, "CUPTI does not sample it again after its buffer was full", result);
	else if (was_started)
		s->broken = sb_pm_session_start(s) != 0;
}

/* True: there is more to decode. */
static bool decode_once(
	struct sb_pm_session *s, void (*take)(void *user, const struct sb_pm_sample *), void *user)
{
	struct cupti_pm_decode d = { CUPTI_BYTES(struct cupti_pm_decode, overflow), NULL, s->object, s->data,
		s->data_bytes, CUPTI_PM_DECODE_END, 0 };
	int result = s->pm->decode(&d), cleared;

	read_data(s, take, user);
	if (result == CUPTI_OUT_OF_MEMORY || d.overflow) {
		begin_again(s); /* d's object and data are gone with it */
		return false;
	}
	s->failures = result ? s->failures + 1 : 0;
	cleared = clear_data(s);
	if (cleared || s->failures == FAILURES_MAX)
		give_up(s, "CUPTI does not decode its samples", cleared ? cleared : result);
	return !result && !s->broken && d.stop_reason == CUPTI_PM_DECODE_FULL;
}

void sb_pm_session_drain(
	struct sb_pm_session *s, void (*take)(void *user, const struct sb_pm_sample *), void *user)
{
	bool more = !s->broken;

	for (int i = 0; i < DECODES_MAX && more; i++)
		more = decode_once(s, take, user);
}

void sb_pm_sessions_forget(void)
{
	initialized_count = 0;
}

void sb_pm_session_close(struct sb_pm_session *s)
{
	sb_pm_session_stop(s);
	if (s->object)
		call_with_object(s, s->pm->disable);
	if (s->host)
		s->pm->host_deinitialize(&(struct cupti_host_deinitialize){
			CUPTI_BYTES(struct cupti_host_deinitialize, host), NULL, s->host });
	deinitialize(s);
	free(s->config);
	free(s->data);
	memset(s, 0, sizeof *s);
}
