/* The settings that are lists: tags, stages, thresholds; and the spelling help. */
#include "record/settings.h"

#include "base/error.h"
#include "base/numerals.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void trim(char *text)
{
	size_t size;

	memmove(text, text + strspn(text, " \t"), strlen(text + strspn(text, " \t")) + 1);
	size = strlen(text);
	while (size && (text[size - 1] == ' ' || text[size - 1] == '\t'))
		text[--size] = 0;
}

static struct sb_setting_tag *tag_slot(struct sb_settings *s, const char *key)
{
	for (uint32_t i = 0; i < s->tag_count; i++)
		if (!strcmp(s->tags[i].key, key))
			return &s->tags[i];
	return s->tag_count < SB_TAGS_MAX ? &s->tags[s->tag_count++] : NULL;
}

int sb_settings_put_tag(struct sb_settings *s, const struct strobe_attr *attr)
{
	struct sb_setting_tag tag = { .type = attr->type };
	struct sb_setting_tag *slot;

	if (!attr->key || !*attr->key || strlen(attr->key) >= sizeof tag.key)
		return sb_fail(STROBE_EINVAL, "a tag's key has 1 to %zu characters, not '%.60s'",
			sizeof tag.key - 1, attr->key ? attr->key : "");
	strcpy(tag.key, attr->key);
	if (attr->type == STROBE_TYPE_FLOAT)
		tag.f = attr->value.f;
	else if (attr->type == STROBE_TYPE_STRING)
		snprintf(tag.s, sizeof tag.s, "%s", attr->value.s ? attr->value.s : "");
	else
		tag.i = attr->value.i;
	slot = tag_slot(s, tag.key);
	if (!slot)
		return sb_fail(STROBE_EINVAL, "'session_tags' holds at most %d tags", SB_TAGS_MAX);
	*slot = tag;
	return 0;
}

/* "%3B" back to ';': the separators of a list may occur in a quoted value. */
static void unescape(char *text)
{
	char *out = text;

	for (; *text; text++) {
		unsigned code;

		if (text[0] == '%' && text[1] && text[2] && sscanf(text + 1, "%2X", &code) == 1) {
			*out++ = (char)code;
			text += 2;
		} else {
			*out++ = *text;
		}
	}
	*out = 0;
}

/* The type a bare word has by its looks; quotes keep it a string. */
static void type_by_looks(char *text, struct strobe_attr *attr)
{
	size_t size = strlen(text);
	char *end;

	attr->type = STROBE_TYPE_STRING;
	attr->value.s = text;
	if (size >= 2 && (text[0] == '"' || text[0] == '\'') && text[size - 1] == text[0]) {
		text[size - 1] = 0;
		unescape(text + 1);
		attr->value.s = text + 1;
		return;
	}
	if (!size)
		return;
	if (!strcmp(text, "true") || !strcmp(text, "false")) {
		attr->type = STROBE_TYPE_BOOL;
		attr->value.i = text[0] == 't';
		return;
	}
	if (!strchr("+-.0123456789", text[0]))
		return;
	errno = 0;
	long long whole = strtoll(text, &end, 10);
	if (!errno && !*end) {
		attr->type = STROBE_TYPE_INT;
		attr->value.i = whole;
		return;
	}
	errno = 0;
	double number = sb_numerals_read(text, &end);
	if (!errno && end != text && !*end && isfinite(number)) {
		attr->type = STROBE_TYPE_FLOAT;
		attr->value.f = number;
	}
}

int sb_settings_add_tag(struct sb_settings *s, const char *text)
{
	const char *equals = strchr(text, '=');
	struct strobe_attr attr = { 0 };
	char key[64], value[512];

	if (!equals || equals == text || (size_t)(equals - text) >= sizeof key)
		return sb_fail(STROBE_EINVAL, "a tag is key=value, not '%.60s'", text);
	snprintf(key, sizeof key, "%.*s", (int)(equals - text), text);
	snprintf(value, sizeof value, "%s", equals + 1);
	trim(key);
	trim(value);
	attr.key = key;
	type_by_looks(value, &attr);
	return sb_settings_put_tag(s, &attr);
}

/* "4c" of "[4c] VAE encode", or of "4c VAE encode" when the first word looks like
 * a code: a digit, then digits, letters, dots. */
static size_t code_length(const char *text, const char **out_rest)
{
	size_t size;

	if (text[0] == '[') {
		size = strcspn(text + 1, "]");
		*out_rest = text + 1 + size + (text[1 + size] == ']');
		return size;
	}
	size = strspn(text, "0123456789abcdefghijklmnopqrstuvwxyz.");
	if (text[0] < '0' || text[0] > '9' || (text[size] && text[size] != ' ') || size > 8)
		size = 0;
	*out_rest = text + size;
	return size;
}

int sb_settings_add_stage(struct sb_settings *s, const char *text)
{
	struct sb_setting_stage stage = { 0 };
	const char *equals = strchr(text, '=');
	size_t size = equals ? (size_t)(equals - text) : strlen(text);

	if (size >= sizeof stage.target)
		return sb_fail(STROBE_EINVAL, "the stage '%.60s…' is too long", text);
	memcpy(stage.target, text, size);
	trim(stage.target);
	if (!strchr(stage.target, ':') || stage.target[0] == ':' || strchr(stage.target, ' '))
		return sb_fail(STROBE_EINVAL,
			"a stage is 'pkg.mod:Class.method' or 'pkg.mod:function = code name', not '%.60s'",
			text);
	if (equals) {
		const char *right = equals + 1 + strspn(equals + 1, " \t"), *rest;
		size_t code = code_length(right, &rest);

		if (code >= sizeof stage.code || strlen(rest) >= sizeof stage.name)
			return sb_fail(STROBE_EINVAL, "the stage '%.60s' has too long a code or name", text);
		memcpy(stage.code, right[0] == '[' ? right + 1 : right, code);
		strcpy(stage.name, rest);
		trim(stage.name);
	}
	if (s->stage_count == SB_STAGES_MAX)
		return sb_fail(STROBE_EINVAL, "'stages' holds at most %d stages", SB_STAGES_MAX);
	s->stages[s->stage_count++] = stage;
	return 0;
}

static const char *const *threshold_names;
static size_t threshold_name_count;

void sb_settings_provide_thresholds(const char *const *names, size_t count)
{
	threshold_names = names;
	threshold_name_count = count;
}

static int check_threshold(const char *name)
{
	const char *nearest;

	for (size_t i = 0; i < threshold_name_count; i++)
		if (!strcmp(threshold_names[i], name))
			return 0;
	if (!threshold_name_count)
		return 0;
	nearest = sb_setting_nearest_of(name, threshold_names, threshold_name_count);
	if (nearest)
		return sb_fail(STROBE_EINVAL, "no rule has the threshold '%.60s'; did you mean '%s'?", name,
			nearest);
	return sb_fail(STROBE_EINVAL, "no rule has the threshold '%.60s'; docs/advice.md lists them", name);
}

int sb_settings_add_threshold(struct sb_settings *s, const char *name, double value)
{
	struct sb_setting_threshold *slot = NULL;

	if (!*name || strlen(name) >= sizeof slot->name)
		return sb_fail(
			STROBE_EINVAL, "a threshold's name has 1 to %zu characters", sizeof slot->name - 1);
	if (check_threshold(name))
		return STROBE_EINVAL;
	for (uint32_t i = 0; i < s->threshold_count && !slot; i++)
		if (!strcmp(s->thresholds[i].name, name))
			slot = &s->thresholds[i];
	if (!slot && s->threshold_count == SB_THRESHOLDS_MAX)
		return sb_fail(STROBE_EINVAL, "'thresholds' holds at most %d limits", SB_THRESHOLDS_MAX);
	if (!slot)
		slot = &s->thresholds[s->threshold_count++];
	strcpy(slot->name, name);
	slot->value = value;
	return 0;
}

/* Edits (insert, delete, replace) that turn a into b. */
static size_t edit_distance(const char *a, const char *b)
{
	size_t row[64], width = strlen(b);

	if (width >= sizeof row / sizeof row[0])
		return SIZE_MAX;
	for (size_t j = 0; j <= width; j++)
		row[j] = j;
	for (size_t i = 1; a[i - 1]; i++) {
		size_t diagonal = row[0];

		row[0] = i;
		for (size_t j = 1; j <= width; j++) {
			size_t best = diagonal + (a[i - 1] != b[j - 1]);

			diagonal = row[j];
			if (row[j] + 1 < best)
				best = row[j] + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			row[j] = best;
		}
	}
	return row[width];
}

const char *sb_setting_nearest_of(const char *typed, const char *const *names, size_t count)
{
	size_t best = strlen(typed) / 2 + 1;
	const char *nearest = NULL;

	if (strlen(typed) > 60)
		return NULL;
	for (size_t i = 0; i < count; i++) {
		size_t distance = edit_distance(typed, names[i]);

		if (distance < best) {
			best = distance;
			nearest = names[i];
		}
	}
	return nearest;
}

const char *sb_setting_nearest(const char *typed)
{
	const char *keys[SB_SETTING_COUNT_MAX];

	for (size_t i = 0; i < sb_setting_count; i++)
		keys[i] = sb_setting_table[i].key;
	return sb_setting_nearest_of(typed, keys, sb_setting_count);
}
