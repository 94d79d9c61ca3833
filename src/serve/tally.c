/* Names, samples, caches and counters. Everything is kept by the file's own name
 * ids: a name's text may come later than its first use. */
#include "serve/tally.h"
#include "serve/tally_parts.h"

#include "format/run_keys.h"
#include "strobe.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- names ---- */

static const char *const fixed_names[] = { "",
#define TEXT_(sym, text) text,
	SB_FIXED_NAMES(TEXT_)
#undef TEXT_
};

static bool name_room(struct sb_tally *t, uint32_t id)
{
	uint32_t room = t->name_room ? t->name_room : 256;
	uint32_t *names, *codes;

	if (id < t->name_room)
		return true;
	while (room <= id)
		room *= 2;
	names = realloc(t->names, room * sizeof *names);
	if (names)
		t->names = names;
	codes = realloc(t->codes, room * sizeof *codes);
	if (codes)
		t->codes = codes;
	if (!names || !codes) {
		t->no_memory = true;
		return false;
	}
	memset(names + t->name_room, 0, (room - t->name_room) * sizeof *names);
	memset(codes + t->name_room, 0, (room - t->name_room) * sizeof *codes);
	t->name_room = room;
	return true;
}

static void set_name(
	struct sb_tally *t, uint32_t id, const char *text, size_t size, const char *code, size_t code_size)
{
	if (!id || id >= SB_NAME_COUNT_MAX + SB_NAME_FIXED || !name_room(t, id))
		return;
	t->names[id] = sb_strings_add(&t->texts, text, strnlen(text, size));
	t->codes[id] = code_size ? sb_strings_add(&t->texts, code, strnlen(code, code_size)) : 0;
}

static void take_name(struct sb_tally *t, const struct sb_record *r)
{
	uint64_t sizes = r->words ? r->payload[0] : 0;
	uint64_t name_size = sizes & UINT32_MAX, code_size = sizes >> 32;
	const char *text = (const char *)(r->payload + 1);

	if (!r->words || name_size + code_size > (uint64_t)(r->words - 1) * 8)
		return;
	if (name_size && *text)
		set_name(t, (uint32_t)r->aux & SB_ID_MAX, text, name_size, text + name_size, code_size);
	else
		set_name(t, (uint32_t)r->aux & SB_ID_MAX, "(unnamed)", 9, text + name_size, code_size);
}

const char *sb_tally_name(const struct sb_tally *t, uint32_t name)
{
	return name < t->name_room ? sb_strings_text(&t->texts, t->names[name]) : "";
}

const char *sb_tally_stage_name(const struct sb_tally *t, const struct sb_tally_stage *s)
{
	return s->text ? sb_strings_text(&t->texts, s->text) : sb_tally_name(t, s->name);
}

const char *sb_tally_stage_code(const struct sb_tally *t, const struct sb_tally_stage *s)
{
	return !s->text && s->name < t->name_room ? sb_strings_text(&t->texts, t->codes[s->name]) : "";
}

void sb_tally_count(struct sb_tally *t, uint32_t name, int64_t delta)
{
	if (name == SB_NAME_FRAMES)
		sb_tally_add_frames(&t->frames_counted, delta);
	else if (name == SB_NAME_DROPPED)
		sb_tally_add_frames(&t->frames_dropped, delta);
}

/* ---- records that stand for themselves ---- */

/* An entry of a list by name, made when it is new. */
static void *entry_of(
	struct sb_tally *t, struct sb_map *map, struct sb_vec *list, uint32_t name, size_t size, size_t most)
{
	uint32_t index;
	void *entry;

	if (sb_map_get(map, name, &index))
		return (char *)list->items + index * size;
	if (list->count >= most)
		return NULL;
	entry = sb_vec_push(list, size);
	if (!entry || !sb_map_put(map, name, (uint32_t)list->count - 1)) {
		t->no_memory = true;
		return NULL;
	}
	memcpy(entry, &name, sizeof name); /* every entry begins with its name */
	return entry;
}

void sb_tally_count_cache(struct sb_tally *t, uint32_t name, uint32_t kind, uint64_t count)
{
	struct sb_tally_cache *c = entry_of(t, &t->cache_of, &t->caches, name, sizeof *c, 100);

	if (!c)
		return;
	if (kind == STROBE_CACHE_HIT)
		c->hits += count;
	else if (kind == STROBE_CACHE_MISS)
		c->misses += count;
	else
		c->evictions += count;
}

static void take_gpu(struct sb_tally *t, const struct sb_record *r)
{
	struct sb_tally_gpu *g;

	if (r->words < 2 || (r->aux >> 20 & 15) != SB_GPU_ZONE)
		return;
	g = entry_of(t, &t->gpu_of, &t->gpus, (uint32_t)r->aux & SB_ID_MAX, sizeof *g, 500);
	if (!g)
		return;
	g->count++;
	g->span_ns += sb_tally_ns(t, r->payload[1]);
}

static void take_schema(struct sb_tally *t, const struct sb_record *r)
{
	struct sb_tally_series *s;
	uint32_t known;

	if (r->words < 3 || r->payload[2] > r->words - 3 || t->series.count >= 500 ||
		sb_map_get(&t->schemas, r->aux, &known))
		return;
	s = sb_vec_push(&t->series, sizeof *s);
	if (!s) {
		t->no_memory = true;
		return;
	}
	s->source = (uint32_t)r->payload[0] & SB_ID_MAX;
	s->device = (int)r->payload[1] - 1;
	s->columns = calloc(r->payload[2] + 1, sizeof *s->columns);
	s->last = calloc(r->payload[2] + 1, sizeof *s->last);
	s->max = calloc(r->payload[2] + 1, sizeof *s->max);
	if (!s->columns || !s->last || !s->max ||
		!sb_map_put(&t->schemas, r->aux, (uint32_t)t->series.count - 1)) {
		t->no_memory = true;
		return; /* without columns */
	}
	s->column_count = (uint32_t)r->payload[2];
	for (uint32_t i = 0; i < s->column_count; i++) {
		s->columns[i] = (uint32_t)r->payload[3 + i] & SB_ID_MAX;
		s->last[i] = s->max[i] = NAN;
	}
}

static void take_sample(struct sb_tally *t, const struct sb_record *r)
{
	struct sb_tally_series *s;
	uint32_t index;

	if (!r->words || !sb_map_get(&t->schemas, r->aux, &index))
		return;
	s = (struct sb_tally_series *)t->series.items + index;
	for (uint32_t i = 0; i < s->column_count && i + 1 < r->words; i++) {
		double value;

		memcpy(&value, &r->payload[i + 1], sizeof value);
		s->last[i] = value;
		if (!(value <= s->max[i]) && !isnan(value))
			s->max[i] = value;
	}
}

static void take_meta(struct sb_tally *t, const struct sb_record *r)
{
	const char *text;
	size_t size;

	if ((r->aux >> 24 & 255) == SB_META_RUN && (r->aux >> 20 & 15) == STROBE_TYPE_STRING &&
		!strcmp(sb_tally_name(t, (uint32_t)r->aux & SB_ID_MAX), SB_RUN_JOB) &&
		sb_record_text(r, 0, &text, &size))
		t->job = sb_strings_add(&t->texts, text, strnlen(text, size));
}

void sb_tally_keep(struct sb_tally *t, const struct sb_record *r)
{
	if (r->kind == SB_COUNT)
		sb_tally_count(t, r->id, r->value);
	if (r->kind != SB_LONG)
		return;
	switch (r->type) {
	case SB_NAME: take_name(t, r); break;
	case SB_SCHEMA: take_schema(t, r); break;
	case SB_SAMPLE: take_sample(t, r); break;
	case SB_META: take_meta(t, r); break;
	case SB_GPU: take_gpu(t, r); break;
	case SB_LOST:
		if (r->words && r->aux < SB_LOST_REASONS)
			t->lost[r->aux] += r->payload[0];
		break;
	case SB_CACHE:
		if (r->words >= 2)
			sb_tally_count_cache(t, (uint32_t)r->aux & SB_ID_MAX, (uint32_t)(r->aux >> 20 & 15),
				r->payload[1]);
		break;
	case SB_STREAMING:
		if (r->words >= 2)
			sb_tally_add_frames(&t->frames_streamed, (int64_t)r->payload[1]);
		break;
	case SB_COUNT64:
		if (r->words)
			sb_tally_count(t, (uint32_t)r->aux & SB_ID_MAX, (int64_t)r->payload[0]);
		break;
	default: break;
	}
}

/* ---- life ---- */

int64_t sb_tally_frames(const struct sb_tally *t)
{
	return t->frames_counted > 0      ? t->frames_counted
	       : t->frames_generated >= 0 ? t->frames_generated
					  : t->frames_in_blocks;
}

bool sb_tally_init(struct sb_tally *t, const struct sb_file_header *head)
{
	memset(t, 0, sizeof *t);
	t->head = *head;
	t->scale = (uint64_t)(1e9 / (double)head->clock_hz * (double)((uint64_t)1 << 40));
	t->frames_counted = t->frames_generated = t->frames_in_blocks = t->frames_dropped =
		t->frames_streamed = -1;
	for (uint32_t i = 1; i < SB_NAME_FIXED_END; i++)
		set_name(t, i, fixed_names[i], strlen(fixed_names[i]), "", 0);
	return sb_tally_zones_init(t);
}

void sb_tally_set_rate(struct sb_tally *t, uint64_t ticks, uint64_t mono_ns)
{
	double span_ticks = (double)(int64_t)(ticks - t->head.start_ticks);
	double span_ns = (double)(int64_t)(mono_ns - t->head.start_mono_ns);
	double nominal = 1e9 / (double)t->head.clock_hz;

	if (span_ns < 1e9 || span_ticks <= 0 || fabs(span_ns / span_ticks / nominal - 1) > 0.01)
		return;
	t->scale = (uint64_t)(span_ns / span_ticks * (double)((uint64_t)1 << 40));
}

uint64_t sb_tally_real_ns(const struct sb_tally *t, uint64_t ticks)
{
	uint64_t since = ticks > t->head.start_ticks ? ticks - t->head.start_ticks : 0;

	return t->head.start_real_ns + (uint64_t)sb_tally_ns(t, since);
}

void sb_tally_done(struct sb_tally *t)
{
	sb_tally_zones_done(t);
	for (size_t i = 0; i < t->series.count; i++) {
		struct sb_tally_series *s = (struct sb_tally_series *)t->series.items + i;

		free(s->columns);
		free(s->last);
		free(s->max);
	}
	sb_vec_done(&t->series);
	sb_vec_done(&t->caches);
	sb_vec_done(&t->gpus);
	sb_map_done(&t->schemas);
	sb_map_done(&t->cache_of);
	sb_map_done(&t->gpu_of);
	sb_strings_done(&t->texts);
	free(t->names);
	free(t->codes);
	memset(t, 0, sizeof *t);
}
