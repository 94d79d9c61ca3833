/* The least a CUPTI client can do: what strobe's GPU trace is measured against.
 * Collects records, walks them, keeps nothing. Built and driven by prove.py. */
#include "gpu/cupti.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
	WITH_RUNTIME = 1,
	WITH_DRIVER = 2,
	WITH_RUNTIME_RECORDS = 4,
	WITHOUT_ZEROING = 8,
	WITH_API_BEFORE = 16,
	WITH_API_AFTER = 32
};

#define BUFFER_BYTES (1u << 20)
#define SLOTS (1u << 18)

static void *library;
static void *subscriber;
static uint64_t kernel_count, copy_count, memset_count, other_count, matched_count, kernel_ns, callback_count;
static uint64_t first_start, last_end;
static struct {
	uint32_t correlation;
	uint32_t tid;
	uint64_t ns;
} slots[SLOTS];
static int flags_now;

static void *entry(const char *name)
{
	return dlsym(library, name);
}

#define CALL(name, ...) ((int (*)())entry(name))(__VA_ARGS__)

static void requested(uint8_t **buffer, size_t *size, size_t *record_count)
{
	*buffer = aligned_alloc(4096, BUFFER_BYTES);
	*size = BUFFER_BYTES;
	*record_count = 0;
	if (flags_now & WITHOUT_ZEROING)
		memset(*buffer, 0, BUFFER_BYTES);
}

static void seen(uint32_t correlation)
{
	if (slots[correlation & (SLOTS - 1)].correlation == correlation)
		matched_count++;
}

static void completed(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
	int (*next)(uint8_t *, size_t, const struct cupti_record **) = entry("cuptiActivityGetNextRecord");
	const struct cupti_record *record = NULL;

	(void)context, (void)stream, (void)size;
	while (next(buffer, valid, &record) == CUPTI_OK) {
		const struct cupti_kernel *k = (const void *)record;

		if (record->kind == CUPTI_KIND_CONCURRENT_KERNEL) {
			kernel_count++;
			kernel_ns += k->end - k->start;
			if (!first_start || k->start < first_start)
				first_start = k->start;
			if (k->end > last_end)
				last_end = k->end;
			seen(k->correlation);
		} else if (record->kind == CUPTI_KIND_MEMCPY) {
			copy_count++;
			seen(((const struct cupti_memcpy *)record)->correlation);
		} else if (record->kind == CUPTI_KIND_MEMSET) {
			memset_count++;
			seen(((const struct cupti_memset *)record)->correlation);
		} else {
			other_count++;
		}
	}
	free(buffer);
}

static void launched(void *user, uint32_t domain, uint32_t id, const void *data)
{
	const struct cupti_callback_data *d = data;
	static __thread uint32_t tid;
	struct timespec now;
	uint32_t i;

	(void)user, (void)domain, (void)id;
	if (d->site != CUPTI_API_ENTER)
		return;
	if (!tid)
		tid = (uint32_t)syscall(SYS_gettid);
	callback_count++;
	clock_gettime(CLOCK_MONOTONIC, &now);
	i = d->correlation & (SLOTS - 1);
	slots[i].correlation = d->correlation;
	slots[i].tid = tid;
	slots[i].ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void enable_apis(void)
{
	static const uint32_t runtime[] = CUPTI_RUNTIME_LAUNCHES;
	size_t i;

	for (i = 0; i < sizeof runtime / sizeof runtime[0]; i++)
		CALL("cuptiActivityEnableRuntimeApi", runtime[i], (uint8_t)1);
}

int bare_open(const char *path)
{
	uint32_t version = 0;

	library = dlopen(path, RTLD_NOW);
	if (!library)
		return -1;
	CALL("cuptiGetVersion", &version);
	return (int)version;
}

/* Returns 0, or CUPTI's error of the first call that failed. */
int bare_start(int flags)
{
	static const uint32_t runtime[] = CUPTI_RUNTIME_LAUNCHES, driver[] = CUPTI_DRIVER_LAUNCHES;
	uint8_t one = 1;
	size_t size = 1, i;
	int err;

	flags_now = flags;
	kernel_count = copy_count = memset_count = other_count = matched_count = kernel_ns = callback_count =
		0;
	first_start = last_end = 0;
	if (flags & (WITH_RUNTIME | WITH_DRIVER)) {
		err = CALL("cuptiSubscribe", &subscriber, launched, NULL);
		if (err)
			return err;
	}
	if (flags & WITHOUT_ZEROING)
		CALL("cuptiActivitySetAttribute", CUPTI_ATTR_ZEROED_OUT_BUFFER, &size, &one);
	err = CALL("cuptiActivityRegisterCallbacks", requested, completed);
	if (err)
		return err;
	if (flags & WITH_API_BEFORE)
		enable_apis();
	err = CALL("cuptiActivityEnable", CUPTI_KIND_CONCURRENT_KERNEL);
	if (!err)
		err = CALL("cuptiActivityEnable", CUPTI_KIND_MEMCPY);
	if (!err)
		err = CALL("cuptiActivityEnable", CUPTI_KIND_MEMSET);
	if (!err && (flags & WITH_RUNTIME_RECORDS))
		err = CALL("cuptiActivityEnable", 5);
	if (flags & WITH_API_AFTER)
		enable_apis();
	for (i = 0; flags & WITH_RUNTIME && i < sizeof runtime / sizeof runtime[0]; i++)
		CALL("cuptiEnableCallback", 1, subscriber, CUPTI_DOMAIN_RUNTIME, runtime[i]);
	for (i = 0; flags & WITH_DRIVER && i < sizeof driver / sizeof driver[0]; i++)
		CALL("cuptiEnableCallback", 1, subscriber, CUPTI_DOMAIN_DRIVER, driver[i]);
	return err;
}

/* out: kernels, copies, memsets, other records, matched launches, kernel ns, callbacks, first start, last end */
void bare_stop(uint64_t *out)
{
	if (subscriber && entry("cuptiEnableDomain")) { /* the stand-in has none */
		CALL("cuptiEnableDomain", 0, subscriber, CUPTI_DOMAIN_RUNTIME);
		CALL("cuptiEnableDomain", 0, subscriber, CUPTI_DOMAIN_DRIVER);
	}
	CALL("cuptiActivityFlushAll", CUPTI_FLUSH_FORCED);
	if (flags_now & WITH_RUNTIME_RECORDS)
		CALL("cuptiActivityDisable", 5);
	CALL("cuptiActivityDisable", CUPTI_KIND_CONCURRENT_KERNEL);
	CALL("cuptiActivityDisable", CUPTI_KIND_MEMCPY);
	CALL("cuptiActivityDisable", CUPTI_KIND_MEMSET);
	if (subscriber)
		CALL("cuptiUnsubscribe", subscriber);
	subscriber = NULL;
	out[0] = kernel_count, out[1] = copy_count, out[2] = memset_count, out[3] = other_count;
	out[4] = matched_count, out[5] = kernel_ns, out[6] = callback_count;
	out[7] = first_start, out[8] = last_end;
}

uint64_t bare_timestamp(void)
{
	uint64_t now = 0;

	CALL("cuptiGetTimestamp", &now);
	return now;
}

static double now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* out: ns of cuCtxGetCurrent, cuStreamIsCapturing, cuEventRecord, cuEventQuery,
 * cuEventElapsedTime, cuStreamGetId; then the narrowest and the median round trip
 * of an event on a stream of our own. */
void bare_driver_costs(void *stream, double *out)
{
	void *cuda = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
	int (*ctx)(void **) = dlsym(cuda, "cuCtxGetCurrent"),
			(*capturing)(void *, int *) = dlsym(cuda, "cuStreamIsCapturing");
	int (*create)(void **, unsigned) = dlsym(cuda, "cuEventCreate"),
			       (*record)(void *, void *) = dlsym(cuda, "cuEventRecord");
	int (*query)(void *) = dlsym(cuda, "cuEventQuery"),
			  (*elapsed)(float *, void *, void *) = dlsym(cuda, "cuEventElapsedTime");
	int (*id)(void *, unsigned long long *) = dlsym(cuda, "cuStreamGetId");
	int (*priority)(void **, unsigned, int) = dlsym(cuda, "cuStreamCreateWithPriority");
	void *events[1000], *context, *own;
	double widths[200], t;
	unsigned long long n;
	float ms;
	int i, j, state;

	for (i = 0; i < 1000; i++)
		create(&events[i], 0);
	for (j = 0; j < 2; j++) {
		t = now_ns();
		for (i = 0; i < 1000; i++)
			record(events[i], stream);
		out[2] = (now_ns() - t) / 1000;
	}
	t = now_ns();
	for (i = 0; i < 1000; i++)
		ctx(&context);
	out[0] = (now_ns() - t) / 1000;
	t = now_ns();
	for (i = 0; i < 1000; i++)
		capturing(stream, &state);
	out[1] = (now_ns() - t) / 1000;
	t = now_ns();
	for (i = 0; i < 1000; i++)
		id(stream, &n);
	out[5] = (now_ns() - t) / 1000;
	while (query(events[999]))
		;
	t = now_ns();
	for (i = 0; i < 1000; i++)
		query(events[i]);
	out[3] = (now_ns() - t) / 1000;
	t = now_ns();
	for (i = 1; i < 1000; i++)
		elapsed(&ms, events[0], events[i]);
	out[4] = (now_ns() - t) / 999;
	priority(&own, 1, -5);
	for (i = 0; i < 200; i++) {
		t = now_ns();
		record(events[0], own);
		while (query(events[0]))
			;
		widths[i] = now_ns() - t;
	}
	for (i = 1; i < 200; i++)
		for (j = i; j > 0 && widths[j] < widths[j - 1]; j--)
			t = widths[j], widths[j] = widths[j - 1], widths[j - 1] = t;
	out[6] = widths[0], out[7] = widths[100];
	for (i = 0; i < 1000; i++)
		((int (*)(void *))dlsym(cuda, "cuEventDestroy_v2"))(events[i]);
}

/* ---- every driver call, counted by name ---------------------------------- */

static uint64_t driver_calls[4096];
static const char *driver_names[4096];

static void count_call(void *user, uint32_t domain, uint32_t id, const void *data)
{
	const struct cupti_callback_data *d = data;

	(void)user;
	if (domain != CUPTI_DOMAIN_DRIVER || d->site != CUPTI_API_ENTER || id >= 4096)
		return;
	driver_names[id] = d->function;
	__atomic_fetch_add(&driver_calls[id], 1, __ATOMIC_RELAXED);
}

int bare_count_start(void)
{
	int err = CALL("cuptiSubscribe", &subscriber, count_call, NULL);

	memset(driver_calls, 0, sizeof driver_calls);
	return err ? err : CALL("cuptiEnableDomain", 1, subscriber, CUPTI_DOMAIN_DRIVER);
}

int bare_count_stop(const char **out_names, uint64_t *out_counts)
{
	int n = 0;

	CALL("cuptiEnableDomain", 0, subscriber, CUPTI_DOMAIN_DRIVER);
	CALL("cuptiUnsubscribe", subscriber);
	subscriber = NULL;
	for (int i = 0; i < 4096; i++)
		if (driver_calls[i]) {
			out_names[n] = driver_names[i];
			out_counts[n++] = driver_calls[i];
		}
	return n;
}
