/* The report model: its memory, and what is looked up in it. */
#include "analyze/model.h"

#include "format/run_keys.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MISSING_MAX 256u

struct sb_model_block {
	struct sb_model_block *next;
	size_t used, size;
	_Alignas(16) char bytes[];
};

void *sb_model_alloc(struct sb_model *model, size_t size)
{
	struct sb_model_block *b = model->blocks_of_memory;
	char *at;

	size = (size + 15) & ~(size_t)15;
	if (!b || b->size - b->used < size) {
		size_t room = size > 65536 ? size : 65536;

		b = calloc(1, sizeof *b + room);
		if (!b) {
			model->failed = true;
			return NULL;
		}
		b->size = room;
		b->next = model->blocks_of_memory;
		model->blocks_of_memory = b;
	}
	at = b->bytes + b->used;
	b->used += size;
	return at;
}

const char *sb_model_text(struct sb_model *model, const char *text)
{
	uint32_t number;

	if (!text)
		return NULL;
	number = sb_strings_add(&model->strings, text, strlen(text));
	if (!number && *text)
		model->failed = true;
	return sb_strings_text(&model->strings, number);
}

const char *sb_model_printf(struct sb_model *model, const char *format, ...)
{
	char text[2048];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	return sb_model_text(model, text);
}

static void count_unrecorded(struct sb_recording_panel *r, const char *what)
{
	const size_t prefix = sizeof SB_MISSING_RECORDINGS - 1;
	long count = strncmp(what, SB_MISSING_RECORDINGS, prefix) ? 0 : strtol(what + prefix, NULL, 10);

	if (count <= 0)
		return;
	r->unrecorded_count += count < UINT32_MAX ? count : UINT32_MAX;
	r->complete = false;
}

void sb_model_distribution(
	struct sb_model *model, const double *seconds, size_t count, struct sb_distribution *out_distribution)
{
	int64_t *zeros = count < 2 ? NULL : sb_model_alloc(model, SB_DISTRIBUTION_BINS * sizeof *zeros);

	sb_distribution_of(seconds, count, zeros, out_distribution);
}

void sb_model_missing(struct sb_model *model, const char *what, const char *why, const char *how)
{
	struct sb_missing_panel *m = &model->missing;
	struct sb_missing *more;

	if (m->count >= MISSING_MAX)
		return;
	for (size_t i = 0; i < m->count; i++)
		if (!strcmp(m->all[i].what, what))
			return;
	if (m->count % 16 == 0) {
		more = sb_model_alloc(model, (m->count + 16) * sizeof *more);
		if (!more)
			return;
		if (m->count)
			memcpy(more, m->all, m->count * sizeof *more);
		m->all = more;
	}
	m->all[m->count++] = (struct sb_missing){ sb_model_text(model, what), sb_model_text(model, why),
		sb_model_text(model, how) };
	count_unrecorded(&model->recording, what);
}

const struct sb_series *sb_model_series(const struct sb_model *model, const char *source, int device)
{
	for (size_t i = 0; i < model->series_count; i++)
		if (!strcmp(model->series[i].source, source) &&
			(device == -2 || model->series[i].device == device))
			return &model->series[i];
	return NULL;
}

const struct sb_stage *sb_model_stage(const struct sb_model *model, const char *name)
{
	const struct sb_stages_panel *s = &model->stages;

	for (size_t i = 0; i < s->stage_count; i++)
		if (!strcmp(s->stages[s->by_total[i]].name, name))
			return &s->stages[s->by_total[i]];
	return NULL;
}

void sb_model_free(struct sb_model *model)
{
	struct sb_model_block *next;

	if (!model)
		return;
	for (struct sb_model_block *b = model->blocks_of_memory; b; b = next) {
		next = b->next;
		free(b);
	}
	sb_strings_done(&model->strings);
	free(model);
}
