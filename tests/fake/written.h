/* What the recording half would have written: include once, in a test linked
 * with --wrap (tests/cmake/gpu.cmake). */
#ifndef FAKE_WRITTEN_H
#define FAKE_WRITTEN_H

#include "format/wire.h"
#include "record/put.h"

#include <stdio.h>
#include <string.h>

struct written {
	enum sb_stream stream;
	enum sb_long_type type;
	uint64_t aux;
	uint64_t payload[8];
	uint32_t words;
};

#define WRITTEN_MAX 20000u
static struct written written[WRITTEN_MAX];
static uint32_t written_count;
static uint64_t lost[SB_LOST_REASONS];
static char missing[1024]; /* "what: why; " of each */
static uint32_t epoch = 1;
static bool stream_full;

static void written_reset(void)
{
	written_count = 0;
	memset(lost, 0, sizeof lost);
	missing[0] = 0;
	stream_full = false;
}

bool __wrap_sb_put(
	enum sb_stream stream, enum sb_long_type type, uint64_t aux, const uint64_t *payload, uint32_t words)
{
	struct written *w = &written[written_count];

	if (stream_full)
		return false;
	if (stream != SB_STREAM_DEVICE || written_count == WRITTEN_MAX)
		return true;
	*w = (struct written){ .stream = stream, .type = type, .aux = aux, .words = words };
	memcpy(w->payload, payload, words * sizeof *payload);
	written_count++;
	return true;
}

void __wrap_sb_lost(enum sb_lost_reason reason, uint64_t count)
{
	__atomic_fetch_add(&lost[reason], count, __ATOMIC_RELAXED); /* from any thread */
}

void __wrap_sb_keep_missing(const char *what, const char *why, const char *how)
{
	size_t n = strlen(missing);

	(void)how;
	snprintf(missing + n, sizeof missing - n, "%s: %s; ", what, why);
}

uint32_t __wrap_sb_session_epoch(void)
{
	return epoch;
}

bool __wrap_sb_session_active(void)
{
	return true;
}

static inline uint32_t written_name(const struct written *w)
{
	return (uint32_t)w->aux & SB_ID_MAX;
}
static inline enum sb_gpu_kind written_kind(const struct written *w)
{
	return (enum sb_gpu_kind)(w->aux >> 20 & 15);
}
static inline uint32_t written_device(const struct written *w)
{
	return (uint32_t)(w->aux >> 24) & 255;
}
static inline uint32_t written_flags(const struct written *w)
{
	return (uint32_t)(w->aux >> 32) & 255;
}
static inline uint32_t written_stream(const struct written *w)
{
	return (uint32_t)(w->payload[3] >> 32);
}

#endif
