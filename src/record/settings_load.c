/* Precedence: default, preset, file, environment, the program's options. Flags
 * come on top, in cli/. */
#include "record/settings.h"

#include "base/error.h"
#include "record/settings_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An empty variable counts as unset, unless empty is a valid value. */
static bool may_be_empty(const struct sb_setting *t)
{
	return t->type == SB_SETTING_TEXT && strcmp(t->key, "output_dir");
}

static int apply_environment(struct sb_settings *s, struct sb_settings_origin *origin)
{
	int first_error = 0;

	for (size_t i = 0; i < sb_setting_count; i++) {
		char name[64], message[500];
		const char *value;
		int err;

		sb_setting_env_name(&sb_setting_table[i], name, sizeof name);
		value = secure_getenv(name);
		if (!value || (!*value && !may_be_empty(&sb_setting_table[i])))
			continue;
		err = sb_settings_set(s, &sb_setting_table[i], value);
		if (!err) {
			origin->source[i] = SB_FROM_ENVIRONMENT;
		} else if (!first_error) {
			snprintf(message, sizeof message, "%s", sb_error_message());
			first_error = sb_fail(err, "environment %s: %s", name, message);
		}
	}
	return first_error;
}

/* The preset in force: given, else the environment's, else the file's own. */
static int find_preset(
	const char *config, const struct sb_buf *text, const char *preset, char *out, size_t size)
{
	if (!preset || !*preset)
		preset = secure_getenv("STROBE_PRESET");
	*out = 0;
	if (preset && *preset) {
		snprintf(out, size, "%s", preset);
		return 0;
	}
	return config ? sb_settings_file_preset(config, text, out, size) : 0;
}

int sb_settings_load_from(
	struct sb_settings *s, const char *config, const char *preset, struct sb_settings_origin *out_origin)
{
	struct sb_buf text = { 0 };
	char chosen[64];
	int err;

	sb_settings_default(s);
	memset(out_origin, 0, sizeof *out_origin);
	if (!config || !*config)
		config = secure_getenv("STROBE_CONFIG");
	if (config && !*config)
		config = NULL;
	err = config ? sb_settings_file_text(config, &text) : 0;
	if (!err)
		err = find_preset(config, &text, preset, chosen, sizeof chosen);
	if (!err && chosen[0])
		err = sb_settings_apply_preset(s, chosen, out_origin);
	if (!err && config)
		err = sb_settings_read_file(s, config, &text, out_origin);
	sb_buf_done(&text);
	if (err) { /* the first message counts, but the environment still applies */
		char message[700];

		snprintf(message, sizeof message, "%s", sb_error_message());
		apply_environment(s, out_origin);
		return sb_fail(err, "%s", message);
	}
	return apply_environment(s, out_origin);
}

static int apply_options(struct sb_settings *s, const struct strobe_options *opts)
{
	if (opts->name)
		snprintf(s->name, sizeof s->name, "%s", opts->name);
	if (opts->output_dir && !secure_getenv("STROBE_OUTPUT_DIR"))
		snprintf(s->output_dir, sizeof s->output_dir, "%s", opts->output_dir);
	if (opts->max_trace_bytes && !secure_getenv("STROBE_MAX_TRACE_BYTES"))
		s->max_trace_bytes = opts->max_trace_bytes;
	for (size_t i = 0; i < opts->tag_count; i++) {
		int err = sb_settings_put_tag(s, &opts->tags[i]);

		if (err)
			return err;
	}
	return 0;
}

int sb_settings_load(struct sb_settings *s, const struct strobe_options *opts)
{
	struct sb_settings_origin origin;
	int err = sb_settings_load_from(s, opts ? opts->config : NULL, opts ? opts->preset : NULL, &origin);

	if (err || !opts)
		return err;
	return apply_options(s, opts);
}
