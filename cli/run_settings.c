/* Settings on the command line: every key of the table is a flag. */
#include "run_settings.h"

#include "advise/advise.h"
#include "base/error.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Keys with flags of their own in cmd_run.c, or none. */
static bool has_own_flag(const struct sb_setting *t)
{
	static const char *const own[] = { "enabled", "monitor", "name", "output_dir", "gpu_trace",
		"gpu_counters", "sample_hz", "session_tags", "stages", NULL };

	for (const char *const *p = own; *p; p++)
		if (!strcmp(*p, t->key))
			return true;
	return false;
}

static const char *argument_of(const struct sb_setting *t)
{
	switch (t->type) {
	case SB_SETTING_BOOL: return "BOOL";
	case SB_SETTING_SECONDS: return "SECONDS";
	case SB_SETTING_COUNT: return "N";
	case SB_SETTING_BYTES: return "SIZE";
	case SB_SETTING_NUMBER: return "NUMBER";
	case SB_SETTING_FORMAT: return "FORMAT";
	case SB_SETTING_THRESHOLDS: return "NAME=N;...";
	default: return "TEXT";
	}
}

static const char *flag_name(const struct sb_setting *t)
{
	static char names[SB_SETTINGS_MAX][40];
	char *name = names[t - sb_setting_table];

	snprintf(name, sizeof names[0], "%s", t->key);
	for (char *p = name; *p; p++)
		if (*p == '_')
			*p = '-';
	return name;
}

/* "time between GPU samples (0.5 s)" */
static const char *help_of(const struct sb_setting *t)
{
	static char texts[SB_SETTINGS_MAX][120];
	char *text = texts[t - sb_setting_table];
	bool told = t->type == SB_SETTING_SECONDS || t->type == SB_SETTING_COUNT ||
		    t->type == SB_SETTING_BYTES || t->type == SB_SETTING_BOOL || t->type == SB_SETTING_FORMAT;

	snprintf(text, sizeof texts[0], told ? "%s (%s%s)" : "%s", t->help, t->fallback,
		t->type == SB_SETTING_SECONDS ? " s" : "");
	return text;
}

size_t run_settings_options(struct command_option *out, size_t used, size_t limit)
{
	for (const struct sb_setting *t = sb_setting_table; t->key && used + 1 < limit; t++)
		if (!has_own_flag(t))
			out[used++] = (struct command_option){ flag_name(t), 0, argument_of(t), help_of(t),
				t->type == SB_SETTING_BOOL, false };
	return used;
}

static int set_flag(struct sb_settings *s, struct sb_settings_origin *origin, const char *key,
	const char *flag, const char *value)
{
	const struct sb_setting *t = sb_setting_find(key);
	char message[500];

	if (t->type == SB_SETTING_BOOL && !*value)
		value = "true";
	if (sb_settings_set(s, t, value)) {
		snprintf(message, sizeof message, "%s", sb_error_message());
		return complain("--%s: %s", flag, message);
	}
	origin->source[t - sb_setting_table] = SB_FROM_FLAG;
	return 0;
}

static int apply_flags(const struct args *args, struct sb_settings *s, struct sb_settings_origin *origin)
{
	static const struct {
		const char *flag, *key;
	} renamed[] = { { "output-dir", "output_dir" }, { "name", "name" }, { "gpu-trace", "gpu_trace" },
		{ "gpu-counters", "gpu_counters" }, { "sample", "sample_hz" } };

	for (size_t i = 0; i < sizeof renamed / sizeof renamed[0]; i++) {
		const char *value = args_value(args, renamed[i].flag);

		if (value && !*value && !strncmp(renamed[i].flag, "gpu-", 4))
			value = "all";
		if (value && !*value && !strcmp(renamed[i].flag, "sample"))
			value = "100";
		if (value && set_flag(s, origin, renamed[i].key, renamed[i].flag, value))
			return EXIT_USAGE;
	}
	for (const struct sb_setting *t = sb_setting_table; t->key; t++) {
		const char *value = has_own_flag(t) ? NULL : args_value(args, flag_name(t));

		if (value && set_flag(s, origin, t->key, flag_name(t), value))
			return EXIT_USAGE;
	}
	return 0;
}

static int apply_lists(const struct args *args, struct sb_settings *s, struct sb_settings_origin *origin)
{
	const char *value;

	for (size_t i = 0; (value = args_nth(args, "tag", i)); i++) {
		if (sb_settings_add_tag(s, value))
			return complain_last();
		origin->source[sb_setting_find("session_tags") - sb_setting_table] = SB_FROM_FLAG;
	}
	for (size_t i = 0; (value = args_nth(args, "stage", i)); i++) {
		if (sb_settings_add_stage(s, value))
			return complain_last();
		origin->source[sb_setting_find("stages") - sb_setting_table] = SB_FROM_FLAG;
	}
	return 0;
}

/* The rules are the reading half's: only the tool can know their names. */
static void provide_thresholds(void)
{
	static const char *names[256];
	size_t count = 0;

	for (size_t i = 0; i < sb_rule_count() && count < sizeof names / sizeof names[0]; i++)
		if (sb_rule_info(i)->threshold_key)
			names[count++] = sb_rule_info(i)->threshold_key;
	sb_settings_provide_thresholds(names, count);
}

int run_settings_load(const struct args *args, struct sb_settings *s, struct sb_settings_origin *origin)
{
	size_t enabled = (size_t)(sb_setting_find("enabled") - sb_setting_table);
	int code;

	provide_thresholds();
	if (sb_settings_load_from(s, args_value(args, "config"), args_value(args, "preset"), origin))
		return complain_last();
	if (origin->source[enabled] == SB_FROM_DEFAULT)
		s->enabled = true;
	code = apply_flags(args, s, origin);
	if (!code && sb_settings_agree(s))
		return complain_last();
	return code ? code : apply_lists(args, s, origin);
}

/* ---- --print-config -------------------------------------------------------------- */

static bool needs_quotes(const char *text)
{
	return !*text || strpbrk(text, ":#{}[],&*!|>'\"%@`\\") ||
	       strspn(text, "0123456789.+-") == strlen(text) || !strcmp(text, "true") ||
	       !strcmp(text, "false") || !strcmp(text, "none") || *text == ' ' || *text == '-';
}

static void put_text(struct sb_buf *out, const char *text)
{
	if (!needs_quotes(text)) {
		sb_buf_puts(out, text);
		return;
	}
	sb_buf_putc(out, '"');
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			sb_buf_putc(out, '\\');
		sb_buf_putc(out, *text);
	}
	sb_buf_putc(out, '"');
}

static void put_tags(struct sb_buf *out, const struct sb_settings *s)
{
	sb_buf_putc(out, '{');
	for (uint32_t i = 0; i < s->tag_count; i++) {
		const struct sb_setting_tag *tag = &s->tags[i];

		sb_buf_puts(out, i ? ", " : "");
		put_text(out, tag->key);
		sb_buf_puts(out, ": ");
		switch (tag->type) {
		case STROBE_TYPE_INT: sb_buf_printf(out, "%lld", (long long)tag->i); break;
		case STROBE_TYPE_BOOL: sb_buf_puts(out, tag->i ? "true" : "false"); break;
		case STROBE_TYPE_FLOAT: sb_buf_printf(out, "%.15g", tag->f); break;
		case STROBE_TYPE_STRING: put_text(out, tag->s); break;
		}
	}
	sb_buf_putc(out, '}');
}

static void put_stages(struct sb_buf *out, const struct sb_settings *s)
{
	sb_buf_putc(out, '[');
	for (uint32_t i = 0; i < s->stage_count; i++) {
		const struct sb_setting_stage *stage = &s->stages[i];

		sb_buf_printf(out, "%s{target: \"%s\"", i ? ", " : "", stage->target);
		if (stage->code[0])
			sb_buf_printf(out, ", code: \"%s\"", stage->code);
		if (stage->name[0]) {
			sb_buf_puts(out, ", name: ");
			put_text(out, stage->name);
		}
		sb_buf_putc(out, '}');
	}
	sb_buf_putc(out, ']');
}

static void put_thresholds(struct sb_buf *out, const struct sb_settings *s)
{
	sb_buf_putc(out, '{');
	for (uint32_t i = 0; i < s->threshold_count; i++)
		sb_buf_printf(
			out, "%s%s: %.15g", i ? ", " : "", s->thresholds[i].name, s->thresholds[i].value);
	sb_buf_putc(out, '}');
}

static void put_value(struct sb_buf *out, const struct sb_settings *s, const struct sb_setting *t)
{
	struct sb_buf text = { 0 };

	if (t->type == SB_SETTING_TAGS) {
		put_tags(out, s);
	} else if (t->type == SB_SETTING_STAGES) {
		put_stages(out, s);
	} else if (t->type == SB_SETTING_THRESHOLDS) {
		put_thresholds(out, s);
	} else {
		sb_settings_text(s, t, &text);
		if (t->type == SB_SETTING_TEXT)
			put_text(out, sb_buf_text(&text));
		else
			sb_buf_puts(out, !strcmp(sb_buf_text(&text), "none") ? "null" : sb_buf_text(&text));
		sb_buf_done(&text);
	}
}

static void put_origin(struct sb_buf *out, const struct sb_settings_origin *origin, size_t i)
{
	char name[64];

	switch ((enum sb_setting_source)origin->source[i]) {
	case SB_FROM_DEFAULT: sb_buf_puts(out, "default"); break;
	case SB_FROM_PRESET: sb_buf_printf(out, "preset %s", origin->preset); break;
	case SB_FROM_FILE: sb_buf_printf(out, "%s:%d", origin->file, origin->line[i]); break;
	case SB_FROM_ENVIRONMENT:
		sb_setting_env_name(&sb_setting_table[i], name, sizeof name);
		sb_buf_printf(out, "environment %s", name);
		break;
	case SB_FROM_OPTIONS: sb_buf_puts(out, "the program"); break;
	case SB_FROM_FLAG: sb_buf_puts(out, "command line"); break;
	}
}

void run_settings_print(
	const struct sb_settings *s, const struct sb_settings_origin *origin, struct sb_buf *out)
{
	sb_buf_puts(out, "profiling:\n");
	for (size_t i = 0; i < sb_setting_count; i++) {
		const struct sb_setting *t = &sb_setting_table[i];
		size_t start = out->size;

		if (sb_setting_is_internal(t))
			continue;
		sb_buf_printf(out, "  %s: ", t->key);
		put_value(out, s, t);
		do
			sb_buf_putc(out, ' ');
		while (out->size - start < 40);
		sb_buf_puts(out, "# ");
		put_origin(out, origin, i);
		sb_buf_putc(out, '\n');
	}
}
