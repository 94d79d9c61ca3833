/* See fake_pm.h. */
#include "fake/fake_pm.h"
#include "fake/lock.h"

#include "../src/gpu/cupti.h"
#include "../src/gpu/pm_cupti.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define API __attribute__((visibility("default")))
#define DEVICES 20
#define PENDING 4096u
#define METRICS 16u
#define IMAGE_MAGIC 0x676d69u
enum { INVALID_PARAMETER = 1, NOT_INITIALIZED = 15, INVALID_METRIC_NAME = 17 };

struct sample {
	uint64_t start, end;
	double values[FAKE_PM_VALUES];
};

struct host {
	bool alive;
	size_t metric_count;
	char names[METRICS][96];
};

struct config {
	uint32_t magic, metric_count, pass_count;
};

struct image { /* counter data, as the caller holds it */
	uint32_t magic, limit, count;
	struct sample samples[];
};

static struct device {
	bool enabled, configured, started, full, occupied, fresh;
	uint32_t limit;
	size_t pending_count;
	uint64_t start_count;
	struct sample pending[PENDING];
} devices[DEVICES];
static unsigned troubles[DEVICES];
static struct host hosts[64];
static uint32_t host_count, initialized, mistake_count, most_per_pass;
static char unknown[96];
static bool time_possible;

/* In test programs that link only this file's part, refusing is libcupti.c's: it counts the calls. */
int fake_cupti_counted(const char *name);
#define COUNTED                                            \
	do {                                               \
		int result = fake_cupti_counted(__func__); \
		if (result)                                \
			return result;                     \
	} while (0)

static int mistake(int result)
{
	mistake_count++;
	return result;
}
#define EXPECT(condition, result)               \
	do {                                    \
		if (!(condition))               \
			return mistake(result); \
	} while (0)
#define EXPECT_SIZE(p, type, last) \
	EXPECT((p)->size == CUPTI_BYTES(type, last) && !(p)->private_data, INVALID_PARAMETER)

static struct device *device_of(void *object)
{
	struct device *d = object;

	return d >= devices && d < devices + DEVICES && d->enabled ? d : NULL;
}

static struct host *host_of(void *pointer)
{
	struct host *h = pointer;

	return h >= hosts && h < hosts + 64 && h->alive ? h : NULL;
}

API int cuptiProfilerInitialize(struct cupti_profiler_initialize *p)
{
	COUNTED;
	EXPECT_SIZE(p, struct cupti_profiler_initialize, private_data);
	initialized++;
	return CUPTI_OK;
}

API int cuptiProfilerDeInitialize(struct cupti_profiler_initialize *p)
{
	COUNTED;
	EXPECT_SIZE(p, struct cupti_profiler_initialize, private_data);
	if (!initialized)
		abort();
	initialized--;
	return CUPTI_OK;
}

API int cuptiDeviceGetChipName(struct cupti_chip_name *p)
{
	COUNTED;
	EXPECT_SIZE(p, struct cupti_chip_name, name);
	EXPECT(initialized, NOT_INITIALIZED);
	p->name = "FAKE100";
	return CUPTI_OK;
}

API int cuptiPmSamplingGetCounterAvailability(struct cupti_pm_availability *p)
{
	COUNTED;
	EXPECT_SIZE(p, struct cupti_pm_availability, image);
	EXPECT(initialized && p->device < DEVICES, NOT_INITIALIZED);
	if (p->image)
		EXPECT(p->image_bytes == 64, INVALID_PARAMETER);
	if (p->image)
		memset(p->image, 7, 64);
	p->image_bytes = 64;
	return CUPTI_OK;
}

API int cuptiProfilerHostInitialize(struct cupti_host_initialize *p)
{
	COUNTED;
	EXPECT_SIZE(p, struct cupti_host_initialize, host);
	EXPECT(p->kind == CUPTI_PROFILER_PM_SAMPLING && p->chip && !strcmp(p->chip, "FAKE100") &&
			p->availability && p->availability[63] == 7,
		INVALID_PARAMETER);
	for (int i = 0; i < 64; i++)
		if (!hosts[i].alive) {
			hosts[i] = (struct host){ .alive = true };
			p->host = &hosts[i];
			host_count++;
			return CUPTI_OK;
		}
	return mistake(CUPTI_OUT_OF_MEMORY);
}

API int cuptiProfilerHostDeinitialize(struct cupti_host_deinitialize *p)
{
	COUNTED;
	EXPECT_SIZE(p, struct cupti_host_deinitialize, host);
	if (!host_of(p->host))
		abort();
	host_of(p->host)->alive = false;
	host_count--;
	return CUPTI_OK;
}

API int cuptiProfilerHostConfigAddMetrics(struct cupti_host_add_metrics *p)
{
	struct host *h = host_of(p->host);

	COUNTED;
	EXPECT_SIZE(p, struct cupti_host_add_metrics, name_count);
	EXPECT(h && !h->metric_count && p->name_count <= METRICS, INVALID_PARAMETER);
	for (size_t i = 0; i < p->name_count; i++) {
		if (!strcmp(p->names[i], unknown) || !strstr(p->names[i], "__"))
			return INVALID_METRIC_NAME;
		snprintf(h->names[i], sizeof h->names[i], "%s", p->names[i]);
	}
	h->metric_count = p->name_count;
	return CUPTI_OK;
}

API int cuptiProfilerHostGetConfigImageSize(struct cupti_host_config_size *p)
{
	COUNTED;
	EXPECT_SIZE(p, struct cupti_host_config_size, image_bytes);
	EXPECT(host_of(p->host) && host_of(p->host)->metric_count, INVALID_PARAMETER);
	p->image_bytes = sizeof(struct config);
	return CUPTI_OK;
}

API int cuptiProfilerHostGetConfigImage(struct cupti_host_config *p)
{
	struct host *h = host_of(p->host);
	struct config c = { IMAGE_MAGIC, 0, 1 };

	COUNTED;
	EXPECT_SIZE(p, struct cupti_host_config, image);
	EXPECT(h && h->metric_count && p->image && p->image_bytes == sizeof c, INVALID_PARAMETER);
	c.metric_count = (uint32_t)h->metric_count;
	c.pass_count = h->metric_count > most_per_pass ? 2 : 1;
	memcpy(p->image, &c, sizeof c);
	return CUPTI_OK;
}

API int cuptiProfilerHostGetNumOfPasses(struct cupti_host_passes *p)
{
	struct config c;

	COUNTED;
	EXPECT_SIZE(p, struct cupti_host_passes, pass_count);
	EXPECT(p->image && p->image_bytes == sizeof c, INVALID_PARAMETER);
	memcpy(&c, p->image, sizeof c);
	EXPECT(c.magic == IMAGE_MAGIC, INVALID_PARAMETER);
	p->pass_count = c.pass_count;
	return CUPTI_OK;
}

API int cuptiPmSamplingEnable(struct cupti_pm_enable *p)
{
	struct device *d;

	COUNTED;
	EXPECT_SIZE(p, struct cupti_pm_enable, object);
	EXPECT(initialized && p->device < DEVICES, NOT_INITIALIZED);
	d = &devices[p->device];
	if (d->occupied)
		return CUPTI_INVALID_OPERATION;
	EXPECT(!d->enabled, CUPTI_INVALID_OPERATION);
	*d = (struct device){ .enabled = true, .start_count = d->start_count };
	p->object = d;
	return CUPTI_OK;
}

API int cuptiPmSamplingDisable(struct cupti_pm_object *p)
{
	struct device *d = device_of(p->object);

	COUNTED;
	EXPECT_SIZE(p, struct cupti_pm_object, object);
	if (!d)
		abort();
	EXPECT(!d->started, CUPTI_INVALID_OPERATION);
	d->enabled = false;
	return CUPTI_OK;
}

API int cuptiPmSamplingSetConfig(struct cupti_pm_configure *p)
{
	struct device *d = device_of(p->object);
	struct config c;

	COUNTED;
	EXPECT(p->size == CUPTI_PM_CONFIGURE_BYTES_12_6 || p->size == sizeof *p, INVALID_PARAMETER);
	EXPECT(d && !d->started && p->config && p->config_bytes == sizeof c && p->hardware_bytes &&
			p->interval,
		INVALID_PARAMETER);
	memcpy(&c, p->config, sizeof c);
	EXPECT(c.magic == IMAGE_MAGIC && c.pass_count == 1, CUPTI_NOT_SUPPORTED);
	if (p->trigger == CUPTI_PM_TRIGGER_NS && !time_possible)
		return INVALID_PARAMETER;
	EXPECT(p->interval <= 1000000, INVALID_PARAMETER);
	d->configured = true;
	return CUPTI_OK;
}

API int cuptiPmSamplingGetCounterDataSize(struct cupti_pm_data_size *p)
{
	struct device *d = device_of(p->object);

	COUNTED;
	EXPECT_SIZE(p, struct cupti_pm_data_size, data_bytes);
	EXPECT(d && d->configured && p->names && p->name_count && p->sample_limit, CUPTI_INVALID_OPERATION);
	d->limit = p->sample_limit;
	p->data_bytes = sizeof(struct image) + p->sample_limit * sizeof(struct sample);
	return CUPTI_OK;
}

API int cuptiPmSamplingCounterDataImageInitialize(struct cupti_pm_data_initialize *p)
{
	struct device *d = device_of(p->object);
	struct image *image = (void *)p->data;

	COUNTED;
	EXPECT_SIZE(p, struct cupti_pm_data_initialize, data);
	EXPECT(d && d->limit && p->data_bytes == sizeof *image + d->limit * sizeof(struct sample),
		CUPTI_INVALID_OPERATION);
	*image = (struct image){ IMAGE_MAGIC, d->limit, 0 };
	d->fresh = true;
	return CUPTI_OK;
}

API int cuptiPmSamplingStart(struct cupti_pm_object *p)
{
	struct device *d = device_of(p->object);

	COUNTED;
	EXPECT_SIZE(p, struct cupti_pm_object, object);
	EXPECT(d && d->configured && d->fresh && !d->started && !d->full, CUPTI_INVALID_OPERATION);
	if (troubles[d - devices] & FAKE_PM_NO_START)
		return 999;
	pthread_mutex_lock(&lock);
	d->started = true;
	d->pending_count = 0;
	d->start_count++;
	pthread_mutex_unlock(&lock);
	return CUPTI_OK;
}

API int cuptiPmSamplingStop(struct cupti_pm_object *p)
{
	struct device *d = device_of(p->object);

	COUNTED;
	EXPECT_SIZE(p, struct cupti_pm_object, object);
	EXPECT(d && d->started, CUPTI_INVALID_OPERATION);
	pthread_mutex_lock(&lock);
	d->started = false;
	pthread_mutex_unlock(&lock);
	return CUPTI_OK;
}

static void decode(struct device *d, struct image *image)
{
	size_t count = d->pending_count < d->limit ? d->pending_count : d->limit;

	memcpy(image->samples, d->pending, count * sizeof *d->pending);
	memmove(d->pending, d->pending + count, (d->pending_count - count) * sizeof *d->pending);
	d->pending_count -= count;
	image->count = (uint32_t)count;
}

API int cuptiPmSamplingDecodeData(struct cupti_pm_decode *p)
{
	struct device *d = device_of(p->object);
	struct image *image = (void *)p->data;
	bool overflowed;

	COUNTED;
	EXPECT_SIZE(p, struct cupti_pm_decode, overflow);
	EXPECT(d && d->start_count && d->fresh && image->magic == IMAGE_MAGIC && !image->count,
		CUPTI_INVALID_OPERATION);
	d->fresh = false;
	pthread_mutex_lock(&lock);
	decode(d, image);
	overflowed = d->full || troubles[d - devices] & FAKE_PM_ALWAYS_FULL;
	p->overflow = overflowed || troubles[d - devices] & FAKE_PM_QUIET_OVERFLOW;
	p->stop_reason = d->pending_count || (p->overflow && !overflowed) ? CUPTI_PM_DECODE_FULL
									  : CUPTI_PM_DECODE_END;
	troubles[d - devices] &= ~(unsigned)FAKE_PM_QUIET_OVERFLOW;
	pthread_mutex_unlock(&lock);
	return overflowed ? CUPTI_OUT_OF_MEMORY : CUPTI_OK;
}

API int cuptiPmSamplingGetCounterDataInfo(struct cupti_pm_data_info *p)
{
	const struct image *image = (const void *)p->data;

	COUNTED;
	EXPECT_SIZE(p, struct cupti_pm_data_info, completed_count);
	EXPECT(image->magic == IMAGE_MAGIC, INVALID_PARAMETER);
	p->total_count = image->limit;
	p->populated_count = p->completed_count = image->count;
	return CUPTI_OK;
}

API int cuptiPmSamplingCounterDataGetSampleInfo(struct cupti_pm_sample_info *p)
{
	const struct image *image = (const void *)p->data;

	COUNTED;
	EXPECT_SIZE(p, struct cupti_pm_sample_info, end);
	EXPECT(device_of(p->object) && p->index < image->count, INVALID_PARAMETER);
	p->start = image->samples[p->index].start;
	p->end = image->samples[p->index].end;
	return CUPTI_OK;
}

static double value_of(const char *metric, const struct sample *s)
{
	static const char *const words[FAKE_PM_VALUES] = { "sm__cycles_active", "tensor", "dram__bytes_read",
		"dram__bytes_write" };

	for (int i = 0; i < FAKE_PM_VALUES; i++)
		if (strstr(metric, words[i]))
			return s->values[i];
	return 0;
}

API int cuptiProfilerHostEvaluateToGpuValues(struct cupti_host_evaluate *p)
{
	const struct image *image = (const void *)p->image;
	struct host *h = host_of(p->host);

	COUNTED;
	EXPECT_SIZE(p, struct cupti_host_evaluate, values);
	EXPECT(h && p->name_count == h->metric_count && p->index < image->count, INVALID_PARAMETER);
	for (size_t i = 0; i < p->name_count; i++) {
		EXPECT(!strcmp(p->names[i], h->names[i]), INVALID_METRIC_NAME);
		p->values[i] = value_of(p->names[i], &image->samples[p->index]);
	}
	return CUPTI_OK;
}

/* ---- the test's side --------------------------------------------------- */

static void reset(void)
{
	memset(devices, 0, sizeof devices);
	memset(hosts, 0, sizeof hosts);
	memset(troubles, 0, sizeof troubles);
	host_count = initialized = mistake_count = 0;
	most_per_pass = METRICS;
	unknown[0] = 0;
	time_possible = true;
}

static void sample(int device, uint64_t start, uint64_t end, double sm, double tensor, double dram_read,
	double dram_write)
{
	struct device *d = &devices[device];

	pthread_mutex_lock(&lock);
	if (d->started && !d->full && d->pending_count < PENDING)
		d->pending[d->pending_count++] = (struct sample){ start, end,
			{ sm, tensor, dram_read, dram_write } };
	pthread_mutex_unlock(&lock);
}

static void overflow(int device)
{
	pthread_mutex_lock(&lock);
	devices[device].full = true;
	devices[device].pending_count = 0;
	pthread_mutex_unlock(&lock);
}

static void occupy(int device, bool by_another)
{
	devices[device].occupied = by_another;
}

static void pass_limit(uint32_t metrics)
{
	most_per_pass = metrics;
}

static void know(const char *metric, bool known)
{
	snprintf(unknown, sizeof unknown, "%s", known ? "" : metric);
}

static void time_trigger(bool possible)
{
	time_possible = possible;
}

static bool sampling(int device)
{
	bool is;

	pthread_mutex_lock(&lock);
	is = devices[device].started;
	pthread_mutex_unlock(&lock);
	return is;
}

static uint32_t held(void)
{
	uint32_t count = host_count + initialized;

	for (int i = 0; i < DEVICES; i++)
		count += devices[i].enabled;
	return count;
}

static uint32_t mistakes(void)
{
	return mistake_count;
}

static uint64_t started(int device)
{
	return devices[device].start_count;
}

static void trouble(int device, unsigned some)
{
	pthread_mutex_lock(&lock);
	troubles[device] = some;
	pthread_mutex_unlock(&lock);
}

API const struct fake_pm *fake_pm(void);
API const struct fake_pm *fake_pm(void)
{
	static const struct fake_pm fake = { reset, sample, overflow, occupy, pass_limit, know, time_trigger,
		sampling, held, mistakes, started, trouble };

	return &fake;
}
