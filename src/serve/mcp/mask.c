/* What an agent is not told: command lines, tag values, texts the program attached, host names and
 * where files lie. Numbers stay, and the source lines that findings name. */
#include "serve/mcp/tool.h"

#include "base/error.h"

#include <stdio.h>
#include <string.h>

#define MASK "***"

static void mask_pair(struct sb_pair *p)
{
	*p = (struct sb_pair){ .key = p->key, .type = STROBE_TYPE_STRING, .s = MASK };
}

static void mask_texts(struct sb_pair *pairs, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (pairs[i].type == STROBE_TYPE_STRING)
			mask_pair(&pairs[i]);
}

static void mask_stages(struct sb_stage *stages, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		mask_texts(stages[i].attributes, stages[i].attribute_count);
		for (size_t k = 0; k < stages[i].attr_count; k++)
			if (stages[i].attrs[k].text)
				stages[i].attrs[k].text = MASK;
	}
}

static void mask_session(struct sb_session_panel *s)
{
	for (size_t i = 0; i < s->tag_count; i++)
		mask_pair(&s->tags[i]);
	s->command = s->command ? MASK : NULL;
	s->host = s->run = s->job = s->left_behind = NULL;
}

static void mask_recording(struct sb_recording_panel *r)
{
	for (size_t i = 0; i < r->damage_count; i++)
		r->damage[i].file = MASK;
	for (size_t i = 0; i < r->warning_count; i++)
		if (strchr(r->warnings[i], '/'))
			r->warnings[i] = "a warning that names a file; `strobe report` shows it";
}

void sb_mcp_mask(struct sb_model *m)
{
	mask_session(&m->session);
	mask_texts(m->system.facts, m->system.fact_count);
	mask_texts(m->system.settings, m->system.setting_count);
	for (size_t i = 0; i < m->system.process_count; i++)
		m->system.processes[i].command = MASK;
	mask_stages(m->stages.stages, m->stages.stage_count);
	for (size_t i = 0; i < m->events.count; i++)
		mask_texts(m->events.rows[i].attrs, m->events.rows[i].attr_count);
	mask_recording(&m->recording);
}

int sb_mcp_fail_as(int err, const char *path, const char *id)
{
	char words[1024];
	struct sb_buf said = { 0 };
	const char *at, *found;
	size_t size = strlen(path);

	snprintf(words, sizeof words, "%s", sb_error_message());
	for (at = words; size && (found = strstr(at, path)); at = found + size) {
		sb_buf_add(&said, at, (size_t)(found - at));
		sb_buf_puts(&said, id);
	}
	sb_buf_puts(&said, at);
	/* a path that is left lies deeper or elsewhere: the reader of the answer has no use for it */
	err = err == STROBE_EINVAL ? STROBE_EIO : err;
	sb_fail(err, "%s",
		strchr(sb_buf_text(&said), '/') && !strchr(id, '/') ? "the run cannot be read"
								    : sb_buf_text(&said));
	sb_buf_done(&said);
	return err;
}
