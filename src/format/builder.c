/* The synthetic writer: one buffer per thread and lane, written out when full. */
#include "format/builder.h"

#include "base/error.h"
#include "base/map.h"
#include "base/strings.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct sb_lane_writer {
	struct sb_builder *builder;
	struct sb_lane_writer *next;
	struct sb_chunk_header head;
	uint64_t base;
	uint64_t seq;
	uint32_t track;
	uint32_t used; /* words in the buffer; 0: no chunk begun */
	uint64_t *words; /* a whole chunk, header included */
};

struct sb_builder {
	int fd;
	int error;
	char *path;
	struct sb_file_header head;
	uint32_t chunk_words;
	uint32_t chunk_count;
	uint32_t name_count;
	uint32_t track_count;
	uint32_t schema_count;
	struct sb_strings names; /* "name\0code" */
	struct sb_map ids; /* number in names -> id */
	struct sb_lane_writer *writers;
	struct sb_lane_writer *keep, *device;
	uint64_t last_ticks;
};

static const char *const fixed_names[] = { "",
#define TEXT_(sym, text) text,
	SB_FIXED_NAMES(TEXT_)
#undef TEXT_
};

static void fail(struct sb_builder *b)
{
	if (!b->error)
		b->error = sb_fail_errno("cannot write '%s'", b->path);
}

static void write_at(struct sb_builder *b, const void *data, size_t size, uint64_t offset)
{
	const char *from = data;

	while (size && !b->error) {
		ssize_t n = pwrite(b->fd, from, size, (off_t)offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			fail(b);
			return;
		}
		from += n;
		size -= (size_t)n;
		offset += (uint64_t)n;
	}
}

static uint64_t chunk_offset(const struct sb_builder *b, uint32_t index)
{
	return SB_FILE_HEADER_BYTES + (uint64_t)index * b->head.chunk_bytes;
}

static void flush_writer(struct sb_lane_writer *w)
{
	struct sb_builder *b = w->builder;

	if (!w->used)
		return;
	memcpy(w->words, &w->head, sizeof w->head);
	memset(w->words + w->used, 0, (b->chunk_words - w->used) * sizeof *w->words);
	write_at(b, w->words, b->head.chunk_bytes, chunk_offset(b, b->chunk_count++));
	w->used = 0;
}

static struct sb_lane_writer *writer_new(struct sb_builder *b, enum sb_lane lane, uint32_t tid)
{
	struct sb_lane_writer *w = calloc(1, sizeof *w);

	if (!w)
		return NULL;
	w->words = malloc(b->head.chunk_bytes);
	if (!w->words) {
		free(w);
		return NULL;
	}
	w->builder = b;
	w->head.generation = 2;
	w->head.writer = ++b->head.writer_count;
	w->head.tid = tid;
	w->head.lane = (uint16_t)lane;
	w->next = b->writers;
	b->writers = w;
	return w;
}

static void chunk_begin(struct sb_lane_writer *w, uint64_t ticks)
{
	w->base = ticks;
	w->head.seq = ++w->seq;
	w->head.base_ticks = ticks;
	w->head.anchor_mono_ns = 0;
	w->head.track = w->track;
	w->used = SB_CHUNK_HEADER_BYTES / 8;
}

/* Room for a record of so many words: it never straddles chunks. */
static uint64_t *room(struct sb_lane_writer *w, uint32_t words, uint64_t ticks)
{
	struct sb_builder *b = w->builder;
	uint64_t *at;

	if (words > b->chunk_words - SB_CHUNK_HEADER_BYTES / 8) {
		if (!b->error)
			b->error = sb_fail(STROBE_EINVAL, "a record of %u words does not fit a chunk", words);
		return NULL;
	}
	if (w->used && w->used + words > b->chunk_words) {
		if (w->used < b->chunk_words)
			w->words[w->used++] = sb_word(SB_PAD, 0, 0);
		flush_writer(w);
	}
	if (!w->used)
		chunk_begin(w, ticks);
	at = w->words + w->used;
	w->used += words;
	if (ticks > b->last_ticks)
		b->last_ticks = ticks;
	return at;
}

static uint64_t ticks_at(const struct sb_builder *b, uint64_t t_ns)
{
	return b->head.start_ticks + t_ns;
}

static void put_word(struct sb_lane_writer *w, enum sb_kind kind, uint32_t id, uint64_t ticks)
{
	uint64_t *at;

	if (w->used && (ticks - w->base) >> SB_TICK_BITS) {
		at = room(w, 3, ticks);
		if (!at)
			return;
		at[0] = sb_long(SB_REBASE, 1, 0);
		at[1] = ticks;
		w->base = ticks;
		at += 2;
	} else {
		at = room(w, 1, ticks);
		if (!at)
			return;
	}
	*at = sb_word(kind, id & SB_ID_MAX, ticks - w->base);
}

static uint64_t *put_long(struct sb_lane_writer *w, uint32_t type, uint64_t aux, uint32_t words)
{
	uint64_t *at = room(w, words + 1, w->used ? w->base : w->builder->last_ticks);

	if (!at)
		return NULL;
	at[0] = sb_long(type, words, aux);
	return at + 1;
}

/* ---- open, close -------------------------------------------------------- */

static void fill_header(struct sb_builder *b, const struct sb_builder_options *o)
{
	struct sb_file_header *h = &b->head;

	memcpy(h->magic, SB_MAGIC, sizeof h->magic);
	h->version = SB_FORMAT_VERSION;
	h->header_bytes = SB_FILE_HEADER_BYTES;
	h->chunk_bytes = o->chunk_bytes ? o->chunk_bytes : SB_CHUNK_BYTES_DEFAULT;
	h->clock_kind = o->clock_kind ? o->clock_kind : SB_CLOCK_SYNTHETIC;
	h->clock_hz = o->clock_hz ? o->clock_hz : 1000000000u;
	h->start_mono_ns = o->start_mono_ns ? o->start_mono_ns : 1000000000u;
	h->start_ticks = h->start_mono_ns;
	h->start_real_ns = o->start_real_ns ? o->start_real_ns : 1767225600000000000u;
	h->heartbeat_ticks = h->start_ticks;
	h->pid = o->pid ? o->pid : 1000;
	h->ppid = o->ppid ? o->ppid : 1;
	h->main_tid = o->main_tid ? o->main_tid : h->pid;
	h->rank = o->rank;
	h->local_rank = o->local_rank;
	h->world_size = o->world_size;
	memcpy(h->session_uuid, &o->session, sizeof o->session);
	snprintf(h->boot_id, sizeof h->boot_id, "00000000-0000-0000-0000-000000000000");
	snprintf(h->host, sizeof h->host, "%s", o->host ? o->host : "synthetic");
	snprintf(h->name, sizeof h->name, "%s", o->name ? o->name : "synthetic");
}

static void builder_free(struct sb_builder *b)
{
	struct sb_lane_writer *next;

	for (struct sb_lane_writer *w = b->writers; w; w = next) {
		next = w->next;
		free(w->words);
		free(w);
	}
	sb_strings_done(&b->names);
	sb_map_done(&b->ids);
	free(b->path);
	free(b);
}

int sb_builder_open(const char *path, const struct sb_builder_options *opts, struct sb_builder **out_builder)
{
	static const struct sb_builder_options defaults = SB_BUILDER_DEFAULTS;
	struct sb_builder *b = calloc(1, sizeof *b);
	int err;

	if (!b || !(b->path = strdup(path))) {
		free(b);
		return sb_fail(STROBE_ENOMEM, "no memory to write '%s'", path);
	}
	fill_header(b, opts ? opts : &defaults);
	b->chunk_words = b->head.chunk_bytes / 8;
	b->name_count = SB_NAME_FIXED;
	b->last_ticks = b->head.start_ticks;
	for (uint32_t i = 1; i < SB_NAME_FIXED_END; i++) {
		uint32_t number = sb_strings_add(&b->names, fixed_names[i], strlen(fixed_names[i]) + 1);

		sb_map_put(&b->ids, number, i);
	}
	b->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (b->fd < 0) {
		err = sb_fail_errno("cannot write '%s'", path);
		builder_free(b);
		return err;
	}
	b->keep = writer_new(b, SB_LANE_KEEP, b->head.main_tid);
	b->device = writer_new(b, SB_LANE_DEVICE, b->head.main_tid);
	if (!b->keep || !b->device) {
		close(b->fd);
		builder_free(b);
		return sb_fail(STROBE_ENOMEM, "no memory to write '%s'", path);
	}
	*out_builder = b;
	return 0;
}

static int finish(struct sb_builder *b)
{
	static const char zeros[SB_FILE_HEADER_BYTES];
	int err;

	for (struct sb_lane_writer *w = b->writers; w; w = w->next)
		flush_writer(w);
	b->head.chunk_count = b->chunk_count;
	write_at(b, &b->head, sizeof b->head, 0);
	write_at(b, zeros, SB_FILE_HEADER_BYTES - sizeof b->head, sizeof b->head);
	if (close(b->fd))
		fail(b);
	err = b->error;
	builder_free(b);
	return err;
}

int sb_builder_close(struct sb_builder *b, uint64_t end_ns)
{
	if (!b)
		return 0;
	b->head.end_ticks = ticks_at(b, end_ns);
	b->head.heartbeat_ticks = b->head.end_ticks;
	b->head.end_mono_ns = b->head.start_mono_ns +
			      (uint64_t)((double)end_ns * 1e9 / (double)b->head.clock_hz);
	b->head.end_real_ns = b->head.start_real_ns + (b->head.end_mono_ns - b->head.start_mono_ns);
	b->head.closed = 1;
	return finish(b);
}

int sb_builder_abandon(struct sb_builder *b)
{
	return b ? finish(b) : 0;
}

void sb_builder_discard(struct sb_builder *b)
{
	if (!b)
		return;
	close(b->fd);
	unlink(b->path);
	builder_free(b);
}

/* ---- names, threads, tracks --------------------------------------------- */

uint32_t sb_builder_name(struct sb_builder *b, const char *name, const char *code)
{
	char text[SB_STRING_MAX];
	size_t name_size = strnlen(name, 1900);
	size_t code_size = code ? strnlen(code, 64) : 0;
	uint32_t number, id, words;
	uint64_t *at;

	memcpy(text, name, name_size);
	text[name_size] = 0;
	if (code_size)
		memcpy(text + name_size + 1, code, code_size);
	number = sb_strings_add(&b->names, text, name_size + 1 + code_size);
	if (number && sb_map_get(&b->ids, number, &id))
		return id;
	if (!number || b->name_count >= SB_NAME_COUNT_MAX)
		return SB_NAME_OTHER;
	id = b->name_count++;
	sb_map_put(&b->ids, number, id);
	memmove(text + name_size, text + name_size + 1, code_size);
	words = (uint32_t)(name_size + code_size + 7) / 8;
	at = put_long(b->keep, SB_NAME, id, 1 + words);
	if (!at)
		return SB_NAME_OTHER;
	at[0] = name_size | (uint64_t)code_size << 32;
	if (words)
		at[words] = 0;
	memcpy(at + 1, text, name_size + code_size);
	return id;
}

/* bytes: a length word, then the text padded with zeros. */
static uint32_t text_words(const char *text)
{
	return 1 + (uint32_t)(strnlen(text, SB_STRING_MAX) + 7) / 8;
}

static void put_text(uint64_t *at, const char *text)
{
	size_t size = strnlen(text, SB_STRING_MAX);

	if (size)
		at[(size + 7) / 8] = 0;
	at[0] = size;
	memcpy(at + 1, text, size);
}

static void long_text(struct sb_lane_writer *w, uint32_t type, uint64_t aux, const uint64_t *fixed,
	uint32_t count, const char *text)
{
	uint64_t *at = put_long(w, type, aux, count + text_words(text));

	if (!at)
		return;
	if (count)
		memcpy(at, fixed, count * sizeof *at);
	put_text(at + count, text);
}

uint32_t sb_builder_track(struct sb_builder *b, const char *name)
{
	uint32_t track = ++b->track_count;

	long_text(b->keep, SB_TRACK, track, NULL, 0, name);
	return track;
}

struct sb_lane_writer *sb_builder_thread(struct sb_builder *b, uint32_t tid, const char *name)
{
	struct sb_lane_writer *w = writer_new(b, SB_LANE_HOT, tid ? tid : b->head.main_tid);

	if (!w) {
		b->error = sb_fail(STROBE_ENOMEM, "no memory to write '%s'", b->path);
		return NULL;
	}
	if (name)
		long_text(b->keep, SB_THREAD, w->head.tid, NULL, 0, name);
	return w;
}

void sb_builder_thread_done(struct sb_lane_writer *w)
{
	struct sb_lane_writer **at = &w->builder->writers;

	flush_writer(w);
	while (*at != w)
		at = &(*at)->next;
	*at = w->next;
	free(w->words);
	free(w);
}

/* ---- zones -------------------------------------------------------------- */

void sb_builder_begin(struct sb_lane_writer *w, uint64_t t_ns, uint32_t name)
{
	put_word(w, SB_BEGIN, name, ticks_at(w->builder, t_ns));
}

void sb_builder_end(struct sb_lane_writer *w, uint64_t t_ns, uint32_t name)
{
	put_word(w, SB_END, name, ticks_at(w->builder, t_ns));
}

void sb_builder_mark(struct sb_lane_writer *w, uint64_t t_ns, uint32_t name)
{
	put_word(w, SB_MARK, name, ticks_at(w->builder, t_ns));
}

void sb_builder_switch(struct sb_lane_writer *w, uint64_t t_ns, uint32_t track)
{
	put_word(w, SB_SWITCH, track, ticks_at(w->builder, t_ns));
	w->track = track;
}

static void put_attr64(struct sb_lane_writer *w, uint32_t key, enum strobe_type type, uint64_t bits)
{
	uint64_t *at = put_long(w, SB_ATTR64, key | (uint64_t)type << 20, 1);

	if (at)
		*at = bits;
}

static int fits_word(int64_t value)
{
	return value >= -((int64_t)1 << (SB_TICK_BITS - 1)) && value < (int64_t)1 << (SB_TICK_BITS - 1);
}

static void put_value(struct sb_lane_writer *w, enum sb_kind kind, uint32_t id, int64_t value)
{
	uint64_t *at = room(w, 1, w->used ? w->base : w->builder->last_ticks);

	if (at)
		*at = sb_word(kind, id & SB_ID_MAX, (uint64_t)value);
}

void sb_builder_attr(struct sb_lane_writer *w, uint32_t key, int64_t value)
{
	if (fits_word(value))
		put_value(w, SB_ATTR, key, value);
	else
		put_attr64(w, key, STROBE_TYPE_INT, (uint64_t)value);
}

void sb_builder_attr_float(struct sb_lane_writer *w, uint32_t key, double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof bits);
	put_attr64(w, key, STROBE_TYPE_FLOAT, bits);
}

void sb_builder_attr_string(struct sb_lane_writer *w, uint32_t key, const char *value)
{
	long_text(w, SB_ATTR_STR, key | (uint64_t)(strlen(value) > SB_STRING_MAX) << 20, NULL, 0, value);
}

void sb_builder_role(struct sb_lane_writer *w, enum strobe_role role)
{
	sb_builder_attr(w, SB_NAME_ROLE, role);
}

void sb_builder_count(struct sb_lane_writer *w, uint32_t counter, int64_t delta)
{
	const int64_t most = ((int64_t)1 << (SB_TICK_BITS - 1)) - 1;

	for (; delta > most; delta -= most)
		put_value(w, SB_COUNT, counter, most);
	for (; delta < -most; delta += most)
		put_value(w, SB_COUNT, counter, -most);
	put_value(w, SB_COUNT, counter, delta);
}

static uint32_t attrs_words(const struct strobe_attr *attrs, size_t count)
{
	uint32_t words = 0;

	for (size_t i = 0; i < count; i++)
		words += 1 + (attrs[i].type == STROBE_TYPE_STRING ? text_words(attrs[i].value.s) - 1 : 1);
	return words;
}

static void put_attrs(struct sb_builder *b, uint64_t *at, const struct strobe_attr *attrs, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		uint64_t key = sb_builder_name(b, attrs[i].key, NULL);
		size_t size = 8;

		if (attrs[i].type == STROBE_TYPE_STRING) {
			size = strnlen(attrs[i].value.s, SB_STRING_MAX);
			if (size)
				at[(size + 7) / 8] = 0;
			memcpy(at + 1, attrs[i].value.s, size);
		} else {
			memcpy(at + 1, &attrs[i].value, 8);
		}
		at[0] = key | (uint64_t)attrs[i].type << 20 | (uint64_t)size << 32;
		at += 1 + (size + 7) / 8;
	}
}

/* Interning writes NAME records: do it before a record's room is taken. */
static void intern_keys(struct sb_builder *b, const struct strobe_attr *attrs, size_t count)
{
	for (size_t i = 0; i < count; i++)
		sb_builder_name(b, attrs[i].key, NULL);
}

void sb_builder_span(struct sb_lane_writer *w, uint32_t name, uint64_t id, uint64_t start_ns,
	uint64_t duration_ns, uint32_t track, const struct strobe_attr *attrs, size_t attr_count)
{
	struct sb_builder *b = w->builder;
	uint64_t *at;

	intern_keys(b, attrs, attr_count);
	at = put_long(w, SB_SPAN, name, 4 + attrs_words(attrs, attr_count));
	if (!at)
		return;
	at[0] = id;
	at[1] = ticks_at(b, start_ns);
	at[2] = duration_ns;
	at[3] = track;
	put_attrs(b, at + 4, attrs, attr_count);
	if (at[1] + duration_ns > b->last_ticks)
		b->last_ticks = at[1] + duration_ns;
}

void sb_builder_span_open(
	struct sb_lane_writer *w, uint32_t name, uint64_t id, uint64_t start_ns, uint32_t track)
{
	uint64_t *at = put_long(w, SB_SPAN_OPEN, name, 3);

	if (!at)
		return;
	at[0] = id;
	at[1] = ticks_at(w->builder, start_ns);
	at[2] = track;
}

void sb_builder_gpu(struct sb_builder *b, const struct sb_builder_gpu *g)
{
	int sized = g->kind >= SB_GPU_COPY_H2D && g->kind <= SB_GPU_MEMSET;
	uint64_t aux = g->name | (uint64_t)g->kind << 20 | (uint64_t)(g->device & 255) << 24 |
		       (uint64_t)(g->flags & 255) << 32;
	uint64_t *at = put_long(b->device, SB_GPU, aux, sized ? 5 : 4);

	if (!at)
		return;
	at[0] = ticks_at(b, g->start_ns);
	at[1] = g->duration_ns;
	at[2] = g->launch_ns == UINT64_MAX ? 0 : ticks_at(b, g->launch_ns);
	at[3] = (uint64_t)g->stream << 32 | g->launch_tid;
	if (sized)
		at[4] = g->bytes;
	if (at[0] + at[1] > b->last_ticks)
		b->last_ticks = at[0] + at[1];
}

/* ---- everything else ---------------------------------------------------- */

void sb_builder_record(
	struct sb_builder *b, uint32_t type, uint64_t aux, const uint64_t *payload, uint32_t words)
{
	uint64_t *at = put_long(b->keep, type, aux, words);

	if (at && words)
		memcpy(at, payload, words * sizeof *at);
}

static uint64_t bits_of(double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof bits);
	return bits;
}

uint32_t sb_builder_schema(struct sb_builder *b, const char *source, int device, const char *const *columns,
	uint32_t column_count)
{
	uint64_t payload[3 + 256];

	if (column_count > 256)
		column_count = 256;
	payload[0] = sb_builder_name(b, source, NULL);
	payload[1] = (uint64_t)(device + 1);
	payload[2] = column_count;
	for (uint32_t i = 0; i < column_count; i++)
		payload[3 + i] = sb_builder_name(b, columns[i], NULL);
	sb_builder_record(b, SB_SCHEMA, ++b->schema_count, payload, 3 + column_count);
	return b->schema_count;
}

void sb_builder_sample(
	struct sb_builder *b, uint32_t schema, uint64_t t_ns, const double *values, uint32_t count)
{
	uint64_t *at = put_long(b->keep, SB_SAMPLE, schema, 1 + count);

	if (!at)
		return;
	at[0] = ticks_at(b, t_ns);
	memcpy(at + 1, values, count * sizeof *values);
}

void sb_builder_snapshot(struct sb_builder *b, uint64_t t_ns, const char *label, int device,
	int64_t allocated, int64_t reserved, int64_t peak)
{
	uint64_t payload[] = { ticks_at(b, t_ns), (uint64_t)(int64_t)device, (uint64_t)allocated,
		(uint64_t)reserved, (uint64_t)peak };

	sb_builder_record(b, SB_SNAPSHOT, sb_builder_name(b, label, NULL), payload, 5);
}

void sb_builder_event(struct sb_builder *b, uint64_t t_ns, const char *name, uint32_t track,
	const struct strobe_attr *attrs, size_t attr_count)
{
	uint32_t id = sb_builder_name(b, name, NULL);
	uint64_t *at;

	intern_keys(b, attrs, attr_count);
	at = put_long(b->keep, SB_EVENT, id, 2 + attrs_words(attrs, attr_count));
	if (!at)
		return;
	at[0] = ticks_at(b, t_ns);
	at[1] = track;
	put_attrs(b, at + 2, attrs, attr_count);
}

void sb_builder_skip(
	struct sb_builder *b, uint64_t t_ns, const char *name, const char *code, const char *reason)
{
	uint64_t payload[] = { ticks_at(b, t_ns), 0 };

	long_text(b->keep, SB_SKIP, sb_builder_name(b, name, code), payload, 2, reason ? reason : "");
}

void sb_builder_cache(struct sb_builder *b, uint64_t t_ns, const struct strobe_cache_event *e)
{
	uint64_t payload[] = { ticks_at(b, t_ns), e->count ? (uint64_t)e->count : 1, (uint64_t)e->size_bytes,
		bits_of(e->score), bits_of(e->threshold), bits_of(e->frame), (uint64_t)e->chunk };

	sb_builder_record(
		b, SB_CACHE, sb_builder_name(b, e->cache, NULL) | (uint64_t)e->kind << 20, payload, 7);
}

void sb_builder_stream(struct sb_builder *b, uint64_t t_ns, const struct strobe_batch *batch)
{
	uint64_t payload[] = { ticks_at(b, t_ns), (uint64_t)batch->frames, bits_of(batch->encode_ms),
		bits_of(batch->network_ms), bits_of(batch->buffer_ratio) };

	sb_builder_record(b, SB_STREAM, 0, payload, 5);
}

void sb_builder_model(struct sb_builder *b, uint64_t t_ns, const char *name, int64_t parameters,
	const char *type, int64_t bytes)
{
	uint64_t payload[] = { ticks_at(b, t_ns), (uint64_t)parameters,
		sb_builder_name(b, type ? type : "", NULL), (uint64_t)bytes };

	sb_builder_record(b, SB_MODEL, sb_builder_name(b, name, NULL), payload, 4);
}

void sb_builder_alloc(
	struct sb_builder *b, uint64_t t_ns, const char *allocator, int64_t bytes, const char *context)
{
	uint64_t payload[] = { ticks_at(b, t_ns), (uint64_t)bytes,
		context ? sb_builder_name(b, context, NULL) : 0 };

	sb_builder_record(b, SB_ALLOC, sb_builder_name(b, allocator, NULL), payload, 3);
}

void sb_builder_gauge(struct sb_builder *b, uint64_t t_ns, const char *name, double value)
{
	uint64_t payload[] = { ticks_at(b, t_ns), bits_of(value) };

	sb_builder_record(b, SB_GAUGE, sb_builder_name(b, name, NULL), payload, 2);
}

void sb_builder_meta(struct sb_builder *b, enum sb_meta_scope scope, const struct strobe_attr *attr)
{
	uint64_t aux = sb_builder_name(b, attr->key, NULL) | (uint64_t)attr->type << 20 |
		       (uint64_t)scope << 24;
	uint64_t value;

	if (attr->type == STROBE_TYPE_STRING) {
		long_text(b->keep, SB_META, aux, NULL, 0, attr->value.s);
		return;
	}
	memcpy(&value, &attr->value, sizeof value);
	sb_builder_record(b, SB_META, aux, &value, 1);
}

void sb_builder_meta_string(
	struct sb_builder *b, enum sb_meta_scope scope, const char *key, const char *value)
{
	struct strobe_attr attr = { .key = key, .type = STROBE_TYPE_STRING, .value.s = value };

	sb_builder_meta(b, scope, &attr);
}

void sb_builder_lost(
	struct sb_builder *b, enum sb_lost_reason reason, uint64_t count, uint64_t first_ns, uint64_t last_ns)
{
	uint64_t payload[] = { count, ticks_at(b, first_ns), ticks_at(b, last_ns) };

	sb_builder_record(b, SB_LOST, reason, payload, 3);
}

void sb_builder_anchor(
	struct sb_builder *b, uint64_t ticks, uint64_t mono_ns, uint64_t real_ns, uint64_t width_ns)
{
	uint64_t payload[] = { ticks, mono_ns, real_ns, width_ns };

	sb_builder_record(b, SB_ANCHOR, 0, payload, 4);
}

void sb_builder_process(struct sb_builder *b, uint64_t t_ns, uint32_t pid, uint32_t ppid, int started,
	int64_t status, const char *command)
{
	uint64_t payload[] = { ticks_at(b, t_ns), ppid, started != 0, (uint64_t)status };

	long_text(b->keep, SB_PROCESS, pid, payload, 4, command ? command : "");
}

void sb_builder_stack(struct sb_builder *b, uint64_t t_ns, uint32_t tid, uint32_t track,
	const uint32_t *names, const uint32_t *lines, uint32_t frame_count)
{
	uint64_t *at;

	if (frame_count > 256)
		frame_count = 256;
	at = put_long(b->keep, SB_STACK, 0, 3 + frame_count);
	if (!at)
		return;
	at[0] = ticks_at(b, t_ns);
	at[1] = tid;
	at[2] = track;
	for (uint32_t i = 0; i < frame_count; i++)
		at[3 + i] = names[i] | (uint64_t)(lines ? lines[i] : 0) << 32;
}

void sb_builder_code_file(struct sb_builder *b, uint32_t function_name, const char *file)
{
	long_text(b->keep, SB_CODE_FILE, function_name, NULL, 0, file);
}

void sb_builder_chunk(
	struct sb_builder *b, const struct sb_chunk_header *header, const void *bytes, size_t size)
{
	uint32_t most = b->head.chunk_bytes - SB_CHUNK_HEADER_BYTES;
	char *chunk = calloc(1, b->head.chunk_bytes);

	if (!chunk)
		return;
	memcpy(chunk, header, sizeof *header);
	if (size)
		memcpy(chunk + SB_CHUNK_HEADER_BYTES, bytes, size < most ? size : most);
	write_at(b, chunk, b->head.chunk_bytes, chunk_offset(b, b->chunk_count++));
	if (header->writer > b->head.writer_count)
		b->head.writer_count = header->writer;
	free(chunk);
}
