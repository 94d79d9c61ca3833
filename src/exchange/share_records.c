/* The texts in one record of a recording that is shared: each passes through the rules. */
#include "exchange/share.h"

#include "format/cursor.h"
#include "format/run_keys.h"

#include <stdio.h>
#include <string.h>

#define SCOPE_MASK ((uint64_t)255 << 24) /* in the aux of META */

/* Whose record it is. */
struct texts {
	struct sb_share *share;
	const struct sb_run *run;
	uint32_t process;
};

static const char *name_of(const struct texts *c, uint32_t file_id)
{
	const struct sb_run_process *p = &c->run->processes[c->process];

	return file_id < p->name_count ? c->run->names[p->names[file_id]].text : "";
}

/* What cannot be read is not given away. */
static void clear(const struct sb_record *r, uint32_t at)
{
	if (at < r->words)
		memset((void *)(uintptr_t)(r->payload + at), 0, (r->words - at) * sizeof *r->payload);
}

/* The bytes behind the length word at `at`; NULL, and they are cleared, where it makes no sense. */
static char *bytes_at(const struct sb_record *r, uint32_t at, size_t *out_size)
{
	*out_size = 0;
	if (at >= r->words || r->payload[at] > (uint64_t)(r->words - at - 1) * 8) {
		clear(r, at);
		return NULL;
	}
	*out_size = (size_t)r->payload[at];
	return (char *)(uintptr_t)(r->payload + at + 1);
}

static void note_tag(struct sb_share *s, const char *key)
{
	size_t used = strlen(s->summary.tags), length = strlen(key);

	if (strstr(s->summary.tags, key) || used + length + 3 > sizeof s->summary.tags)
		return;
	snprintf(s->summary.tags + used, sizeof s->summary.tags - used, "%s%s", used ? ", " : "", key);
}

/* A number cannot be hashed in its place: the record gets a scope that no reader knows. */
static void drop_meta(struct sb_share *s, const struct sb_record *r)
{
	uint64_t *head = (uint64_t *)(uintptr_t)(r->payload - 1);

	*head &= ~(SCOPE_MASK << SB_VALUE_SHIFT);
	memset((void *)(uintptr_t)r->payload, 0, r->words * sizeof *r->payload);
	s->summary.counts[SB_SHARE_TAGS]++;
}

static bool is_command(const char *key)
{
	return !strcmp(key, SB_RUN_COMMAND) || !strcmp(key, SB_RUN_COMMIT) ||
	       !strcmp(key, SB_RUN_LEFT_BEHIND);
}

static void clean_meta(const struct texts *c, const struct sb_record *r)
{
	enum sb_meta_scope scope = (enum sb_meta_scope)(r->aux >> 24 & 255);
	bool is_text = (r->aux >> 20 & 15) == STROBE_TYPE_STRING;
	const char *key = name_of(c, (uint32_t)r->aux & SB_ID_MAX);
	size_t size = 0;
	char *text = is_text ? bytes_at(r, 0, &size) : NULL;

	if (scope == SB_META_TAG)
		note_tag(c->share, key);
	if (scope == SB_META_TAG && !is_text)
		drop_meta(c->share, r);
	if (!text)
		return;
	if (scope == SB_META_TAG)
		sb_share_hash(c->share, SB_SHARE_TAGS, text, size);
	else if (scope == SB_META_RUN && is_command(key))
		sb_share_remove(c->share, SB_SHARE_COMMANDS, text, size);
	else if (scope == SB_META_RUN && !strcmp(key, SB_RUN_JOB))
		sb_share_hash(c->share, SB_SHARE_HOSTS, text, size);
	else
		sb_share_clean(c->share, text, size);
}

static void clean_bytes(const struct texts *c, const struct sb_record *r, uint32_t at)
{
	size_t size;
	char *text = bytes_at(r, at, &size);

	if (text)
		sb_share_clean(c->share, text, size);
}

/* Texts of strobe's own words and of names of models, which are names of stages too. */
static bool is_ours(const char *event, const char *key)
{
	return !strcmp(event, SB_EVENT_RESIDENT) && (!strcmp(key, "at") || !strcmp(key, "component"));
}

static void clean_attrs(const struct texts *c, const struct sb_record *r, uint32_t at)
{
	const char *name = name_of(c, (uint32_t)r->aux & SB_ID_MAX);

	while (at < r->words) {
		uint64_t head = r->payload[at++];
		bool is_text = (head >> 20 & 15) == STROBE_TYPE_STRING;
		uint64_t size = is_text ? head >> 32 : 8;

		if ((size + 7) / 8 > r->words - at) {
			clear(r, at);
			return;
		}
		if (is_text && !is_ours(name, name_of(c, (uint32_t)head & SB_ID_MAX)))
			sb_share_attached(c->share, name_of(c, (uint32_t)head & SB_ID_MAX),
				(char *)(uintptr_t)(r->payload + at), (size_t)size);
		at += (uint32_t)((size + 7) / 8);
	}
}

static void clean_name(const struct texts *c, const struct sb_record *r)
{
	uint64_t size = r->words ? r->payload[0] & UINT32_MAX : 0;

	if (size && size > (uint64_t)(r->words - 1) * 8)
		clear(r, 0);
	else if (size)
		sb_share_clean(c->share, (char *)(uintptr_t)(r->payload + 1), (size_t)size);
}

void sb_share_clean_record(
	struct sb_share *s, const struct sb_run *run, uint32_t process, const struct sb_record *r)
{
	const struct texts *c = &(struct texts){ s, run, process };
	size_t size;
	char *text;

	switch (r->type) {
	case SB_NAME: clean_name(c, r); break;
	case SB_META: clean_meta(c, r); break;
	case SB_ATTR_STR:
		text = bytes_at(r, 0, &size);
		if (text)
			sb_share_attached(c->share, name_of(c, (uint32_t)r->aux & SB_ID_MAX), text, size);
		break;
	case SB_SPAN: clean_attrs(c, r, 4); break;
	case SB_EVENT: clean_attrs(c, r, 2); break;
	case SB_THREAD:
	case SB_TRACK:
	case SB_CODE_FILE: clean_bytes(c, r, 0); break;
	case SB_SKIP: clean_bytes(c, r, 2); break;
	case SB_PROCESS:
		text = bytes_at(r, 4, &size);
		if (text)
			sb_share_remove(c->share, SB_SHARE_COMMANDS, text, size);
		break;
	/* numbers and ids of names alone */
	case SB_REBASE:
	case SB_ATTR64:
	case SB_SPAN_OPEN:
	case SB_GPU:
	case SB_SCHEMA:
	case SB_SAMPLE:
	case SB_SNAPSHOT:
	case SB_ANCHOR:
	case SB_LOST:
	case SB_CACHE:
	case SB_STREAMING:
	case SB_MODEL:
	case SB_ALLOC:
	case SB_GAUGE:
	case SB_STACK:
	case SB_OWNER:
	case SB_COUNT64: break;
	default: clear(r, 0); break; /* of a newer recorder: it may hold anything */
	}
}
