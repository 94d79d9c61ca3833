/* The builder's records, one function each. */
#include "format/builder_stream.h"

#include <string.h>

static uint64_t bits_of(double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof bits);
	return bits;
}

/* ---- zones -------------------------------------------------------------- */

void sb_builder_begin(struct sb_stream_writer *w, uint64_t t_ns, uint32_t name)
{
	sb_stream_writer_word(w, SB_BEGIN, name, sb_builder_ticks_at(w->builder, t_ns));
}

void sb_builder_end(struct sb_stream_writer *w, uint64_t t_ns, uint32_t name)
{
	sb_stream_writer_word(w, SB_END, name, sb_builder_ticks_at(w->builder, t_ns));
}

void sb_builder_mark(struct sb_stream_writer *w, uint64_t t_ns, uint32_t name)
{
	sb_stream_writer_word(w, SB_MARK, name, sb_builder_ticks_at(w->builder, t_ns));
}

void sb_builder_switch(struct sb_stream_writer *w, uint64_t t_ns, uint32_t track)
{
	sb_stream_writer_word(w, SB_SWITCH, track, sb_builder_ticks_at(w->builder, t_ns));
	w->track = track;
}

static void put_attr64(struct sb_stream_writer *w, uint32_t key, enum strobe_type type, uint64_t bits)
{
	uint64_t *at = sb_stream_writer_long(w, SB_ATTR64, key | (uint64_t)type << 20, 1);

	if (at)
		*at = bits;
}

static int fits_word(int64_t value)
{
	return value >= -((int64_t)1 << (SB_TICK_BITS - 1)) && value < (int64_t)1 << (SB_TICK_BITS - 1);
}

void sb_builder_attr(struct sb_stream_writer *w, uint32_t key, int64_t value)
{
	if (fits_word(value))
		sb_stream_writer_value(w, SB_ATTR, key, value);
	else
		put_attr64(w, key, STROBE_TYPE_INT, (uint64_t)value);
}

void sb_builder_attr_float(struct sb_stream_writer *w, uint32_t key, double value)
{
	put_attr64(w, key, STROBE_TYPE_FLOAT, bits_of(value));
}

void sb_builder_attr_string(struct sb_stream_writer *w, uint32_t key, const char *value)
{
	sb_stream_writer_text(
		w, SB_ATTR_STR, key | (uint64_t)(strlen(value) > SB_STRING_MAX) << 20, NULL, 0, value);
}

void sb_builder_role(struct sb_stream_writer *w, enum strobe_role role)
{
	sb_builder_attr(w, SB_NAME_ROLE, role);
}

void sb_builder_count(struct sb_stream_writer *w, uint32_t counter, int64_t delta)
{
	const int64_t most = ((int64_t)1 << (SB_TICK_BITS - 1)) - 1;

	for (; delta > most; delta -= most)
		sb_stream_writer_value(w, SB_COUNT, counter, most);
	for (; delta < -most; delta += most)
		sb_stream_writer_value(w, SB_COUNT, counter, -most);
	sb_stream_writer_value(w, SB_COUNT, counter, delta);
}

static uint32_t text_words(const char *text)
{
	return (uint32_t)(strnlen(text, SB_STRING_MAX) + 7) / 8;
}

static uint32_t attrs_words(const struct strobe_attr *attrs, size_t count)
{
	uint32_t words = 0;

	for (size_t i = 0; i < count; i++)
		words += 1 + (attrs[i].type == STROBE_TYPE_STRING ? text_words(attrs[i].value.s) : 1);
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

void sb_builder_span(struct sb_stream_writer *w, uint32_t name, uint64_t id, uint64_t start_ns,
	uint64_t duration_ns, uint32_t track, const struct strobe_attr *attrs, size_t attr_count)
{
	struct sb_builder *b = w->builder;
	uint64_t *at;

	intern_keys(b, attrs, attr_count);
	at = sb_stream_writer_long(w, SB_SPAN, name, 4 + attrs_words(attrs, attr_count));
	if (!at)
		return;
	at[0] = id;
	at[1] = sb_builder_ticks_at(b, start_ns);
	at[2] = duration_ns;
	at[3] = track;
	put_attrs(b, at + 4, attrs, attr_count);
	if (at[1] + duration_ns > b->last_ticks)
		b->last_ticks = at[1] + duration_ns;
}

void sb_builder_span_open(
	struct sb_stream_writer *w, uint32_t name, uint64_t id, uint64_t start_ns, uint32_t track)
{
	uint64_t *at = sb_stream_writer_long(w, SB_SPAN_OPEN, name, 3);

	if (!at)
		return;
	at[0] = id;
	at[1] = sb_builder_ticks_at(w->builder, start_ns);
	at[2] = track;
}

void sb_builder_gpu(struct sb_builder *b, const struct sb_builder_gpu *g)
{
	int sized = g->kind >= SB_GPU_COPY_H2D && g->kind <= SB_GPU_MEMSET;
	int shaped = g->kind == SB_GPU_KERNEL && g->shape.grid[0];
	uint64_t aux = g->name | (uint64_t)g->kind << 20 | (uint64_t)(g->device & 255) << 24 |
		       (uint64_t)(g->flags & 255) << 32;
	uint64_t *at = sb_stream_writer_long(b->device, SB_GPU, aux, sized ? 5 : shaped ? 6 : 4);

	if (!at)
		return;
	at[0] = sb_builder_ticks_at(b, g->start_ns);
	at[1] = g->duration_ns;
	at[2] = g->launch_ns == UINT64_MAX ? 0 : sb_builder_ticks_at(b, g->launch_ns);
	at[3] = (uint64_t)g->stream << 32 | g->launch_tid;
	if (sized)
		at[4] = g->bytes;
	if (shaped)
		sb_gpu_shape_pack(&g->shape, at + 4);
	if (at[0] + at[1] > b->last_ticks)
		b->last_ticks = at[0] + at[1];
}

/* ---- everything else ---------------------------------------------------- */

void sb_builder_record(
	struct sb_builder *b, uint32_t type, uint64_t aux, const uint64_t *payload, uint32_t words)
{
	uint64_t *at = sb_stream_writer_long(b->keep, type, aux, words);

	if (at && words)
		memcpy(at, payload, words * sizeof *at);
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
	uint64_t *at = sb_stream_writer_long(b->keep, SB_SAMPLE, schema, 1 + count);

	if (!at)
		return;
	at[0] = sb_builder_ticks_at(b, t_ns);
	memcpy(at + 1, values, count * sizeof *values);
}

void sb_builder_snapshot(struct sb_builder *b, uint64_t t_ns, const char *label, int device,
	int64_t allocated, int64_t reserved, int64_t peak)
{
	uint64_t payload[] = { sb_builder_ticks_at(b, t_ns), (uint64_t)(int64_t)device, (uint64_t)allocated,
		(uint64_t)reserved, (uint64_t)peak };

	sb_builder_record(b, SB_SNAPSHOT, sb_builder_name(b, label, NULL), payload, 5);
}

void sb_builder_event(struct sb_builder *b, uint64_t t_ns, const char *name, uint32_t track,
	const struct strobe_attr *attrs, size_t attr_count)
{
	uint32_t id = sb_builder_name(b, name, NULL);
	uint64_t *at;

	intern_keys(b, attrs, attr_count);
	at = sb_stream_writer_long(b->keep, SB_EVENT, id, 2 + attrs_words(attrs, attr_count));
	if (!at)
		return;
	at[0] = sb_builder_ticks_at(b, t_ns);
	at[1] = track;
	put_attrs(b, at + 2, attrs, attr_count);
}

void sb_builder_skip(
	struct sb_builder *b, uint64_t t_ns, const char *name, const char *code, const char *reason)
{
	uint64_t payload[] = { sb_builder_ticks_at(b, t_ns), 0 };

	sb_stream_writer_text(
		b->keep, SB_SKIP, sb_builder_name(b, name, code), payload, 2, reason ? reason : "");
}

void sb_builder_cache(struct sb_builder *b, uint64_t t_ns, const struct strobe_cache_event *e)
{
	uint64_t payload[] = { sb_builder_ticks_at(b, t_ns), e->count ? (uint64_t)e->count : 1,
		(uint64_t)e->size_bytes, bits_of(e->score), bits_of(e->threshold), bits_of(e->frame),
		(uint64_t)e->chunk };

	sb_builder_record(
		b, SB_CACHE, sb_builder_name(b, e->cache, NULL) | (uint64_t)e->kind << 20, payload, 7);
}

void sb_builder_stream(struct sb_builder *b, uint64_t t_ns, const struct strobe_batch *batch)
{
	uint64_t payload[] = { sb_builder_ticks_at(b, t_ns), (uint64_t)batch->frames,
		bits_of(batch->encode_ms), bits_of(batch->network_ms), bits_of(batch->buffer_ratio) };

	sb_builder_record(b, SB_STREAMING, 0, payload, 5);
}

void sb_builder_model(struct sb_builder *b, uint64_t t_ns, const char *name, int64_t parameters,
	const char *type, int64_t bytes)
{
	uint64_t payload[] = { sb_builder_ticks_at(b, t_ns), (uint64_t)parameters,
		type && *type ? sb_builder_name(b, type, NULL) : 0, (uint64_t)bytes };

	sb_builder_record(b, SB_MODEL, sb_builder_name(b, name, NULL), payload, 4);
}

void sb_builder_alloc(
	struct sb_builder *b, uint64_t t_ns, const char *allocator, int64_t bytes, const char *context)
{
	uint64_t payload[] = { sb_builder_ticks_at(b, t_ns), (uint64_t)bytes,
		context ? sb_builder_name(b, context, NULL) : 0 };

	sb_builder_record(b, SB_ALLOC, sb_builder_name(b, allocator, NULL), payload, 3);
}

void sb_builder_gauge(struct sb_builder *b, uint64_t t_ns, const char *name, double value)
{
	uint64_t payload[] = { sb_builder_ticks_at(b, t_ns), bits_of(value) };

	sb_builder_record(b, SB_GAUGE, sb_builder_name(b, name, NULL), payload, 2);
}

void sb_builder_meta(struct sb_builder *b, enum sb_meta_scope scope, const struct strobe_attr *attr)
{
	uint64_t aux = sb_builder_name(b, attr->key, NULL) | (uint64_t)attr->type << 20 |
		       (uint64_t)scope << 24;
	uint64_t value;

	if (attr->type == STROBE_TYPE_STRING) {
		sb_stream_writer_text(b->keep, SB_META, aux, NULL, 0, attr->value.s);
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
	uint64_t payload[] = { count, sb_builder_ticks_at(b, first_ns), sb_builder_ticks_at(b, last_ns) };

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
	uint64_t payload[] = { sb_builder_ticks_at(b, t_ns), ppid, started != 0, (uint64_t)status };

	sb_stream_writer_text(b->keep, SB_PROCESS, pid, payload, 4, command ? command : "");
}

void sb_builder_stack(struct sb_builder *b, uint64_t t_ns, uint32_t tid, uint32_t track,
	const uint32_t *names, const uint32_t *lines, uint32_t frame_count)
{
	struct sb_builder_sample sample = { .tid = tid, .track = track };

	sb_builder_stack_sample(b, t_ns, &sample, names, lines, frame_count);
}

void sb_builder_stack_sample(struct sb_builder *b, uint64_t t_ns, const struct sb_builder_sample *sample,
	const uint32_t *names, const uint32_t *lines, uint32_t frame_count)
{
	uint64_t *at;

	if (frame_count > 256)
		frame_count = 256;
	at = sb_stream_writer_long(b->keep, SB_STACK,
		(sample->native ? SB_STACK_NATIVE : 0) | sample->beside_gil, 3 + frame_count);
	if (!at)
		return;
	at[0] = sb_builder_ticks_at(b, t_ns);
	at[1] = sample->tid | (uint64_t)sample->weight_us << 32;
	at[2] = sample->track | (uint64_t)sample->cpu_us_and_one << 32;
	for (uint32_t i = 0; i < frame_count; i++)
		at[3 + i] = names[i] | (uint64_t)(lines ? lines[i] : 0) << 32;
}

void sb_builder_code_file(struct sb_builder *b, uint32_t function_name, const char *file)
{
	sb_stream_writer_text(b->keep, SB_CODE_FILE, function_name, NULL, 0, file);
}
