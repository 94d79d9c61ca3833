/* Contexts are added under a lock and stay; their events go round through a ring. */
#include "gpu/pool.h"

#include "base/hot.h"
#include "record/put.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GROW_INLINE 32u

static struct sb_gpu_context contexts[SB_GPU_CONTEXTS_MAX];
static _Atomic uint32_t context_count;
SB_HOT_DATA _Atomic uint32_t sb_gpu_contexts_lost;
static pthread_mutex_t adding = PTHREAD_MUTEX_INITIALIZER;

static struct sb_gpu_context *find(sb_cu_context handle)
{
	uint32_t count = atomic_load_explicit(&context_count, memory_order_acquire);

	for (uint32_t i = 0; i < count; i++)
		if (atomic_load_explicit(&contexts[i].handle, memory_order_acquire) == handle)
			return &contexts[i];
	return NULL;
}

/* Which GPU a device number means: names and UUIDs tie it to what NVML reports. */
static void describe(const struct sb_cuda *cuda, int device)
{
	char key[48], text[128] = "";
	unsigned char uuid[16];

	snprintf(key, sizeof key, "cuda_device_%d_name", device);
	if (cuda->device_name && !cuda->device_name(text, sizeof text, device))
		sb_keep_meta_string(SB_META_SYSTEM, key, text);
	if (!cuda->device_uuid || cuda->device_uuid(uuid, device))
		return;
	snprintf(key, sizeof key, "cuda_device_%d_uuid", device);
	snprintf(text, sizeof text,
		"GPU-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", uuid[0], uuid[1],
		uuid[2], uuid[3], uuid[4], uuid[5], uuid[6], uuid[7], uuid[8], uuid[9], uuid[10], uuid[11],
		uuid[12], uuid[13], uuid[14], uuid[15]);
	sb_keep_meta_string(SB_META_SYSTEM, key, text);
}

static struct sb_gpu_context *add(const struct sb_cuda *cuda, sb_cu_context handle)
{
	uint32_t index = atomic_load(&context_count);
	struct sb_gpu_context *c = &contexts[index];

	if (index == SB_GPU_CONTEXTS_MAX)
		return NULL;
	memset(c, 0, sizeof *c);
	if (cuda->context_device(&c->device))
		return NULL;
	if (cuda->context_id)
		cuda->context_id(handle, &c->id);
	c->events = calloc(SB_GPU_EVENTS_MAX, sizeof *c->events);
	if (!c->events || !sb_ring_init(&c->free, SB_GPU_EVENTS_MAX, sizeof(struct sb_gpu_event *))) {
		free(c->events);
		return NULL;
	}
	atomic_store_explicit(&c->handle, handle, memory_order_release);
	atomic_store_explicit(&context_count, index + 1, memory_order_release);
	describe(cuda, c->device);
	return c;
}

struct sb_gpu_context *sb_gpu_context_of(const struct sb_cuda *cuda, sb_cu_context handle)
{
	struct sb_gpu_context *c = find(handle);

	if (c)
		return c;
	pthread_mutex_lock(&adding);
	c = find(handle);
	if (!c)
		c = add(cuda, handle);
	pthread_mutex_unlock(&adding);
	return c;
}

struct sb_gpu_context *sb_gpu_context_at(uint32_t index)
{
	return index < atomic_load(&context_count) ? &contexts[index] : NULL;
}

void sb_gpu_context_lost(struct sb_gpu_context *context)
{
	atomic_store(&context->dead, true);
	atomic_store(&context->handle, NULL);
	atomic_fetch_add(&sb_gpu_contexts_lost, 1);
}

void sb_gpu_contexts_forget(void)
{
	uint32_t count = atomic_exchange(&context_count, 0);

	for (uint32_t i = 0; i < count; i++) {
		sb_ring_done(&contexts[i].free);
		free(contexts[i].events);
		memset(&contexts[i], 0, sizeof contexts[i]);
	}
	pthread_mutex_init(&adding, NULL);
}

/* Relaxed: creating an event while some stream is being captured must not
 * invalidate that capture. */
void sb_gpu_pool_grow(const struct sb_cuda *cuda, struct sb_gpu_context *context, uint32_t count)
{
	int mode = SB_CU_CAPTURE_RELAXED;

	if (atomic_load(&context->event_count) >= SB_GPU_EVENTS_MAX)
		return;
	cuda->capture_mode(&mode);
	while (count-- > 0) {
		uint32_t index = atomic_fetch_add(&context->event_count, 1);
		struct sb_gpu_event *e = &context->events[index];

		if (index >= SB_GPU_EVENTS_MAX) {
			atomic_fetch_sub(&context->event_count, 1);
			break;
		}
		if (cuda->event_create(&e->handle, 0)) {
			uint32_t next = index + 1;

			/* For another time, unless others are filling the next already. */
			atomic_compare_exchange_strong(&context->event_count, &next, index);
			break;
		}
		e->context = context;
		sb_ring_push(&context->free, &e);
	}
	cuda->capture_mode(&mode);
}

uint32_t sb_gpu_events_take(const struct sb_cuda *cuda, struct sb_gpu_context *context,
	struct sb_gpu_event **out_events, uint32_t most)
{
	uint32_t count = 0;

	if (!sb_ring_count(&context->free))
		sb_gpu_pool_grow(cuda, context, GROW_INLINE);
	while (count < most && sb_ring_pop(&context->free, &out_events[count]))
		count++;
	return count;
}

void sb_gpu_event_return(struct sb_gpu_event *event)
{
	sb_ring_push(&event->context->free, &event);
}

SB_HOT_CODE bool sb_gpu_event_share(struct sb_gpu_event *event, uint64_t use)
{
	uint64_t state = atomic_load_explicit(&event->state, memory_order_acquire);

	while ((state & ~SB_GPU_REFERENCES) == use && (state & SB_GPU_REFERENCES) > 0)
		if (atomic_compare_exchange_weak(&event->state, &state, state + 1))
			return true;
	return false;
}

void sb_gpu_event_release(struct sb_gpu_event *event)
{
	uint64_t before = atomic_fetch_sub_explicit(&event->state, 1, memory_order_acq_rel);

	if ((before & SB_GPU_REFERENCES) == 1)
		sb_ring_push(&event->context->free, &event);
}
