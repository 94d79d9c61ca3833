/* See fake_cuda.h. Not thread-safe beyond one lock around everything. */
#include "fake/fake_cuda.h"
#include "fake/lock.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define API __attribute__((visibility("default")))
#define DEVICES 20
enum {
	OK = 0,
	INVALID_VALUE = 1,
	OUT_OF_MEMORY = 2,
	NOT_INITIALIZED = 3,
	INVALID_CONTEXT = 201,
	INVALID_HANDLE = 400,
	NOT_READY = 600,
	CONTEXT_IS_DESTROYED = 709
};

struct event {
	uint64_t ns;
	void *context;
	unsigned long long context_id;
	int recorded, alive;
	struct event *next; /* destroyed ones too: strobe must not use them again */
};
struct stream {
	void *handle;
	uint64_t free_ns; /* when what is queued is done */
	int capture;
};
struct context {
	void *handle;
	int device, alive;
	unsigned long long id;
	int own; /* made by the program: not its device's primary one */
};

/* Each function counts for itself: a benchmark over this driver should see little
 * of the driver. */
struct site {
	const char *name;
	_Atomic uint64_t count;
	struct site *next;
};
static struct site *_Atomic sites;
static uint64_t now_ns;
static struct stream streams[64];
static struct context contexts[64];
static unsigned long long next_id;
static struct event *events; /* every one that was made */
static _Atomic uint32_t event_count;
static uint32_t event_limit;
static int record_error, capturing_error;
static void (*while_recording)(void);
static uint64_t record_ns;
static __thread void *current;
static _Atomic int initialised; /* the program has made a context, here or elsewhere */
static __thread void *pushed[8];
static __thread int push_depth;

static void add_site(struct site *site, const char *name)
{
	pthread_mutex_lock(&lock);
	if (!site->name) {
		site->name = name;
		site->next = sites;
		sites = site;
	}
	pthread_mutex_unlock(&lock);
}
#define COUNT_AS(text)                         \
	do {                                   \
		static struct site here;       \
		if (!here.name)                \
			add_site(&here, text); \
		here.count++;                  \
	} while (0)
#define COUNTED                               \
	do {                                  \
		COUNT_AS(__func__);           \
		if (cancellable)              \
			pthread_testcancel(); \
	} while (0)

static struct stream *stream_of(void *handle)
{
	for (int i = 0; i < 64; i++) {
		if (!streams[i].handle)
			streams[i].handle = handle ? handle : &streams;
		if (streams[i].handle == (handle ? handle : (void *)&streams))
			return &streams[i];
	}
	abort();
}

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static struct context *context_of(void *handle)
{
	for (int i = 63; i >= 0; i--)
		if (contexts[i].handle == handle && handle)
			return &contexts[i];
	return NULL;
}

/* ---- what strobe may call ---------------------------------------------- */

API int cuCtxGetCurrent(void **out)
{
	COUNTED;
	*out = current;
	return initialised ? OK : NOT_INITIALIZED;
}

API int cuCtxPushCurrent_v2(void *context)
{
	struct context *c = context_of(context);

	COUNTED;
	if (!c || !c->alive)
		return CONTEXT_IS_DESTROYED;
	pushed[push_depth++] = current;
	current = context;
	return OK;
}

API int cuCtxPopCurrent_v2(void **out)
{
	COUNTED;
	*out = current;
	current = pushed[--push_depth];
	return OK;
}

API int cuCtxGetDevice(int *out)
{
	COUNTED;
	*out = context_of(current) ? context_of(current)->device : 0;
	return current ? OK : INVALID_CONTEXT;
}

API int cuCtxGetId(void *context, unsigned long long *out)
{
	COUNTED;
	if (!context_of(context))
		return INVALID_CONTEXT;
	*out = context_of(context)->id;
	return OK;
}

API int cuEventCreate(void **out, unsigned flags)
{
	struct event *e;

	(void)flags;
	COUNTED;
	if (event_count >= event_limit)
		return OUT_OF_MEMORY;
	event_count++;
	e = calloc(1, sizeof *e);
	e->alive = 1;
	pthread_mutex_lock(&lock);
	e->next = events;
	events = e;
	pthread_mutex_unlock(&lock);
	e->context = current;
	e->context_id = context_of(current) ? context_of(current)->id : 0;
	*out = e;
	return current ? OK : INVALID_CONTEXT;
}

API int cuEventDestroy_v2(void *event)
{
	COUNTED;
	((struct event *)event)->alive = 0;
	return OK;
}

API int cuEventRecord(void *event, void *stream)
{
	uint64_t until = record_ns ? cpu_ns() + record_ns : 0;
	struct event *e = event;
	struct stream *s;

	COUNTED;
	while (until && cpu_ns() < until)
		;
	if (while_recording)
		while_recording();
	if (record_error)
		return record_error;
	if (!current)
		return INVALID_CONTEXT;
	if (e->context != current || e->context_id != context_of(current)->id) {
		COUNT_AS("event of a context that is gone");
		return INVALID_HANDLE;
	}
	pthread_mutex_lock(&lock);
	s = stream_of(stream);
	e->ns = s->free_ns > now_ns ? s->free_ns : now_ns;
	e->recorded = 1;
	pthread_mutex_unlock(&lock);
	if (!s->capture)
		return OK;
	COUNT_AS("capture broken");
	return 900;
}

API int cuEventQuery(void *event)
{
	COUNTED;
	return ((struct event *)event)->ns <= now_ns ? OK : NOT_READY;
}

API int cuEventElapsedTime(float *out, void *from, void *to)
{
	struct event *a = from, *b = to;

	COUNTED;
	if (a->context != current || b->context != current || !a->recorded || !b->recorded)
		return INVALID_HANDLE;
	if (a->ns > now_ns || b->ns > now_ns)
		return NOT_READY;
	*out = (float)((double)(int64_t)(b->ns - a->ns) * 1e-6);
	return OK;
}

API int cuStreamCreateWithPriority(void **out, unsigned flags, int priority)
{
	static char handles[1024];
	static _Atomic uint32_t count;

	(void)priority;
	COUNTED;
	*out = &handles[count++ % sizeof handles];
	return flags & 1 ? OK : INVALID_VALUE;
}

API int cuStreamIsCapturing(void *stream, int *out)
{
	int state;

	COUNTED;
	if (capturing_error || !current)
		return capturing_error ? capturing_error : INVALID_CONTEXT;
	pthread_mutex_lock(&lock);
	state = stream_of(stream)->capture;
	pthread_mutex_unlock(&lock);
	*out = state > 0;
	return state < 0 ? 906 : OK;
}

API int cuStreamGetId(void *stream, unsigned long long *out)
{
	COUNTED;
	if (stream_of(stream)->capture) {
		COUNT_AS("capture broken");
		return 901;
	}
	*out = stream ? (uintptr_t)stream & 0xffff : 7;
	return OK;
}

API int cuThreadExchangeStreamCaptureMode(int *mode)
{
	static __thread int mine;
	int before = mine;

	COUNTED;
	mine = *mode;
	*mode = before;
	return OK;
}

API int cuDeviceGetName(char *out, int size, int device)
{
	(void)device;
	COUNTED;
	strncpy(out, "Fake GPU", (size_t)size);
	return OK;
}

API int cuDeviceGetUuid_v2(unsigned char *out, int device)
{
	COUNTED;
	memset(out, device, 16);
	return OK;
}

API int cuDeviceGetCount(int *out)
{
	COUNTED;
	*out = DEVICES;
	return initialised ? OK : NOT_INITIALIZED;
}

/* 2 MHz, 1000 bits: 500 MB/s. */
API int cuDeviceGetAttribute(int *out, int attribute, int device)
{
	(void)device;
	COUNTED;
	*out = attribute == 36 ? 2000 : attribute == 37 ? 1000 : 0;
	return OK;
}

API int cuDevicePrimaryCtxGetState(int device, unsigned *flags, int *active)
{
	COUNTED;
	*flags = 0;
	*active = 0;
	for (int i = 0; i < 64; i++)
		*active |= contexts[i].handle && contexts[i].alive && !contexts[i].own &&
			   contexts[i].device == device;
	return OK;
}

static uint64_t free_bytes, total_bytes;

API int cuMemGetInfo_v2(size_t *out_free, size_t *out_total)
{
	COUNTED;
	*out_free = free_bytes;
	*out_total = total_bytes;
	return total_bytes ? OK : NOT_INITIALIZED;
}

/* ---- what strobe must never call --------------------------------------- */

#define FORBIDDEN(name)    \
	API int name(void) \
	{                  \
		COUNTED;   \
		return OK; \
	}
int cuInit(void), cuCtxCreate_v2(void), cuCtxCreate_v4(void), cuDevicePrimaryCtxRetain(void),
	cuCtxSynchronize(void), cuStreamSynchronize(void), cuEventSynchronize(void), cuCtxSetCurrent(void);
FORBIDDEN(cuInit)
FORBIDDEN(cuCtxCreate_v2)
FORBIDDEN(cuCtxCreate_v4)
FORBIDDEN(cuDevicePrimaryCtxRetain)
FORBIDDEN(cuCtxSynchronize)
FORBIDDEN(cuStreamSynchronize)
FORBIDDEN(cuEventSynchronize)
FORBIDDEN(cuCtxSetCurrent)

/* ---- the test's side --------------------------------------------------- */

static void reset(void)
{
	for (struct site *site = sites; site; site = site->next)
		site->count = 0;
	memset(streams, 0, sizeof streams);
	memset(contexts, 0, sizeof contexts);
	now_ns = 1000000000;
	event_count = 0;
	event_limit = UINT32_MAX;
	record_error = capturing_error = 0;
	while_recording = NULL;
	record_ns = 0;
	current = NULL;
	push_depth = 0;
	free_bytes = total_bytes = 0;
}

static void memory(uint64_t of_free, uint64_t of_total)
{
	free_bytes = of_free;
	total_bytes = of_total;
}

static uint64_t call_count(const char *function)
{
	uint64_t count = 0;

	for (struct site *site = sites; site; site = site->next)
		if (!strcmp(site->name, function))
			count += site->count;
	return count;
}

static void advance(uint64_t ns)
{
	now_ns += ns;
}

static void work(void *handle, uint64_t ns)
{
	struct stream *s = stream_of(handle);

	s->free_ns = (s->free_ns > now_ns ? s->free_ns : now_ns) + ns;
}

static void capture(void *handle, int state)
{
	stream_of(handle)->capture = state;
}

static void make_current(void *handle, int device)
{
	struct context *c = context_of(handle);

	for (int i = 0; handle && (!c || !c->alive) && i < 64; i++) {
		if (contexts[i].handle)
			continue;
		contexts[i] =
			(struct context){ .handle = handle, .device = device, .alive = 1, .id = ++next_id };
		break;
	}
	current = handle;
	initialised = 1;
}

static void make_own(void *handle, int device)
{
	make_current(handle, device);
	context_of(handle)->own = 1;
}

static void destroy(void *handle)
{
	struct context *c = context_of(handle);

	if (c)
		c->alive = 0;
	if (current == handle)
		current = NULL;
}

static void fail_record(int error)
{
	record_error = error;
}

static void on_record(void (*f)(void))
{
	while_recording = f;
}

static void record_takes(uint64_t ns)
{
	record_ns = ns;
}

static void fail_capturing(int error)
{
	capturing_error = error;
}

static void limit_events(uint32_t count)
{
	event_limit = count;
}

API const struct fake_cuda *fake_cuda(void);
API const struct fake_cuda *fake_cuda(void)
{
	static const struct fake_cuda fake = { reset, call_count, advance, work, capture, make_current,
		destroy, fail_record, limit_events, on_record, record_takes, fail_capturing, memory,
		make_own };

	return &fake;
}
