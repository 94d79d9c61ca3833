/* What describes a session: its tags, its job, its settings. Credentials are masked. */
#include "record/tags.h"

#include "base/secret.h"
#include "format/run_keys.h"
#include "record/put.h"
#include "record/rank.h"
#include "record/recorder.h"
#include "strobe.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

size_t strobe_mask(const char *key, const char *text, char *out, size_t size)
{
	if (!sb_secret_name(key, strlen(key)))
		return sb_secret_mask(text, out, size);
	snprintf(out, size, "%s", SB_SECRET_MASK);
	return 1;
}

/* Two, so that a reader never sees one that is being written. */
static char session_ids[2][128];
static _Atomic unsigned session_id_at;

const char *sb_tags_session_id(void)
{
	return session_ids[atomic_load_explicit(&session_id_at, memory_order_acquire)];
}

static void keep_session_id(const char *text)
{
	unsigned next = 1 - atomic_load_explicit(&session_id_at, memory_order_relaxed);

	snprintf(session_ids[next], sizeof session_ids[next], "%.127s", text);
	atomic_store_explicit(&session_id_at, next, memory_order_release);
}

/* Credentials are not recorded: neither under a name such as "token", nor inside text. */
static void write_text_tag(const char *key, const char *text)
{
	char masked[4096];

	if (strobe_mask(key, text, masked, sizeof masked))
		text = masked;
	if (!strcmp(key, "session_id"))
		keep_session_id(text);
	sb_keep_meta_string(SB_META_TAG, key, text);
}

static void write_tag(const struct strobe_attr *tag)
{
	if (tag->type == STROBE_TYPE_INT && sb_secret_name(tag->key, strlen(tag->key))) {
		write_text_tag(tag->key, "");
		return;
	}
	switch (tag->type) {
	case STROBE_TYPE_INT: sb_keep_meta_int(SB_META_TAG, tag->key, tag->value.i); break;
	case STROBE_TYPE_BOOL: sb_keep_meta_bool(SB_META_TAG, tag->key, tag->value.i); break;
	case STROBE_TYPE_FLOAT: sb_keep_meta_float(SB_META_TAG, tag->key, tag->value.f); break;
	default: write_text_tag(tag->key, tag->value.s ? tag->value.s : ""); break;
	}
}

static void write_setting_tag(const struct sb_setting_tag *tag)
{
	struct strobe_attr attr = { .key = tag->key, .type = tag->type };

	if (tag->type == STROBE_TYPE_FLOAT)
		attr.value.f = tag->f;
	else if (tag->type == STROBE_TYPE_STRING)
		attr.value.s = tag->s;
	else
		attr.value.i = tag->i;
	write_tag(&attr);
}

/* Ranks find each other by it, wherever their files are carried. */
static void write_job(void)
{
	struct sb_rank rank;

	sb_rank_detect(&rank);
	if (rank.rank >= 0 && rank.job[0])
		sb_keep_meta_string(SB_META_RUN, SB_RUN_JOB, rank.job);
	if (REC->attempt)
		sb_keep_meta_int(SB_META_RUN, SB_RUN_ATTEMPT, REC->attempt);
}

void sb_tags_mask_name(struct sb_settings *settings)
{
	char masked[sizeof settings->name];

	sb_secret_mask(settings->name, masked, sizeof masked);
	memcpy(settings->name, masked, sizeof masked);
}

/* A folder or a file of a setting may be a URL. */
static void write_setting(const struct sb_settings *settings, const struct sb_setting *s)
{
	char masked[4096];
	struct sb_buf text = { 0 };
	const char *shown;

	sb_settings_text(settings, s, &text);
	shown = sb_buf_text(&text);
	if (s->type == SB_SETTING_TEXT && sb_secret_mask(shown, masked, sizeof masked))
		shown = masked;
	sb_keep_meta_string(SB_META_SETTING, s->key, shown);
	sb_buf_done(&text);
}

void sb_tags_write(const struct sb_settings *settings)
{
	keep_session_id("");
	write_job();
	for (uint32_t i = 0; i < settings->tag_count; i++)
		write_setting_tag(&settings->tags[i]);
	for (const struct sb_setting *s = sb_setting_table; s->key; s++)
		if (s->type != SB_SETTING_TAGS)
			write_setting(settings, s);
}

void strobe_tag(const struct strobe_attr *tag)
{
	if (tag && tag->key && sb_session_active())
		write_tag(tag);
}
