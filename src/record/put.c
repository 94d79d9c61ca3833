/* Whole records into any stream of the calling thread's writer. */
#include "record/put.h"

#include "base/hot.h"
#include "record/clock.h"
#include "record/fork.h"
#include "record/recorder.h"
#include "strobe.h"

#include <string.h>

void sb_lost(enum sb_lost_reason reason, uint64_t count)
{
	uint32_t state = atomic_load_explicit(&REC->state, memory_order_acquire);

	/* A header that has just been closed is memory that is never read: harmless. */
	if (sb_session_active())
		__atomic_fetch_add(sb_lost_at(sb_header(), reason), count, __ATOMIC_RELAXED);
	else if (state == SB_ARMED || state == SB_OPENING)
		atomic_fetch_add_explicit(&REC->lost_early[reason], count, memory_order_relaxed);
}

void sb_made(enum sb_made what, int64_t count)
{
	if (count > 0 && sb_session_active())
		__atomic_fetch_add(&sb_header()->made[what], (uint64_t)count, __ATOMIC_RELAXED);
}

void sb_lost_early_tell(void)
{
	for (uint32_t i = 0; i < SB_LOST_REASONS; i++) {
		uint64_t count = atomic_exchange_explicit(&REC->lost_early[i], 0, memory_order_relaxed);

		if (count)
			__atomic_fetch_add(sb_lost_at(sb_header(), i), count, __ATOMIC_RELAXED);
	}
}

bool sb_session_active(void)
{
	return atomic_load_explicit(&REC->state, memory_order_acquire) == SB_OPEN && !sb_fork_is_fresh();
}

SB_HOT_CODE uint32_t sb_session_epoch(void)
{
	return atomic_load(&REC->session);
}

bool sb_session_is_forked(void)
{
	return REC->forked;
}

void sb_session_add_own_cpu(uint64_t ns)
{
	if (sb_session_active())
		__atomic_fetch_add(&sb_header()->own_cpu_ns, ns, __ATOMIC_RELAXED);
}

static struct sb_position *position(struct sb_writer *w, enum sb_stream stream)
{
	return stream == SB_STREAM_HOT ? &w->hot : stream == SB_STREAM_DEVICE ? &w->device : &w->keep;
}

/* KEEP and DEVICE records carry their own times: the base does not matter. */
static bool side_room(struct sb_writer *w, enum sb_stream stream, enum sb_long_type type, uint32_t words)
{
	struct sb_position *p = position(w, stream);
	uint32_t chunk;

	if (p->chunk && p->cur + words <= p->limit)
		return true;
	chunk = sb_chunk_take(&REC->extent, stream, !p->chunk);
	if (!chunk && type == SB_NAME) /* without its name a zone is nothing */
		chunk = sb_chunk_take(&REC->extent, SB_STREAM_HOT, true);
	if (!chunk) {
		sb_lost(stream == SB_STREAM_DEVICE ? SB_LOST_DEVICE_FULL : SB_LOST_KEEP_FULL, 1);
		return false;
	}
	if (p->chunk && p->cur < p->limit)
		__atomic_store_n(p->cur, sb_word(SB_PAD, 0, 0), __ATOMIC_RELEASE);
	sb_writer_open_chunk(w, p, stream, chunk, sb_clock_ticks());
	return true;
}

/* Room for a record; the writer is entered when it returns one. */
static uint64_t *record_begin(
	enum sb_stream stream, enum sb_long_type type, uint32_t words, struct sb_writer **out_writer)
{
	struct sb_writer *w = sb_writer_enter();
	bool room;

	if (!w)
		return NULL;
	room = stream == SB_STREAM_HOT ? sb_writer_room(w, words, sb_clock_ticks())
				       : side_room(w, stream, type, words);
	if (!room) {
		sb_writer_leave(w);
		return NULL;
	}
	*out_writer = w;
	return position(w, stream)->cur;
}

static void record_end(struct sb_writer *w, enum sb_stream stream, uint64_t head, uint32_t words)
{
	struct sb_position *p = position(w, stream);

	__atomic_store_n(p->cur, head, __ATOMIC_RELEASE);
	p->cur += words;
	sb_writer_leave(w);
}

bool sb_put(
	enum sb_stream stream, enum sb_long_type type, uint64_t aux, const uint64_t *payload, uint32_t words)
{
	struct sb_writer *w;
	uint64_t *at = words > SB_PUT_WORDS_MAX ? NULL : record_begin(stream, type, words + 1, &w);

	if (!at)
		return false;
	if (words)
		memcpy(at + 1, payload, words * sizeof *payload);
	record_end(w, stream, sb_long(type, words, aux), words + 1);
	return true;
}

bool sb_put_text(enum sb_stream stream, enum sb_long_type type, uint64_t aux, const uint64_t *payload,
	uint32_t words, const char *text, size_t size)
{
	struct sb_writer *w;
	uint32_t all;
	uint64_t *at;

	if (size > SB_STRING_MAX) {
		size = SB_STRING_MAX;
		sb_lost(SB_LOST_STRING, 1);
	}
	all = words + 1 + (uint32_t)((size + 7) / 8);
	at = record_begin(stream, type, all + 1, &w);
	if (!at)
		return false;
	if (words)
		memcpy(at + 1, payload, words * sizeof *payload);
	at[1 + words] = size;
	memcpy(at + 2 + words, text, size); /* the chunk was zeroed: the padding is there */
	record_end(w, stream, sb_long(type, all, aux), all + 1);
	return true;
}

/* ---- META ---------------------------------------------------------------- */

static uint64_t meta_aux(enum sb_meta_scope scope, const char *key, enum strobe_type type)
{
	return sb_name_intern(key, NULL) | (uint64_t)type << 20 | (uint64_t)scope << 24;
}

void sb_keep_meta_string(enum sb_meta_scope scope, const char *key, const char *value)
{
	sb_put_text(SB_STREAM_KEEP, SB_META, meta_aux(scope, key, STROBE_TYPE_STRING), NULL, 0, value,
		strlen(value));
}

void sb_keep_meta_int(enum sb_meta_scope scope, const char *key, int64_t value)
{
	uint64_t bits = (uint64_t)value;

	sb_put(SB_STREAM_KEEP, SB_META, meta_aux(scope, key, STROBE_TYPE_INT), &bits, 1);
}

void sb_keep_meta_bool(enum sb_meta_scope scope, const char *key, bool value)
{
	uint64_t bits = value;

	sb_put(SB_STREAM_KEEP, SB_META, meta_aux(scope, key, STROBE_TYPE_BOOL), &bits, 1);
}

void sb_keep_meta_float(enum sb_meta_scope scope, const char *key, double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof bits);
	sb_put(SB_STREAM_KEEP, SB_META, meta_aux(scope, key, STROBE_TYPE_FLOAT), &bits, 1);
}

void sb_keep_missing(const char *what, const char *why, const char *how)
{
	char text[SB_STRING_MAX];
	size_t n = strnlen(why, 1000), m = strnlen(how, 1000);

	memcpy(text, why, n);
	text[n] = '|';
	memcpy(text + n + 1, how, m);
	text[n + 1 + m] = 0;
	sb_keep_meta_string(SB_META_MISSING, what, text);
}

/* ---- samples ------------------------------------------------------------- */

uint32_t sb_schema_define(const char *source, int device, const char *const *columns, uint32_t column_count)
{
	uint64_t payload[SB_PUT_WORDS_MAX];
	uint32_t schema;

	if (column_count + 3 > SB_PUT_WORDS_MAX || !sb_session_active())
		return 0;
	schema = atomic_fetch_add(&REC->schema_count, 1) + 1;
	payload[0] = sb_name_intern(source, NULL);
	payload[1] = (uint64_t)(int64_t)(device + 1);
	payload[2] = column_count;
	for (uint32_t i = 0; i < column_count; i++)
		payload[3 + i] = sb_name_intern(columns[i], NULL);
	return sb_put(SB_STREAM_KEEP, SB_SCHEMA, schema, payload, column_count + 3) ? schema : 0;
}

uint32_t sb_keep_scarcity(void)
{
	struct sb_extent *x = &REC->extent;
	uint32_t share, used, level = 0;

	if (!sb_session_active())
		return 0;
	share = sb_extent_keep_share(x);
	used = atomic_load_explicit(&x->stream_used[SB_STREAM_KEEP], memory_order_relaxed);
	for (uint32_t left = used < share ? share - used : 1; left < share / 2; left *= 2)
		level++;
	return level;
}

void sb_sample_put(uint32_t schema, uint64_t ticks, const double *values, uint32_t count)
{
	uint64_t payload[SB_PUT_WORDS_MAX];

	if (!schema || count + 1 > SB_PUT_WORDS_MAX)
		return;
	payload[0] = ticks;
	memcpy(payload + 1, values, count * sizeof *values);
	sb_put(SB_STREAM_KEEP, SB_SAMPLE, schema, payload, count + 1);
}
