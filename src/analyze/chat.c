/* chat: models that write tokens, from the stages that say new_tokens and the prefill, decode and vision_encoder inside
 * them. */
#include "analyze/analysis.h"

#include "base/error.h"

#include <string.h>

#define CHATS_MOST 50

static const struct sb_stage_attr *attr_of(const struct sb_stage *s, const char *key)
{
	for (size_t i = 0; s && i < s->attr_count; i++)
		if (!strcmp(s->attrs[i].key, key) && !s->attrs[i].text && s->attrs[i].count)
			return &s->attrs[i];
	return NULL;
}

static double sum_of(const struct sb_stage *s, const char *key)
{
	const struct sb_stage_attr *a = attr_of(s, key);

	return a ? a->sum : NAN;
}

static double ratio(double count, double seconds)
{
	return count > 0 && seconds > 0 ? count / seconds : NAN;
}

/* The stage of that name inside, however deep; NULL: there is none. */
static const struct sb_stage *inside(const struct sb_model *m, int64_t outer, const char *name)
{
	for (size_t i = (size_t)outer + 1; i < m->stages.stage_count; i++) {
		int64_t up = m->stages.stages[i].parent;

		if (strcmp(m->stages.stages[i].name, name) != 0)
			continue;
		while (up > outer)
			up = m->stages.stages[up].parent;
		if (up == outer)
			return &m->stages.stages[i];
	}
	return NULL;
}

static struct sb_chat chat_of(const struct sb_model *m, size_t index)
{
	const struct sb_stage *s = &m->stages.stages[index], *prefill = inside(m, (int64_t)index, "prefill"),
			      *decode = inside(m, (int64_t)index, "decode"),
			      *vision = inside(m, (int64_t)index, "vision_encoder");
	const struct sb_stage_attr *first = attr_of(s, "time_to_first_token_s"),
				   *after = attr_of(s, "time_after_first_token_s");
	struct sb_chat c = { .stage = s->name, .count = s->count, .new_tokens = sum_of(s, "new_tokens") };

	c.first_token_s = first ? first->sum / (double)first->count : NAN;
	c.first_token_max_s = first ? first->max : NAN;
	/* a call that fails before its first token is in neither; of older recordings it is in the stage's time */
	c.tokens_per_s = ratio(
		sum_of(decode, "tokens"), after ? after->sum : s->total_s - (first ? first->sum : 0));
	c.prompt_tokens = sum_of(prefill, "tokens");
	c.prefill_s = prefill ? prefill->total_s : NAN;
	c.prefill_tokens_per_s = ratio(c.prompt_tokens, c.prefill_s);
	c.decode_s = decode ? decode->total_s : NAN;
	c.vision_s = vision ? vision->total_s : NAN;
	c.input_frames = sum_of(s, "input_frames");
	c.input_frames_per_s = ratio(c.input_frames, first && after ? first->sum + after->sum : s->total_s);
	return c;
}

static int finish(void *self, struct sb_run *run, struct sb_model *m)
{
	m->chat.all = sb_model_alloc(m, CHATS_MOST * sizeof *m->chat.all);
	if (!m->chat.all)
		return sb_fail(STROBE_ENOMEM, "no memory for the tokens of '%s'", run->path);
	for (size_t i = 0; i < m->stages.stage_count && m->chat.count < CHATS_MOST; i++)
		if (attr_of(&m->stages.stages[i], "new_tokens"))
			m->chat.all[m->chat.count++] = chat_of(m, i);
	return 0;
}

const struct sb_analysis sb_analysis_chat = { .name = "chat", .finish = finish };
