/* Single records of the public API: spans, durations, events, memory, gauges,
 * skipped stages, thread and track names. */
#include "strobe.h"

#include "base/hot.h"
#include "base/secret.h"
#include "record/clock.h"
#include "record/put.h"
#include "record/recorder.h"
#include "format/run_keys.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Attributes as they stand at the end of a record; what does not fit is cut. */
static uint32_t put_attrs(uint64_t *to, uint32_t room, const struct strobe_attr *attrs, size_t count)
{
	uint32_t n = 0;

	for (size_t i = 0; attrs && i < count; i++) {
		const struct strobe_attr *a = &attrs[i];
		size_t bytes = 8;
		const void *from = &a->value.i;

		if (!a->key)
			continue;
		if (a->type == STROBE_TYPE_STRING) {
			from = a->value.s ? a->value.s : "";
			bytes = strlen(from);
			bytes = bytes > SB_STRING_MAX ? SB_STRING_MAX : bytes;
		}
		if (n + 1 + (bytes + 7) / 8 > room) {
			sb_lost(SB_LOST_STRING, 1);
			break;
		}
		to[n + (bytes + 7) / 8] = 0; /* the padding of the last word */
		memcpy(&to[n + 1], from, bytes);
		to[n] = sb_name_intern(a->key, NULL) | (uint64_t)a->type << SB_ID_BITS |
			(uint64_t)bytes << 32;
		n += 1 + (uint32_t)((bytes + 7) / 8);
	}
	return n;
}

SB_HOT_CODE uint32_t sb_track_current(void)
{
	return sb_here->session ? sb_here->track : 0;
}

static void put_span(uint32_t name, uint64_t id, uint64_t start, uint64_t duration, uint32_t track,
	const struct strobe_attr *attrs, size_t attr_count)
{
	uint64_t payload[SB_PUT_WORDS_MAX] = { id, start, duration, track };
	uint32_t words = 4 + put_attrs(payload + 4, SB_PUT_WORDS_MAX - 4, attrs, attr_count);

	sb_put(SB_STREAM_HOT, SB_SPAN, name, payload, words);
}

struct strobe_span strobe_span_begin(const char *name)
{
	struct strobe_span span = { 0 };

	if (!STROBE_ON_())
		return span;
	span.name = sb_name_intern(name, NULL);
	span.start_ticks = sb_clock_ticks();
	span.id = atomic_fetch_add(&REC->span_count, 1) + 1;
	span.track = sb_track_current();
	sb_put(SB_STREAM_HOT, SB_SPAN_OPEN, span.name, (uint64_t[]){ span.id, span.start_ticks, span.track },
		3);
	return span;
}

void strobe_span_end(const struct strobe_span *span, const struct strobe_attr *attrs, size_t attr_count)
{
	if (!STROBE_ON_() || !span || !span->id)
		return;
	put_span(span->name, span->id, span->start_ticks, sb_clock_ticks() - span->start_ticks, span->track,
		attrs, attr_count);
}

void strobe_duration(
	const char *name, uint64_t duration_ns, const struct strobe_attr *attrs, size_t attr_count)
{
	uint64_t now, duration;

	if (!STROBE_ON_())
		return;
	now = sb_clock_ticks();
	duration = sb_clock_ticks_of_ns(duration_ns);
	put_span(sb_name_intern(name, NULL), 0, duration < now ? now - duration : 0, duration,
		sb_track_current(), attrs, attr_count);
}

void sb_put_duration(uint32_t name, uint64_t start_ticks, const struct strobe_attr *attrs, size_t attr_count)
{
	if (STROBE_ON_())
		put_span(name, 0, start_ticks, sb_clock_ticks() - start_ticks, sb_track_current(), attrs,
			attr_count);
}

void strobe_event(const char *name, const struct strobe_attr *attrs, size_t attr_count)
{
	uint64_t payload[SB_PUT_WORDS_MAX];
	uint32_t words;

	if (!STROBE_ON_())
		return;
	payload[0] = sb_clock_ticks();
	payload[1] = sb_track_current();
	words = 2 + put_attrs(payload + 2, SB_PUT_WORDS_MAX - 2, attrs, attr_count);
	sb_put(SB_STREAM_KEEP, SB_EVENT, sb_name_intern(name, NULL), payload, words);
}

/* The reader may run elsewhere: a path of its own is made whole. */
static void put_output(const char *path, const struct strobe_attr *raw, size_t raw_count)
{
	char whole[SB_STRING_MAX + 1], here[SB_STRING_MAX / 2];
	struct strobe_attr attrs[4];
	size_t count = 0;

	if (!STROBE_ON_() || !path || !*path)
		return;
	if (strstr(path, "://")) { /* of a stream */
		sb_secret_mask(path, whole, sizeof whole);
		path = whole;
	} else if (*path != '/' && getcwd(here, sizeof here) &&
		   (size_t)snprintf(whole, sizeof whole, "%s/%s", here, path) < sizeof whole) {
		path = whole;
	}
	attrs[count++] = (struct strobe_attr){ "path", STROBE_TYPE_STRING, { .s = path } };
	while (count <= raw_count && count < 4) {
		attrs[count] = raw[count - 1];
		count++;
	}
	strobe_event(SB_EVENT_OUTPUT, attrs, count);
}

void strobe_output(const char *path)
{
	put_output(path, NULL, 0);
}

void strobe_output_raw(const char *path, int64_t width, int64_t height, const char *pixel_format)
{
	put_output(path,
		(struct strobe_attr[]){ { "width", STROBE_TYPE_INT, { .i = width } },
			{ "height", STROBE_TYPE_INT, { .i = height } },
			{ "pixel_format", STROBE_TYPE_STRING, { .s = pixel_format ? pixel_format : "" } } },
		3);
}

void strobe_mark(const char *name)
{
	strobe_event(name, NULL, 0);
}

void strobe_snapshot(
	const char *label, int device, int64_t allocated_bytes, int64_t reserved_bytes, int64_t peak_bytes)
{
	if (!STROBE_ON_())
		return;
	sb_put(SB_STREAM_KEEP, SB_SNAPSHOT, sb_name_intern(label, NULL),
		(uint64_t[]){ sb_clock_ticks(), (uint64_t)(int64_t)device, (uint64_t)allocated_bytes,
			(uint64_t)reserved_bytes, (uint64_t)peak_bytes },
		5);
}

static void put_alloc(const char *allocator, int64_t bytes, const char *context)
{
	if (!STROBE_ON_())
		return;
	sb_put(SB_STREAM_HOT, SB_ALLOC, sb_name_intern(allocator ? allocator : "allocator", NULL),
		(uint64_t[]){
			sb_clock_ticks(), (uint64_t)bytes, context ? sb_name_intern(context, NULL) : 0 },
		3);
}

void strobe_alloc(const char *allocator, int64_t bytes, const char *context)
{
	put_alloc(allocator, bytes, context);
}

void strobe_free(const char *allocator, int64_t bytes, const char *context)
{
	put_alloc(allocator, -bytes, context);
}

void strobe_counter_set(const char *name, double value)
{
	uint64_t bits;

	if (!STROBE_ON_())
		return;
	memcpy(&bits, &value, sizeof bits);
	sb_put(SB_STREAM_HOT, SB_GAUGE, sb_name_intern(name, NULL), (uint64_t[]){ sb_clock_ticks(), bits },
		2);
}

void strobe_skip(const char *name, const char *code, const char *reason)
{
	if (!STROBE_ON_())
		return;
	if (!reason)
		reason = "";
	sb_put_text(SB_STREAM_KEEP, SB_SKIP, sb_name_intern(name, code),
		(uint64_t[]){ sb_clock_ticks(), sb_track_current() }, 2, reason, strlen(reason));
}

void strobe_lost_compiled(uint64_t count)
{
	if (STROBE_ON_())
		sb_lost(SB_LOST_COMPILED, count);
}

void strobe_thread_name(const char *name)
{
	struct sb_writer *w;

	if (!name || !STROBE_ON_())
		return;
	w = sb_writer_here();
	if (w)
		sb_put_text(SB_STREAM_KEEP, SB_THREAD, w->tid, NULL, 0, name, strlen(name));
}

uint32_t strobe_track_new(const char *name)
{
	uint32_t track;

	if (!STROBE_ON_())
		return 0;
	if (!sb_writer_here()) /* opens an armed session, which counts tracks anew */
		return 0;
	track = (atomic_fetch_add(&REC->track_count, 1) + 1) & SB_ID_MAX;
	if (name)
		sb_put_text(SB_STREAM_KEEP, SB_TRACK, track, NULL, 0, name, strlen(name));
	return track;
}
