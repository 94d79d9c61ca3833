/* The settings that are lists: tags, stages, thresholds, from and to text; and the
 * spelling help. */
#include "record/settings.h"

#include "base/error.h"
#include "base/numerals.h"

#include <errno.h>
#include <inttypes.h>
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

	if (attr->key && strlen(attr->key) < sizeof tag.key)
		strcpy(tag.key, attr->key);
	trim(tag.key);
	if (!tag.key[0])
		return sb_fail(STROBE_EINVAL, "a tag's key has 1 to %zu characters, not '%.60s'",
			sizeof tag.key - 1, attr->key ? attr->key : "");
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

/* What separates the parts of a list may stand inside one as "%3B". */
static const char separators[] = "=;\n%", *const inside = separators + 1; /* '=' only ends a key */

static void escape(const char *text, const char *escaped, struct sb_buf *out)
{
	for (; *text; text++)
		if (strchr(escaped, *text))
			sb_buf_printf(out, "%%%02X", *text);
		else
			sb_buf_putc(out, *text);
}

/* Only what escape() writes: "50%20" is the user's own text. */
static void unescape(char *text)
{
	char *out = text;

	for (; *text; text++) {
		const char *c = separators;
		char code[4];

		for (; *c; c++) {
			snprintf(code, sizeof code, "%%%02X", *c);
			if (!strncmp(text, code, 3))
				break;
		}
		*out++ = *c ? *c : *text;
		text += *c ? 2 : 0;
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
	char *key, *value;
	int err;

	if (!equals || equals == text)
		return sb_fail(STROBE_EINVAL, "a tag is key=value, not '%.60s'", text);
	key = strdup(text);
	if (!key)
		return sb_fail(STROBE_ENOMEM, "no memory for the tag '%.60s'", text);
	value = key + (equals - text);
	*value++ = 0;
	trim(key);
	trim(value);
	unescape(key);
	attr.key = key;
	type_by_looks(value, &attr);
	if (attr.type == STROBE_TYPE_STRING && strlen(attr.value.s) > SB_STRING_MAX)
		err = sb_fail(STROBE_EINVAL, "the tag '%.60s' has a value of %zu bytes; at most %u are kept",
			key, strlen(attr.value.s), SB_STRING_MAX);
	else
		err = sb_settings_put_tag(s, &attr);
	free(key);
	return err;
}

/* 7.0 must not come back as the integer 7. */
static void float_text(double value, struct sb_buf *out)
{
	char text[32];

	sb_numerals_write(value, text, sizeof text);
	sb_buf_printf(out, "%s%s", text, strpbrk(text, ".en") ? "" : ".0");
}

void sb_setting_tag_text(const struct sb_setting_tag *tag, struct sb_buf *out)
{
	escape(tag->key, separators, out);
	sb_buf_putc(out, '=');
	switch (tag->type) {
	case STROBE_TYPE_INT: sb_buf_printf(out, "%" PRId64, tag->i); break;
	case STROBE_TYPE_BOOL: sb_buf_puts(out, tag->i ? "true" : "false"); break;
	case STROBE_TYPE_FLOAT: float_text(tag->f, out); break;
	case STROBE_TYPE_STRING:
		sb_buf_putc(out, '"');
		escape(tag->s, inside, out);
		sb_buf_putc(out, '"');
		break;
	}
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
	if (text[0] < '0' || text[0] > '9' || !strchr(" \t", text[size]) || size > 8)
		size = 0;
	*out_rest = text + size;
	return size;
}

/* "[4c] VAE encode" into the stage; false: too long. */
static bool read_label(struct sb_setting_stage *stage, const char *text)
{
	char right[512], code[512] = "", *name;
	const char *rest;
	size_t size;

	if (strlen(text) >= sizeof right)
		return false;
	strcpy(right, text);
	trim(right);
	size = code_length(right, &rest);
	memcpy(code, right[0] == '[' ? right + 1 : right, size);
	name = right + (rest - right);
	trim(code);
	trim(name);
	unescape(code);
	unescape(name);
	if (strlen(code) >= sizeof stage->code || strlen(name) >= sizeof stage->name)
		return false;
	strcpy(stage->code, code);
	strcpy(stage->name, name);
	return true;
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
	if (!strchr(stage.target, ':') || stage.target[0] == ':' || strpbrk(stage.target, " ;\n"))
		return sb_fail(STROBE_EINVAL,
			"a stage is 'pkg.mod:Class.method' or 'pkg.mod:function = code name', not '%.60s'",
			text);
	if (equals && !read_label(&stage, equals + 1))
		return sb_fail(STROBE_EINVAL, "the stage '%.60s' has too long a code or name", text);
	if (s->stage_count == SB_STAGES_MAX)
		return sb_fail(STROBE_EINVAL, "'stages' holds at most %d stages", SB_STAGES_MAX);
	s->stages[s->stage_count++] = stage;
	return 0;
}

void sb_setting_stage_text(const struct sb_setting_stage *stage, struct sb_buf *out)
{
	struct sb_buf name = { 0 };
	const char *rest;
	bool taken_for_code;

	escape(stage->name, inside, &name);
	taken_for_code = stage->name[0] == '[' || code_length(sb_buf_text(&name), &rest);
	sb_buf_puts(out, stage->target);
	if (stage->code[0] || stage->name[0])
		sb_buf_putc(out, '=');
	if (stage->code[0] || taken_for_code) {
		sb_buf_putc(out, '[');
		escape(stage->code, inside, out);
		sb_buf_puts(out, stage->name[0] ? "] " : "]");
	}
	sb_buf_puts(out, sb_buf_text(&name));
	sb_buf_done(&name);
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
	struct sb_setting_threshold limit = { .value = value }, *slot = NULL;

	if (strlen(name) < sizeof limit.name)
		strcpy(limit.name, name);
	trim(limit.name);
	if (!limit.name[0] || strpbrk(limit.name, separators))
		return sb_fail(STROBE_EINVAL, "a threshold's name has 1 to %zu characters, not '%.60s'",
			sizeof limit.name - 1, name);
	if (check_threshold(limit.name))
		return STROBE_EINVAL;
	for (uint32_t i = 0; i < s->threshold_count && !slot; i++)
		if (!strcmp(s->thresholds[i].name, limit.name))
			slot = &s->thresholds[i];
	if (!slot && s->threshold_count == SB_THRESHOLDS_MAX)
		return sb_fail(STROBE_EINVAL, "'thresholds' holds at most %d limits", SB_THRESHOLDS_MAX);
	if (!slot)
		slot = &s->thresholds[s->threshold_count++];
	*slot = limit;
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

bool sb_setting_is_internal(const struct sb_setting *setting)
{
	return !strcmp(setting->key, "monitor");
}

const char *sb_setting_nearest(const char *typed)
{
	const char *keys[SB_SETTINGS_MAX];
	size_t count = 0;

	for (size_t i = 0; i < sb_setting_count; i++)
		if (!sb_setting_is_internal(&sb_setting_table[i]))
			keys[count++] = sb_setting_table[i].key;
	return sb_setting_nearest_of(typed, keys, count);
}
