/* See fake_cupti.h. Buffers are filled as CUPTI fills them: record after record,
 * and handed back at a flush or when full. */
#include "fake/fake_cupti.h"
#include "fake/lock.h"

#include "../src/gpu/cupti.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define API __attribute__((visibility("default")))
#define CALLS 64
#define RECORD_BYTES 216u /* as long as CUDA 13.0's kernel record */

static struct {
	const char *name;
	uint64_t count;
} calls[CALLS];
static uint32_t version = 130000;
static const char *refused;
static int refused_result;
static cupti_buffer_requested request;
static cupti_buffer_completed complete;
static cupti_callback callback;
static uint8_t *buffer;
static size_t buffer_bytes, used;
static bool kinds[64], callbacks[1024], runtime_callbacks[1024], zeroed_promised, someone_else;
static uint32_t next_correlation, dirty_count;
static uint64_t refused_count, dropped_count;
static bool unfinished; /* some work in the buffer is */
static const char *hooked;
static void (*hook)(void);
static char *own_name;

static int counted(const char *name)
{
	if (cancellable)
		pthread_testcancel();
	for (int i = 0; i < CALLS; i++) {
		if (!calls[i].name)
			calls[i].name = name;
		if (!strcmp(calls[i].name, name)) {
			calls[i].count++;
			break;
		}
	}
	if (hooked && !strcmp(hooked, name))
		hook();
	return refused && !strcmp(refused, name) ? refused_result : CUPTI_OK;
}
/* For the other file of this library. */
int fake_cupti_counted(const char *name);
int fake_cupti_counted(const char *name)
{
	return counted(name);
}

#define COUNTED                                 \
	do {                                    \
		int result = counted(__func__); \
		if (result)                     \
			return result;          \
	} while (0)

/* As CUDA 13.2's does in a process without a driver. */
API int cuptiGetVersion(uint32_t *out)
{
	if (getenv("FAKE_CUPTI_CRASHES"))
		abort();
	COUNTED;
	*out = getenv("FAKE_CUPTI_VERSION") ? (uint32_t)atoi(getenv("FAKE_CUPTI_VERSION")) : version;
	return CUPTI_OK;
}

API int cuptiGetTimestamp(uint64_t *out)
{
	struct timespec t;

	COUNTED;
	clock_gettime(CLOCK_MONOTONIC, &t);
	*out = ((uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec) + 5000000000000u;
	return CUPTI_OK;
}

API int cuptiActivityRegisterCallbacks(cupti_buffer_requested requested, cupti_buffer_completed completed)
{
	COUNTED;
	pthread_mutex_lock(&lock); /* records of other threads may be made meanwhile */
	request = requested;
	complete = completed;
	someone_else = false;
	pthread_mutex_unlock(&lock);
	return CUPTI_OK;
}

API int cuptiActivityEnable(int kind)
{
	COUNTED;
	kinds[kind] = true;
	return CUPTI_OK;
}

API int cuptiActivityDisable(int kind)
{
	COUNTED;
	kinds[kind] = false;
	return CUPTI_OK;
}

/* With the lock held: a flush may come while a record is being made. */
static void hand_back(void)
{
	uint8_t *full = buffer;

	if (!full)
		return;
	buffer = NULL;
	unfinished = false;
	if (!someone_else)
		complete(NULL, 0, full, buffer_bytes, used);
}

API int cuptiActivityFlushAll(uint32_t flags)
{
	COUNTED;
	pthread_mutex_lock(&lock);
	if (!unfinished || flags & CUPTI_FLUSH_FORCED)
		hand_back();
	pthread_mutex_unlock(&lock);
	return CUPTI_OK;
}

API int cuptiActivityGetNextRecord(uint8_t *at, size_t valid, const struct cupti_record **record)
{
	const uint8_t *next = *record ? (const uint8_t *)*record + RECORD_BYTES : at;

	if (next + RECORD_BYTES > at + valid)
		return CUPTI_MAX_LIMIT_REACHED;
	*record = (const void *)next;
	return CUPTI_OK;
}

API int cuptiActivityGetNumDroppedRecords(void *context, uint32_t stream, size_t *out)
{
	(void)context, (void)stream;
	COUNTED;
	*out = refused_count + dropped_count;
	refused_count = dropped_count = 0;
	return CUPTI_OK;
}

API int cuptiActivitySetAttribute(int attribute, size_t *size, void *value)
{
	COUNTED;
	if (attribute == CUPTI_ATTR_ZEROED_OUT_BUFFER && *size == 1)
		zeroed_promised = *(uint8_t *)value;
	return CUPTI_OK;
}

API int cuptiSubscribe(void **out, cupti_callback function, void *user)
{
	(void)user;
	COUNTED;
	*out = &callback;
	callback = function;
	return CUPTI_OK;
}

API int cuptiSubscribe_v2(
	void **out, cupti_callback function, void *user, struct cupti_subscriber_params *params)
{
	if (refused && !strcmp(refused, __func__) && params->other_name_size > 30)
		strcpy(params->other_name, "CUPTI for somebody else");
	COUNTED;
	free(own_name);
	own_name = strdup(params->name);
	return cuptiSubscribe(out, function, user);
}

API int cuptiUnsubscribe(void *subscriber)
{
	(void)subscriber;
	COUNTED;
	callback = NULL;
	memset(callbacks, 0, sizeof callbacks);
	memset(runtime_callbacks, 0, sizeof runtime_callbacks);
	return CUPTI_OK;
}

API int cuptiEnableCallback(uint32_t enable, void *subscriber, uint32_t domain, uint32_t id)
{
	(void)subscriber;
	COUNTED;
	if (domain == CUPTI_DOMAIN_DRIVER)
		callbacks[id] = enable;
	else if (domain == CUPTI_DOMAIN_RUNTIME)
		runtime_callbacks[id] = enable;
	return CUPTI_OK;
}

API int cuptiGetDeviceId(void *context, uint32_t *out)
{
	(void)context;
	COUNTED;
	*out = 3;
	return CUPTI_OK;
}

API int cuptiGetStreamIdEx(void *context, void *stream, uint8_t per_thread, uint32_t *out)
{
	(void)context, (void)per_thread;
	COUNTED;
	*out = (uint32_t)(uintptr_t)stream + 7;
	return CUPTI_OK;
}

API int cuptiGetResultString(int result, const char **out)
{
	/* As the real one of CUDA 13 without a driver: nothing of the program survives it. */
	(void)result, (void)out;
	abort();
}

/* ---- the test's side --------------------------------------------------- */

static void reset(void)
{
	hand_back();
	memset(calls, 0, sizeof calls);
	memset(kinds, 0, sizeof kinds);
	memset(callbacks, 0, sizeof callbacks);
	memset(runtime_callbacks, 0, sizeof runtime_callbacks);
	version = 130000;
	refused = NULL;
	next_correlation = 0;
	dirty_count = 0;
	refused_count = dropped_count = 0;
	unfinished = false;
	hooked = NULL;
	callback = NULL;
	zeroed_promised = someone_else = false;
}

static uint64_t call_count(const char *function)
{
	for (int i = 0; i < CALLS && calls[i].name; i++)
		if (!strcmp(calls[i].name, function))
			return calls[i].count;
	return 0;
}

static void set_version(uint32_t wanted)
{
	version = wanted;
}

static void refuse(const char *function, int result)
{
	refused = function;
	refused_result = result;
}

static uint64_t now(void)
{
	uint64_t stamp = 0;

	cuptiGetTimestamp(&stamp);
	return stamp;
}

static uint32_t launch(void)
{
	struct cupti_callback_data data = { .correlation = __atomic_add_fetch(
						    &next_correlation, 1, __ATOMIC_RELAXED) };
	cupti_callback tell = callback; /* its subscriber may go meanwhile: the call is made all the same */

	if (tell && callbacks[307]) {
		data.site = CUPTI_API_ENTER;
		tell(NULL, CUPTI_DOMAIN_DRIVER, 307, &data);
		data.site = CUPTI_API_EXIT;
		tell(NULL, CUPTI_DOMAIN_DRIVER, 307, &data);
	}
	return data.correlation;
}

static void call(uint32_t domain, uint32_t id, uint32_t site, const void *params, uint64_t *word)
{
	struct cupti_callback_data data = {
		.site = site, .params = params, .correlation_data = word, .correlation = next_correlation
	};
	bool wanted = domain == CUPTI_DOMAIN_DRIVER ? callbacks[id] : runtime_callbacks[id];

	if (id && callback && wanted)
		callback(NULL, domain, id, &data);
}

static void synchronize(uint32_t runtime_id, uint32_t driver_id, void *stream, void (*meanwhile)(void))
{
	void *params[1] = { stream };
	uint64_t words[2] = { 0, 0 }; /* of either call */

	++next_correlation;
	call(CUPTI_DOMAIN_RUNTIME, runtime_id, CUPTI_API_ENTER, params, &words[0]);
	call(CUPTI_DOMAIN_DRIVER, driver_id, CUPTI_API_ENTER, params, &words[1]);
	if (meanwhile)
		meanwhile();
	call(CUPTI_DOMAIN_DRIVER, driver_id, CUPTI_API_EXIT, params, &words[1]);
	call(CUPTI_DOMAIN_RUNTIME, runtime_id, CUPTI_API_EXIT, params, &words[0]);
}

static void driver_call(uint32_t id, const void *params, int result)
{
	struct cupti_callback_data data = {
		.params = params, .return_value = &result, .correlation = ++next_correlation
	};

	for (data.site = CUPTI_API_ENTER; callback && callbacks[id] && data.site <= CUPTI_API_EXIT;
		data.site++)
		callback(NULL, CUPTI_DOMAIN_DRIVER, id, &data);
}

static void *record(int kind)
{
	uint8_t *at;

	if (!kinds[kind])
		return NULL;
	if (buffer && used + RECORD_BYTES > buffer_bytes)
		hand_back();
	if (!buffer) {
		size_t count = 0;

		request(&buffer, &buffer_bytes, &count);
		used = 0;
		for (size_t i = 0; buffer && zeroed_promised && i < buffer_bytes; i++)
			if (buffer[i]) {
				dirty_count++;
				break;
			}
	}
	if (!buffer) {
		refused_count++;
		return NULL;
	}
	at = buffer + used;
	used += RECORD_BYTES;
	memset(at, 0, RECORD_BYTES);
	((struct cupti_record *)at)->kind = (uint32_t)kind;
	return at;
}

static int32_t shape_shared_bytes, shape_grid_y, shape_grid_x, shape_block_x;
static uint16_t shape_registers;

static void shape(int32_t shared_bytes, int32_t grid_y)
{
	shape_shared_bytes = shared_bytes;
	shape_grid_y = grid_y;
}

static void sized(int32_t grid_x, int32_t block_x, uint16_t registers)
{
	shape_grid_x = grid_x;
	shape_block_x = block_x;
	shape_registers = registers;
}

static void kernel(uint32_t correlation, uint64_t start, uint64_t end, const char *name)
{
	struct cupti_kernel *k;

	pthread_mutex_lock(&lock);
	k = record(CUPTI_KIND_CONCURRENT_KERNEL);
	if (k) {
		k->correlation = correlation;
		k->start = start;
		k->end = end;
		k->name = name;
		k->dynamic_shared_bytes = shape_shared_bytes;
		k->grid[0] = shape_grid_x;
		k->block[0] = shape_block_x;
		k->block[1] = k->block[2] = 1;
		k->registers_per_thread = shape_registers;
		k->grid[1] = shape_grid_y;
		k->grid[2] = 1;
		k->stream = 7;
	}
	pthread_mutex_unlock(&lock);
}

static void copy(uint32_t correlation, uint64_t start, uint64_t end, uint8_t kind, uint8_t source,
	uint8_t target, uint64_t bytes)
{
	struct cupti_memcpy *c = record(CUPTI_KIND_MEMCPY);

	if (!c)
		return;
	c->correlation = correlation;
	c->start = start;
	c->end = end;
	c->copy_kind = kind;
	c->source_kind = source;
	c->target_kind = target;
	c->bytes = bytes;
	c->device = 2;
}

static void set(uint32_t correlation, uint64_t start, uint64_t end, uint64_t bytes)
{
	struct cupti_memset *m = record(CUPTI_KIND_MEMSET);

	if (!m)
		return;
	m->correlation = correlation;
	m->start = start;
	m->end = end;
	m->bytes = bytes;
}

static bool enabled(int kind)
{
	return kinds[kind];
}

static bool subscribed(void)
{
	return callback != NULL;
}

static uint32_t held(void)
{
	return buffer != NULL;
}

static void hold_empty(void)
{
	size_t bytes = 0, count = 0;
	uint8_t *empty = NULL;

	request(&empty, &bytes, &count);
}

static void begin(uint32_t correlation, const char *name)
{
	kernel(correlation, 0, 0, name);
	unfinished = true;
}

static void finish(void)
{
	pthread_mutex_lock(&lock);
	for (size_t at = 0; buffer && at < used; at += RECORD_BYTES) {
		struct cupti_kernel *k = (void *)(buffer + at);

		if (!k->start) {
			k->start = now();
			k->end = k->start + 1;
		}
	}
	unfinished = false;
	pthread_mutex_unlock(&lock);
}

static void on(const char *function, void (*made)(void))
{
	hooked = function;
	hook = made;
}

static void drop(uint32_t count)
{
	dropped_count += count;
}

static void take_over(void)
{
	someone_else = true;
}

static uint32_t unzeroed(void)
{
	return dirty_count;
}

static uint64_t refused_records(void)
{
	return refused_count;
}

API const struct fake_cupti *fake_cupti(void);
API const struct fake_cupti *fake_cupti(void)
{
	static const struct fake_cupti fake = { reset, call_count, set_version, refuse, now, launch, kernel,
		copy, set, enabled, subscribed, held, hold_empty, take_over, unzeroed, refused_records, shape,
		sized, synchronize, begin, finish, on, drop, driver_call };

	return &fake;
}
